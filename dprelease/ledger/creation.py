"""Making a new ledger file: whole or not at all, and private to the user."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from dprelease.ledger.messages import bad_place, disk_trouble, translated
from dprelease.ledger.schema import lay_out

DRAFT = ".new-"


def create(path: str, wait: float) -> None:
    """A new empty ledger, laid out under another name and linked into place.

    So an empty or half-made file is never a ledger of ours, and of several processes that
    create it at once one wins and the others use the winner's.
    """
    with place_errors(path):
        draft = f"{path}{DRAFT}{os.getpid()}-{time.time_ns()}"
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            _lay_out_draft(draft, path, wait)
            _link(draft, path)
        finally:
            os.unlink(draft)
        sync_directory(os.path.dirname(os.path.abspath(path)))


def remove_dead_drafts(path: str, witness_of: str | None = None) -> None:
    """Removes what processes left behind that were killed while they made this file."""
    directory, name = os.path.split(os.path.abspath(path))
    prefix = f"{name}{DRAFT}"
    with place_errors(path, witness_of):
        for each in os.listdir(directory):
            owner = each.removeprefix(prefix).split("-")[0]
            if each.startswith(prefix) and owner.isdecimal() and not _alive(int(owner)):
                _remove_mine(os.path.join(directory, each))


def sync_directory(directory: str) -> None:
    """Makes the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lay_out_draft(draft: str, path: str, wait: float) -> None:
    with translated(path, wait), closing(sqlite3.connect(draft, isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = EXTRA")
        new.execute("BEGIN IMMEDIATE")
        lay_out(new)
        new.execute("COMMIT")


def _link(draft: str, path: str) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return  # another process was faster; its ledger is as good


@contextmanager
def place_errors(path: str, witness_of: str | None = None) -> Iterator[None]:
    """Turns errors of the system inside into a Failure; ``witness_of``: path is a witness."""
    try:
        yield
    except OSError as problem:
        what = "ledger" if witness_of is None else "ledger's witness"
        if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise disk_trouble(path, charged=False, what=what) from None
        key = "path" if witness_of is None else "witness"
        hint = f"put it on a local disk that you can write to ([ledger] {key})"
        raise bad_place(path, os.strerror(problem.errno or 0), hint, what) from None


def _remove_mine(path: str) -> None:
    """Removes a file of this user; that of another one, or gone meanwhile, is let be."""
    with suppress(FileNotFoundError):
        if os.lstat(path).st_uid == os.geteuid():
            os.unlink(path)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True  # another user's, or no process number at all: not ours to judge
    return True
