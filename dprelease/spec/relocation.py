"""Moves a release's ledger or output to another place, with the same checks as for the spec's."""

from __future__ import annotations

import os
from dataclasses import replace

from dprelease.model import Release
from dprelease.spec.collisions import check_ledger, check_output, of_ledger
from dprelease.spec.reporter import Reporter


def relocated(
    release: Release,
    ledger: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
) -> Release:
    """Give the release with another ledger or output path; None leaves it as it is.

    Raises Failure (exit code 2) when a new place collides with the data, the spec or the other.
    """
    if ledger is None and output is None:
        return release
    moved = release
    if ledger is not None:
        path = os.path.abspath(os.fsdecode(ledger))
        # The witness that the spec names is that of the spec's ledger, not of this one.
        moved = replace(moved, ledger=replace(moved.ledger, path=path, witness=None))
    if output is not None:
        path = os.path.abspath(os.fsdecode(output))
        moved = replace(moved, output=replace(moved.output, path=path))
    inputs = [("the spec", os.path.abspath(release.file))] if release.places else []
    reporter = Reporter(release.file, None)
    check_ledger(moved.ledger, moved.data, inputs, reporter)
    others = [*of_ledger(moved.ledger), *inputs]
    check_output(moved.output.path, moved.data, others, reporter)
    reporter.raise_if_any()
    return moved
