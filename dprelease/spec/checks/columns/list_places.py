"""Which file a list of values is: it is opened once, and all checks are of what was opened.

The lines of a list are published, so whoever writes a spec could publish any file by naming it as
one. A list therefore lies below the folder of the spec, unless whoever runs it allows others; and
it is no part of the data, of another period of them, or of the ledger, wherever it lies.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import BinaryIO

from dprelease.model import ListFile
from dprelease.spec.checks.columns.list_files import Lines, read_lines, unreadable
from dprelease.spec.checks.files.paths import absolute, holds
from dprelease.spec.checks.files.sources import PERIOD
from dprelease.spec.complaints.quoting import show
from dprelease.spec.toml.numbers import Refused

Barred = tuple[str, str]  # what it is, and the pattern of its absolute path

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# O_PATH, where there is one: a folder on the way need not be readable.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_MOST_LOOKS = 1_000_000  # at files and folders, for all lists of a spec: seconds
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
        self.found: list[ListFile] = []

    def read(self, key: str, name: str, file: str, code: str) -> Lines:
        """Read the lines of the file that a key of a column or query names, and note it as found.

        What is barred (E227) or outside of the folder (E251) is refused unread, also where a
        pattern stands for too many files to tell. Raises ``Refused``, see ``read_lines``.
        """
        path = absolute(self._base, file)
        try:
            real = os.path.realpath(path)
            if not self._outside and not _is_below(os.path.realpath(self._base), real):
                raise _outside(key, file, "lies outside of the spec's folder")
            stream = _opened(real)
        except (OSError, ValueError):
            raise unreadable(key, path) from None
        with stream:
            try:
                self._check(key, file, os.fstat(stream.fileno()), real)
            except OSError:  # a folder that goes while it is looked at
                raise unreadable(key, path) from None
            lines = read_lines(key, path, stream, code)
        self.found.append(ListFile(key, name, file, lines.sha256))
        return lines

    def _check(self, key: str, file: str, found: os.stat_result, real: str) -> None:
        for what, pattern in self._barred:
            for is_it in _looks(pattern, found, real):
                if is_it:
                    hint = (
                        "what a list holds is published: take it from a public rule, in its own "
                        "file"
                    )
                    raise Refused(f"the {key} is {what}", hint, "E227")
                self._looks += 1
                if self._looks > _MOST_LOOKS:
                    message = f"whether the {key} is {what} can't be told: that may be any of"
                    hint = "name the folder that the data have for themselves, without **"
                    raise Refused(f"{message} more than {_MOST_LOOKS} files", hint, "E227")
        if found.st_nlink > 1 and not self._outside:
            raise _outside(key, file, "has another name (a hard link), which may lie anywhere")


def _outside(key: str, file: str, what: str) -> Refused:
    hint = (
        "if all of it may be published, copy it to that folder, or allow it: --allow-outside-lists"
    )
    return Refused(f"the {key} {show(file)} {what}", f"{hint} (allow_outside_lists=True)", "E251")


def _is_below(folder: str, path: str) -> bool:
    return os.path.commonpath([folder, path]) == folder


def _opened(real: str) -> BinaryIO:
    """Open a plain file by its path without links. What turns into a link is not followed."""
    handle = os.open(os.sep, _FOLDER)
    *folders, name = real.strip(os.sep).split(os.sep)
    for folder in folders:
        try:
            inner = os.open(folder, _FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    try:
        file = os.open(name, _FILE, dir_fd=handle)
    finally:
        os.close(handle)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return open(file, "rb")
    os.close(file)
    raise OSError("no file: a pipe would be waited for")


def _looks(pattern: str, found: os.stat_result, real: str) -> Iterator[bool]:
    """Say of each place of a pattern whether it is an open file, or a folder that the file is in.

    Device and inode decide, so that links don't matter, nor by which path a file was reached.
    ``real`` is its path without links: of a folder that may not be listed its parts are tried.
    Upper and lower case don't matter where a part is no literal name.
    """
    left = [(os.sep, tuple(pattern.strip(os.sep).split(os.sep)))]
    seen = set()
    while left:
        place, rest = left.pop()
        yield False
        try:
            status = os.stat(place)
        except (OSError, ValueError):
            continue
        here = (status.st_dev, status.st_ino, len(rest))
        if here in seen:
            continue
        seen.add(here)
        folder = stat.S_ISDIR(status.st_mode)
        if not rest:
            yield os.path.samestat(status, found)
            if folder:
                yield from _inside(place, found, real)
        elif folder:
            left += _next(place, rest, real)


def _next(place: str, rest: tuple[str, ...], real: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where a pattern goes on from a folder."""
    first, later = rest[0], rest[1:]
    wanted = _plain(_LOOSE.sub("*", first))
    if first == "**":
        yield place, later
    if not {"*", "?"} & set(wanted):
        yield os.path.join(place, first), later
        return
    for name in _names(place, real):
        if first == "**":
            yield os.path.join(place, name), rest
        elif fnmatchcase(_plain(name), wanted):
            yield os.path.join(place, name), later


def _names(folder: str, real: str) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except PermissionError:
        return real.split(os.sep)
    except OSError:
        return ()


def _inside(folder: str, found: os.stat_result, real: str) -> Iterator[bool]:
    yield holds(folder, real)
    for place, _, names in os.walk(folder):
        yield False
        for name in names:
            yield _is(os.path.join(place, name), found)


def _is(path: str, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), found)
    except OSError:
        return False


def _plain(name: str) -> str:
    """A name as file systems compare it that mind neither case nor how accents are encoded."""
    return unicodedata.normalize("NFC", name.casefold())
