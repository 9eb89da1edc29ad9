"""Hash chain: each entry's SHA-256 covers its content and the hash of the entry before it.

It shows edits, removals and reordering by anyone who doesn't recompute all that follows. Someone
who rewrites the whole file, or puts an older copy in its place, is shown only by a hash kept
elsewhere: ``Head`` is what a report or a rollback guard should keep for that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from dprelease.ledger.identity import write_canonical_json

GENESIS = hashlib.sha256(b"dprelease/ledger/1").hexdigest()


class BrokenChain(Exception):
    """An entry doesn't fit the ones before it; the text says which and how."""


class Entry(Struct, frozen=True):
    """One event as it is stored. ``content`` is canonical JSON."""

    seq: int
    kind: str
    run_id: str
    written_at: str
    content: str
    previous: str
    hash: str


class Head(Struct, frozen=True):
    """End of a ledger: number of its last entry (0: none) and that entry's hash."""

    seq: int
    hash: str


EMPTY = Head(0, GENESIS)


def follow(head: Head, kind: str, run_id: str, written_at: str, content: str) -> Entry:
    """Build the entry that comes after ``head``.

    Args:
        head: Number and hash of the last entry.
        kind: A value of ``entries.Kind``.
        run_id: Identity of the run, 64 hexadecimal digits; for a cap, ``head.hash``.
        written_at: Time in UTC, informative only.
        content: Canonical JSON.

    Returns:
        The entry numbered ``head.seq + 1``, whose hash covers all its other fields.
    """
    seq = head.seq + 1
    digest = hash_entry(seq, kind, run_id, written_at, content, head.hash)
    return Entry(seq, kind, run_id, written_at, content, head.hash, digest)


def hash_entry(  # noqa: PLR0913, PLR0917 - what an entry is made of
    seq: int, kind: str, run_id: str, written_at: str, content: str, previous: str
) -> str:
    """Compute SHA-256 over the JSON list of an entry's fields, as 64 hexadecimal digits."""
    # A JSON list quotes its fields, so no two different entries have the same text.
    text = write_canonical_json([seq, kind, run_id, written_at, content, previous])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def walk(entries: Iterable[Entry], head: Head = EMPTY) -> Head:
    """Check the chain to its last entry.

    Args:
        entries: All entries that come after ``head``, in order.
        head: The entry up to which the chain is checked already; from the first entry without.

    Returns:
        The head: number and hash of the last entry.

    Raises:
        BrokenChain: At the first entry that is missing or was edited.
    """
    for entry in entries:
        if entry.seq != head.seq + 1:
            raise BrokenChain(f"entry {head.seq + 1} is missing")
        expected = follow(head, entry.kind, entry.run_id, entry.written_at, entry.content)
        if expected != entry:
            raise BrokenChain(f"entry {entry.seq} was edited")
        head = Head(entry.seq, entry.hash)
    return head
