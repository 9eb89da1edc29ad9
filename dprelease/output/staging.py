"""Staging directories on the target's file system, where files are made before they are moved.

It is a hidden directory, locked as long as its process lives, so that one left behind by a
killed run is told from one in use. Its manifest names the files that are being published: a
later run knows by it which half-published files are ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from dprelease.files.atomic import open_new_file
from dprelease.files.system import close_lock, is_own, lock, open_lock, sync_directory
from dprelease.model import StoredTable

Content = bytes | StoredTable
"""What a file holds; a large one is copied from where it is stored."""

_MANIFEST = "manifest.json"
_CONTENT = "content"
_TRIES = 5


class Staging(Struct, frozen=True):
    """A staging directory of ours; ``content`` is the directory of its files."""

    path: str
    content: str

    def write(self, files: Mapping[str, Content]) -> None:
        """Write the files durably. Raises OSError; what was written by then is removed later."""
        folders = {os.path.dirname(name) for name in files} - {""}
        for folder in folders:
            os.mkdir(os.path.join(self.content, folder))
        for name, content in files.items():
            path = os.path.join(self.content, name)
            if isinstance(content, bytes):
                with open_new_file(path, 0o644) as sink:
                    sink.write(content)
            else:
                copy_file(content, path, 0o644)
        for folder in folders:
            sync_directory(os.path.join(self.content, folder))
        sync_directory(self.content)

    def write_beside(self, name: str, content: bytes) -> str:
        """Write a file that is not part of the release, durably, and return its path."""
        path = os.path.join(self.path, name)
        with open_new_file(path, 0o644) as sink:
            sink.write(content)
        sync_directory(self.path)
        return path

    def note(self, names: Iterable[str]) -> None:
        """Write the manifest, durably."""
        with open_new_file(os.path.join(self.path, _MANIFEST)) as sink:
            sink.write(json.dumps(sorted(names)).encode("ascii"))
        sync_directory(self.path)


@contextmanager
def stage(directory: str, prefix: str) -> Iterator[Staging]:
    """Create a staging directory inside a folder; remove it at the end.

    Args:
        directory: The folder; it must exist.
        prefix: Prefix of the directory's name.

    Yields:
        The locked staging directory.

    Raises:
        OSError: It can't be created.
    """
    path, handle = _create_locked(directory, prefix)
    content = os.path.join(path, _CONTENT)
    is_done = False
    try:
        os.mkdir(content)  # becomes the target itself, so its mode is left to the umask
        yield Staging(path, content)
        is_done = True
    finally:
        noted = os.path.lexists(os.path.join(path, _MANIFEST))
        # After an error the manifest stays: files may have been moved into place already, and it
        # says which are ours. What can't be removed now is removed by the next run.
        shutil.rmtree(content if noted and not is_done else path, ignore_errors=True)
        close_lock(handle, path)


def read_noted_names(directory: str, prefix: str) -> set[str]:
    """Read the file names in manifests of staging directories inside a folder."""
    names: set[str] = set()
    for folder in _list_ours(directory, prefix):
        try:
            with open(os.path.join(folder, _MANIFEST), "rb") as source:
                content = json.load(source)
        except (OSError, ValueError, RecursionError):
            continue  # killed before it was whole: then nothing was moved yet
        if isinstance(content, list):
            names.update(name for name in content if isinstance(name, str))
    return names


def remove_leftovers(directory: str, prefix: str) -> None:
    """Remove staging directories whose process is gone; those in use stay.

    Args:
        directory: The folder that holds them.
        prefix: Prefix of their names.
    """
    for folder in _list_ours(directory, prefix):
        try:
            handle = open_lock(folder)
        except OSError:
            continue  # gone meanwhile, or not for us to open
        try:
            lock(handle)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # in use
        finally:
            close_lock(handle, folder)


def copy_file(stored: StoredTable, path: str, mode: int) -> None:
    """Copy a stored table into a new file, durably.

    Args:
        stored: The stored table, with its path and SHA-256.
        path: Path of the new file.
        mode: Its permission bits.

    Raises:
        OSError: The copy failed, or the content has another SHA-256.
    """
    digest = hashlib.sha256()
    with open(stored.path, "rb") as source, open_new_file(path, mode) as sink:
        while chunk := source.read(1 << 20):
            digest.update(chunk)
            sink.write(chunk)
    if digest.hexdigest() != stored.sha256:
        raise OSError("a stored table was changed while it was copied")


def _create_locked(directory: str, prefix: str) -> tuple[str, int]:
    """Create and lock a directory that only this user can read; return path and handle."""
    for _ in range(_TRIES):
        path = os.path.join(directory, f"{prefix}{os.getpid()}-{time.time_ns()}")
        os.mkdir(path, 0o700)
        try:
            handle = open_lock(path)
        except FileNotFoundError:
            continue  # another run took it for a leftover before it was locked
        if _lock(handle) and os.path.lexists(path):
            return path, handle
        close_lock(handle, path)
    raise BlockingIOError("staging directories keep disappearing")


def _lock(handle: int) -> bool:
    try:
        lock(handle)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks on this file system: then nobody can take ours for a leftover
    return True


def _list_ours(directory: str, prefix: str) -> list[str]:
    """List folders in ``directory`` that begin with the prefix and belong to this user."""
    with os.scandir(directory) as entries:
        names = [entry for entry in entries if entry.name.startswith(prefix)]
    return [
        entry.path
        for entry in names
        if entry.is_dir(follow_symlinks=False) and _is_mine(entry.path)
    ]


def _is_mine(path: str) -> bool:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_own(status)
