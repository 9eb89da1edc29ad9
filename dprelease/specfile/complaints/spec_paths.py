"""Paths of a spec: made absolute, kept from colliding, and moved."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from dprelease.model import Data, LedgerSettings, Release, Source, is_server
from dprelease.specfile.complaints.reporter import Reporter

PERIOD = "{period}"
REVISION = "{revision}"


def fill_period(text: str, period: str | None) -> str:
    """Fill ``{period}`` in a path or snapshot."""
    return text if period is None else text.replace(PERIOD, period)


_WILD = re.compile(r"[*?\[]")


def make_absolute(base: str, path: str) -> str:
    """Make a path absolute; relative ones start at ``base``."""
    return os.path.normpath(os.path.join(os.path.abspath(base), path))


def has_wildcards(path: str) -> bool:
    """Say whether a path is a glob pattern."""
    return _WILD.search(path) is not None


def get_fixed_part(pattern: str) -> str:
    """Give the file or directory itself, or the nearest directory of a glob without wildcards."""
    while has_wildcards(pattern):
        pattern = os.path.dirname(pattern)
    return pattern


def is_same(left: str, right: str) -> bool:
    """Check whether two paths lead to the same place, links followed."""
    return os.path.realpath(left) == os.path.realpath(right)


def is_inside(directory: str, path: str) -> bool:
    """Say whether a path lies inside of a directory or is that directory, links followed."""
    outer, inner = os.path.realpath(directory), os.path.realpath(path)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def is_reading(source: Source, path: str) -> bool:
    """Say whether a file is, or may be taken for, a part of the data. Nothing is opened."""
    pattern = source.pattern
    if source.remote:
        return False
    if not has_wildcards(pattern):
        return is_inside(pattern, path)
    real = os.path.realpath(path)
    # The part without wildcards may be a link; a star doesn't cross directories, two do.
    start = get_fixed_part(pattern)
    target = os.path.realpath(start) + pattern[len(start.rstrip(os.sep)) :]
    levels = "**" in pattern or real.count(os.sep) == target.count(os.sep)
    return levels and fnmatchcase(real, target.replace(f"**{os.sep}", "*"))


LEDGER = "the ledger"
Named = tuple[str, str]  # what it is, and its absolute path


def list_ledger_files(ledger: LedgerSettings) -> list[Named]:
    """Name the files of a ledger."""
    witness = [("the ledger's witness", ledger.witness)] if ledger.witness is not None else []
    file = [] if is_server(ledger.path) else [(LEDGER, ledger.path)]
    return [*file, *witness]


RECORDS_NEED_A_FILE = (
    "record-level tables are stored in the folder of a ledger file, not on a server",
    "write [ledger] path instead",
)
SIDE_FILES = ("-journal", "-wal", "-shm")


def check_ledger(
    ledger: LedgerSettings, data: Data | None, inputs: Sequence[Named], reporter: Reporter
) -> None:
    """Complain when the ledger or its witness is one of the files that the release reads."""
    files = list_ledger_files(ledger)
    for name, place in files:
        key = "path" if name == LEDGER else "witness"
        obstacles = [*inputs, *files[:-1]] if key == "witness" else inputs
        clashes = [noun for noun, path in obstacles if is_same(place, path)]
        if data is not None and is_reading(data.source, place):
            clashes.insert(0, "the data")
        if key == "witness" and any(is_same(place, ledger.path + side) for side in SIDE_FILES):
            clashes.append("a file that belongs to the ledger")
        for noun in clashes:
            hint = f"give {name} its own file, outside the data"
            reporter.complain("E227", f"{name} is {noun}", ("ledger", key), hint)


def check_output(
    output: str, data: Data | None, others: Sequence[Named], reporter: Reporter
) -> None:
    """Complain when the output could overwrite something, or publish it by its directory.

    The output directory must not hold the data or any of ``others``, nor lie inside of the data.
    """
    hint = "choose a separate directory, outside the data"
    spot = ("output", "path")
    inside = [noun for noun, path in others if is_inside(output, path)]
    if data is not None and not data.source.remote:
        pattern = data.source.pattern
        place = get_fixed_part(pattern)
        if is_inside(output, place):
            inside.insert(0, "the data")
        elif is_inside(place, output) and ("**" in pattern or not has_wildcards(pattern)):
            reporter.complain("E227", "the output lies inside the data", spot, hint)
    if inside:
        message = f"the output is or contains {', '.join(inside)}"
        reporter.complain("E227", message, spot, hint)


def relocate(
    release: Release,
    ledger: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
) -> Release:
    """Change the ledger or output path of a release; None keeps it.

    Raises:
        Failure: Exit code 2, if a new place collides with the data, the spec or the other one.
    """
    moved = release
    if ledger is not None:
        path, written_path = _place(ledger, release)
        if path != release.ledger.path:
            # The witness that the spec names is that of the spec's ledger, not of this one.
            ledger2 = replace(release.ledger, path=path, written_path=written_path)
            moved = replace(moved, ledger=replace(ledger2, witness=None, written_witness=None))
    if output is not None:
        path, written_path = _place(output, release)
        if path != release.output.path:
            moved = replace(
                moved, output=replace(moved.output, path=path, written_path=written_path)
            )
    if moved is not release:
        _check_places(moved)
    return moved


def fill_revision(release: Release, revision: int) -> Release:
    """Fill ``{revision}`` in the output path of a release; what the spec writes stays as it is.

    Raises:
        Failure: Exit code 2, if the place collides with another one.
    """
    path = release.output.path.replace(REVISION, str(revision))
    if path == release.output.path:
        return release
    moved = replace(release, output=replace(release.output, path=path))
    _check_places(moved)
    return moved


def _check_places(moved: Release) -> None:
    """Raise Failure (exit code 2) when a place collides with the data, the spec or another."""
    inputs = [("the spec", os.path.abspath(moved.file))] if moved.places else []
    reporter = Reporter(moved.file, None)
    check_ledger(moved.ledger, moved.data, inputs, reporter)
    if is_server(moved.ledger.path) and moved.perturbs:
        message, hint = RECORDS_NEED_A_FILE
        reporter.complain("E111", message, ("ledger",), hint)
    others = [*list_ledger_files(moved.ledger), *inputs]
    check_output(moved.output.path, moved.data, others, reporter)
    reporter.raise_if_any()


def _place(argument: str | os.PathLike[str], release: Release) -> tuple[str, str]:
    """Make a path absolute that starts where we are, and write it as the spec would.

    That is from the spec's folder on, unless it was given from the root on.
    """
    path = os.fsdecode(argument)
    if is_server(path):
        return path, path
    absolute = os.path.abspath(path)
    folder = os.path.dirname(os.path.abspath(release.file))
    return absolute, absolute if os.path.isabs(path) else os.path.relpath(absolute, folder)
