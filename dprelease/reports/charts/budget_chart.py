"""Where the budget goes: by query, in the ledger, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import floor

from dprelease.language import number_text, say, say_count
from dprelease.reports.charts.svg import (
    WIDTH,
    Chart,
    Drawing,
    Scale,
    build_chart,
    cut,
    draw_bars,
    fit_linear_scale,
)
from dprelease.reports.facts.unit_facts import describe_accounting
from dprelease.reports.model.record_model import RecordTable
from dprelease.reports.model.report_model import Accounting, Ledger, LedgerStanding, Query
from dprelease.reports.text.shown_numbers import format_number, shorten

MOST_BARS = 12
DAY, SHOWN_TIME = 86400.0, 3.0  # seconds; days


def list_payments(
    queries: Sequence[Query], method: str, perturbs: Sequence[RecordTable] = ()
) -> tuple[str, list[tuple[str, float]]]:
    """List what is paid for once, with its cost: queries that share a release are one.

    The costs are in rho if the composition adds up rho, every query states one, and there are no
    record-level tables; else in epsilon. Each column of a record-level table is a cost of its own:
    its epsilon times the rows of a unit.
    """
    in_rho = method == "zcdp" and not perturbs
    in_rho = in_rho and all(query.rho is not None for query in queries)
    names: dict[tuple[bool, str], list[str]] = {}
    costs: dict[tuple[bool, str], float] = {}
    for query in queries:
        release = (query.lender is not None, query.lender or query.name)
        names.setdefault(release, []).append(query.name)
        costs.setdefault(release, query.rho if in_rho and query.rho is not None else query.epsilon)
    of_records = [
        (
            say("words.labelled", label=part.name, text=column.name),
            part.rows_per_unit * column.epsilon,
        )
        for part in perturbs
        for column in part.columns
    ]
    of_queries = [(" + ".join(names[release]), cost) for release, cost in costs.items()]
    return "rho" if in_rho else "epsilon", of_queries + of_records


def draw_budget_chart(
    queries: Sequence[Query], accounting: Accounting, perturbs: Sequence[RecordTable] = ()
) -> Chart:
    """Draw a bar for each release, as a share of all; for each column of a record-level table."""
    unit, costs = list_payments(queries, accounting.method, perturbs)
    total = sum(cost for _, cost in costs) or 1
    cost_rows = costs
    if len(costs) > MOST_BARS:
        rest = costs[MOST_BARS - 1 :]
        cost_rows = [
            *costs[: MOST_BARS - 1],
            (say("charts.budget.more", number=len(rest)), sum(cost for _, cost in rest)),
        ]
    label, largest = max(costs, key=lambda paid_for: paid_for[1], default=("", 0.0))
    rows = [
        (label, format_number(shorten(cost)), _describe_share(cost, total)) for label, cost in costs
    ]
    drawing = draw_bars(
        [
            (
                cut(label, 38),
                f"{format_number(shorten(cost))} · {_describe_share(cost, total)}",
                cost / total,
            )
            for label, cost in cost_rows
        ],
        "track",
    )
    by = (
        say("words.query")
        if not perturbs
        else say("charts.budget.query_and_column")
        if queries
        else say("words.column")
    )
    sizes = {
        "share": number_text(f"{largest / total * 100:.3g}"),
        "label": label,
        "method": describe_accounting(accounting.method),
        "epsilon": format_number(accounting.epsilon),
    }
    description = say_count(len(costs), "charts.budget.parts", **sizes)
    title = say("charts.budget.title", parts=by, unit=unit)
    return build_chart(
        (("", drawing),), "chart-budget", title, description, (by, unit, say("words.share")), rows
    )


def draw_ledger_chart(ledger: Ledger | LedgerStanding) -> Chart:
    """Draw one bar: spent before, this release, left up to the cap."""
    accounting = ledger.composed or ledger
    before, after = float(accounting.before.epsilon), float(accounting.after.epsilon)
    cap = ledger.cap.epsilon
    longest = max(after, float(cap) if cap is not None else after) or 1.0
    drawing = Drawing(84)
    across = Scale(0, longest, 0, WIDTH)
    drawing.draw_box((0, 6), (WIDTH, 20), "track")
    drawing.draw_box((0, 6), (across.place(before), 20), "bar quiet")
    drawing.draw_box(
        (across.place(before), 6), (across.place(after) - across.place(before), 20), "bar"
    )
    remaining = say("words.no_cap")
    if ledger.cap.rho is not None:
        remaining = say("charts.ledger.cap_of_rho", cap=format_number(ledger.cap.rho))
    if cap is not None:  # never more than there is
        remaining_budget = max(0.0, float(cap) - after)
        digits = floor(float(f"{remaining_budget:.12g}") * 10**6) / 10**6
        remaining = say(
            "charts.ledger.of_cap", amount=format_number(digits), cap=format_number(cap)
        )
    rows = (
        (say("charts.ledger.spent_before"), _format_loss(before)),
        (say("charts.ledger.this_release_adds"), _format_loss(after - before)),
        (say("charts.ledger.left_under_cap"), remaining),
    )
    texts = [say("words.labelled", label=label, text=text) for label, text in rows]
    for place, text in enumerate(texts):
        y = 44.0 + 17 * place
        drawing.draw_box((0, y - 9), (12, 10), ("bar quiet", "bar", "track")[place])
        drawing.write_text(18, y, text, "t")
    return build_chart(
        (("", drawing),),
        "chart-ledger",
        say("charts.ledger.title"),
        "; ".join(texts) + f". {_describe_accounting(ledger)}",
        (say("words.what"), say("words.epsilon")),
        rows,
        say("charts.ledger.description", composition=_describe_accounting(ledger)),
    )


def _format_loss(value: float) -> str:
    return format_number(shorten(float(f"{value:.12g}"), 6))


def _describe_accounting(ledger: Ledger | LedgerStanding) -> str:
    """Describe how releases add up."""
    sentence = say("charts.ledger.added_plainly")
    if ledger.composed is not None and ledger.composed.after.by == "zCDP":
        sentence = say("charts.ledger.composed_by_zcdp")
    if ledger.disjoint_periods:
        sentence = f"{sentence} {say('charts.ledger.disjoint_periods')}"
    return sentence


def draw_spending_chart(ledger: Ledger) -> Chart | None:
    """Draw epsilon over time, all charges of the dataset added up.

    None if there is no time to show: no charges are known, or all within a few days.
    """
    history, cap = ledger.history, ledger.cap.epsilon
    times = _read_times([charge.at for charge in history])
    if len(times) < 2 or times[-1] - times[0] < SHOWN_TIME:
        return None
    totals = [float(charge.epsilon) for charge in history]
    x_start, x_end, top, bottom = 40.0, WIDTH - 8.0, 20.0, 150.0
    up = fit_linear_scale([*totals, *([float(cap)] if cap is not None else [])], bottom, top)
    across = Scale(times[0], times[-1], x_start + 6, x_end - 40)
    drawing = Drawing(bottom + 22)
    drawing.draw_axis_up(up, x_start, x_end, "grid")
    points, level = [(x_start, up.place(0))], 0.0
    for time, total in zip(times, totals, strict=True):
        x = across.place(time)
        points += [(x, up.place(level)), (x, up.place(total))]
        level = total
    points.append((x_end, up.place(level)))
    drawing.draw_path(points, "stroke-1")
    drawing.draw_dot(*points[-2], 3.5, "bar")
    # Of other releases a report tells no names.
    x, y = points[-2]
    drawing.write_text(x - 6, y - 6, say("words.this_release"), anchor="end")
    if cap is not None:
        drawing.draw_line((x_start, up.place(float(cap))), (x_end, up.place(float(cap))), "limit")
        drawing.write_text(
            x_end,
            up.place(float(cap)) - 4,
            say("charts.timeline.cap", cap=format_number(cap)),
            anchor="end",
        )
    first, last = (history[place].at[:10] for place in (0, -1))
    if first != last:
        drawing.write_text(x_start, bottom + 16, first)
    drawing.write_text(x_end, bottom + 16, last, anchor="end")
    if cap is not None:
        capped = say("charts.timeline.under_cap", cap=format_number(cap))
    elif ledger.cap.rho is not None:
        capped = say("charts.timeline.cap_of_rho", cap=format_number(ledger.cap.rho))
    else:
        capped = say("charts.timeline.no_cap")
    spent = format_number(history[-1].epsilon)
    charges = say_count(len(history), "charts.timeline.charges", epsilon=spent)
    description = f"{charges} {capped} {_describe_accounting(ledger)}"
    rows = [
        (str(charge.entry), charge.at[:19].replace("T", " "), format_number(charge.epsilon))
        for charge in history
    ]
    head = (
        say("charts.timeline.columns.entry"),
        say("charts.timeline.columns.charged_at"),
        say("charts.timeline.columns.epsilon"),
    )
    return build_chart(
        (("", drawing),), "chart-spending", say("charts.timeline.title"), description, head, rows
    )


def _read_times(texts: Sequence[str]) -> list[float]:
    """Read times as days, or number the charges where one can't be read or they go back."""
    try:
        times = [datetime.fromisoformat(text).timestamp() / DAY for text in texts]
    except ValueError:
        times = []
    if times and times == sorted(times) and all("T" in text or " " in text for text in texts):
        return times
    return [float(place) for place in range(len(texts))]


def _describe_share(cost: float, total: float) -> str:
    return say("words.percent", share=number_text(f"{cost / total * 100:.3g}"))
