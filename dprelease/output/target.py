"""The output directory: what may be in the way, and which of its files are ours."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Set

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.output.datapackage import GENERATOR, NAME
from dprelease.output.staging import noted_names, remove_leftovers

PREFIX = ".dprelease-"  # of staging directories inside a target
LONGEST_NAME = 255  # bytes, as on nearly all file systems
LONGEST_PATH = 2000  # bytes: half of what Linux takes, for staging directories go below it
ELSEWHERE = "choose another output.path, or move what is there away"


def check_target(directory: str, names: Iterable[str] = ()) -> None:
    """Refuses, before anything is charged (exit 2), a place that ``publish`` would refuse later.

    ``names`` are the files to be published, as far as known. Tries a write in the directory, or
    in its nearest existing parent; leaves nothing behind.
    """
    found = list(names)
    complaint = bad_names(found) or place_problem(directory)
    if complaint is None:
        complaint = _foreign_problem(directory, found)
    if complaint is not None:
        raise Failure(ExitCode.SPEC, complaint)


def bad_names(names: Iterable[str]) -> Complaint | None:
    """A complaint about the first name that is not a plain visible file name."""
    for each in names:
        hidden = each in ("", ".", "..") or each.startswith(".")
        if hidden or any(char in "/\\" or not char.isprintable() for char in each):
            hint = "use letters, digits, - and _ in names of tables"
            return Complaint("E803", f"{each!r} can't be the name of a published file", hint)
        if len(os.fsencode(each)) > LONGEST_NAME:
            hint = "give the table a shorter name: `table` in [[query]]"
            return Complaint("E803", f"the file name {each[:40]!r}... is too long", hint)
    return None


def place_problem(directory: str) -> Complaint | None:
    """A complaint when the directory is there as something else, or can't be written."""
    target = os.path.abspath(directory)
    if os.path.islink(target):
        return Complaint("E801", f"the output {target} is a symbolic link", ELSEWHERE)
    if os.path.lexists(target) and not os.path.isdir(target):
        return Complaint("E801", f"the output {target} is a file, not a directory", ELSEWHERE)
    written = os.fsencode(target)
    if len(written) > LONGEST_PATH or max(map(len, written.split(b"/"))) > LONGEST_NAME:
        message = f"the output {target[:80]}... is too long for a path"
        return Complaint("E801", message, "choose a shorter output.path")
    nearest = target
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    if not os.path.isdir(nearest):
        message = f"the output {target} can't be made: {nearest} is not a directory"
        return Complaint("E801", message, ELSEWHERE)
    return _write_problem(target, nearest)


def prefix_beside(target: str) -> str:
    """How staging directories are named that stand beside a target that is not there yet."""
    return f".{os.path.basename(target)}{PREFIX}"


def our_names(directory: str) -> set[str]:
    """The files in the directory that we published, or had begun to."""
    if not os.path.isdir(directory):
        return set()
    found = _described(os.path.join(directory, NAME)) | noted_names(directory, PREFIX)
    return {each for each in found if not bad_names([each])}


def foreign_names(directory: str, names: Iterable[str], same: Set[str] = frozenset()) -> list[str]:
    """Those of the names that are there and not ours, or not plain files.

    ``same`` are names whose content is known to be what would be written: no harm, whoever wrote
    them.
    """
    ours = our_names(directory) | same
    present = [each for each in names if os.path.lexists(os.path.join(directory, each))]
    return [
        each
        for each in present
        if each not in ours or not is_plain_file(os.path.join(directory, each))
    ]


def is_plain_file(path: str) -> bool:
    """Whether it is a regular file, links not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def foreign_complaint(directory: str, name: str) -> Complaint:
    """A file in the way that is not ours to overwrite."""
    message = f"{os.path.join(directory, name)} is there already, and not from dprelease"
    return Complaint("E805", message, ELSEWHERE)


def _described(descriptor: str) -> set[str]:
    """The files listed by a descriptor of ours, itself included; nothing for any other."""
    if not is_plain_file(descriptor):
        return set()
    try:
        with open(descriptor, "rb") as source:
            found = json.load(source)
        if found["generator"] != GENERATOR:
            return set()
        paths = [each["path"] for each in found["resources"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()  # not one of ours
    return {each for each in paths if isinstance(each, str)} | {NAME}


def _foreign_problem(directory: str, names: list[str]) -> Complaint | None:
    try:
        foreign = foreign_names(directory, names)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
        return Complaint("E801", f"the output {directory} can't be read: {reason}", ELSEWHERE)
    return foreign_complaint(directory, foreign[0]) if foreign else None


def _write_problem(target: str, nearest: str) -> Complaint | None:
    prefix = PREFIX if nearest == target else prefix_beside(target)
    try:
        if nearest != target:  # in the target itself, leftovers tell what is ours
            remove_leftovers(nearest, prefix)
        probe = os.path.join(nearest, f"{prefix}{os.getpid()}-{time.time_ns()}")
        os.mkdir(probe, 0o700)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
        message = f"the output {target} can't be written: {nearest}: {reason}"
        return Complaint("E801", message, "make it writable, or choose another output.path")
    # Another run may have removed it as a leftover already.
    shutil.rmtree(probe, ignore_errors=True)
    return None
