"""A public codebook: what is known of each column, as a table with a line for each.

Offices publish such a table beside a questionnaire or a register. Its header names a ``column`` and
any of the keys in ``FIELDS``. Other fields are refused, so that no misspelt one is passed over.
Keys or edges of bins stand in one field with ``|`` between. A key may have its label: ``1 = Men``.
A sign such as ``<=`` belongs to the key.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import open_plain_file
from dprelease.scaffold.toml_text import quote, write_key

COLUMN, KEYS, BINS, SOURCE = "column", "keys", "bins", "source"
NUMBERS = ("lower", "upper", "step")
FIELDS = ("type", "format", "zone", *NUMBERS, KEYS, BINS, "other", "nulls", "label", SOURCE)
SEPARATORS = (",", ";", "\t")
LARGEST = 16 * 1024 * 1024  # bytes
_LABELLED = re.compile(r"(.+?) = (.+)|(.+?)(?<![<>!=])=(?!=)(.+)", re.DOTALL)
_BARE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?")
_BARE_TYPES = frozenset({"integer", "float", "decimal", "boolean"})


class Codebook(NamedTuple):
    """What a codebook says of columns: by name, the fields of its line that are not empty."""

    title: str
    columns: Mapping[str, Mapping[str, str]]


def read_codebook(path: str, names: Collection[str] | None) -> Codebook:
    """Read a codebook.

    Args:
        path: A file in UTF-8, with commas, semicolons or tabs between its fields.
        names: Names of the data's columns; None if they are not known.

    Raises:
        Failure: Exit code 2, with the line, if the file is no codebook of these columns.
    """
    title = os.path.basename(path)
    try:
        with open(open_plain_file(path), "rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode("utf-8-sig")
    except OSError as problem:
        raise _build_failure(path, None, problem.strerror or "it can't be opened") from None
    except UnicodeDecodeError:
        raise _build_failure(path, None, "it is not in UTF-8") from None
    if len(content) > LARGEST:
        raise _build_failure(path, None, f"it is larger than {LARGEST} bytes")
    columns: dict[str, Mapping[str, str]] = {}
    for line, name, fields in _iter_columns(path, text):
        if name in columns:
            raise _build_failure(path, line, f'it has column "{name}" twice')
        if names is not None and name not in names:
            raise _build_failure(path, line, f'the data has no column "{name}"')
        columns[name] = fields
    return Codebook(title, columns)


def _iter_columns(path: str, text: str) -> Iterator[tuple[int, str, Mapping[str, str]]]:
    """Iterate over the columns with the number of their line, their name and what is known."""
    first = text.partition("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        unknown = [name for name in header if name not in {COLUMN, *FIELDS}]
        if COLUMN not in header or unknown or len(set(header)) < len(header):
            reason = f"its header must have {COLUMN} and any of {', '.join(FIELDS)}, each once"
            raise _build_failure(path, 1, reason)
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            if len(row) != len(header):
                reason = f"{len(row)} fields, where the header has {len(header)}"
                raise _build_failure(path, reader.line_num, reason)
            known = {key: own.strip() for key, own in zip(header, row, strict=True) if own.strip()}
            if COLUMN not in known:
                raise _build_failure(path, reader.line_num, "a line without the name of a column")
            yield reader.line_num, known.pop(COLUMN), known
    except csv.Error:
        raise _build_failure(path, reader.line_num, "this is not a line of CSV") from None


def _build_failure(path: str, line: int | None, reason: str) -> Failure:
    place = path if line is None else f"{path}:{line}"
    return Failure(
        ExitCode.SPEC, Complaint("E019", f"the codebook can't be used: {place}: {reason}")
    )


def write_column(
    name: str, declared: Mapping[str, str], known: Mapping[str, str], title: str
) -> str:
    """Write the section of a column, of which a codebook knows something.

    Args:
        name: Its name.
        declared: Fields that the data declares, which the codebook may state otherwise.
        known: The fields of its line.
        title: Name of the codebook, the source of bounds and keys unless it states another.
    """
    known = {**declared, **known}
    is_bare = known.get("type") in _BARE_TYPES
    entries: dict[str, str] = {}
    for field in FIELDS:
        if field not in known:
            continue
        text = known[field]
        if field in (KEYS, BINS):
            parts = [part.strip() for part in text.split("|")]
            pairs = [_split_label(part) if field == KEYS else (part, "") for part in parts]
            labels = {key: label for key, label in pairs if label}
            entries[field] = f"[{', '.join(_write_value(key, is_bare) for key, _ in pairs)}]"
            if labels:
                written = (f"{write_key(key)} = {quote(label)}" for key, label in labels.items())
                entries["labels"] = f"{{ {', '.join(written)} }}"
        else:
            # A bound is a number of any type, also of one that is still to be written.
            is_number = field in NUMBERS or (field == "nulls" and is_bare)
            entries[field] = _write_value(text, is_number)
    entries.setdefault(SOURCE, quote(f"public: {title}"))
    lines = (f"{key} = {value}\n" for key, value in entries.items())
    return f"\n[columns.{write_key(name)}]\n{''.join(lines)}"


def _split_label(text: str) -> tuple[str, str]:
    """Split a key from its label at `` = ``, or else at the first sign of equality; "" if none."""
    if match := _LABELLED.fullmatch(text):
        key, label = (part for part in match.groups() if part is not None)
        return key.strip(), label.strip()
    return text, ""


def _write_value(text: str, may_be_bare: bool) -> str:
    """Write a TOML value: a number or truth as such where it may be one, else a string."""
    if may_be_bare and (_BARE.fullmatch(text) or text in {"true", "false"}):
        return text
    return quote(text)
