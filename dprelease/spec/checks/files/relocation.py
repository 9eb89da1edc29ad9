"""Moves a release's ledger or output to another place, with the same checks as for the spec's."""

from __future__ import annotations

import os
from dataclasses import replace

from dprelease.model import Release
from dprelease.spec.checks.files.collisions import check_ledger, check_output, of_ledger
from dprelease.spec.complaints.reporter import Reporter


def relocated(
    release: Release,
    ledger: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
) -> Release:
    """Give the release with another ledger or output path; None leaves it as it is.

    Raises Failure (exit code 2) when a new place collides with the data, the spec or the other.
    """
    moved = release
    if ledger is not None:
        path, written = _place(ledger, release)
        if path != release.ledger.path:
            # The witness that the spec names is that of the spec's ledger, not of this one.
            there = replace(release.ledger, path=path, written_path=written)
            moved = replace(moved, ledger=replace(there, witness=None, written_witness=None))
    if output is not None:
        path, written = _place(output, release)
        if path != release.output.path:
            moved = replace(moved, output=replace(moved.output, path=path, written_path=written))
    if moved is release:
        return release
    inputs = [("the spec", os.path.abspath(release.file))] if release.places else []
    reporter = Reporter(release.file, None)
    check_ledger(moved.ledger, moved.data, inputs, reporter)
    others = [*of_ledger(moved.ledger), *inputs]
    check_output(moved.output.path, moved.data, others, reporter)
    reporter.raise_if_any()
    return moved


def _place(given: str | os.PathLike[str], release: Release) -> tuple[str, str]:
    """Make a path absolute that starts where we are, and write it as the spec would.

    That is from the spec's folder on, unless it was given from the root on.
    """
    path = os.fsdecode(given)
    absolute = os.path.abspath(path)
    folder = os.path.dirname(os.path.abspath(release.file))
    return absolute, absolute if os.path.isabs(path) else os.path.relpath(absolute, folder)
