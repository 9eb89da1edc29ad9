"""A ledger held against reports, and its entries as lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any

from dprelease.cli.console import answer
from dprelease.files.atomic import save_text
from dprelease.ledger import Run
from dprelease.ledger.chain import Entry
from dprelease.ledger.messages import no_export, no_report, not_in_ledger

_LARGEST = 256 * 1024 * 1024


def against(report: str, ledger: str, runs: Sequence[Run]) -> None:
    """Refuse (exit 6) a ledger that doesn't hold the charge that a report names."""
    named = _read(report)
    entry, digest = named["entry"], named["hash"]
    run = next((run for run in runs if run.seq == entry), None)
    if run is None:
        raise not_in_ledger(ledger, report, f"entry {entry} is no charge, or is not there")
    for what, said, found in (
        ("hash", digest, run.hash),
        ("dataset", named["dataset"], run.dataset),
        ("run", named["run"], run.run_id),
    ):
        if said != found:
            raise not_in_ledger(ledger, report, f"entry {entry} has another {what}")


def _read(report: str) -> Mapping[str, Any]:
    path = Path(report)
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise ValueError("no file, or too large for a report")
        content = json.loads(path.read_bytes())
        named = {
            "entry": content["ledger"]["entry"],
            "hash": content["ledger"]["hash"],
            "dataset": content["ledger"]["dataset"],
            "run": content["provenance"]["run_id"],
        }
        if type(named["entry"]) is not int or content["schema"] != "dprelease/report/1":
            raise ValueError("not a report")
    except OSError as problem:
        raise no_report(report, os.strerror(problem.errno or 0)) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise no_report(report, "it names no entry of a ledger") from None
    return named


def lines_of(chain: Sequence[Entry]) -> list[str]:
    """Entries in order, one JSON object each."""
    return [
        json.dumps(
            {
                "seq": each.seq,
                "kind": each.kind,
                "run_id": each.run_id,
                "written_at": each.written_at,
                "content": each.content,
                "previous": each.previous,
                "hash": each.hash,
            }
        )
        for each in chain
    ]


def write_lines(lines: Iterable[str], out: str | None) -> None:
    """Write lines to a file, or to standard output. Raises Failure (exit 2)."""
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        if text:
            answer(text.rstrip("\n"))
        return
    problem = save_text(out, text, _is_export)
    if problem is not None:
        raise no_export(out, problem)


def _is_export(text: str) -> bool:
    first = json.loads(text.partition("\n")[0])
    return isinstance(first, dict) and first.keys() == {*Entry.__dataclass_fields__}
