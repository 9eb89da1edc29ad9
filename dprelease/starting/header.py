"""The first line of a CSV file, and not one byte more."""

from __future__ import annotations

import csv
import os
import re
import stat
from collections.abc import Sequence
from typing import NamedTuple

from dprelease.errors import Complaint, ExitCode, Failure

_LONGEST = 1 << 20
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_VALUE = re.compile(  # a number, a date, a time: what a name is not
    r"\s*([+-]?[0-9][0-9.,_' ]*([eE][+-]?[0-9]+)?%?|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}.*"
    r"|(true|false|null|none|nan|n/a)|\S+@\S+\.\S+)\s*",
    re.IGNORECASE,
)


class Named(NamedTuple):
    """A column's name, and its type where the file itself declares one."""

    name: str
    type: str | None = None
    readable: bool = True


class Csv(NamedTuple):
    """How the header is written; declared, never guessed."""

    delimiter: str = ","
    encoding: str = "utf-8"


def csv_columns(file: str, written: Csv) -> list[Named]:
    """The columns that the first line names. Raises Failure (exit code 2)."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise unreadable(file, "it is no file")
            line = first_line(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise unreadable(file, problem.strerror or "it can't be opened") from None
    if line is None:
        raise unreadable(file, f"its first line is longer than {_LONGEST} bytes")
    return [Named(name) for name in _names(file, line, written)]


def first_line(descriptor: int) -> bytes | None:
    """The first line without its end, read byte by byte; None if it is too long to be a header.

    A line feed between quotes is part of it.
    """
    line = bytearray()
    quoted = False
    while byte := os.read(descriptor, 1):
        if byte == b"\n" and not quoted:
            break
        quoted ^= byte == b'"'
        line += byte
        if len(line) > _LONGEST:
            return None
    return bytes(line.removesuffix(b"\r"))


def unreadable(file: str, reason: str) -> Failure:
    """Say that the columns of a file can't be read."""
    hint = "name one CSV or Parquet file; its path can become a glob or a folder afterwards"
    return Failure(ExitCode.SPEC, Complaint("E015", f"no columns of {file}: {reason}", hint))


def _names(file: str, line: bytes, written: Csv) -> Sequence[str]:
    try:
        text = line.decode(written.encoding).removeprefix("\ufeff")
        rows = list(csv.reader([text], delimiter=written.delimiter, strict=True))
    except (UnicodeDecodeError, LookupError):
        raise unreadable(file, f"its first line is not {written.encoding}") from None
    except csv.Error:
        raise unreadable(file, "its first line is no line of CSV") from None
    names = rows[0] if len(rows) == 1 else []
    if not names:
        raise unreadable(file, "its first line is empty")
    seen: set[str] = set()
    for place, name in enumerate(names, 1):
        why = _no_name(name, seen)
        if why:
            raise _no_header(file, place, why)
        seen.add(name.casefold())
    return names


def _no_name(name: str, seen: set[str]) -> str:
    if not name.strip():
        return "is empty"
    if _CONTROL.search(name):
        return "holds a control character"
    if _VALUE.fullmatch(name):
        return "looks like a value"
    return "stands there twice" if name.casefold() in seen else ""


def _no_header(file: str, place: int, why: str) -> Failure:
    """Say that the first line is no header, and nothing of what it holds: it may be a record."""
    message = f"the first line of {file} is no header: field {place} {why}"
    hint = "--no-header writes a spec in which you name the columns; that opens no data"
    return Failure(ExitCode.SPEC, Complaint("E016", message, hint))
