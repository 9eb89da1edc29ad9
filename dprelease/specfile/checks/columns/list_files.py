"""Files of values, one a line: what `keys_file` and `candidates_file` name.

The lines of a list are published, so whoever writes a spec could publish any file by naming it as
one. A list therefore lies below the folder of the spec, unless whoever runs it allows others; and
it is no part of the data, of another period of them, or of the ledger, wherever it lies. It is
opened once, and all checks are of what was opened.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dprelease.files.system import open_real
from dprelease.model import ListFile
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.complaints.spec_paths import PERIOD, is_inside, make_absolute
from dprelease.specfile.toml.tree import MAX_VALUES

Barred = tuple[str, str]  # what it is, and the pattern of its absolute path
MOST_LOOKS = 1_000_000  # at files and folders, for all lists of a spec: seconds
_LOOSE = re.compile(re.escape(PERIOD) + r"|\[.*\]")


class Lists:
    """The list files of a spec: relative paths start at ``base``, its folder.

    ``barred`` is what none of them may be; in its patterns ``{period}`` stands for any text.
    ``outside`` allows them to lie outside of the folder.
    """

    def __init__(self, base: str, barred: Sequence[Barred], outside: bool) -> None:
        self._base = base
        self._barred = barred
        self._outside = outside
        self._looks = 0
        self.files: list[ListFile] = []

    def read(self, key: str, name: str, file: str, code: str) -> Lines:
        """Read the lines of the file that a key of a column or query names, and note it as found.

        What is barred (E227) or outside of the folder (E251) is refused unread, also where a
        pattern stands for too many files to tell. Raises ``Refused``, see ``read_lines``.
        """
        path = make_absolute(self._base, file)
        try:
            real = os.path.realpath(path)
            folder = os.path.realpath(self._base)
            if not self._outside and not is_inside(folder, real):
                raise _build_outside_refusal(key, file, "lies outside the spec's folder")
            stream = open_real(real)
        except (OSError, ValueError):
            raise build_unreadable_refusal(key, path) from None
        with stream:
            try:
                self.check_opened(key, file, os.fstat(stream.fileno()), real)
            except OSError:  # a folder that goes while it is looked at
                raise build_unreadable_refusal(key, path) from None
            lines = read_lines(key, path, stream, code)
        self.files.append(ListFile(key, name, file, lines.sha256))
        return lines

    def check_opened(self, key: str, file: str, opened: os.stat_result, real: str) -> None:
        """Refuse an opened file that is barred or may lie outside. Raises ``Refused``."""
        for noun, pattern in self._barred:
            for is_it in _iter_looks(pattern, opened, real):
                if is_it:
                    hint = (
                        "the list is published: take it from a public rule, and keep it in its own "
                        "file"
                    )
                    raise Refused(f"the {key} is {noun}", hint, "E227")
                self._looks += 1
                if self._looks > MOST_LOOKS:
                    message = (
                        f"it can't be checked that the {key} is not {noun}: that may be any of"
                    )
                    hint = "name the folder that holds only the data, without **"
                    raise Refused(f"{message} more than {MOST_LOOKS} files", hint, "E227")
        if opened.st_nlink > 1 and not self._outside:
            raise _build_outside_refusal(
                key, file, "has another name (a hard link), which may lie anywhere"
            )


def _build_outside_refusal(key: str, file: str, problem: str) -> Refused:
    hint = (
        "if all of it may be published, copy it to that folder, or allow it: --allow-outside-lists"
    )
    return Refused(
        f"the {key} {show(file)} {problem}", f"{hint} (allow_outside_lists=True)", "E251"
    )


def _iter_looks(pattern: str, opened: os.stat_result, real: str) -> Iterator[bool]:
    """Say of each place of a pattern whether it is an open file, or a folder that the file is in.

    Device and inode decide, so that links don't matter, nor by which path a file was reached.
    ``real`` is its path without links: of a folder that may not be listed its parts are tried.
    Upper and lower case don't matter where a part is no literal name.
    """
    start, *parts = Path(pattern).parts
    places = [(start, tuple(parts))]
    seen = set()
    while places:
        place, rest = places.pop()
        yield False
        try:
            status = os.stat(place)
        except (OSError, ValueError):
            continue
        mark = (status.st_dev, status.st_ino, len(rest))
        if mark in seen:
            continue
        seen.add(mark)
        folder = stat.S_ISDIR(status.st_mode)
        if not rest:
            yield os.path.samestat(status, opened)
            if folder:
                yield from _iter_inside(place, opened, real)
        elif folder:
            places += _iter_next(place, rest, real)


def _iter_next(
    place: str, rest: tuple[str, ...], real: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Iterate over where a pattern goes on from a folder."""
    first, later = rest[0], rest[1:]
    pattern2 = _normalize_name(_LOOSE.sub("*", first))
    if first == "**":
        yield place, later
    if not {"*", "?"} & set(pattern2):
        yield os.path.join(place, first), later
        return
    for name in _list_names(place, real):
        if first == "**":
            yield os.path.join(place, name), rest
        elif fnmatchcase(_normalize_name(name), pattern2):
            yield os.path.join(place, name), later


