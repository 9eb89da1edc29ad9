"""Keeps the output, the ledger and the inputs of a release apart."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import Data
from dprelease.spec.paths import fixed_part, has_wildcards, holds, reads, same
from dprelease.spec.reporter import Reporter

Named = tuple[str, str]  # what it is, and its absolute path


def check_ledger(
    ledger: str, data: Data | None, inputs: Sequence[Named], reporter: Reporter
) -> None:
    """Complain when the ledger is one of the files that the release reads."""
    clashes = [what for what, path in inputs if same(ledger, path)]
    if data is not None and reads(data.source, ledger):
        clashes.insert(0, "the data")
    for what in clashes:
        hint = "give the ledger a file of its own, away from the data"
        reporter.complain("E227", f"the ledger is {what}", ("ledger", "path"), hint)


def check_output(
    output: str, data: Data | None, others: Sequence[Named], reporter: Reporter
) -> None:
    """Complain when the output could overwrite something, or publish it by its directory.

    The output directory must not hold the data or any of ``others``, nor lie inside of the data.
    """
    hint = "choose a directory of its own, away from the data"
    spot = ("output", "path")
    inside = [what for what, path in others if holds(output, path)]
    if data is not None:
        pattern = data.source.pattern
        place = fixed_part(pattern)
        if holds(output, place):
            inside.insert(0, "the data")
        elif holds(place, output) and ("**" in pattern or not has_wildcards(pattern)):
            reporter.complain("E227", "the output lies inside of the data", spot, hint)
    if inside:
        message = f"the output is or holds {', '.join(inside)}"
        reporter.complain("E227", message, spot, hint)
