"""The budget of each dataset as JSON and tables; entries of a ledger, held against reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import pairwise
from math import ceil
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Literal

from dprelease.cli.console import answer, answer_json, folded
from dprelease.cli.views.formats import new_table, remaining_text, rendered, rounded_up, spent_text
from dprelease.cli.views.ledger import amounts, number_or_none, remaining_under, total_facts
from dprelease.files.atomic import save_file
from dprelease.ledger.chain import Entry
from dprelease.ledger.entries import Run
from dprelease.ledger.guarantee import DESCRIPTION, definition_in
from dprelease.ledger.messages import no_export, no_report, not_in_ledger
from dprelease.ledger.privacy_filter import ZERO, Caps
from dprelease.ledger.store import Ledger
from dprelease.ledger.totals import running
from dprelease.report.facts.json_form import to_json
from dprelease.report.numbers import upward

if TYPE_CHECKING:
    from rich.table import Table

Facts = Mapping[str, Any]

_TEXTS = {"charged at", "release", "snapshot", "period", "state"}
_BAR = 20  # columns
_LARGEST = 256 * 1024 * 1024  # bytes of a report


def history(book: Ledger, dataset: str | None, caps: Caps | None) -> dict[str, object]:
    """State every run of a ledger and every dataset's account; ``caps`` override the last ones."""
    runs, head = book.entries(), book.head()
    names = dict.fromkeys(run.dataset for run in runs)
    if dataset is not None:
        names = {dataset: None}
    return {
        "schema": "dprelease/budget/1",
        "ledger": os.path.abspath(book.path),
        "witness": os.path.abspath(book.witness),
        "head": {"entries": head.seq, "hash": head.hash},
        "datasets": [
            _dataset(name, [run for run in runs if run.dataset == name], caps) for name in names
        ],
    }


def _dataset(name: str, runs: Sequence[Run], caps: Caps | None) -> dict[str, object]:
    if caps is None:
        caps = runs[-1].caps if runs else Caps()
    after = list(running([run.terms for run in runs], caps))
    plain, total = after[-1] if after else (Caps(ZERO, ZERO), None)
    return {
        "dataset": name,
        "runs": [
            _run(run) | {"spent": amounts(sums), "composed": to_json(total_facts(then))}
            for run, (sums, then) in zip(runs, after, strict=True)
        ],
        "spent": amounts(plain),
        "composed": to_json(total_facts(total)) if total else None,
        "cap": amounts(caps),
        "kept": upward(total.reserve) if total else 0,
        "left": {
            "epsilon": remaining_under(caps.epsilon, total.epsilon),
            "delta": remaining_under(total.room, total.counted),
        } if total else amounts(caps),
        "cap_changes": list(_changes(runs, caps)),
        "units": units_of(runs),
    }  # fmt: skip


def _run(run: Run) -> dict[str, object]:
    return {
        "entry": run.seq,
        "run_id": run.run_id,
        "charged_at": run.charged_at,
        "release": run.release,
        "snapshot": run.detail.get("snapshot"),
        "period": run.terms.period,
        "disjoint_periods": run.terms.disjoint,
        **amounts(run.loss),
        "rho": number_or_none(run.loss.rho),
        "state": "published" if run.published_at is not None else str(run.state),
        "cap": amounts(run.caps),
    }


def _changes(runs: Sequence[Run], last: Caps) -> Iterator[dict[str, object]]:
    """Where one run declares other caps than the run before; ``entry`` None: declared now."""
    declared = [(run.seq, run.caps) for run in runs]
    for (_, before), (entry, now) in pairwise([*declared, (None, last)]):
        for what in ("epsilon", "delta"):
            old, new = getattr(before, what), getattr(now, what)
            if old != new:
                yield {
                    "entry": entry,
                    "cap": what,
                    "from": number_or_none(old),
                    "to": number_or_none(new),
                    "raised": old is not None and (new is None or new > old),
                }


