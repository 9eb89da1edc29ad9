"""Files that people ask for by name: whole or not at all, private, never over something else."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

LARGEST_TEXT = 64 * 1024 * 1024


def save_text(file: str, text: str, ours: Callable[[str], bool]) -> str | None:
    """Write a file (mode 0600) and return None, or why it can't be written.

    What is there is only replaced if it is a file that is ``ours`` by its text: a mistaken name
    must not cost anybody a ledger, a spec or data.
    """
    try:
        if not replaceable(file, ours):
            return "there is another file of that name"
        _replace(Path(file), text)
    except OSError as problem:
        return os.strerror(problem.errno) if problem.errno else "it can't be written"
    return None


def replaceable(file: str, ours: Callable[[str], bool]) -> bool:
    """Whether nothing is there, or a file that is ``ours`` by its text. Raises OSError."""
    if not os.path.lexists(file):
        return True
    found = os.lstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_TEXT:
        return False
    try:
        return ours(Path(file).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # no text, or no JSON that can be read
        return False


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}-{time.time_ns()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode("utf-8"))
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
