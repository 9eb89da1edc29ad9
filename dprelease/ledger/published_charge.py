"""The charge that a published report names, and whether a ledger holds it.

Whoever loses or replaces a ledger has its reports still: they tell that it is not the one that was
charged. A run looks at the report that it is about to replace.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

from dprelease.ledger.entries import Run
from dprelease.ledger.ledger_messages import (
    lost_by_output,
    no_report,
    not_in_ledger,
    spoilt_in_output,
)

_LARGEST = 256 * 1024 * 1024  # bytes of a report
_REPORT = "report.json"
REHEARSED = "dprelease/rehearsed-report/1"


class Rehearsed(ValueError):
    """The report is of a rehearsal, which is charged to no ledger that is kept."""


def check_report(report: str, ledger: str, runs: Iterable[Run]) -> None:
    """Refuse a ledger that doesn't hold the charge that a report names.

    Args:
        report: Path of a ``report.json``.
        ledger: The ledger that messages name.
        runs: All runs of that ledger.

    Raises:
        Failure: Exit code 2 if the file is not a report; exit code 6 if the charge is not there.
    """
    try:
        charge = _read(report)
    except OSError as problem:
        raise no_report(report, os.strerror(problem.errno or 0)) from None
    except ValueError:
        raise no_report(report, "it names no entry of a ledger") from None
    if reason := _find_missing(charge, runs):
        raise not_in_ledger(ledger, report, reason)


def check_output_charge(folder: str, ledger: str, runs: Iterable[Run]) -> None:
    """Refuse to charge a ledger without the charge of the report in the output folder.

    Args:
        folder: The output folder; a folder without a report passes.
        ledger: The ledger that messages name.
        runs: All runs of that ledger.

    Raises:
        Failure: Exit code 6 if the charge is not there, or the report can't be read.
    """
    report = os.path.join(folder, _REPORT)
    if not os.path.lexists(report):
        return
    try:
        charge = _read(report)
    except Rehearsed:  # names no charge, and never replaces a release
        return
    except (OSError, ValueError):
        raise spoilt_in_output(ledger, report) from None
    # A ledger that was lost would otherwise begin a new budget.
    if reason := _find_missing(charge, runs):
        raise lost_by_output(ledger, report, reason)


def _find_missing(charge: Mapping[str, Any], runs: Iterable[Run]) -> str | None:
    entry = charge["entry"]
    run = next((run for run in runs if run.seq == entry), None)
    if run is None:
        return f"entry {entry} is not a charge, or is not there"
    for noun, value in (("hash", run.hash), ("dataset", run.dataset), ("run", run.run_id)):
        if charge[noun] != value:
            return f"entry {entry} has another {noun}"
    return None


def _read(report: str) -> Mapping[str, Any]:
    """Read the charge that a report names. Raises OSError or ValueError if there is none."""
    path = Path(report)
    status = path.stat()
    if not S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        raise ValueError("it does not exist, or is too large for a report")
    try:
        content = json.loads(path.read_bytes())
        if content["schema"] == REHEARSED:
            raise Rehearsed
        charge = {name: content["ledger"][name] for name in ("entry", "hash", "dataset")}
        charge["run"] = content["provenance"]["run_id"]
        if type(charge["entry"]) is not int or content["schema"] != "dprelease/report/1":
            raise ValueError("not a report")
    except (KeyError, TypeError, RecursionError):
        raise ValueError("not a report") from None
    return charge