def tell(facts: Facts, as_json: bool) -> None:
    """Write the history to standard output."""
    if as_json:
        answer_json(facts)
        return
    count = facts["head"]["entries"]
    answer(_fold(f"{facts['ledger']}: {count} {'entry' if count == 1 else 'entries'}"))
    if not facts["datasets"]:
        answer("nothing was charged yet")
    for dataset in facts["datasets"]:
        answer("")
        if dataset["runs"]:
            answer(rendered([(_table(dataset), "")]))
        else:
            answer(f"{dataset['dataset']}: nothing was charged yet")
        for line in _account(dataset):
            answer(_fold(line))


def _fold(line: str) -> str:
    return folded(line, sys.stdout, 9)


def _table(dataset: Facts) -> Table:
    runs: Sequence[Facts] = dataset["runs"]
    columns: dict[str, list[str]] = {
        "charged at": [run["charged_at"][:16].replace("T", " ") for run in runs],
        "release": [run["release"] for run in runs],
    }
    if any(run["snapshot"] for run in runs):  # charges of early versions don't note it
        columns["snapshot"] = [run["snapshot"] or "-" for run in runs]
    if any(run["period"] for run in runs):  # with a mark where it was declared disjoint
        marks = [" *" if run["disjoint_periods"] else "" for run in runs]
        columns["period"] = [
            f"{run['period'] or '-'}{mark}" for run, mark in zip(runs, marks, strict=True)
        ]
    for loss in ("epsilon", "delta", "rho"):
        if loss == "epsilon" or any(run[loss] for run in runs):
            columns[loss] = [rounded_up(run[loss]) for run in runs]
    columns["state"] = [run["state"] for run in runs]
    columns["spent"] = [rounded_up(run["spent"]["epsilon"]) for run in runs]
    if any(run["composed"]["by"] == "zCDP" for run in runs):
        columns["composed"] = [rounded_up(run["composed"]["epsilon"]) for run in runs]
    table = new_table(str(dataset["dataset"]))
    for heading in columns:
        side: Literal["left", "right"] = "left" if heading in _TEXTS else "right"
        table.add_column(heading, justify=side, overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*cells)
    return table


def _account(dataset: Facts) -> Iterator[str]:
    """Say what is spent and left below the table."""
    spent, total, cap = dataset["spent"], dataset["composed"], dataset["cap"]
    if any(run["disjoint_periods"] for run in dataset["runs"]):
        yield "* a unit has records in one such period only; spent: the periods that cost most"
    composed = total is not None and total["by"] == "zCDP"
    yield from unit_lines(dataset["units"])
    delta = f", delta {spent_text(spent['delta'])}" if spent["delta"] else ""
    yield f"spent    epsilon {spent_text(spent['epsilon'])}{delta}, plain sums"
    if composed:
        epsilon, delta = spent_text(total["epsilon"]), spent_text(total["delta"])
        yield f"         epsilon {epsilon} at delta {delta}, composed"
    for what in ("epsilon", "delta"):
        if cap[what] is None:
            if what == "epsilon" or spent["delta"]:
                yield f"cap      {what}: none"
            continue
        reserved = dataset["kept"] if what == "delta" else 0
        note = f"; {spent_text(reserved)} is kept for composing" if reserved else ""
        remaining = remaining_text(dataset["left"][what])
        yield f"cap      {what} {remaining_text(cap[what])}, left {remaining}{note}"
        yield f"         {_bar(cap[what], dataset['left'][what])}"
    for change in dataset["cap_changes"]:
        where = "now" if change["entry"] is None else f"with entry {change['entry']}"
        how = "raised" if change["raised"] else "set" if change["from"] is None else "lowered"
        how = "removed" if change["to"] is None else how
        yield (
            f"note     the cap on {change['cap']} was {how} {where}: "
            f"{_cap(change['from'])} before, {_cap(change['to'])} since"
        )


