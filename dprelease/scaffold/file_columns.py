"""Names of columns: a CSV file's first line, or what the place of the data declares."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.csv_line import read_separator, split_line
from dprelease.files.packed import decompress, detect_packing
from dprelease.files.system import open_plain_file
from dprelease.model import Source
from dprelease.model.date_formats import UTC_NAMES, list_zones
from dprelease.model.source_registry import SOURCES, Naming

if TYPE_CHECKING:
    from dprelease.sources.shared.source_format import StoredColumn

_LONGEST = 1 << 20
_LONGEST_NAME = 200  # as in a spec
_BOM = b"\xef\xbb\xbf"
_CLOSED = ("it can't be opened", "it can't be decompressed")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_VALUE = re.compile(  # a number, a date, a time: what a name is not
    r"\s*([+-]?[0-9][0-9.,_' ]*([eE][+-]?[0-9]+)?%?|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}.*"
    r"|(true|false|null|none|nan|n/a)|\S+@\S+\.\S+)\s*",
    re.IGNORECASE,
)


class Named(NamedTuple):
    """A column's name, what the file declares of it, and why no spec can read it."""

    name: str
    type: str | None = None
    unread: str = ""
    zone: str | None = None


class Csv(NamedTuple):
    """How the header is written; declared, never guessed. ``skip_rows`` lines stand before it."""

    delimiter: str = ","
    encoding: str = "utf-8"
    skip_rows: int = 0


def read_csv_columns(file: str, form: Csv) -> tuple[list[Named], Csv]:
    """Read the names of columns from the header of a CSV file.

    Args:
        file: Path, also of a packed file.
        form: Delimiter, encoding and the number of lines before the header.

    Returns:
        The columns, without types; and the form, with the delimiter that a line ``sep=`` names.

    Raises:
        Failure: Exit code 2, if the line can't be read or is no header; shows nothing of it.
    """
    try:
        descriptor = open_plain_file(file)
        try:
            if how := detect_packing(file):
                with decompress(os.fdopen(descriptor, "rb", closefd=False), how) as stream:
                    separator, line = read_header(lambda: stream.read(1), form.skip_rows)
            else:
                separator, line = read_header(lambda: os.read(descriptor, 1), form.skip_rows)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise build_unreadable_failure(
            file, problem.strerror or _CLOSED[bool(detect_packing(file))]
        ) from None
    if line is None:
        raise build_unreadable_failure(file, f"its first line is longer than {_LONGEST} bytes")
    if form.skip_rows and not line.strip():
        reason = f"it has no header after its first {form.skip_rows} lines"
        raise build_unreadable_failure(file, reason, "--skip-rows says how many lines stand before")
    form = form._replace(delimiter=separator or form.delimiter)
    return _read_names(file, line, form), form


def read_header(read: Callable[[], bytes], skipped: int) -> tuple[str | None, bytes | None]:
    """Read the lines up to the header byte by byte.

    A line ends with the first line feed or carriage return, also between quotes: no run reads a
    header of two lines, and an unmatched quote must not read the records after it.

    Args:
        read: Reads a byte.
        skipped: The number of lines before the header. A line ``sep=`` may stand after these.

    Returns:
        The delimiter that a line ``sep=`` names, if there is one. The header, which is empty if the
        file ends before it; None if a line is longer than any header.
    """
    separator: str | None = None
    end = b""
    while True:
        line, byte = bytearray(), read()
        if end == b"\r" and byte == b"\n":  # of the line before
            byte = read()
        while byte not in {b"", b"\n", b"\r"}:
            line += byte
            if len(line) > _LONGEST:
                return separator, None
            byte = read()
        end = byte
        if skipped:
            skipped -= 1
            if not end:  # what was skipped is no header
                return separator, b""
        elif (
            separator is None
            and (separator := read_separator(bytes(line).removeprefix(_BOM))) is not None
        ):
            continue
        else:
            return separator, bytes(line)


def build_unreadable_failure(file: str, reason: str, hint: str = "") -> Failure:
    """Build the failure for a file whose columns can't be read; ``reason`` shows none of it."""
    complaint = Complaint("E015", f"the columns of {file} can't be read: {reason}", hint)
    return Failure(ExitCode.SPEC, complaint)


