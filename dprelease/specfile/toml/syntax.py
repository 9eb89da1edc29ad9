"""The spec file read and its TOML parsed; every way this can fail is a complaint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from decimal import Decimal, InvalidOperation
from typing import IO, NamedTuple, NoReturn

import tomli

from dprelease.errors import Complaint, ExitCode, Failure, Place
from dprelease.model.source_registry import SUFFIXES
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.places import Marks
from dprelease.specfile.toml.positions import Lost, find_positions
from dprelease.specfile.toml.tree import MAX_DEPTH

MAX_BYTES = 4 * 1024 * 1024
MAX_KEYS = 50_000  # each is checked and may be complained of: more would take too long
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
# Suffixes that no spec has; a text file can be one.
_DATA = (*(SUFFIXES.keys() - {".txt"}), ".gz", ".zst", ".zip", ".sqlite", ".db")
_TWICE = ("Cannot overwrite", "Cannot declare", "Duplicate inline table key", "Cannot mutate")
_UNREAD: dict[type[Exception], tuple[str, str]] = {
    FileNotFoundError: ("there is no such file", "check the path of the spec"),
    IsADirectoryError: ("this is a directory", "name the TOML file in it"),
    PermissionError: ("no permission to read the spec", "check the file's permissions"),
}
# Rarely needed: compiled when they are.
_EXPONENT = r"(?P<front>[^eE]*)[eE](?P<sign>[+-]?)0*(?P<digits>[0-9]*)"
_INLINE_KEY = r"inline table key '(.+)'"
_LONG_INTEGER = r"[0-9][0-9_]{4000,}"


class Document(NamedTuple):
    """A parsed spec: its tree and where everything in it stands."""

    file: str
    tree: Mapping[str, object]
    marks: Marks


def read_document(file: str, stream: IO[bytes] | None = None) -> Document:
    """Read and parse a spec file, or the open ``stream`` in its place.

    Raises ``Failure`` with exit code 2.
    """
    text = _decode(file, _read(file, stream))
    tree = _parse(file, text)
    if _has_more_keys(tree, MAX_KEYS):
        hint = "split it into several releases"
        _fail(Place(file, 1, 1), "E008", f"the spec has more than {MAX_KEYS} keys", hint)
    try:
        marks = find_positions(text)
    except (Lost, RecursionError):
        # The parser took the text, so the spec is usable: only the places are lost.
        marks = Marks([0])
    deep = next((path for path in marks if len(path) > MAX_DEPTH), None)
    if deep is not None:
        _refuse_depth(Place(file, *marks[deep].key))
    return Document(file, tree, marks)


def read_decimal(text: str) -> Decimal:
    """Read a TOML float exactly; exponents beyond any Decimal become huge or tiny ones."""
    plain = text.replace("_", "")
    try:
        return Decimal(plain)
    except InvalidOperation:
        match = re.fullmatch(_EXPONENT, plain)
        if match is None:
            return Decimal("NaN")
        # Only the order of magnitude matters now: such a number is refused wherever it stands.
        return Decimal(f"{match['front'][:20]}e{match['sign']}99999999")


def _read(file: str, opened: IO[bytes] | None) -> bytes:
    if file.lower().endswith(_DATA):
        # Not even opened: complaints about its text would show what is in it.
        message = "this is the name of a data file, not of a spec"
        _fail(Place(file, 1, 1), "E007", message, "name the TOML file")
    try:
        with nullcontext(opened) if opened is not None else open(file, "rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        unread = ("the spec can't be read", "check the path of the spec")
        _fail(Place(file, 1, 1), "E007", *_UNREAD.get(type(problem), unread))
    if len(content) > MAX_BYTES:
        _fail(Place(file, 1, 1), "E008", f"the spec is larger than {MAX_BYTES} bytes")
    return content


def _decode(file: str, content: bytes) -> str:
    if content.startswith(_BOMS):
        _fail(Place(file, 1, 1), "E006", "the spec starts with a byte order mark")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        place = Place(file, *_find_spot(before, len(before)))
        _fail(place, "E005", "the spec is not UTF-8 here")


def _parse(file: str, text: str) -> Mapping[str, object]:
    try:
        return tomli.loads(text, parse_float=read_decimal)
    except tomli.TOMLDecodeError as error:
        _explain(file, error)
    except RecursionError:
        _refuse_depth(Place(file, 1, 1))
    except ValueError:
        # Python refuses to read integers of thousands of digits.
        match = re.search(_LONG_INTEGER, text)
        spot = _find_spot(text, match.start()) if match else (1, 1)
        _fail(Place(file, *spot), "E003", "this number has too many digits")


def _has_more_keys(tree: Mapping[str, object], limit: int) -> bool:
    """Say whether the tables of a tree hold more keys than that, whatever its depth."""
    # A stack in place of recursion: the depth is checked later, where places are known.
    remaining: list[object] = [tree]
    while remaining and limit >= 0:
        content = remaining.pop()
        if isinstance(content, dict):
            limit -= len(content)
            remaining.extend(value for value in content.values() if isinstance(value, dict | list))
        elif isinstance(content, list):
            remaining.extend(value for value in content if isinstance(value, dict | list))
    return limit < 0


def _explain(file: str, error: tomli.TOMLDecodeError) -> NoReturn:
    # Text that breaks off can put the parser's position behind its end.
    doc, at = error.doc, min(error.pos, len(error.doc))
    if error.msg.startswith(_TWICE):
        start = _find_statement(doc, at, error.msg)
        key = doc[start:].split("\n", 1)[0].split("=", 1)[0].strip()
        _fail(Place(file, *_find_spot(doc, start)), "E002", f"{show(key)} is defined twice")
    line_start = doc.rfind("\n", 0, at) + 1
    before = doc[line_start:at]
    rest = doc[at:].split("\n", 1)[0].strip()
    message, hint = error.msg, "see toml.io for the syntax of TOML"
    if error.msg == "Invalid value" and "=" in before:
        message, hint = _describe_invalid_value(before, rest)
    elif error.msg == 'Expected "\'"':
        at = max(doc.rfind("'", 0, at), 0)
        message, hint = "the text is not closed", "end it with a `'`"
    elif error.msg.startswith("Illegal character '\\n'"):
        message, hint = "the text is not closed on its line", 'end it with a `"`'
    elif error.msg.startswith("Illegal character"):
        message, hint = error.msg, "remove it, or write it as an escape"
    _fail(Place(file, *_find_spot(doc, at)), "E001", message, hint)


def _describe_invalid_value(before: str, rest: str) -> tuple[str, str]:
    text = show(before.lstrip())[1:-1]
    if not rest or rest.startswith("#"):
        if before.rstrip().endswith("="):
            return (
                f'Invalid value: `{text}` has nothing after "="',
                "write a value, or remove the key",
            )
        return f"Invalid value: `{text}` is incomplete", "write the rest of the value"
    return (
        f"Invalid value: `{text}` is followed by {show(rest)}, which is not a TOML value",
        'write texts in quotes: "..."',
    )


def _find_statement(doc: str, at: int, message: str) -> int:
    """Find the start of the statement whose reading ended at ``at``."""
    end = len(doc[:at].rstrip("\n"))
    start = doc.rfind("\n", 0, end) + 1
    if inline_key := re.search(_INLINE_KEY, message):
        pairs = re.finditer(rf"[\"']?{re.escape(inline_key[1])}[\"']?\s*=", doc[start:end])
        return start + max((pair.start() for pair in pairs), default=0)
    return start + len(doc[start:end]) - len(doc[start:end].lstrip())


def _find_spot(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def _refuse_depth(place: Place) -> NoReturn:
    _fail(place, "E004", f"values or keys are nested more than {MAX_DEPTH} levels deep")


def _fail(place: Place, code: str, message: str, hint: str = "") -> NoReturn:
    raise Failure(ExitCode.SPEC, Complaint(code, message, hint, place)) from None
