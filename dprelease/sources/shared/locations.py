"""Locations of files: on this machine, or at a URI that pyarrow's file systems know."""

from __future__ import annotations

import fnmatch
import io
import re
from collections.abc import Callable
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from dprelease.files.packed import decompress, detect_packing, strip_packing
from dprelease.files.uris import is_uri, split_options

_WILD = re.compile(r"[*\[]")  # a question mark begins the options of the file system


def open_binary(path: str) -> BinaryIO:
    """Open a file at any location for reading; raises OSError."""
    if not is_uri(path):
        return open(path, "rb")
    system, inside = _open_system(path)
    return cast("BinaryIO", io.BufferedReader(system.open_input_file(inside), 1 << 20))


def find_packing(path: str) -> str:
    """Find by its suffix how a file is compressed; "" if it is not."""
    return detect_packing(split_options(path)[0])


def strip_packing_suffix(path: str) -> str:
    """Strip the suffix of compression, so that packed and plain files have one name."""
    place, options = split_options(path)
    return strip_packing(place) + options


def open_unpacked(path: str, count: Callable[[int], None] | None = None) -> io.BufferedReader:
    """Open a file at any location for reading, unpacked if it is packed.

    ``count`` is told the bytes of a packed file that were read. Opening and reading raise OSError.
    """
    how, file = find_packing(path), open_binary(path)
    return decompress(file, how, count) if how else cast("io.BufferedReader", file)


def get_size(path: str) -> int:
    """Get the size of a file in bytes; raises OSError."""
    with open_binary(path) as stream:
        return stream.seek(0, io.SEEK_END)


def list_uris(pattern: str, suffixes: tuple[str, ...]) -> list[str]:
    """List the files at a URI: the file itself, a folder's files with a suffix, or a glob's.

    Only the last part of a URI may be a glob. Raises OSError if the location can't be reached.
    """
    from pyarrow import fs

    place, options = split_options(pattern)
    folder, _, last = place.rpartition("/")
    if _WILD.search(folder):
        raise OSError("only the last part of a URI may have wildcards")
    if _WILD.search(last):
        matches = _list_inside(folder, options, below=False)
        return [uri for uri, name in matches if fnmatch.fnmatchcase(name, last)]
    system, inside = _open_system(pattern)
    kind = system.get_file_info(inside).type
    if kind == fs.FileType.File:
        return [pattern]
    if kind != fs.FileType.Directory:
        return []
    return [
        uri
        for uri, name in _list_inside(place, options, below=True)
        if name.lower().endswith(suffixes) and not any(map(is_hidden, name.split("/")))
    ]


def is_hidden(name: str) -> bool:
    """Tell by its name if a file or folder in a folder of data holds no data.

    Writers name unfinished files and their notes so: ``_temporary``, ``_SUCCESS``.
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _list_inside(folder: str, options: str, *, below: bool) -> list[tuple[str, str]]:
    """List the files of a folder, and with ``below`` of those below it: URI and name of each.

    Names are quoted in URIs, because a name with ``%41`` in it would be that of another file.
    """
    from pyarrow import fs

    system, inside = _open_system(folder + options)
    start = len(inside.rstrip("/")) + 1
    files = system.get_file_info(fs.FileSelector(inside, recursive=below))
    names = sorted(file.path[start:] for file in files if file.type == fs.FileType.File)
    return [(f"{folder.rstrip('/')}/{quote(name, '/=')}{options}", name) for name in names]


def _open_system(uri: str) -> tuple[Any, str]:
    """Open the file system of a URI; return it and the path in it. Raises OSError."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        system, inside = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, ValueError, TypeError):
        raise OSError("no file system is known for this URI") from None
    return system, inside
