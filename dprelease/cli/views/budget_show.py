"""Where the budget of each dataset went: as JSON values, and as tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dprelease.cli.console import answer, answer_json, folded
from dprelease.cli.units import unit_lines, units_of
from dprelease.cli.views.numbers import left as left_of
from dprelease.cli.views.numbers import rounded_up
from dprelease.cli.views.numbers import spent as spent_of
from dprelease.cli.views.standing import left_of as left_under
from dprelease.cli.views.standing import total_facts
from dprelease.cli.views.tables import new_table, rendered
from dprelease.ledger import Caps, Ledger, Run
from dprelease.ledger.totals import running
from dprelease.report.numbers import upward

if TYPE_CHECKING:
    from rich.table import Table

Facts = Mapping[str, Any]


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
    plain, total = after[-1] if after else (None, None)
    return {
        "dataset": name,
        "runs": [
            _run(run) | {"spent": {"epsilon": upward(sums.epsilon), "delta": upward(sums.delta)},
                         "composed": total_facts(then)}
            for run, (sums, then) in zip(runs, after, strict=True)
        ],
        "spent": {
            "epsilon": upward(plain.epsilon) if plain else 0,
            "delta": upward(plain.delta) if plain else 0,
        },
        "composed": total_facts(total) if total else None,
        "cap": _caps(caps),
        "kept": upward(total.reserve) if total else 0,
        "left": {
            "epsilon": left_under(caps.epsilon, total.epsilon) if total else _caps(caps)["epsilon"],
            "delta": left_under(total.room, total.counted) if total else _caps(caps)["delta"],
        },
        "cap_changes": list(_changes(runs, caps)),
        "units": units_of(runs),
    }  # fmt: skip


def _run(run: Run) -> dict[str, object]:
    return {
        "entry": run.seq,
        "run_id": run.run_id,
        "charged_at": run.charged_at,
        "release": run.release,
        "period": run.terms.period,
        "disjoint_periods": run.terms.disjoint,
        "epsilon": upward(run.loss.epsilon),
        "delta": upward(run.loss.delta),
        "rho": None if run.loss.rho is None else upward(run.loss.rho),
        "state": "published" if run.published_at is not None else str(run.state),
        "cap": _caps(run.caps),
    }


def _caps(caps: Caps) -> dict[str, int | float | None]:
    return {
        "epsilon": None if caps.epsilon is None else upward(caps.epsilon),
        "delta": None if caps.delta is None else upward(caps.delta),
    }


def _changes(runs: Sequence[Run], last: Caps) -> Iterator[dict[str, object]]:
    """Where one run declares other caps than the run before; ``entry`` None: declared now."""
    declared = [(run.seq, run.caps) for run in runs]
    for (_, before), (entry, now) in pairwise([*declared, (None, last)]):
        for what, old, new in (
            ("epsilon", before.epsilon, now.epsilon),
            ("delta", before.delta, now.delta),
        ):
            if old != new:
                raised = old is not None and (new is None or new > old)
                yield {
                    "entry": entry,
                    "cap": what,
                    "from": None if old is None else upward(old),
                    "to": None if new is None else upward(new),
                    "raised": raised,
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
    runs = dataset["runs"]
    composed = any(run["composed"]["by"] == "zCDP" for run in runs)
    table = new_table(str(dataset["dataset"]))
    columns: list[tuple[str, bool, Any]] = [
        ("charged at", False, lambda run: run["charged_at"][:16].replace("T", " ")),
        ("release", False, lambda run: run["release"]),
    ]
    if any(run["period"] for run in runs):
        columns.append(("period", False, _period))
    columns.append(("epsilon", True, lambda run: rounded_up(run["epsilon"])))
    columns.extend(
        (what, True, lambda run, what=what: rounded_up(run[what]))
        for what in ("delta", "rho")
        if any(run[what] for run in runs)
    )
    columns += [
        ("state", False, lambda run: run["state"]),
        ("spent", True, lambda run: rounded_up(run["spent"]["epsilon"])),
    ]
    if composed:
        columns.append(("composed", True, lambda run: rounded_up(run["composed"]["epsilon"])))
    for heading, number, _ in columns:
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    for run in runs:
        table.add_row(*(str(shown(run)) for _, _, shown in columns))
    return table


def _period(run: Facts) -> str:
    """The period, with a mark where it was declared disjoint."""
    return f"{run['period'] or '-'}{' *' if run['disjoint_periods'] else ''}"


def _account(dataset: Facts) -> Iterator[str]:
    """Say what is spent and left below the table."""
    spent, total, cap = dataset["spent"], dataset["composed"], dataset["cap"]
    if any(run["disjoint_periods"] for run in dataset["runs"]):
        yield "* a unit has records in one such period only; spent: the periods that cost most"
    composed = total is not None and total["by"] == "zCDP"
    yield from unit_lines(dataset["units"])
    delta = f", delta {spent_of(spent['delta'])}" if spent["delta"] else ""
    yield f"spent    epsilon {spent_of(spent['epsilon'])}{delta}, plain sums"
    if composed:
        yield (
            f"         epsilon {spent_of(total['epsilon'])} at delta {spent_of(total['delta'])}, "
            "composed"
        )
    for what in ("epsilon", "delta"):
        if cap[what] is None:
            if what == "epsilon" or spent["delta"]:
                yield f"cap      {what}: none"
            continue
        kept = dataset["kept"] if what == "delta" else 0
        note = f"; {spent_of(kept)} is kept for composing" if kept else ""
        yield (f"cap      {what} {left_of(cap[what])}, left {left_of(dataset['left'][what])}{note}")
    for change in dataset["cap_changes"]:
        where = "now" if change["entry"] is None else f"with entry {change['entry']}"
        how = "raised" if change["raised"] else "set" if change["from"] is None else "lowered"
        how = "removed" if change["to"] is None else how
        yield (
            f"note     the cap on {change['cap']} was {how} {where}: "
            f"{_cap(change['from'])} before, {_cap(change['to'])} since"
        )


def _cap(value: float | None) -> str:
    return "none" if value is None else left_of(value)
