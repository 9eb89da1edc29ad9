"""Rollback guard of a ledger: how far it goes, kept in a file of its own.

The chain of hashes shows edits, but an older copy of the whole file hangs together as well. So the
number and hash of the last entry are written beside the ledger, or better on another disk, after
every commit and under the ledger's lock: it may lag behind, when a kill came in between, and is
never ahead. A ledger that doesn't hold the entry of its guard is not the one that was
charged. Users know the file as the ledger's witness.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from dprelease.files.atomic import put_file, remove_dead_drafts
from dprelease.ledger.chain import Head
from dprelease.ledger.connection import place_errors
from dprelease.ledger.entries import Book
from dprelease.ledger.identity import write_canonical_json
from dprelease.ledger.ledger_messages import (
    bad_guard,
    lost_ledger,
    moved_ledger,
    no_guard,
    rolled_back,
)
from dprelease.model import ON_SERVER, is_server

SCHEMA = "dprelease/witness/1"
_LARGEST = 16384  # bytes: with a path in hexadecimal


def guard_path(ledger: str) -> str:
    """Build the default path of a ledger's guard: beside the file, links followed."""
    if is_server(ledger):
        # In the working directory, named by the variable.
        return os.path.abspath(f"{ledger.removeprefix(ON_SERVER)}.witness")
    return f"{os.path.realpath(ledger)}.witness"


def read_guard(path: str, ledger: str) -> Head | None:
    """Read how far the guard has seen the ledger.

    Args:
        path: The guard.
        ledger: The ledger that messages name.

    Returns:
        The head of the ledger as last noted; None if there is no guard.

    Raises:
        Failure: Exit code 6 if the guard is spoilt, or says that the ledger was moved.
    """
    try:
        stored = _read_guard(path)
    except OSError as problem:
        raise bad_guard(ledger, path, os.strerror(problem.errno or 0)) from None
    if stored is None:
        return None
    if (target := word_left(path)) is not None:
        raise moved_ledger(ledger, target)
    try:
        content = json.loads(stored)
        seq, digest = content["seq"], content["hash"]
        whole = len(stored) <= _LARGEST and content["schema"] == SCHEMA
        if not whole or type(seq) is not int or seq < 0 or len(bytes.fromhex(digest)) != 32:
            raise ValueError("not a guard")
    except (ValueError, TypeError, KeyError, RecursionError):
        raise bad_guard(ledger, path, "it can't be read") from None
    return Head(seq, digest)


def is_guard(path: str) -> bool:
    """Tell if a file has the schema of a guard, of any ledger."""
    try:
        return bool(json.loads(_read_guard(path) or b"{}")["schema"] == SCHEMA)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


def word_left(path: str) -> str | None:
    """Read where a guard says that its ledger was moved to; None if it does not say so."""
    try:
        content = json.loads(_read_guard(path) or b"{}")
        return os.fsdecode(bytes.fromhex(content["moved"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _read_guard(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None


def check_guard(path: str, ledger: str, guard_head: Head | None, book: Book | None) -> None:
    """Refuse a ledger that is not the one its guard has seen.

    Args:
        path: The guard that messages name.
        ledger: The ledger that messages name.
        guard_head: The head that the guard notes; None if there is no guard.
        book: The ledger as read; None if there is no ledger.

    Raises:
        Failure: Exit code 6 if an entry of the guard is not in the ledger, or a ledger with entries
            has no guard.
    """
    if book is None:
        if guard_head is not None and guard_head.seq:
            raise lost_ledger(ledger, path, guard_head.seq)
        return
    if guard_head is None:
        if book.head.seq:
            raise no_guard(ledger, path)
        return
    if guard_head.seq > book.head.seq or guard_head.hash != book.hash_at(guard_head.seq):
        last = book.head.seq
        finding = f"ends with entry {last}" if last < guard_head.seq else "holds another"
        raise rolled_back(ledger, path, guard_head.seq, finding)


def write_guard(path: str, head: Head, ledger: str) -> None:
    """Put the guard in place, whole, and keep its mode. Raises Failure (exit 6)."""
    _write(path, {"schema": SCHEMA, "seq": head.seq, "hash": head.hash}, ledger)


def leave_word(path: str, head: Head, target: str, ledger: str) -> None:
    """Put a guard in place that says where the ledger was moved to. Raises Failure (exit 6)."""
    moved = os.fsencode(target).hex()
    _remove_drafts(path, ledger)
    content = {"schema": SCHEMA, "seq": head.seq, "hash": head.hash, "moved": moved}
    _write(path, content, ledger)


def _write(path: str, content: Mapping[str, object], ledger: str) -> None:
    text = write_canonical_json(content) + "\n"
    with place_errors(path, ledger):
        put_file(os.path.realpath(path), text.encode("ascii"), keep_mode=True)


def prepare_guard(path: str, head: Head, ledger: str) -> None:
    """Bring the guard up to date. Raises Failure (exit 6)."""
    # A guard that can't be written is found out before anything is charged.
    _remove_drafts(path, ledger)
    write_guard(path, head, ledger)


def _remove_drafts(path: str, ledger: str) -> None:
    with place_errors(path, ledger):
        remove_dead_drafts(os.path.realpath(path))