def _list_names(folder: str, real: str) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except PermissionError:
        return real.split(os.sep)
    except OSError:
        return ()


def _iter_inside(folder: str, opened: os.stat_result, real: str) -> Iterator[bool]:
    yield is_inside(folder, real)
    for place, _, names in os.walk(folder):
        yield False
        for name in names:
            yield _is(os.path.join(place, name), opened)


def _is(path: str, opened: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), opened)
    except OSError:
        return False


def _normalize_name(name: str) -> str:
    """Normalize a name as file systems do that ignore case and the encoding of accents."""
    return unicodedata.normalize("NFC", name.casefold())


_MOST_BYTES = 64 * 1024 * 1024
_LONGEST = 1024 * 1024


class Lines(NamedTuple):
    """The lines of a file that are not blank, their numbers from 1 on, and the file's digest."""

    texts: Sequence[str]
    numbers: Sequence[int]
    sha256: str


def read_lines(file: str, path: str, stream: BinaryIO, code: str) -> Lines:
    """Read the lines of an open UTF-8 file that are not blank.

    ``file`` is the key of the spec that names it. No line is ever shown: the file could be the
    wrong one, and private. Of a file that holds too much only its beginning is read. Raises
    ``Refused``: E112, or ``code`` for too many lines.
    """
    texts: list[str] = []
    numbers: list[int] = []
    try:
        content = stream.read(_MOST_BYTES + 1)
        large = len(content) > _MOST_BYTES
        if large:  # the lines that are there as a whole, or else a very long one
            content = content[: content.rfind(b"\n") + 1 or None]
        lines = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="\n")
        for number, line in enumerate(lines, 1):
            if len(line) > _LONGEST:
                raise Refused(
                    f"the {file} has a very long line", "write one value per line", "E112"
                )
            if not line.isspace():
                texts.append(line.removesuffix("\n").removesuffix("\r"))
                numbers.append(number)
                if len(texts) > MAX_VALUES:
                    message = f"the {file} holds more than {MAX_VALUES} values"
                    raise Refused(message, "use fewer, such as a coarser list", code)
    except UnicodeDecodeError:
        message = f"the {file} {show(path)} is not UTF-8"
        raise Refused(message, "save it as UTF-8", "E112") from None
    except OSError:
        raise build_unreadable_refusal(file, path) from None
    if large:
        raise Refused(f"the {file} is too large", "use fewer or shorter values", "E112")
    if not texts:
        message = f"the {file} {show(path)} holds no values"
        raise Refused(message, "write one value per line", "E112")
    return Lines(texts, numbers, hashlib.sha256(content).hexdigest())


def build_unreadable_refusal(file: str, path: str) -> Refused:
    """Say that a file can't be read, and where it is looked for."""
    message = f"the {file} {show(path)} can't be read"
    hint = f"put it in {show(os.path.dirname(path))}, one value per line, in UTF-8"
    return Refused(message, hint, "E112")
