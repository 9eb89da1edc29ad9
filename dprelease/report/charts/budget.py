"""Where the budget goes: by query, in the ledger, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import floor

from dprelease.report.charts.drawing import WIDTH, Chart, Drawing, cut
from dprelease.report.charts.scales import Scale, linear, ticks_of
from dprelease.report.facts.model import Accounting, Ledger, LedgerStanding, Query
from dprelease.report.facts.record_model import RecordTable
from dprelease.report.numbers import shortened, written

MOST_BARS = 12


def paid(
    queries: Sequence[Query], method: str, perturbs: Sequence[RecordTable] = ()
) -> tuple[str, list[tuple[str, float]]]:
    """List what is paid for once, with its cost: queries that share a release are one.

    The costs are rho where the composition adds up rho, else epsilon. Of record-level tables
    ``perturbs`` each column is paid for, for all rows of a unit.
    """
    in_rho = method == "zcdp" and not perturbs
    in_rho = in_rho and all(query.rho is not None for query in queries)
    name = "rho" if in_rho else "epsilon"
    found: dict[str, tuple[list[str], float]] = {}
    for query in queries:
        shares = query.shares
        key = f"shared {shares.release}" if shares else f"own {query.name}"
        names, _ = found.setdefault(
            key, ([], query.rho if in_rho and query.rho is not None else query.epsilon)
        )
        names.append(query.name)
    of_records = [
        (f"{part.name}: {column.name}", part.rows_per_unit * column.epsilon)
        for part in perturbs
        for column in part.columns
    ]
    return name, [(" + ".join(names), cost) for names, cost in found.values()] + of_records


def budget_chart(
    queries: Sequence[Query], accounting: Accounting, perturbs: Sequence[RecordTable] = ()
) -> Chart:
    """Draw a bar for each release, as a share of all; for each column of a record-level table."""
    unit, costs = paid(queries, accounting.method, perturbs)
    whole = sum(cost for _, cost in costs) or 1
    shown = costs
    if len(costs) > MOST_BARS:
        rest = costs[MOST_BARS - 1 :]
        shown = [*costs[: MOST_BARS - 1], (f"{len(rest)} more", sum(cost for _, cost in rest))]
    drawing = Drawing(34 * len(shown) + 4)
    longest = max(cost for _, cost in shown) or 1
    for place, (label, cost) in enumerate(shown):
        y = 34.0 * place
        drawing.text(0, y + 14, cut(label, 38), "t")
        said = f"{written(shortened(cost))} · {cost / whole * 100:.3g}%"
        drawing.text(WIDTH, y + 14, said, "t s", "end")
        drawing.box((0, y + 20), (WIDTH, 8), "track")
        drawing.box((0, y + 20), (WIDTH * cost / longest, 8), "bar")
    by = "query" if not perturbs else "query and column" if queries else "column"
    title = f"The budget by {by}, in {unit}"
    description = (
        f"{len(costs)} {'parts' if perturbs else 'releases'}; the largest takes "
        f"{longest / whole * 100:.3g}% of their sum. "
        + (f"Composed ({accounting.method}) they come to epsilon {written(accounting.epsilon)}.")
    )
    rows = tuple(
        (label, written(shortened(cost)), f"{cost / whole * 100:.3g}%") for label, cost in costs
    )
    name = "chart-budget"
    svg = drawing.finish(name, title, description)
    return Chart(name, title, description, svg, (by, unit, "share"), rows)


def ledger_chart(ledger: Ledger | LedgerStanding) -> Chart:
    """Draw one bar: spent before, this release, left up to the cap."""
    spent = ledger.composed or ledger
    before, after = float(spent.before.epsilon), float(spent.after.epsilon)
    cap = ledger.cap.epsilon
    whole = max(after, float(cap) if cap is not None else after) or 1.0
    drawing = Drawing(84)
    across = Scale(0, whole, 0, WIDTH)
    drawing.box((0, 6), (WIDTH, 20), "track")
    drawing.box((0, 6), (across.at(before), 20), "bar quiet")
    drawing.box((across.at(before), 6), (across.at(after) - across.at(before), 20), "bar")
    remaining = "no cap"
    if cap is not None:
        remaining = f"{_less(max(0.0, float(cap) - after))} of {written(cap)}"
    rows = (
        ("spent before", _loss(before)),
        ("this release adds", _loss(after - before)),
        ("left under the cap", remaining),
    )
    for place, (label, said) in enumerate(rows):
        y = 44.0 + 17 * place
        drawing.box((0, y - 9), (12, 10), ("bar quiet", "bar", "track")[place])
        drawing.text(18, y, f"{label}: {said}", "t")
    title = "The ledger of the dataset, in epsilon"
    description = "; ".join(f"{label}: {said}" for label, said in rows) + f". {_counted(ledger)}"
    name = "chart-ledger"
    svg = drawing.finish(name, title, description)
    note = f"What is spent is never given back. {_counted(ledger)}"
    return Chart(name, title, description, svg, ("what", "epsilon"), rows, note)


def _loss(value: float) -> str:
    return written(shortened(float(f"{value:.12g}"), 6))


def _less(value: float) -> str:
    """What is left: never more than there is."""
    return written(floor(float(f"{value:.12g}") * 10**6) / 10**6)


def _counted(ledger: Ledger | LedgerStanding) -> str:
    """How releases add up: a chart can't be read without that."""
    composed = None if ledger.composed is None else ledger.composed.after
    said = "Releases are added up plainly."
    if composed is not None and composed.by == "zCDP":
        said = "Releases are composed by zCDP, which is less than their plain sum."
    if ledger.disjoint_periods:
        said += " Of periods that are declared disjoint, the dearest counts."
    return said


