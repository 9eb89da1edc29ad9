"""Columns whose values are names of folders, as Hive, Spark and others write them.

A folder ``town=New%20York`` below the place that a source names gives all records of its files the
text ``New York`` in the column ``town``. A percent sign and two hexadecimal digits stand for a
byte, also in the name of a column; ``__HIVE_DEFAULT_PARTITION__`` and an empty text are null. The
declared type decides how the text is read, like a field of CSV with ISO dates and decimal points.

Only declared columns are searched for. The names of folders are values of the data, so no message
shows one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from dprelease.files.uris import is_uri, split_options
from dprelease.model import InputColumn, Source
from dprelease.sources.shared.data_failures import build_data_failure

NULL = "__HIVE_DEFAULT_PARTITION__"
_WILD = frozenset("*?[")

Partitions = Mapping[str, Mapping[str, str | None]]
"""For each column that folders give, the text of each path."""


def find_partitions(
    source: Source, paths: Sequence[str], columns: Sequence[InputColumn]
) -> Partitions:
    """Find the wanted columns whose values are names of folders.

    Args:
        source: The source that messages name.
        paths: All files of the source.
        columns: The wanted columns.

    Returns:
        For each column found, the text of each path.

    Raises:
        Failure: Exit code 4 if only some paths have a column, or one has it twice.
    """
    pattern = source.pattern
    of_paths = {path: _list_pairs(path, pattern) for path in paths}
    partitions: dict[str, dict[str, str | None]] = {}
    for column in columns:
        name = column.name
        pairs_by_path = {
            path: [text for key, text in pairs if key == name] for path, pairs in of_paths.items()
        }
        counts = {len(texts) for texts in pairs_by_path.values()}
        if counts == {0}:
            continue
        if max(counts) > 1:
            message = f'{pattern} has a folder of column "{name}" inside of another one'
            raise build_data_failure("E406", message)
        if counts != {1}:
            message = (
                f'some files of {pattern} lie in folders of column "{name}", but others do not'
            )
            raise build_data_failure("E407", message, "write all of them in such folders, or none")
        if column.zone is not None:
            message = f'column "{name}" of {pattern} has no zone: folder names give its values'
            raise build_data_failure("E412", message, f"leave zone out of [columns.{name}]")
        partitions[name] = {path: texts[0] for path, texts in pairs_by_path.items()}
    return partitions


def check_apart(partitions: Partitions, names: Collection[str], pattern: str) -> None:
    """Refuse a column that a file has beside its folder; raises Failure(DATA)."""
    for name in partitions:
        if name in names:
            message = f'{pattern} has column "{name}" both in a file and in names of folders'
            raise build_data_failure("E406", message, "write it in one of them, or rename one")


def repeat_text(text: str | None, records: int) -> Any:
    """Repeat a text for so many records, as places in a dictionary."""
    import pyarrow as pa

    places = pa.nulls(records, pa.int32()) if text is None else pa.repeat(0, records).cast("int32")
    return pa.DictionaryArray.from_arrays(places, pa.array([text or ""], pa.string()))


def _list_pairs(path: str, pattern: str) -> list[tuple[str, str | None]]:
    """List column and text of each such folder between the place of the source and the file."""
    if path == pattern:
        return []
    path, pattern = _normalize_slashes(path), _normalize_slashes(pattern).rstrip("/")
    if path.startswith(f"{pattern}/"):
        inside = path[len(pattern) + 1 :]
    else:
        fixed = takewhile(_WILD.isdisjoint, pattern.split("/"))
        inside = "/".join(path.split("/")[len(list(fixed)) :])
    folders = (part.partition("=") for part in inside.split("/")[:-1])
    return [
        (_decode_bytes(key), None if value in (NULL, "") else _decode_bytes(value))
        for key, mark, value in folders
        if mark and key
    ]


def _normalize_slashes(path: str) -> str:
    """Decode a path, without the options of a URI, with slashes between its parts."""
    return unquote(split_options(path)[0]) if is_uri(path) else path.replace(os.sep, "/")


def _decode_bytes(text: str) -> str:
    """Decode the bytes of a text, those of the system's name of a folder too."""
    return unquote_to_bytes(os.fsencode(text)).decode("utf-8", "replace")
