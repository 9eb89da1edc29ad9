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

    Args:
        path: Must not exist; a link is neither followed nor replaced.
        mode: Permissions, subject to the umask.

    Raises:
        OSError: Something is at the path, or it can't be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # exclusive: what is a link is there
    with open(os.open(path, flags, mode), "wb") as sink:
        yield sink
        sink.flush()
        os.fsync(sink.fileno())


@contextmanager
def open_draft(path: str) -> Iterator[str]:
    """Name a temporary file beside ``path``; delete it at the end if it is still there."""
    draft = f"{path}{_DRAFT}{os.getpid()}-{time.time_ns()}"
    try:
        yield draft
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)


def put_file(
    path: str, content: bytes, *, mode: int = 0o600, over: bool = True, keep_mode: bool = False
) -> None:
    """Put a file in place, whole and durable on return.

    Args:
        path: Where the file goes.
        content: Its bytes.
        mode: Permissions, subject to the umask.
        over: Replace an existing file; else FileExistsError.
        keep_mode: Give the file the mode of the one that it replaces.

    Raises:
        OSError: The file can't be written.
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
    """Remove drafts of this file whose processes were killed. Raises OSError."""
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
    """A requested file can't be written; ``is_of_disk``: another name would not help."""

    def __init__(self, reason: str, *, is_of_disk: bool) -> None:
        super().__init__(reason)
        self.reason, self.is_of_disk = reason, is_of_disk


def save_file(file: str, content: bytes, ours: Callable[[str], bool]) -> None:
    """Write a file that a user named, with mode 0600.

    Args:
        file: Its path.
        content: Its bytes.
        ours: Tells by its text if an existing file may be replaced.

    Raises:
        UnwrittenError: Another file is there, or the disk refuses.
    """
    try:
        # A mistaken name must not cost anybody a ledger, a spec or data.
        if not is_replaceable(file, ours):
            raise UnwrittenError("another file has that name", is_of_disk=False)
        put_file(file, content)
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else "it can't be written"
        raise UnwrittenError(reason, is_of_disk=problem.errno in DISK_ERRORS) from None


def is_replaceable(file: str, ours: Callable[[str], bool]) -> bool:
    """Tell if nothing is there, or a file that is ``ours`` by its text. Raises OSError."""
    if not os.path.lexists(file):
        return True
    status = os.lstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
        return False
    try:
        return ours(Path(file).read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):  # no JSON that can be read
        return False
