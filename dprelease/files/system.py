"""What differs between operating systems: locks, folders, how a plain file is opened; threads.

Linux and macOS have what POSIX has. Windows opens no folder, has no lock on one, and neither moves
nor removes what is open: there a lock is on an empty file that stands beside what it is for.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from threading import Thread

try:
    import fcntl

    POSIX = True
except ImportError:
    import msvcrt

    POSIX = False

DISK_ERRORS = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE", "EFBIG", "ESTALE")
    if hasattr(errno, name)  # Windows has not all of them
)
"""Error numbers of a disk or process, which no change of the spec mends."""

_PATIENCE = 2.0  # seconds, with a file that somebody reads
_NOTICED = 0.25  # seconds, until a wait notices Ctrl-C in any case
_DAY = 86_400_000_000_000  # nanoseconds


def _list_flags(*names: str) -> int:
    """Combine the flags of opening that the system has."""
    return sum(getattr(os, name, 0) for name in names)


# A pipe is not waited for, and Windows changes no line ends.
_READ = os.O_RDONLY | _list_flags("O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
_NO_LINK = _list_flags("O_NOFOLLOW")
# O_PATH, where there is one: a folder on the way need not be readable.
_FOLDER = _list_flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_PATH")


# --- locks ---------------------------------------------------------------------------------------


def open_lock(path: str, name: str | None = None) -> int:
    """Open the lock of a file or folder, links not followed.

    Args:
        path: The file or folder, which is its own lock on POSIX.
        name: The name that it has or will have; on Windows the lock is an empty file beside it.

    Raises:
        OSError: The lock can't be opened.
    """
    if POSIX:
        return os.open(path, _READ | _NO_LINK)
    return os.open(f"{name or path}.lock", os.O_RDWR | os.O_CREAT, 0o600)


def lock(handle: int) -> None:
    """Take an opened lock; closing it or the end of the process releases it.

    Raises:
        BlockingIOError: Another process has it.
        OSError: The file system has no locks.
    """
    if POSIX:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except PermissionError:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None


def close_lock(handle: int, path: str) -> None:
    """Close the lock of a path, and release it if it was taken."""
    os.close(handle)
    if not POSIX:
        with suppress(OSError):  # another process has it: what is open is not removed
            os.unlink(f"{path}.lock")


# --- files and folders ---------------------------------------------------------------------------


def open_plain(path: str | Path, *, follow: bool = True) -> BufferedReader:
    """Open a plain file for reading; see ``open_plain_file``."""
    return open(open_plain_file(path, follow=follow), "rb")


def open_plain_file(path: str | Path, *, follow: bool = True) -> int:
    """Open a plain file for reading: no pipe, which could wait, and no device.

    Args:
        path: Path of the file.
        follow: Follow a link at the end of the path; else refuse it.

    Returns:
        The file's descriptor.

    Raises:
        OSError: It can't be opened, or is not a plain file.
    """
    if not follow and os.path.islink(path):  # where the system doesn't tell when it opens it
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return _check_plain(os.open(path, _READ if follow else _READ | _NO_LINK))


def open_real(real: str) -> BufferedReader:
    """Open a plain file by its path without links. What turns into a link is not followed.

    Windows opens no folder: there the path is looked at again with the file open. Raises OSError.
    """
    if not POSIX:
        file = open_plain(real, follow=False)
        if os.path.realpath(real) == real:
            return file
        file.close()
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    handle = os.open(os.sep, _FOLDER)
    *folders, name = real.strip(os.sep).split(os.sep)
    for folder in folders:
        try:
            inner = os.open(folder, _FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    try:
        return open(_check_plain(os.open(name, _READ | _NO_LINK, dir_fd=handle)), "rb")
    finally:
        os.close(handle)


def _check_plain(handle: int) -> int:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return handle


def sync_directory(directory: str) -> None:
    """Make the names in a directory durable where the system can. Raises OSError."""
    if not POSIX:
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(source: str, target: str) -> None:
    """Rename a file over another one.

    Args:
        source: The file.
        target: Its new path; what bears that name is replaced.

    Raises:
        OSError: It can't be renamed.
    """
    # Windows refuses as long as somebody reads the target, so it is tried for two seconds there.
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            os.replace(source, target)
        except PermissionError:
            if POSIX or time.monotonic() > end:
                raise
            time.sleep(_PATIENCE / 40)
        else:
            return


def copy_mode(source: str, handle: int, target: str) -> None:
    """Give an open file, which is at ``target``, the mode of another one. Raises OSError."""
    mode = stat.S_IMODE(os.stat(source).st_mode)
    os.chmod(handle if os.chmod in os.supports_fd else target, mode)


# --- threads and processes -----------------------------------------------------------------------


class NoMoreThreads(MemoryError):
    """The system starts no more threads: for want of memory, too, so that it counts as that."""


def start(thread: Thread) -> None:
    """Start a new thread. Raises NoMoreThreads.

    Ctrl-C can come while it waits for the thread to run, which then runs all the same: what tells
    the thread to end must be called then, too, and ``wait_for`` after it.
    """
    try:
        thread.start()
    except RuntimeError:
        raise NoMoreThreads from None


def wait_for(thread: Thread, seconds: float | None = None) -> None:
    """Wait for the end of a thread, if ``start`` has come so far that it runs.

    Ctrl-C ends the wait within ``_NOTICED`` seconds. A library in the same process, such as polars,
    may have system calls go on after a signal: one long wait would then be waited for to its end.
    """
    until = None if seconds is None else time.monotonic() + seconds
    while thread.is_alive():
        left = _NOTICED if until is None else min(_NOTICED, until - time.monotonic())
        if left <= 0:
            return
        thread.join(left)


def is_own(status: os.stat_result) -> bool:
    """Tell if a file belongs to this user; True where the system does not say."""
    return not POSIX or status.st_uid == os.geteuid()


def is_dead(process: int, seen: int) -> bool:
    """Tell if the process that was seen at a time, in nanoseconds, has ended."""
    if not POSIX:
        # On Windows os.kill would send a signal; there a process counts as ended after a day.
        return time.time_ns() - seen > _DAY
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False  # another user's, or no process number at all: not ours to judge
    return False
