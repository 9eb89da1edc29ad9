"""The budget of each dataset as JSON and tables; entries of a ledger."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from io import StringIO
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import asdict

from dprelease.cli.views.console import answer, answer_json, fold_line
from dprelease.cli.views.text_layout import (
    build_table,
    format_remaining,
    format_spent,
    render_tables,
    round_up,
)
from dprelease.errors import Complaint
from dprelease.files.atomic import UnwrittenError, save_file
from dprelease.ledger.chain import Entry
from dprelease.ledger.entries import Account
from dprelease.ledger.ledger_messages import build_export_failure
from dprelease.ledger.privacy_filter import CAPS, Caps
from dprelease.release.budget_status import compute_remaining_under, format_place
from dprelease.reports.text.shown_numbers import number_or_none

if TYPE_CHECKING:
    from rich.table import Table

Facts = Mapping[str, Any]

_TEXTS = {"charged at", "release", "snapshot", "period", "state"}
_BAR = 20  # columns


def tell_cap(ledger: str, account: Account, warnings: Sequence[Complaint], as_json: bool) -> str:
    """Write the cap that was just set to standard output. A note, if nothing is left under it."""
    caps = account.cap.caps if account.cap else Caps()
    remainders = compute_remaining_under(caps, account.terms)
    amounts = {name: number_or_none(getattr(caps, name)) for name in CAPS}
    if as_json:
        answer_json(
            {
                "schema": "dprelease/cap/1",
                "ledger": format_place(ledger),
                "dataset": account.dataset,
                "cap": amounts,
                "left": remainders,
                "warnings": [warning.to_dict() for warning in warnings],
            }
        )
    else:
        amounts_left = [
            f"{name} {_cap(amounts[name])}"
            + ("" if left is None else f", left {format_remaining(left)}")
            for name, left in remainders.items()
            if name == "epsilon" or amounts[name] is not None
        ]
        answer(f'{ledger}: cap of "{account.dataset}": {"; ".join(amounts_left)}')
    if any(remaining is not None and not remaining for remaining in remainders.values()):
        return "the cap is at or below the spent budget: nothing remains"
    return ""


def tell(facts: Facts, as_json: bool) -> None:
    """Write the history to standard output."""
    if as_json:
        answer_json(facts)
        return
    count = facts["charges"]
    answer(_fold(f"{facts['ledger']}: {count} {'charge' if count == 1 else 'charges'} in all"))
    if not facts["datasets"]:
        answer("nothing was charged yet")
    for dataset in facts["datasets"]:
        answer("")
        if dataset["runs"]:
            listed = _build_table(dataset) if "groups" in dataset else _build_dataset_table(dataset)
            answer(render_tables([(listed, "")]))
        else:
            answer(f"{dataset['dataset']}: nothing was charged yet")
        for line in _describe_account(dataset):
            answer(_fold(line))


def _fold(line: str) -> str:
    return fold_line(line, sys.stdout, 9)


def _build_dataset_table(dataset: Facts) -> Table:
    runs: Sequence[Facts] = dataset["runs"]
    columns: dict[str, list[str]] = {
        "charged at": [run["charged_at"][:16].replace("T", " ") for run in runs],
        "release": [run["release"] for run in runs],
    }
    if any(run["snapshot"] for run in runs):  # version 0.2 did not note it
        columns["snapshot"] = [run["snapshot"] or "-" for run in runs]
    if any(run["period"] for run in runs):  # with a mark where it was declared disjoint
        marks = [" *" if run["disjoint_periods"] else "" for run in runs]
        columns["period"] = [
            f"{run['period'] or '-'}{mark}" for run, mark in zip(runs, marks, strict=True)
        ]
    for loss in ("epsilon", "delta", "rho"):
        if loss == "epsilon" or any(run[loss] for run in runs):
            columns[loss] = [round_up(run[loss]) for run in runs]
    columns["state"] = [run["state"] for run in runs]
    columns["spent"] = [round_up(run["spent"]["epsilon"]) for run in runs]
    if any(run["composed"]["by"] == "zCDP" for run in runs):
        columns["composed"] = [round_up(run["composed"]["epsilon"]) for run in runs]
    table = build_table(str(dataset["dataset"]))
    for heading in columns:
        side: Literal["left", "right"] = "left" if heading in _TEXTS else "right"
        table.add_column(heading, justify=side, overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*cells)
    return table


def _build_table(dataset: Facts) -> Table:
    by: str = dataset["by"]
    table = build_table(str(dataset["dataset"]))
    table.add_column(by, justify="left", overflow="fold")
    for heading in ("releases", "epsilon", "delta", "rho"):
        table.add_column(heading, justify="right", overflow="fold")
    for group in dataset["groups"]:
        losses = [
            "-" if group[loss] is None else round_up(group[loss])
            for loss in ("epsilon", "delta", "rho")
        ]
        table.add_row(group[by] or "-", str(group["releases"]), *losses)
    return table


_RUN_COLUMNS = (
    "entry", "charged_at", "release", "snapshot", "period", "epsilon", "delta", "rho", "state",
)  # fmt: skip


def tell_csv(facts: Facts) -> None:
    """Write what the tables list as CSV, with the name of the dataset in each line."""
    text = StringIO()
    lines = csv.writer(text, lineterminator="\n")
    heading = None
    for dataset in facts["datasets"]:
        by = dataset.get("by")
        columns = _RUN_COLUMNS if by is None else (by, "releases", "epsilon", "delta", "rho")
        if heading is None:
            heading = ("dataset", *columns)
            lines.writerow(heading)
        for row in dataset["runs" if by is None else "groups"]:
            lines.writerow([dataset["dataset"], *(row[column] for column in columns)])
    if text.getvalue():
        answer(text.getvalue().rstrip("\n"))


def _describe_account(dataset: Facts) -> Iterator[str]:
    """Say what is spent and left below the table."""
    spending, total, cap = dataset["spent"], dataset["composed"], dataset["cap"]
    if any(run["disjoint_periods"] for run in dataset["runs"]):
        yield "* a unit has records in one such period only; spent: the most expensive periods"
    composed = total is not None and total["by"] == "zCDP"
    yield from describe_units(dataset["units"])
    delta = f", delta {format_spent(spending['delta'])}" if spending["delta"] else ""
    yield f"spent    epsilon {format_spent(spending['epsilon'])}{delta}, plain sums"
    if composed:
        epsilon, delta = format_spent(total["epsilon"]), format_spent(total["delta"])
        yield f"         epsilon {epsilon} at delta {delta}, composed"
    for part in cap:
        if cap[part] is None:
            if part == "epsilon" or spending["delta"]:
                yield f"cap      {part}: none"
            continue
        reserved = dataset["kept"] if part == "delta" else 0
        note = f"; {format_spent(reserved)} reserved for composition" if reserved else ""
        remaining = format_remaining(dataset["left"][part])
        when = f" for {dataset['left_for']}" if dataset.get("left_for") else ""
        yield f"cap      {part} {format_remaining(cap[part])}, left {remaining}{when}{note}"
        yield f"         {_draw_bar(cap[part], dataset['left'][part])}"
    for set_cap in dataset["caps"]:
        caps = ", ".join(
            f"{name} {_cap(set_cap[name])}" for name in CAPS if set_cap[name] is not None
        )
        yield (
            f"note     entry {set_cap['entry']}, {set_cap['set_at'][:10]}, sets the ledger's cap: "
            f"{caps or 'none'} ({set_cap['reason']})"
        )
    for change in dataset["cap_changes"]:
        where = "now" if change["entry"] is None else f"with entry {change['entry']}"
        how = "raised" if change["raised"] else "set" if change["from"] is None else "lowered"
        how = "removed" if change["to"] is None else how
        yield (
            f"note     the cap on {change['cap']} was {how} {where}: "
            f"{_cap(change['from'])} before, {_cap(change['to'])} since"
        )


def _draw_bar(cap: float, remaining: float) -> str:
    """Draw how much of a cap is used: any use shows, and the bar is full where nothing remains."""
    share = 1 - Fraction(str(remaining)) / Fraction(str(cap)) if cap else Fraction(1)
    filled = ceil(share * _BAR)
    return f"{'█' * filled}{'░' * (_BAR - filled)} {ceil(100 * share)}% used"


def _cap(value: float | None) -> str:
    return "none" if value is None else format_remaining(value)


def describe_units(units: Sequence[Facts]) -> Iterator[str]:
    """Say what is protected, and what people should look at before they believe the total."""
    noted = [unit for unit in units if unit["unit"] is not None]
    for unit in noted:
        of = f" ({_describe_entries(unit)})" if len(noted) > 1 else ""
        yield f"unit     {_describe_unit(unit)}, {unit['adjacency']}{of}"
    if len({unit["description"] for unit in noted} - {None}) > 1:
        yield "note     the unit is described in several ways: check that it is the same unit"


def _describe_unit(unit: Facts) -> str:
    definition = unit["definition"] or {}
    source = f" = {definition['expression']}" if "expression" in definition else ""
    described = f": {unit['description']}" if unit["description"] is not None else ""
    return f"{unit['unit']}{source}{described}"


def _describe_entries(unit: Facts, limit: int = 5) -> str:
    numbers: Sequence[int] = unit["entries"]
    rest = f" and {len(numbers) - limit} more" if len(numbers) > limit else ""
    listed = ", ".join(map(str, numbers[:limit]))
    return f"{'entry' if len(numbers) == 1 else 'entries'} {listed}{rest}"


def format_lines(chain: Sequence[Entry]) -> list[str]:
    """Write entries in order, one JSON object each."""
    return [json.dumps(asdict(entry)) for entry in chain]


def write_lines(lines: Iterable[str], out: str | None) -> None:
    """Write lines to a file, or to standard output. Raises Failure (exit 2 or 6)."""
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        if text:
            answer(text.rstrip("\n"))
        return
    try:
        save_file(out, text.encode(), _is_export)
    except UnwrittenError as problem:
        raise build_export_failure(out, problem.reason, is_of_disk=problem.is_of_disk) from None


def _is_export(text: str) -> bool:
    first = json.loads(text.partition("\n")[0])
    return isinstance(first, dict) and first.keys() == {*Entry.__struct_fields__}
