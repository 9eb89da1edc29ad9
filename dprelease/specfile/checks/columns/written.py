"""How dates and moments of a column are written: its format and its zone."""

from __future__ import annotations

from collections.abc import Mapping

from dprelease.model import ColumnType, Source
from dprelease.model.date_formats import DateFormatError, DatePattern, parse_date_format
from dprelease.specfile.complaints.complaint_wording import show, suggest_word
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import ColumnSection

_TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)


def check_written(parts: Mapping[str, Part[ColumnSection]], source: Source | None) -> None:
    """Complain of formats and zones that a column can't have."""
    for part in parts.values():
        keys = part.list_given("format", "zone")
        kind = part.model.type
        sound = [_may_stand(key, part, source) for key in keys]
        if keys and kind is not None and all(sound):
            _check(part, ColumnType(kind), source)


def _may_stand(key: str, part: Part[ColumnSection], source: Source | None) -> bool:
    """Check whether such a column can have the key; complain if not."""
    kind, why = part.model.type, ""
    if kind not in _TIMES:
        why = f"{key} is for dates and timestamps, but the column is {kind}"
    elif part.model.expression is not None:
        why = f"{key} is for values in the file, but the column is computed"
    elif key == "format" and source is not None and source.format != "csv":
        why = "format is for texts in CSV, but this file has types"
    if why:
        part.complain("E111", why, key, hint="leave it out", at="key")
    return not why


def _check(part: Part[ColumnSection], kind: ColumnType, source: Source | None) -> None:
    form, zone = part.model.format, part.model.zone
    pattern = None if form is None else _read_pattern(part, form, kind)
    if zone is None:
        return
    of_texts = source is not None and source.format == "csv" and part.is_sound("format")
    if of_texts and (form is None or (pattern is not None and not pattern.zoned)):
        message = "zone needs %z in `format`: the texts don't give a time zone offset"
        hint = 'leave zone out, or write a format such as "%Y-%m-%dT%H:%M:%S%z"'
        part.complain("E111", message, "zone", hint=hint, at="key")
    # Imported here for start-up: most specs have none.
    from zoneinfo import available_timezones

    zones = available_timezones()  # none, on a machine that has no list
    if zones and zone not in zones:
        hint = suggest_word(zone, sorted(zones), 'for example "Europe/Berlin"')
        part.complain("E254", f"{show(zone)} is not a time zone", "zone", hint=hint)


def _read_pattern(part: Part[ColumnSection], text: str, kind: ColumnType) -> DatePattern | None:
    try:
        pattern = parse_date_format(text)
    except DateFormatError as refused:
        part.complain("E254", refused.message, "format", hint=refused.hint)
        return None
    if kind is ColumnType.TIMESTAMP and not pattern.clock:
        message = "the format of a timestamp lacks %H"
        part.complain("E254", message, "format", hint='add "%H:%M:%S", or write type = "date"')
        return None
    return pattern
