"""Atomic files: written whole under another name, made durable, then put in place."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dprelease.files.system import (
    DISK_ERRORS,
    copy_mode,
    is_dead,
    is_own,
    replace_file,
    sync_directory,
)

LARGEST_TEXT = 64 * 1024 * 1024
_DRAFT = ".new-"
_MADE = re.compile(r"([0-9]+)(?:-([0-9]*)|\Z)")  # by which process, and when


@contextmanager
def open_new_file(path: str, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Open a new file for writing, and make its content durable at the end.

    Never follows a link and never overwrites. ``mode`` is subject to the umask. Raises OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # exclusive: what is a link is there
    with open(os.open(path, flags, mode), "wb") as sink:
        yield sink
        sink.flush()
        os.fsync(sink.fileno())


@contextmanager
def open_draft(path: str) -> Iterator[str]:
    """Give a name beside ``path`` to make its file under; what bears it at the end is removed."""
    draft = f"{path}{_DRAFT}{os.getpid()}-{time.time_ns()}"
    try:
        yield draft
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)


def put_file(
    path: str, content: bytes, *, mode: int = 0o600, over: bool = True, keep_mode: bool = False
) -> None:
    """Put a file in place, whole and durable on return. Raises OSError.

    Without ``over`` nothing is replaced: FileExistsError. ``keep_mode``: that of what is replaced.
    """
    with open_draft(path) as draft:
        with open_new_file(draft, mode) as sink:
            sink.write(content)
            if keep_mode and os.path.exists(path):
                copy_mode(path, sink.fileno(), draft)
        if over:
            replace_file(draft, path)
        else:
            os.link(draft, path)  # unlike a rename, it fails where something is
    sync_directory(os.path.dirname(os.path.abspath(path)))


def remove_dead_drafts(path: str) -> None:
    """Remove what processes left behind that were killed while they made this file."""
    directory, name = os.path.split(os.path.abspath(path))
    prefix = f"{name}{_DRAFT}"
    for entry in os.listdir(directory):
        match = _MADE.match(entry.removeprefix(prefix))
        if entry.startswith(prefix) and match and is_dead(int(match[1]), int(match[2] or 0)):
            draft = os.path.join(directory, entry)
            with suppress(FileNotFoundError):
                if is_own(os.lstat(draft)):
                    os.unlink(draft)


class UnwrittenError(Exception):
    """A file that was asked for can't be written; ``is_of_disk`` where no other name mends it."""

    def __init__(self, reason: str, *, is_of_disk: bool) -> None:
        super().__init__(reason)
        self.reason, self.is_of_disk = reason, is_of_disk


def save_file(file: str, content: bytes, ours: Callable[[str], bool]) -> None:
    """Write a file (mode 0600) that somebody asked for by name. Raises UnwrittenError.

    What is there is only replaced if it is a file that is ``ours`` by its text: a mistaken name
    must not cost anybody a ledger, a spec or data.
    """
    try:
        if not is_replaceable(file, ours):
            raise UnwrittenError("there is another file of that name", is_of_disk=False)
        put_file(file, content)
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else "it can't be written"
        raise UnwrittenError(reason, is_of_disk=problem.errno in DISK_ERRORS) from None


def is_replaceable(file: str, ours: Callable[[str], bool]) -> bool:
    """Whether nothing is there, or a file that is ``ours`` by its text. Raises OSError."""
    if not os.path.lexists(file):
        return True
    status = os.lstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
        return False
    try:
        return ours(Path(file).read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):  # no JSON that can be read
        return False
