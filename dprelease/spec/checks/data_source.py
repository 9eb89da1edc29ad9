"""The data source of the ``[data]`` section. No data is opened, nor looked for."""

from __future__ import annotations

import os
from typing import Literal

from dprelease.model import Data, Dialect, Source
from dprelease.spec.checks.columns.domains import UNPRINTABLE
from dprelease.spec.checks.paths import PERIOD, absolute, fill_period, fixed_part, has_wildcards
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.complaints.wording import show
from dprelease.spec.schema.fields import SAFE_NAME
from dprelease.spec.schema.models import DataSection
from dprelease.spec.schema.structure import Part

USELESS_PERIOD = "W204"  # a period is given to a spec that has no place for it
_FORMATS: dict[str, Literal["csv", "parquet"]] = {
    ".csv": "csv", ".txt": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip")
_ENCODINGS = {
    "utf-8": "utf-8", "utf8": "utf-8", "latin-1": "latin-1", "latin1": "latin-1",
    "iso-8859-1": "latin-1", "iso8859-1": "latin-1", "iso_8859-1": "latin-1", "l1": "latin-1",
    "cp1252": "cp1252", "windows-1252": "cp1252", "1252": "cp1252",
}  # fmt: skip
_CSV_KEYS = ("delimiter", "quote", "encoding", "null_values", "header", "names", "strip")


def check_period(
    period: str | None, part: Part[DataSection], output_path: str | None, reporter: Reporter
) -> str | None:
    """Check that a period is given exactly when the spec has a place for it.

    Returns the period if it is safe to fill in.
    """
    places = {
        ("data", "path"): part.model.path,
        ("data", "snapshot"): part.model.snapshot,
        ("output", "path"): output_path,
    }
    used = [path for path, text in places.items() if text is not None and PERIOD in text]
    if period is None:
        for path in used:
            hint = "give the period on the command line: --period 2026-01"
            reporter.complain("E226", f"{PERIOD} is not filled: no period is given", path, hint)
        return None
    if not SAFE_NAME.fullmatch(period) or ".." in period:
        message = f"the period {show(period)} is not safe in a file name"
        reporter.complain("E226", message, (), "use A-Z, a-z, 0-9, -, _ and dots, as in 2026-01")
        return None
    if not used:
        message = f"a period is given, but the spec has no {PERIOD}"
        reporter.warn(
            USELESS_PERIOD, message, ("data",), f"write {PERIOD} in the path or snapshot", "key"
        )
        return None  # it changes nothing, so it must not make another release of it
    return period


def resolve_data(
    part: Part[DataSection], base: str, period: str | None, reporter: Reporter
) -> Data | None:
    """Make the ``[data]`` section; None when there is no usable path."""
    model = part.model
    dialect = _dialect(part, reporter)
    if model.path is None:
        return None
    written = fill_period(model.path, period)
    if "://" in written:
        hint = "copy the data to this machine first"
        reporter.complain("E228", f"{show(written)} is not a local path", ("data", "path"), hint)
        return None
    data_format = _format(part, written, reporter)
    snapshot = None if model.snapshot is None else fill_period(model.snapshot, period)
    source = Source(absolute(base, written), data_format or "csv", dialect)
    return Data(source, written, model.engine, snapshot)


def dataset_name(path: str) -> str:
    """Name a data set after its file or folder; a glob after its nearest folder.

    ``path`` is as written, absolute, with ``{period}`` unfilled: all periods are one data set.
    """
    place = fixed_part(path)
    while os.path.basename(place) == PERIOD:
        place = os.path.dirname(place)
    return os.path.basename(place) or "data"


def separates_periods(path: str) -> bool:
    """Whether each period has files of its own by the path, as far as a text can tell.

    ``{period}`` stands in a part of it that has no wildcards, which could match other periods too,
    and is not undone by a part "..".
    """
    parts = path.split("/")
    whole = [part for part in parts if PERIOD in part and not has_wildcards(part)]
    return bool(whole) and ".." not in parts


def _format(part: Part[DataSection], path: str, reporter: Reporter) -> str | None:
    suffix = os.path.splitext(path.rstrip("/"))[1].lower()
    if suffix in _COMPRESSED:
        message = f"compressed files ({suffix}) are not read"
        reporter.complain("E228", message, ("data", "path"), "unpack it, or convert it to Parquet")
        return None
    declared = part.model.format
    if declared is None and "format" not in part.bad:
        declared = _FORMATS.get(suffix)
        if declared is None or path.endswith("/"):
            what = f"the suffix {show(suffix)}" if suffix else "a path without suffix"
            message = f"{what} does not say which format the data has"
            hint = 'format = "csv" or format = "parquet"'
            reporter.complain("E228", message, ("data", "path"), hint)
            return None
    if declared == "parquet":
        for key in _CSV_KEYS:
            if getattr(part.model, key) is not None:
                message = f"{key} is an option of CSV, the data is Parquet"
                reporter.complain("E111", message, ("data", key), "leave it out", "key")
    return declared


def _dialect(part: Part[DataSection], reporter: Reporter) -> Dialect:
    model = part.model
    header = True if model.header is None else model.header
    names = _names(part, header, reporter)
    quote = _quote(model, reporter)
    delimiter = _delimiter(model, quote, reporter)
    encoding = _encoding(model, reporter)
    nulls = ("",) if model.null_values is None else model.null_values
    for number, text in enumerate(nulls):
        if UNPRINTABLE.search(text):
            path = ("data", "null_values", number)
            reporter.complain("E229", f"{show(text)} holds a control character", path, "remove it")
    return Dialect(delimiter, quote, encoding, nulls, header, names, bool(model.strip))


def _delimiter(model: DataSection, quote: str, reporter: Reporter) -> str:
    given = model.delimiter
    if given is None:
        tabs = model.path is not None and model.path.lower().endswith(".tsv")
        return "\t" if tabs else ","
    one = len(given) == 1 and (" " <= given <= "~" or given == "\t")
    if not one or given == quote or given.isalnum():
        message = f"delimiter {show(given)} is not one ASCII character other than the quote"
        reporter.complain("E229", message, ("data", "delimiter"), 'such as ",", ";" or "\\t"')
        return ","
    return given


def _quote(model: DataSection, reporter: Reporter) -> str:
    given = model.quote
    if given is None or given == "":
        return '"' if given is None else ""
    if len(given) != 1 or not "!" <= given <= "~" or given.isalnum():
        message = f"quote {show(given)} is not one ASCII character"
        hint = '\'"\' is the default, "" means that fields are never quoted'
        reporter.complain("E229", message, ("data", "quote"), hint)
        return '"'
    return given


def _encoding(model: DataSection, reporter: Reporter) -> str:
    if model.encoding is None:
        return "utf-8"
    encoding = _ENCODINGS.get(model.encoding.strip().lower())
    if encoding is None:
        message = f"encoding {show(model.encoding)} is not read"
        reporter.complain("E229", message, ("data", "encoding"), "utf-8, latin-1 or cp1252")
        return "utf-8"
    return encoding


def _names(part: Part[DataSection], header: bool, reporter: Reporter) -> tuple[str, ...] | None:
    names = part.model.names
    if names is None:
        if not header and part.sound("names"):
            hint = 'names = ["...", "..."], one for each column of the file'
            reporter.complain("E110", "header = false without `names`", ("data", "header"), hint)
        return None
    if header and "header" not in part.bad:
        hint = "leave it out, or say header = false"
        reporter.complain("E111", "names, but the file has a header", ("data", "names"), hint)
    seen: set[str] = set()
    for number, name in enumerate(names):
        path = ("data", "names", number)
        if not name.strip() or UNPRINTABLE.search(name):
            message = f"{show(name)} can't be the name of a column"
            reporter.complain("E107", message, path, "not empty, no control characters")
        elif name.casefold() in seen:
            reporter.complain("E231", f"{show(name)} is named twice", path, "rename one")
        seen.add(name.casefold())
    if not names:
        reporter.complain("E229", "names is empty", ("data", "names"), "name every column")
    return names