def _read_names(file: str, line: bytes, form: Csv) -> list[Named]:
    try:
        text = line.removeprefix(_BOM).decode(form.encoding)
    except UnicodeDecodeError:
        hint = "--encoding names another: utf-8, latin-1 or cp1252"
        raise build_unreadable_failure(
            file, f"its first line is not {form.encoding}", hint
        ) from None
    # The reader of a run, so that both find the same names.
    names = split_line(text, form.delimiter, '"') if text.strip() else []
    if names is None:
        hint = "a header is one line, and its quoted fields end on that line"
        raise build_unreadable_failure(file, "its first line is not a line of CSV", hint)
    if not names:
        raise build_unreadable_failure(
            file, "its first line is empty", "the first line must be the header"
        )
    return _check_header(file, names)


def _check_header(file: str, names: Sequence[str], *, is_sheet: bool = False) -> list[Named]:
    """Refuse names that are none, as where the first line is a record; shows none of them."""
    columns: list[Named] = []
    seen: set[str] = set()
    for place, name in enumerate(names, 1):
        # An index that a program wrote has no name, nor has what follows a last delimiter. Cells
        # without a name are found by none.
        may_be_nameless = is_sheet or place in {1, len(names)}
        if not name.strip() and may_be_nameless and any(names):
            columns.append(Named("", None, "it has no name"))
            continue
        why = explain_no_name(name, seen) or (
            "looks like a value" if _VALUE.fullmatch(name) else ""
        )
        if why:
            raise _build_header_failure(file, place, why, is_sheet=is_sheet)
        seen.add(name.casefold())
        columns.append(Named(name))
    return columns


def explain_no_name(name: str, seen: set[str]) -> str:
    """Explain why no column can have the name, after those ``seen`` (casefolded); "" if it can."""
    if not name.strip():
        return "is empty"
    if "\t" in name:
        return "holds a tab (--delimiter tab takes it for the delimiter)"
    if _CONTROL.search(name):
        return "holds a control character"
    if len(name) > _LONGEST_NAME:
        return f"is longer than {_LONGEST_NAME} characters"
    return "stands there twice" if name.casefold() in seen else ""


def _build_header_failure(file: str, place: int, why: str, *, is_sheet: bool) -> Failure:
    """Build the failure for a first line that is no header, without showing it."""
    line, field = ("row", "cell") if is_sheet else ("line", "field")
    message = f"the first {line} of {file} is not a header: {field} {place} {why}"
    hint = "the first row that is not empty must hold the names of the columns" if is_sheet else ""
    return Failure(ExitCode.SPEC, Complaint("E016", message, hint))


def read_declared_columns(source: Source) -> list[Named]:
    """Read names and types of columns as the place of the data declares them; reads no record.

    Args:
        source: A source of any format but CSV; messages name its ``pattern``.

    Returns:
        The columns, with the reason for each that no spec can read.

    Raises:
        Failure: Exit code 2, if they can't be read.
    """
    from dprelease.sources.shared.source_format import list_columns

    title = source.pattern
    if not source.remote and not os.path.isfile(title):
        is_there = os.path.exists(title)
        reason = "it is not a regular file" if is_there else "there is no such file"
        raise build_unreadable_failure(title, reason)
    try:
        stored = list_columns(source)
    except Failure as failure:
        found = failure.complaints[0]
        raise build_unreadable_failure(title, found.message, found.hint) from None
    if not stored:
        raise build_unreadable_failure(title, "it has none")
    if SOURCES[source.format].naming is Naming.ROW:
        return _check_header(title, [column.name for column in stored], is_sheet=True)
    times = Counter(column.name.casefold() for column in stored)
    return [_describe(column, times) for column in stored]


def _describe(column: StoredColumn, times: Mapping[str, int]) -> Named:
    folded = column.name.casefold()
    wrong = explain_no_name(column.name, {folded} if times[folded] > 1 else set())
    why = f"its name {wrong}" if wrong else ""
    if not why and not column.is_readable:
        why = "its type can't be declared in a spec"
    zone = column.zone if column.zone in list_zones() - UTC_NAMES else None
    return Named(column.name, column.type and column.type.value, why, zone)
