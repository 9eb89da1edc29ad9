"""Moving a ledger: at every moment one place at most takes charges, whatever is killed.

Under the old ledger's lock a copy is laid out at the new place, still under another name. Then a
trigger that refuses every entry is put into the old ledger. That commit is the turning point: a
process that waited for the lock meets the trigger. Only then the copy is put in place. At last the
old ledger goes, and the witness that stays where it was says where to. A move that was stopped
after the turning point is finished by the same command, and by no other.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress

from dprelease.files.atomic import open_draft, open_new_file, remove_dead_drafts
from dprelease.files.system import replace_file, sync_directory
from dprelease.ledger.chain import Head
from dprelease.ledger.connection import (
    mark_moved,
    open_for_reading,
    open_for_writing,
    place_errors,
    read_destination,
    sync_commits,
    unmark,
)
from dprelease.ledger.ledger_messages import can_not_move, missing, moved_ledger
from dprelease.ledger.rollback_guard import (
    guard_path,
    leave_word,
    prepare_guard,
    read_guard,
    word_left,
)
from dprelease.ledger.store import WAIT, Ledger

Folders = tuple[str, str]
_CHUNK = 1 << 20


def move_ledger(
    old: str, new: str, folders: Folders, wait: float = WAIT, witness: str | None = None
) -> Head:
    """Move a ledger, its witness and its folder of record-level tables.

    Everything is checked before anything changes. Repeating a move that is done or was stopped
    finishes it.

    Args:
        old: Present path of the ledger.
        new: New path; its directory must exist.
        folders: Present and new folder of the record-level tables.
        wait: Seconds to wait for the ledger's lock.
        witness: Path of the witness if it is not beside the ledger; that one stays where it is.

    Returns:
        The head of the moved ledger.

    Raises:
        Failure: Exit code 2 if something is in the way; exit code 6 as for opening a ledger.
    """
    source, target = os.path.realpath(old), os.path.abspath(new)
    if witness is not None and os.path.realpath(witness) == guard_path(source):
        witness = None
    if os.path.realpath(target) == source:
        raise can_not_move(old, new, "the ledger is already there")
    if not os.path.isdir(os.path.dirname(target)):
        raise can_not_move(old, new, "there is no such directory")
    if not os.path.lexists(source):
        if word_left(guard_path(source)) != target:
            raise missing(old)
        with Ledger.open_unguarded(target, wait) as moved:
            head = moved.verify()
    else:
        with place_errors(target), open_draft(target) as draft:
            remove_dead_drafts(target)
            head = _turn(source, target, draft, folders, wait, witness)
            if witness is None and not os.path.lexists(target):
                prepare_guard(guard_path(target), head, target)
            if os.path.lexists(draft):  # no earlier attempt came this far
                with suppress(FileExistsError):  # nor does another one now
                    os.link(draft, target)
            sync_directory(os.path.dirname(target))
    with place_errors(source):
        leave_word(guard_path(source), head, target, source)
        with suppress(FileNotFoundError):
            os.unlink(source)
        _remove_moved(*folders)
        sync_directory(os.path.dirname(source))
    return head


def _turn(  # noqa: PLR0913, PLR0917 - two places and what belongs to them
    source: str, target: str, draft: str, folders: Folders, wait: float, witness: str | None
) -> Head:
    """Copy the ledger to the draft, then close the old one for good; return its head."""
    database = open_for_writing(source, wait, moved=True)
    connection = database.connection
    with Ledger(database, source, witness) as ledger, database.translate_errors():
        database.begin()  # closing it rolls back
        head, stopped = ledger.verify(), read_destination(connection)
        if stopped not in (None, target):
            raise moved_ledger(source, stopped)
        if stopped is None:
            ledger.check_guard()
            _check_nothing_there(source, target, witness)
        if os.path.lexists(target):
            with Ledger.open_unguarded(target, wait) as placed:
                placed.check_holds(ledger)
        else:
            _copy_folder(*folders)
            _copy(source, draft, wait)
        if stopped is None:
            mark_moved(connection, target)
        database.commit()
    return head


def _check_nothing_there(source: str, target: str, witness: str | None) -> None:
    """Raise Failure (exit 2) if a ledger, or the witness of another one, is at the target."""
    if os.path.lexists(target):
        raise can_not_move(source, target, "a file already exists there")
    place = guard_path(target)
    if witness is None and word_left(place) is None and read_guard(place, target) is not None:
        raise can_not_move(source, target, "the witness of another ledger exists there")


def _copy(source: str, draft: str, wait: float) -> None:
    """Copy the ledger, locked by the caller, so that the copy takes entries; durable on return."""
    with open_new_file(draft):
        pass
    os.chmod(draft, stat.S_IMODE(os.stat(source).st_mode))
    # SQLite copies nothing from a connection that holds a lock, so the source is opened again.
    original = open_for_reading(source, wait, moved=True)
    with closing(original), closing(sqlite3.connect(draft, isolation_level=None)) as copy:
        original.connection.backup(copy)
        sync_commits(copy)
        unmark(copy)
    with open(draft, "r+b") as copied:  # Windows syncs only what may be written
        os.fsync(copied.fileno())


def _copy_folder(old: str, new: str) -> None:
    """Copy the files of a folder into another one, whole and durable on return."""
    if not os.path.isdir(old):
        return
    with suppress(FileExistsError):
        os.mkdir(new, 0o700)
    for name in _list_files(old):
        source, target = os.path.join(old, name), os.path.join(new, name)
        remove_dead_drafts(target)
        with open_draft(target) as draft:
            with open_new_file(draft) as sink, open(source, "rb") as file:
                while chunk := file.read(_CHUNK):
                    sink.write(chunk)
            replace_file(draft, target)  # what bears the name is this file, or was cut short
    sync_directory(new)
    sync_directory(os.path.dirname(new))


def _remove_moved(old: str, new: str) -> None:
    """Remove the files that the other folder has, and the folder if it is empty then."""
    if not os.path.isdir(old):
        return
    for name in _list_files(old):
        if os.path.lexists(os.path.join(new, name)):
            os.unlink(os.path.join(old, name))
    with suppress(OSError):
        os.rmdir(old)


def _list_files(folder: str) -> list[str]:
    """List the plain files in a folder, hidden ones left out."""
    # Files that are still being written have a hidden name or a draft's.
    return [
        name
        for name in sorted(os.listdir(folder))
        if not name.startswith(".") and stat.S_ISREG(os.lstat(os.path.join(folder, name)).st_mode)
    ]