def spending_chart(ledger: Ledger) -> Chart | None:
    """Draw epsilon over time, all charges of the dataset added up; None if none are known."""
    history = ledger.history
    if not history:
        return None
    cap = ledger.cap.epsilon
    totals = [float(each.epsilon) for each in history]
    times = _times([str(each.at) for each in history])
    left, right, top, bottom = 40.0, WIDTH - 8.0, 14.0, 150.0
    up, counts = linear([*totals, *([float(cap)] if cap is not None else [])], bottom, top)
    across = Scale(times[0], times[-1], left + 6, right - 40)
    drawing = Drawing(bottom + 22)
    for value, label in ticks_of(up, counts):
        drawing.line((left, up.at(value)), (right, up.at(value)), "grid")
        drawing.text(left - 6, up.at(value) + 4, label, "t s", "end")
    points, level = [(left, up.at(0))], 0.0
    for time, total in zip(times, totals, strict=True):
        x = across.at(time) if times[0] != times[-1] else (left + right) / 2
        points += [(x, up.at(level)), (x, up.at(total))]
        level = total
    points.append((right, up.at(level)))
    drawing.path(points, "stroke-1")
    drawing.dot(*points[-2], 3.5, "bar")
    if cap is not None:
        drawing.line((left, up.at(float(cap))), (right, up.at(float(cap))), "limit")
        drawing.text(right, up.at(float(cap)) - 4, f"cap {written(cap)}", "t s", "end")
    first, last = (str(history[place].at)[:10] for place in (0, -1))
    if first != last:
        drawing.text(left, bottom + 16, first, "t s")
    drawing.text(right, bottom + 16, last, "t s", "end")
    title = "Epsilon over time"
    description = (
        f"{len(history)} {'charge' if len(history) == 1 else 'charges'} of this dataset up to this "
        f"release, which brings the total to {written(history[-1].epsilon)}"
        + (f", under a cap of {written(cap)}." if cap is not None else "; there is no cap.")
        + f" {_counted(ledger)}"
    )
    rows = tuple(
        (str(each.entry), str(each.at)[:19].replace("T", " "), written(each.epsilon))
        for each in history
    )
    name = "chart-spending"
    svg = drawing.finish(name, title, description)
    head = ("ledger entry", "charged at (UTC)", "epsilon so far")
    return Chart(name, title, description, svg, head, rows)


def _times(told: Sequence[str]) -> list[float]:
    """Read times as seconds, or number the charges where one can't be read or they go back."""
    try:
        found = [datetime.fromisoformat(each).timestamp() for each in told]
    except ValueError:
        found = []
    if found and found == sorted(found) and all("T" in each or " " in each for each in told):
        return found
    return [float(place) for place in range(len(told))]
