"""The data source of the ``[data]`` section. No data is opened, nor looked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from dprelease.engines.engine_registry import ON_CLUSTERS
from dprelease.files.packed import detect_packing, get_suffix, strip_packing
from dprelease.files.uris import is_uri, split_options
from dprelease.model import Data, Database, Dialect, Source
from dprelease.model.source_registry import (
    DRIVERS,
    SOURCES,
    SUFFIXES,
    is_variable_name,
    split_table_name,
)
from dprelease.specfile.checks.columns.domains import UNPRINTABLE
from dprelease.specfile.complaints.complaint_wording import join_quoted, show
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.complaints.spec_paths import (
    PERIOD,
    fill_period,
    get_fixed_part,
    has_wildcards,
    make_absolute,
)
from dprelease.specfile.keys.fields import SAFE_NAME
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import DataSection, OutputSection
from dprelease.specfile.schema.structure import Parts

USELESS_PERIOD = "W204"  # a period is given to a spec that has no place for it
_LOCAL = ("file:", "local:")  # URIs of this machine's files, which have paths
_CREDENTIALS = re.compile("key|secret|token|passw|signature|^sig$", re.IGNORECASE)
_PLACES = {
    "path": "say where the data is: a file, glob or directory, relative to the spec",
    "driver": "say which kind of database it is: " + join_quoted([f'"{name}"' for name in DRIVERS]),
    "uri_env": "name the environment variable that holds the URI of the database",
    "table": 'name the table or view, as "schema.table"',
}
_COMPRESSED = (".bz2", ".xz", ".zip")
RECORD_LINES = 1_000  # that a record may have if the spec states no other number
_ENCODINGS = {
    "utf-8": "utf-8", "utf8": "utf-8", "latin-1": "latin-1", "latin1": "latin-1",
    "iso-8859-1": "latin-1", "iso8859-1": "latin-1", "iso_8859-1": "latin-1", "l1": "latin-1",
    "cp1252": "cp1252", "windows-1252": "cp1252", "1252": "cp1252",
}  # fmt: skip
_OPTIONS = sorted({key for form in SOURCES.values() for key in form.keys})
_THOUSANDS = (".", ",", "_", "'", "\u2019", " ", "\u00a0", "\u2009", "\u202f")


def check_period(period: str | None, parts: Parts) -> str | None:
    """Check that a period is given exactly when the spec has a place for it.

    Returns the period if it is safe to fill in.
    """
    data, output, ledger = parts.data, parts.output, parts.ledger
    if ledger.model.dataset is not None and PERIOD in ledger.model.dataset:
        message = (
            f"the name of the dataset contains {PERIOD}, so each period would have its own budget"
        )
        hint = (
            "use one name for all periods; disjoint_periods declares that no unit is in two of them"
        )
        ledger.complain("E226", message, "dataset", hint=hint)
    places: list[tuple[Part[DataSection] | Part[OutputSection], str, str | None]] = [
        (data, "path", data.model.path),
        (data, "table", data.model.table),
        (data, "snapshot", data.model.snapshot),
        (output, "path", output.model.path),
    ]
    with_period = [(part, key) for part, key, text in places if text is not None and PERIOD in text]
    if period is None or not with_period:
        why = "no period is given" if period is None else "no path or snapshot contains it"
        hint = "give the period on the command line: --period 2026-01"
        if period is not None:
            hint = f"write {PERIOD} in the path or snapshot too"
        for part, keys in [
            *((part, (key,)) for part, key in with_period),
            *_iter_period_texts(parts),
        ]:
            part.complain("E226", f"{PERIOD} can't be filled: {why}", *keys, hint=hint)
    if period is None:
        return None
    if not SAFE_NAME.fullmatch(period) or ".." in period:
        message = f"the period {show(period)} is not safe in a file name"
        hint = "use A-Z, a-z, 0-9, -, _ and dots, as in 2026-01"
        data.reporter.complain("E226", message, (), hint)
    elif not with_period:
        message = f"a period is given, but the spec has no {PERIOD}"
        data.warn(USELESS_PERIOD, message, at="key")
    else:
        return period
    return None  # one that changes nothing must not make another release of it


def _iter_period_texts(parts: Parts) -> Iterator[tuple[Part[Any], tuple[str, ...]]]:
    """Name the texts for people that have a place for the period, and where they stand."""
    for key in PERIOD_TEXTS:
        if PERIOD in (getattr(parts.release.model, key) or ""):
            yield parts.release, (key,)
    for table, title in (parts.output.model.titles or {}).items():
        if PERIOD in title:
            yield parts.output, ("titles", table)
    for part in parts.queries:
        if PERIOD in (part.model.title or ""):
            yield part, ("title",)


PERIOD_TEXTS = ("title", "purpose")
"""Keys of [release] in which a period is filled."""


def resolve_data(part: Part[DataSection], base: str, period: str | None) -> Data | None:
    """Make the ``[data]`` section; None when there is no usable path or table."""
    model = part.model
    dialect = _read_dialect(part)
    if not _check_place(part):
        return None
    snapshot = None if model.snapshot is None else fill_period(model.snapshot, period)
    in_no_file = {"adbc": _read_database, "frame": _read_frame}.get(model.format or "")
    if in_no_file is not None:
        return in_no_file(part, period, snapshot)
    if model.path is None:
        return None
    path = fill_period(model.path, period)
    remote = "://" in path and not path.startswith(_LOCAL)
    if "://" in path and not (remote and model.engine in ON_CLUSTERS):
        hint = 'write a path, or a URI beside engine = "spark"'
        part.complain("E228", f"{show(path)} is not a local path", "path", hint=hint)
        return None
    if remote and _has_credentials(path):
        hint = "set credentials in the environment of the machine"
        part.complain("E228", "a URI of data must not hold credentials", "path", hint=hint)
        return None
    data_format = part.attempt(lambda: _format(part, path), "path")
    pattern = path if remote else make_absolute(base, path)
    form = data_format or "csv"
    own = {key: getattr(model, key) for key in part.list_given(*SOURCES[form].own)}
    source = Source(pattern, form, dialect, own=tuple(own.items()))
    return Data(source, path, model.engine, snapshot, model.design_effect)


def _check_place(part: Part[DataSection]) -> bool:
    """Complain of keys that say where other formats are, or that are missing."""
    form = SOURCES[part.model.format or "csv"]
    others = sorted({key for other in SOURCES.values() for key in other.place} - {*form.place})
    for key in part.list_given(*others) if part.is_sound("format") else ():
        message = f"{key} is for another source of data, but this is {form.title}"
        part.complain("E111", message, key, hint="leave it out", at="key")
    missing = [key for key in form.place if not part.list_given(key)]
    for key in missing if part.is_sound(*missing) else ():
        part.complain("E110", f"[data] has no `{key}`", hint=_PLACES[key], at="key")
    return not missing


def _read_frame(part: Part[DataSection], _period: str | None, snapshot: str | None) -> Data | None:
    """Read the table that a program hands over: only a snapshot tells one from another."""
    model = part.model
    _check_options(part, "frame")
    if model.engine in ON_CLUSTERS:
        message = f'engine = "{model.engine}" can\'t read a table from a program'
        part.complain("E111", message, "engine", hint='leave engine out: "duckdb" can')
    if snapshot is None and part.is_sound("snapshot"):
        hint = (
            "name the version of the table: only the snapshot distinguishes one table from another"
        )
        part.complain(
            "E110", "[data] has no `snapshot`, and the data is not in a file", hint=hint, at="key"
        )
        return None
    return Data(Source("frame://", "frame"), "", model.engine, snapshot, model.design_effect)


def _read_database(
    part: Part[DataSection], period: str | None, snapshot: str | None
) -> Data | None:
    model = part.model
    _check_options(part, "adbc")
    if model.engine in ON_CLUSTERS:
        message = f'engine = "{model.engine}" can\'t read databases'
        part.complain("E111", message, "engine", hint='leave engine out: "duckdb" can')
    if not is_variable_name(model.uri_env or ""):
        message = "uri_env is not the name of an environment variable"
        hint = "write the name, such as SURVEY_URI; the URI itself must not be in a file"
        part.complain(
            "E228", message, hint=hint, at="key"
        )  # its line, which is shown, may be a URI
        return None
    text = fill_period(model.table or "", period)
    table = part.attempt(lambda: _read_table(text), "table")
    if table is None:
        return None
    database = Database(model.driver or "", model.uri_env or "", table)
    return Data(
        Source(text, "adbc", database=database),
        text,
        model.engine,
        snapshot,
        model.design_effect,
    )


def _read_table(text: str) -> tuple[str, ...]:
    """Read names that are joined by a dot; raises ``Refused``."""
    names = split_table_name(text)
    if names is None:
        hint = 'write its name, or its schema and name as "schema.table"'
        raise Refused(f"{show(text)} is not the name of a table", hint, "E228")
    return names


def _has_credentials(uri: str) -> bool:
    """Check whether a URI names a user, or has an option whose name suggests a secret."""
    options = parse_qsl(split_options(uri)[1][1:], keep_blank_values=True)
    return "@" in uri or any(_CREDENTIALS.search(name) for name, _ in options)


def name_dataset(base: str, path: str) -> str:
    """Name a data set after its file or folder; a glob after its nearest folder.

    ``path`` is as written, with ``{period}`` unfilled: all periods are one data set. Options of a
    URI are no part of the name.
    """
    place = split_options(path)[0]
    place = place.partition(":/")[2] if is_uri(path) else make_absolute(base, place)
    place = get_fixed_part(place.rstrip("/"))
    while os.path.basename(place) == PERIOD:
        place = os.path.dirname(place)
    return os.path.basename(place) or "data"


def has_separate_periods(path: str) -> bool:
    """Tell whether each period has files of its own by the path, as far as a text can tell.

    ``{period}`` stands in a part of it that has no wildcards, which could match other periods too,
    and is not undone by a part ".." behind it.
    """
    parts = os.path.normpath(split_options(path)[0]).replace(os.sep, "/").split("/")
    return any(PERIOD in part and not has_wildcards(part) for part in parts)


def _format(part: Part[DataSection], path: str) -> str | None:
    """Give the format that is declared, or else that of the suffix. Raises ``Refused``."""
    path = split_options(path)[0]
    suffix = get_suffix(path.rstrip("/"))
    if suffix in _COMPRESSED:
        message = f"compressed files ({suffix}) are not supported"
        raise Refused(message, "decompress it, or compress CSV as .csv.gz or .csv.zst", "E228")
    declared = part.model.format
    if declared is None and "format" not in part.bad:
        declared = SUFFIXES.get(suffix)
        if declared is None or path.endswith("/"):
            subject = f"the suffix {show(suffix)}" if suffix else "a path without suffix"
            message = f"{subject} does not show the format of the data"
            hint = " or ".join(f'format = "{name}"' for name in SOURCES)
            raise Refused(message, hint, "E228")
    packed = detect_packing(path)
    if declared is not None and packed and packed not in SOURCES[declared].packed:
        message = f"compressed {SOURCES[declared].title} files ({packed}) are not supported"
        raise Refused(message, "decompress it", "E228")
    if declared is not None:
        _check_options(part, declared)
    return declared


def _check_options(part: Part[DataSection], declared: str) -> None:
    """Refuse keys that say nothing of the format."""
    declared_form = SOURCES[declared]
    for key in part.list_given(*_OPTIONS):
        if key not in declared_form.keys:
            formats = " and ".join(form.title for form in SOURCES.values() if key in form.keys)
            message = f"{key} is an option of {formats}, the data is {declared_form.title}"
            part.complain("E111", message, key, hint="leave it out", at="key")


def _read_dialect(part: Part[DataSection]) -> Dialect:
    model = part.model
    header = True if model.header is None else model.header
    names = _read_names(part, header)
    quote = part.attempt(lambda: _quote(model.quote), "quote")
    quotes: str = '"' if quote is None else quote
    tabs = (
        model.format in {None, "csv"}
        and model.path is not None
        and strip_packing(split_options(model.path)[0]).lower().endswith(".tsv")
    )
    delimiter = part.attempt(lambda: _read_delimiter(model.delimiter, quotes, tabs), "delimiter")
    encoding_name = "utf-8" if model.encoding is None else model.encoding
    encoding = _ENCODINGS.get(encoding_name.strip().lower())
    if encoding is None:
        message = f"encoding {show(encoding_name)} is not read"
        part.complain("E229", message, "encoding", hint="use utf-8, latin-1 or cp1252")
    nulls = ("",) if model.null_values is None else model.null_values
    for number, text in enumerate(nulls):
        if UNPRINTABLE.search(text):
            message = f"{show(text)} holds a control character"
            part.complain("E229", message, "null_values", number, hint="remove it")
    delimiter = delimiter or ","
    thousands = part.attempt(lambda: _read_thousands(model), "thousands")
    for key, mark in (("decimal", model.decimal), ("thousands", thousands)):
        if mark and part.is_sound("delimiter", "quote"):
            _check_mark(part, key, mark, delimiter, quotes)
    return Dialect(
        delimiter, quotes, encoding or "utf-8", nulls, header, names, bool(model.strip),
        model.decimal or ".", thousands or "", _read_max_lines(part, quotes),
        model.skip_rows or 0, _read_unnamed_field(part, header),
    )  # fmt: skip


def _read_unnamed_field(part: Part[DataSection], header: bool) -> str:
    """Read which field has no name; "" for none."""
    field = part.model.unnamed_field
    if field is not None and not header and "header" not in part.bad:
        message = "unnamed_field has no effect, because the file has no header"
        hint = "leave it out, and name the field in names"
        part.complain("E111", message, "unnamed_field", hint=hint, at="key")
    return field or ""


def _read_max_lines(part: Part[DataSection], quote: str) -> int:
    """Read how many lines a record may have; 1 if no record has line breaks."""
    model = part.model
    if not model.multiline:
        if model.max_lines_per_record is not None and part.is_sound("multiline"):
            message = "max_lines_per_record has no effect, because each record has one line"
            hint = "add multiline = true, or leave it out"
            part.complain("E111", message, "max_lines_per_record", hint=hint, at="key")
        return 1
    if not quote:
        message = "multiline needs quotes, but fields are never quoted"
        part.complain("E111", message, "multiline", hint="leave multiline or quote out", at="key")
    return RECORD_LINES if model.max_lines_per_record is None else model.max_lines_per_record


def _read_thousands(model: DataSection) -> str | None:
    separator = model.thousands
    if separator and separator not in _THOUSANDS:
        hint = '".", ",", "_", an apostrophe, or a blank, which may be one that does not break'
        raise Refused(f"thousands {show(separator)} is not a mark between digits", hint, "E229")
    if separator and separator == (model.decimal or "."):
        message = f"thousands {show(separator)} is also the decimal mark"
        other = "," if separator == "." else "."
        raise Refused(message, f"write decimal = {show(other)}, or leave thousands out", "E229")
    return separator


def _check_mark(part: Part[DataSection], key: str, mark: str, delimiter: str, quote: str) -> None:
    """Complain of a mark of numbers that is also what parts or quotes fields."""
    if mark == quote:
        part.complain("E229", f"{key} {show(mark)} is also the quote", key, hint="choose another")
    elif mark == delimiter and not part.model.quote:
        message = (
            f"{key} {show(mark)} is also the delimiter, which would split numbers into two fields"
        )
        hint = 'write delimiter = ";", or state quote = \'"\', if each such number stands in quotes'
        part.complain("E229", message, key, hint=hint)


def _read_delimiter(separator: str | None, quote: str, tabs: bool) -> str:
    if separator is None:
        return "\t" if tabs else ","
    is_character = len(separator) == 1 and (" " <= separator <= "~" or separator == "\t")
    if not is_character or separator == quote or separator.isalnum():
        message = f"delimiter {show(separator)} is not one ASCII character other than the quote"
        raise Refused(message, 'write, for example, ",", ";" or "\\t"', "E229")
    return separator


def _quote(quote: str | None) -> str | None:
    if quote and (len(quote) != 1 or not "!" <= quote <= "~" or quote.isalnum()):
        hint = '\'"\' is the default, "" means that fields are never quoted'
        raise Refused(f"quote {show(quote)} is not one ASCII character", hint, "E229")
    return quote


def _read_names(part: Part[DataSection], header: bool) -> tuple[str, ...] | None:
    names = part.model.names
    if names is None:
        if not header and part.is_sound("names"):
            hint = 'write names = ["...", "..."], one for each column of the file'
            part.complain("E110", "header = false needs `names`", "header", hint=hint)
        return None
    if header and "header" not in part.bad:
        hint = "leave it out, or write header = false"
        part.complain(
            "E111", "names has no effect, because the file has a header", "names", hint=hint
        )
    seen: set[str] = set()
    for number, name in enumerate(names):
        if not name.strip() or UNPRINTABLE.search(name):
            message = f"{show(name)} can't be the name of a column"
            hint = "write a name that is not empty and has no control characters"
            part.complain("E107", message, "names", number, hint=hint)
        elif name.casefold() in seen:
            part.complain(
                "E231", f"{show(name)} is named twice", "names", number, hint="rename one"
            )
        seen.add(name.casefold())
    if not names:
        part.complain("E229", "names is empty", "names", hint="name every column")
    return names
