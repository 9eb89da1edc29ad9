"""The budget of each dataset as JSON and tables; entries of a ledger, held against reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from dprelease.cli.console import answer, answer_json, folded
from dprelease.cli.views.formats import new_table, remaining_text, rendered, rounded_up, spent_text
from dprelease.cli.views.ledger import remaining_under, total_facts
from dprelease.files.atomic import save_text
from dprelease.ledger.chain import Entry
from dprelease.ledger.entries import Run
from dprelease.ledger.filters import Caps
from dprelease.ledger.guarantee import DESCRIPTION, definition_in
from dprelease.ledger.messages import no_export, no_report, not_in_ledger
from dprelease.ledger.store import Ledger
from dprelease.ledger.totals import running
from dprelease.report.numbers import upward

if TYPE_CHECKING:
    from rich.table import Table

Facts = Mapping[str, Any]

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
            "epsilon": remaining_under(caps.epsilon, total.epsilon),
            "delta": remaining_under(total.room, total.counted),
        } if total else _caps(caps),
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
    for change in dataset["cap_changes"]:
        where = "now" if change["entry"] is None else f"with entry {change['entry']}"
        how = "raised" if change["raised"] else "set" if change["from"] is None else "lowered"
        how = "removed" if change["to"] is None else how
        yield (
            f"note     the cap on {change['cap']} was {how} {where}: "
            f"{_cap(change['from'])} before, {_cap(change['to'])} since"
        )


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
    entry, digest = named["entry"], named["hash"]
    run = next((run for run in runs if run.seq == entry), None)
    if run is None:
        raise not_in_ledger(ledger, report, f"entry {entry} is no charge, or is not there")
    for what, said, held in (
        ("hash", digest, run.hash),
        ("dataset", named["dataset"], run.dataset),
        ("run", named["run"], run.run_id),
    ):
        if said != held:
            raise not_in_ledger(ledger, report, f"entry {entry} has another {what}")


def _read(report: str) -> Mapping[str, Any]:
    path = Path(report)
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode) or status.st_size > _LARGEST:
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
                "seq": entry.seq,
                "kind": entry.kind,
                "run_id": entry.run_id,
                "written_at": entry.written_at,
                "content": entry.content,
                "previous": entry.previous,
                "hash": entry.hash,
            }
        )
        for entry in chain
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
