"""Putting files in place: whole or not at all, and only ever touching files of ours."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.output.datapackage import NAME
from dprelease.output.staging import Content, remove_leftovers, staged, sync_directory
from dprelease.output.target import (
    PREFIX,
    bad_names,
    check_target,
    foreign_complaint,
    foreign_names,
    is_plain_file,
    our_names,
    place_problem,
    prefix_beside,
)

__all__ = ["check_target", "publish"]

FREE = "the numbers are sealed: running the same release again costs nothing"


def publish(directory: str, files: Mapping[str, Content]) -> dict[str, str]:
    """Makes the directory hold the files, and returns the SHA-256 (hex) of each by name.

    A new directory appears at once and whole. In an existing one each file is replaced whole,
    ``datapackage.json`` last, and then files go that an earlier descriptor of ours lists and
    that are not published any more. Files that are the same already are left as they are; files
    of others are never touched: one in the way is refused. All is durable on return.

    Killed at any point it leaves whole files only, and the next call removes its traces. Raises
    Failure (exit 5: a retry is free) when the place can't be written.
    """
    complaint = bad_names(files) or place_problem(directory)
    if complaint is not None:
        raise _failure(complaint)
    target = os.path.abspath(directory)
    with _disk_errors(target):
        if os.path.lexists(target) or not _appeared(target, files):
            _update(target, files)
    return {name: _digest(content) for name, content in files.items()}


def _digest(content: Content) -> str:
    return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content.sha256


def _appeared(target: str, files: Mapping[str, Content]) -> bool:
    """Makes a new directory in one step; False when another process made it meanwhile."""
    parent, prefix = os.path.dirname(target), prefix_beside(target)
    _make_directories(parent)
    remove_leftovers(parent, prefix)
    with staged(parent, prefix) as staging:
        staging.write(files)
        try:
            os.rename(staging.content, target)
        except OSError as problem:
            if problem.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        sync_directory(parent)
    return True


def _update(target: str, files: Mapping[str, Content]) -> None:
    """Replaces what changed in an existing directory, file by file."""
    changed = {name: each for name, each in files.items() if not _holds(target, name, each)}
    foreign = foreign_names(target, files, same=files.keys() - changed.keys())
    if foreign:
        raise _failure(foreign_complaint(target, foreign[0]))
    ours = our_names(target)
    parent = os.path.dirname(target)
    if os.access(parent, os.R_OK | os.W_OK):  # of a run killed when the target was made
        remove_leftovers(parent, prefix_beside(target))
    with staged(target, PREFIX) as staging:
        # First the manifest, then what earlier manifests say may go.
        staging.note(ours | files.keys())
        remove_leftovers(target, PREFIX)
        staging.write(changed)
        for name in sorted(changed, key=lambda each: (each == NAME, each)):
            os.replace(os.path.join(staging.content, name), os.path.join(target, name))
        sync_directory(target)
        _remove(target, ours - files.keys())


def _holds(target: str, name: str, content: Content) -> bool:
    path = os.path.join(target, name)
    size = len(content) if isinstance(content, bytes) else content.size
    if not is_plain_file(path) or os.path.getsize(path) != size:
        return False
    with open(path, "rb") as source:
        if isinstance(content, bytes):
            return source.read() == content
        return hashlib.file_digest(source, "sha256").hexdigest() == content.sha256


def _remove(target: str, stale: set[str]) -> None:
    for name in sorted(stale):
        path = os.path.join(target, name)
        if is_plain_file(path):
            os.unlink(path)
    if stale:
        sync_directory(target)


def _make_directories(path: str) -> None:
    """Makes a directory and its missing parents, durably."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        try:
            os.mkdir(each)
        except FileExistsError:
            continue  # another process made it
        sync_directory(os.path.dirname(each))


@contextmanager
def _disk_errors(target: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else "the place keeps changing"
        message = f"the output {target} can't be written: {reason}"
        hint = "make room or choose another output.path"
        raise _failure(Complaint("E802", message, hint)) from None


def _failure(complaint: Complaint) -> Failure:
    hint = f"{complaint.hint}; {FREE}"
    return Failure(ExitCode.AFTER_CHARGE, Complaint(complaint.code, complaint.message, hint))
