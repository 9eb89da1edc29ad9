"""Names of the columns of a file: a CSV file's first line, or a schema with types."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.csv_line import split_line
from dprelease.files.packed import decompress, detect_packing
from dprelease.files.system import open_plain_file

if TYPE_CHECKING:
    import pyarrow

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
    """A column's name, its type where the file itself declares one, and why no spec can read it."""

    name: str
    type: str | None = None
    unread: str = ""


class Csv(NamedTuple):
    """How the header is written; declared, never guessed."""

    delimiter: str = ","
    encoding: str = "utf-8"


def read_csv_columns(file: str, form: Csv) -> list[Named]:
    """The columns that the first line names. Raises Failure (exit code 2)."""
    try:
        descriptor = open_plain_file(file)
        try:
            if how := detect_packing(file):
                with decompress(os.fdopen(descriptor, "rb", closefd=False), how) as stream:
                    line = read_first_line(lambda: stream.read(1))
            else:
                line = read_first_line(lambda: os.read(descriptor, 1))
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise build_unreadable_failure(
            file, problem.strerror or _CLOSED[bool(detect_packing(file))]
        ) from None
    if line is None:
        raise build_unreadable_failure(file, f"its first line is longer than {_LONGEST} bytes")
    return [Named(name) for name in _read_names(file, line, form)]


def read_first_line(read: Callable[[], bytes]) -> bytes | None:
    """The first line without its end, by reading byte by byte; None if it is no header's length.

    It ends with the first line feed or carriage return, between quotes too: a header in two lines
    is read by no run, and a lone quote must not draw the records after it in here.
    """
    line = bytearray()
    while (byte := read()) not in {b"", b"\n", b"\r"}:
        line += byte
        if len(line) > _LONGEST:
            return None
    return bytes(line)


def build_unreadable_failure(file: str, reason: str, hint: str = "") -> Failure:
    """Say that the columns of a file can't be read."""
    usual = "name one CSV, Parquet or Arrow file; its path can become a glob or a folder afterwards"
    complaint = Complaint("E015", f"the columns of {file} can't be read: {reason}", hint or usual)
    return Failure(ExitCode.SPEC, complaint)


def _read_names(file: str, line: bytes, form: Csv) -> Sequence[str]:
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
    seen: set[str] = set()
    for place, name in enumerate(names, 1):
        why = explain_no_name(name, seen) or (
            "looks like a value" if _VALUE.fullmatch(name) else ""
        )
        if why:
            raise _build_header_failure(file, place, why)
        seen.add(name.casefold())
    return names


def explain_no_name(name: str, seen: set[str]) -> str:
    """Why no column of a spec can have the name, after those ``seen`` (casefolded); or nothing."""
    if not name.strip():
        return "is empty"
    if "\t" in name:
        return "holds a tab (--delimiter tab takes it for the delimiter)"
    if _CONTROL.search(name):
        return "holds a control character"
    if len(name) > _LONGEST_NAME:
        return f"is longer than {_LONGEST_NAME} characters"
    return "stands there twice" if name.casefold() in seen else ""


def _build_header_failure(file: str, place: int, why: str) -> Failure:
    """Say that the first line is no header, and nothing of what it holds: it may be a record."""
    message = f"the first line of {file} is not a header: field {place} {why}"
    hint = (
        "--no-header opens no data, and writes a spec in which you name the columns; if the line "
        "is a header all the same, take `header = false` out there"
    )
    return Failure(ExitCode.SPEC, Complaint("E016", message, hint))


def read_typed_columns(file: str, form: str) -> list[Named]:
    """The columns that the schema declares; no record is read. Raises Failure (exit code 2)."""
    if os.path.exists(file) and not os.path.isfile(file):
        raise build_unreadable_failure(file, "it is not a regular file")
    try:
        schema = _read_schema(file, form)
    except FileNotFoundError:
        raise build_unreadable_failure(file, "there is no such file") from None
    except (OSError, ValueError):
        raise build_unreadable_failure(file, f"it does not hold {form.capitalize()} data") from None
    if not schema.names:
        raise build_unreadable_failure(file, "it has none")
    times = Counter(name.casefold() for name in schema.names)
    columns = []
    for field in schema:
        twice = {field.name.casefold()} if times[field.name.casefold()] > 1 else set()
        kind, wrong = _choose_type(field.type), explain_no_name(field.name, twice)
        why = (
            f"its name {wrong}" if wrong else "" if kind else "its type can't be declared in a spec"
        )
        columns.append(Named(field.name, kind, why))
    return columns


def _read_schema(file: str, form: str) -> pyarrow.Schema:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "parquet":
        return pq.read_schema(file)
    with pa.OSFile(file) as opened, pa.ipc.open_file(opened) as reader:
        return reader.schema


def _choose_type(kind: pyarrow.DataType) -> str | None:
    import pyarrow.types as of

    tests = (
        (of.is_boolean, "boolean"),
        (of.is_integer, "integer"),
        (of.is_floating, "float"),
        (of.is_decimal128, "decimal"),
        (of.is_string, "string"),
        (of.is_large_string, "string"),
        (of.is_string_view, "string"),
        (of.is_date, "date"),
        (of.is_timestamp, "timestamp"),
    )
    if of.is_dictionary(kind):
        return _choose_type(kind.value_type)
    return next((name for test, name in tests if test(kind)), None)