def _bar(cap: float, remaining: float) -> str:
    """How much of a cap is used up; any use is seen, and a bar is full where nothing remains."""
    spent = 1 - Fraction(str(remaining)) / Fraction(str(cap)) if cap else Fraction(1)
    filled = ceil(spent * _BAR)
    return f"{'█' * filled}{'░' * (_BAR - filled)} {ceil(100 * spent)}% used"


def _cap(value: float | None) -> str:
    return "none" if value is None else remaining_text(value)


def units_of(runs: Sequence[Run]) -> list[dict[str, object]]:
    """Tell the units that charges note, with the entries of each; usually it is one."""
    units: list[dict[str, Any]] = []
    for run in runs:
        definition = definition_in(run.detail)
        unit = {
            "unit": run.detail.get("unit"),
            "adjacency": run.detail.get("adjacency"),
            "definition": None if definition is None else dict(definition),
            "description": run.detail.get(DESCRIPTION),
        }
        same = next((noted for noted in units if unit.items() <= noted.items()), None)
        if same is None:
            units.append({**unit, "entries": [run.seq]})
        else:
            same["entries"].append(run.seq)
    return units


def unit_lines(units: Sequence[Facts]) -> Iterator[str]:
    """Say what is protected, and what people should look at before they believe the total."""
    noted = [unit for unit in units if unit["unit"] is not None]
    for unit in noted:
        of = f" ({_entries(unit)})" if len(noted) > 1 else ""
        yield f"unit     {_unit(unit)}, {unit['adjacency']}{of}"
    for unit in noted:
        if unit["unit"] != "row" and unit["definition"] is None:
            yield f"note     {_entries(unit)}: an early version did not note how it is defined"
    if len({unit["description"] for unit in noted} - {None}) > 1:
        yield "note     the unit is described in several ways: is it the same one?"


def _unit(unit: Facts) -> str:
    definition = unit["definition"] or {}
    made = f" = {definition['expression']}" if "expression" in definition else ""
    described = f": {unit['description']}" if unit["description"] is not None else ""
    return f"{unit['unit']}{made}{described}"


def _entries(unit: Facts, most: int = 5) -> str:
    numbers: Sequence[int] = unit["entries"]
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    listed = ", ".join(map(str, numbers[:most]))
    return f"{'entry' if len(numbers) == 1 else 'entries'} {listed}{more}"


def against(report: str, ledger: str, runs: Sequence[Run]) -> None:
    """Refuse (exit 6) a ledger that doesn't hold the charge that a report names."""
    named = _read(report)
    entry = named["entry"]
    run = next((run for run in runs if run.seq == entry), None)
    if run is None:
        raise not_in_ledger(ledger, report, f"entry {entry} is no charge, or is not there")
    for what, held in (("hash", run.hash), ("dataset", run.dataset), ("run", run.run_id)):
        if named[what] != held:
            raise not_in_ledger(ledger, report, f"entry {entry} has another {what}")


def _read(report: str) -> Mapping[str, Any]:
    path = Path(report)
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise ValueError("no file, or too large for a report")
        content = json.loads(path.read_bytes())
        named = {name: content["ledger"][name] for name in ("entry", "hash", "dataset")}
        named["run"] = content["provenance"]["run_id"]
        if type(named["entry"]) is not int or content["schema"] != "dprelease/report/1":
            raise ValueError("not a report")
    except OSError as problem:
        raise no_report(report, os.strerror(problem.errno or 0)) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise no_report(report, "it names no entry of a ledger") from None
    return named


def lines_of(chain: Sequence[Entry]) -> list[str]:
    """Entries in order, one JSON object each."""
    return [json.dumps(asdict(entry)) for entry in chain]


def write_lines(lines: Iterable[str], out: str | None) -> None:
    """Write lines to a file, or to standard output. Raises Failure (exit 2)."""
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        if text:
            answer(text.rstrip("\n"))
        return
    if problem := save_file(out, text.encode(), _is_export):
        raise no_export(out, problem)


def _is_export(text: str) -> bool:
    first = json.loads(text.partition("\n")[0])
    return isinstance(first, dict) and first.keys() == {*Entry.__dataclass_fields__}
