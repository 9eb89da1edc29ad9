"""Keeps the output, the ledger and the inputs of a release apart."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import Data, LedgerSettings
from dprelease.spec.checks.files.paths import fixed_part, has_wildcards, holds, reads, same
from dprelease.spec.complaints.reporter import Reporter

Named = tuple[str, str]  # what it is, and its absolute path


def of_ledger(ledger: LedgerSettings) -> list[Named]:
    """Name the files of a ledger."""
    witness = [("the ledger's witness", ledger.witness)] if ledger.witness is not None else []
    return [("the ledger", ledger.path), *witness]


SIDE_FILES = ("-journal", "-wal", "-shm")


def check_ledger(
    ledger: LedgerSettings, data: Data | None, inputs: Sequence[Named], reporter: Reporter
) -> None:
    """Complain when the ledger or its witness is one of the files that the release reads."""
    for (name, place), key in zip(of_ledger(ledger), ("path", "witness"), strict=False):
        others = [*inputs, *of_ledger(ledger)[:1]] if key == "witness" else inputs
        clashes = [what for what, path in others if same(place, path)]
        if data is not None and reads(data.source, place):
            clashes.insert(0, "the data")
        if key == "witness" and any(same(place, ledger.path + side) for side in SIDE_FILES):
            clashes.append("a file that the ledger makes beside itself")
        for what in clashes:
            hint = f"give {name} a file of its own, away from the data"
            reporter.complain("E227", f"{name} is {what}", ("ledger", key), hint)


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
