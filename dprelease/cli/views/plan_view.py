"""A plan for people: the total and the ledger, then tables that fit 80 columns.

Rows that say the same are one row with the names of all. On a terminal long names are folded, in a
pipe lines are as long as they need to be; nothing is ever cut off. Reasons are told when asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import starmap
from typing import TYPE_CHECKING, Any

from dprelease.cli.views.console import answer, fold_line
from dprelease.cli.views.ledger_view import describe_accounting, describe_ledger
from dprelease.cli.views.text_layout import (
    WITHIN_RANKS,
    build_table,
    format_count,
    name_lines,
    render_tables,
    round_up,
)
from dprelease.model.queries import name_column
from dprelease.reports.model.json_form import from_json
from dprelease.reports.model.record_model import RecordColumn, RecordTable
from dprelease.reports.model.strategy_model import compute_saving

if TYPE_CHECKING:
    from rich.table import Table

    from dprelease.reports.model.report_model import PlannedLedger

Facts = Mapping[str, Any]
Row = tuple[str, tuple[str, ...]]


def write_plan(plan: Facts, ledger: PlannedLedger, *, why: bool) -> None:
    """Write the plan, as ``reports.plan_facts.describe`` gives it, to standard output."""
    steps: Sequence[Facts] = plan["steps"]
    answer(_fold(_describe_unit(plan), 0) + "\n")
    answer(
        _fold([*_describe_totals(plan, ledger), *_describe_keys(steps), *_list_files(plan)], 9)
        + "\n"
    )
    percent = float(100 * Fraction(plan["interval"]))
    caption = f"Errors are due to the noise only: {percent:g}% of draws stay within them."
    if any(step["form"] == "quantiles" for step in steps):
        caption += f"\n{WITHIN_RANKS}"
    if any(step.get("among") for step in steps):
        caption += f"\n{_OF_KNOWN}"
    caption += _describe_unjudged(steps)
    tables = (
        [(_build_query_table(steps), caption), (_build_noise_table(steps), "")] if steps else []
    )
    perturbs = [from_json(RecordTable, table) for table in plan.get("perturb", ())]
    if perturbs:
        tables += _record_tables(perturbs, percent)
    if plan.get("strategies"):
        tables.append((_build_strategy_table(plan["strategies"]), _DEVIATIONS))
    if plan.get("what_if"):
        tables.append((_build_alternatives_table(plan["what_if"], steps, perturbs), ""))
    answer(render_tables(tables))
    parts = {"What tables of records show without noise": plan["not_protected"] if perturbs else ()}
    if why:
        parts |= {
            "What is released for queries planned together": [
                " ".join(strategy["explained"]) for strategy in plan.get("strategies", ())
            ],
            "How the sensitivity is derived": _describe_sensitivities(steps),
            "What the figures are": _describe_definitions(plan["definitions"]),
            "How figures are changed after the noise": _describe_finishing(steps),
            "What one unit loses in tables of records": [
                f"{table.name}: {' '.join(table.explained)}" for table in perturbs
            ],
            "What an approval of a saved plan (-o) leaves open": plan["approval"]["leaves_open"],
        }
    paragraphs = [f"{heading}\n{_fold(lines, 2)}" for heading, lines in parts.items() if lines]
    if not why:
        paragraphs.append(
            "Definitions, reasons for noise and losses, later changes: dprelease plan --why"
        )
    answer("\n\n".join(paragraphs))


def _fold(lines: Sequence[str], indent: int) -> str:
    return "\n".join(fold_line(line, sys.stdout, indent) for line in lines)


def _describe_unit(plan: Facts) -> list[str]:
    """Say what is protected, and what of it is read."""
    limits, unit = plan["bounding"], "row" if plan["bounding"] is None else "person"
    lines = [f"{plan['release']}: one {unit} is protected, {plan['adjacency']} neighbours"]
    if limits is None:
        return lines
    clipped = [
        f"All rows count in {step['name']}: a person's totals are scaled to an "
        f"{step['clipping']['norm'].upper()} norm of at most {step['clipping']['bound']:,}."
        for step in plan["steps"]
        if step.get("clipping")
    ]
    if clipped and len(clipped) == len(plan["steps"]):
        return [*lines, f'One person is all rows with the same "{plan["unit_column"]}".', *clipped]
    return [
        *lines,
        f'One person is all rows with the same "{plan["unit_column"]}". A table counts of these:',
        f"at most {format_count(limits['max_rows_per_unit'], 'row')}, in at most "
        f"{format_count(limits['max_groups_per_unit'], 'group')}, at most "
        f"{limits['max_rows_per_unit_per_group']:,} in one.",
        *(
            f"Fewer groups, fewer rows: at most {format_count(rows, 'row')} in {table}."
            for table, rows in plan.get("rows_of_unit", {}).items()
        ),
        *clipped,
    ]


def _build_query_table(steps: Sequence[Facts]) -> Table:
    """Build the table of queries, grouped by published table."""
    table = build_table("What is published", ("table and query", "statistic", "expected error"))
    for name in dict.fromkeys(step["table"] for step in steps):
        members = [step for step in steps if step["table"] == name]
        cells = members[0]["cells"]
        table.add_row(name, "private keys" if cells is None else format_count(cells, "cell"), "")
        rows = [
            (name_column(step["name"]), (_name_statistic(step), _format_error(step)))
            for step in members
        ]
        for names, cells in _fold_rows(rows):
            table.add_row(name_lines(names, "  "), *cells)
    return table


def _name_statistic(step: Facts) -> str:
    """Name the statistic; for a minimum or maximum with the quantile that stands for it."""
    text = str(step["statistic"])
    if step.get("survey_weight"):
        text = f"weighted {text}"
    stands_for_an_end = step["form"] == "quantiles" and step["meaningful_from"] is not None
    return f"{text} (q {step['quantiles'][0]})" if stands_for_an_end else text


def _format_error(step: Facts) -> str:
    """Format the expected error, without what the caption says."""
    if step["candidates"] is None or step["form"] == "quantiles":
        needed = step["meaningful_from"]
        note = f"; for {needed:,} values or more" if needed is not None else ""
        return str(step["expected_error"]).partition(";")[0] + note
    best = "the best" if step["picks"] == 1 else "its rank's"
    short = round_up(step["noise_halfwidth"])
    return f"at most {short} below {best}, of {step['candidates']:,}"


def _build_noise_table(steps: Sequence[Facts]) -> Table:
    with_delta = any(step["delta"] for step in steps)
    losses = ("epsilon", "delta") if with_delta else ("epsilon",)
    numbers = ("sensitivity", "scale", *losses)
    table = build_table("How it is protected", ("query", "mechanism"), numbers)
    rows = []
    for step in steps:
        noise = step["mechanism"], _format_sensitivity(step), round_up(step["scale"])
        rows.append((step["name"], (*noise, *(_format_loss(step, loss) for loss in losses))))
    for names, cells in _fold_rows(rows):
        table.add_row(name_lines(names), *cells)
    return table


_DEVIATIONS = (
    "Standard deviations of the noise of a figure. A scale above is that of one law with as much."
)


_OF_KNOWN = "A proportion is of the records for which its condition is true or false, not null."


_COUNTS = {
    "quantiles": "just their values are counted, as by a mean of the column, or a count where it "
    "IS NOT NULL",
    "choice": "records are counted by name, as by a histogram of the column",
}


def _describe_unjudged(steps: Sequence[Facts]) -> str:
    """Name the figures that are never flagged ok, and what would tell that they are."""
    lines = ""
    for form, counts in _COUNTS.items():
        unjudged = (
            step
            for step in steps
            if step["form"] == form and not (step.get("judged_by") or step.get("score"))
        )
        if names := ", ".join(dict.fromkeys(name_column(step["name"]) for step in unjudged)):
            lines += f"\nNo flag says ok of {names}: flagging needs the same groups where {counts}."
    return lines


def _build_strategy_table(strategies: Sequence[Facts]) -> Table:
    """Build the table of errors of queries that are planned together, and alone."""
    numbers = ("planned together", "alone", "less")
    table = build_table("Planned together", ("query",), numbers)
    for query in (query for strategy in strategies for query in strategy["queries"]):
        sizes = query["deviation"], query["alone"]
        table.add_row(
            name_lines(query["name"]), *map(round_up, sizes), f"{compute_saving(*sizes)}%"
        )
    return table


def _build_alternatives_table(
    options: Sequence[Facts], steps: Sequence[Facts], perturbs: Sequence[RecordTable]
) -> Table:
    """Build the table of expected errors at other totals, one column for each."""
    kind = str(options[0]["total"]).split()[0]
    totals = [
        option["total"].split()[1] + (" (planned)" if option["times"] == "1" else "")
        for option in options
    ]
    title = f"Expected error at other totals ({kind})"
    if kind == "times":
        title = "Expected error if budgets are multiplied"
    table = build_table(title, ["query" if steps else "table and column"], totals)
    rows = []
    for step in steps:
        name = step["name"]
        cells = (
            "too little" if errors is None else _shorten_error(str(errors[name]))
            for errors in (option["errors"] for option in options)
        )
        rows.append((name, tuple(cells)))
    for names, errors in (*_fold_rows(rows), *_record_errors(options, perturbs)):
        table.add_row(name_lines(names), *errors)
    return table


def _describe_definitions(queries: Sequence[Facts]) -> list[str]:
    """List the definitions of figures, each once."""
    told = [
        (query["name"], (" ".join(filter(None, (query.get("description"), *query["definition"]))),))
        for query in queries
    ]
    groups = dict.fromkeys(
        (query["table"], " ".join((*query["groups"], *query["outside"])))
        for query in queries
        if query["groups"]
    )
    return [
        *(f"{names}: {text}" for names, (text,) in _fold_rows(told)),
        *(f"{table}: {text}" for table, text in groups),
    ]


def _describe_sensitivities(steps: Sequence[Facts]) -> list[str]:
    """List the derivations of sensitivities, each once."""
    derivations = [(step["name"], (step["sensitivity"]["derivation"],)) for step in steps]
    return [f"{names}: {why}" for names, (why,) in _fold_rows(derivations)]


def _fold_rows(rows: Iterable[Row]) -> list[Row]:
    """Join rows with the same cells into one with the names of all their queries."""
    queries: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for name, cells in rows:
        names = queries.setdefault(cells, {})
        names.setdefault(name_column(name), []).append(name)
    return [
        (", ".join(starmap(_name_query, names.items())), cells) for cells, names in queries.items()
    ]


def _name_query(query: str, tables: Sequence[str]) -> str:
    """Name a query; one in several tables with their number."""
    return tables[0] if len(tables) == 1 else f"{query} ({len(tables)} tables)"


def _describe_finishing(steps: Sequence[Facts]) -> list[str]:
    """List what is done to the figures of each query after the noise."""
    sentences = [
        (step["name"], (sentence,))
        for step in steps
        for sentence in step.get("finishing", {"explained": ()})["explained"]
    ]
    return [f"{names}: {sentence}" for names, (sentence,) in _fold_rows(sentences)]


def _shorten_error(error: str) -> str:
    """Keep the number of an error: the first table says what it is about."""
    words = error.removeprefix("within ").removeprefix("± ").removeprefix("at most ").split()
    return "none" if words[0] == "no" else words[0].rstrip(";,")


def _format_loss(step: Facts, loss: str) -> str:
    """Format what a query costs; a shared release is charged once, to the query that lends it."""
    shares = step["shares"]
    lender = step.get("together") or (step["name"] if shares is None else shares["release"])
    if lender == step["name"]:
        return round_up(step[loss])
    return f"as {lender}" if loss == "epsilon" else ""


def _format_sensitivity(step: Facts) -> str:
    """Format the sensitivity: of figures (L1 or L2), of scores, of rows or of weight."""
    sensitivity = step["sensitivity"]
    if sensitivity["of"] == "rows":
        return format_count(sensitivity["l1"], "row")
    if sensitivity["of"] == "weight":
        return f"weight {round_up(sensitivity['l1'])}"
    if sensitivity["of"] == "score":
        return f"score {round_up(sensitivity['l1'])}"
    norm = "l2" if step["mechanism"] == "gaussian" else "l1"
    return f"{norm.upper()} {round_up(sensitivity[norm])}"


def _describe_keys(steps: Sequence[Facts]) -> list[str]:
    """Say from which noisy count on a private key is shown."""
    return [
        f"keys     {step['table']}: where {step['threshold'].get('column') or step['name']} is "
        f"{step['threshold']['at_least']:,} or more"
        for step in steps
        if step["threshold"] is not None
    ]


def _list_files(plan: Facts) -> list[str]:
    """Name the files whose lines are published."""
    return [
        f"list     {entry['file']} ({entry['key']} of {entry['name']}): of its lines "
        f"{entry['lines']}; SHA-256 {entry['sha256']}"
        for entry in plan.get("lists", ())
    ]


def _describe_totals(plan: Facts, ledger: PlannedLedger) -> list[str]:
    total = plan["total"]
    delta = f", delta {round_up(total['delta'])}" if total["delta"] else ""
    added = describe_accounting(total["method"])
    if total["epsilon"] != total["basic_epsilon"] or total["delta"] != total["basic_delta"]:
        plain = f"; as a plain sum it is epsilon {round_up(total['basic_epsilon'])}"
        with_delta = f", delta {round_up(total['basic_delta'])}" if total["basic_delta"] else ""
        added += plain + with_delta
    if total["advanced_epsilon"] is not None:
        added += f"; by advanced composition epsilon {round_up(total['advanced_epsilon'])}"
    rho = f" (rho {round_up(total['rho'])})" if total["rho"] is not None else ""
    terms = plan["approval"]["holds"]
    reports = ", ".join(terms["report.formats"]) or "none"
    return [
        f"total    epsilon {round_up(total['epsilon'])}{delta}{rho}, {added}",
        *describe_ledger(ledger),
        f"output   {terms['output.path']}: tables as {terms['output.format']}, reports: {reports}",
    ]


# The words of record-level tables are imported where they are needed: most plans have none.

_CAPTION = (
    "Error of one answer, where it is largest; least: the smallest error of any mechanism with "
    "this loss."
)


def _record_tables(
    perturbs: Sequence[RecordTable], percent_kept: float
) -> Iterator[tuple[Table, str]]:
    """Build the tables about record-level tables: contents, protection, precision."""
    yield _build_answer_table(perturbs), _CAPTION
    yield _record_protection(perturbs), ""
    yield (
        _estimate_widths(perturbs),
        f"Half-widths of {percent_kept:g}% intervals, about and at most; noise only.",
    )


def _build_answer_table(perturbs: Sequence[RecordTable]) -> Table:
    from dprelease.local.report.record_wording import describe_answer, format_amount, format_error

    headings = ("table and column", "an answer is", "expected error", "least")
    table = build_table("What is published record by record", headings)
    for part in perturbs:
        table.add_row(part.name, "", "", "")
        for column in part.columns:
            error, floor = (
                format_error(column, column.error.expected),
                format_amount(column, column.error.floor),
            )
            table.add_row(f"  {column.name}", describe_answer(column), error, floor)
    return table


def _record_protection(perturbs: Sequence[RecordTable]) -> Table:
    from dprelease.reports.text.shown_numbers import write_percent

    with_delta = any(part.delta for part in perturbs)
    numbers = ("truth", "scale", "epsilon", *(["delta"] if with_delta else []))
    table = build_table("How each record is protected", ("table and column", "mechanism"), numbers)
    for part in perturbs:
        row_limit = part.rows_per_unit
        bound = "" if row_limit == 1 else f"at most {row_limit:,} rows of one person"
        table.add_row(part.name, bound, "", "", *_list_losses(part, with_delta))
        for column in part.columns:
            scale = column.error.scale
            table.add_row(
                f"  {column.name}",
                column.mechanism,
                "" if column.truth is None else write_percent(column.truth.own),
                "" if scale is None else round_up(scale),
                *_list_losses(column, with_delta),
            )
    return table


def _list_losses(facts: RecordTable | RecordColumn, with_delta: bool) -> list[str]:
    return list(map(round_up, (facts.epsilon, facts.delta) if with_delta else (facts.epsilon,)))


def _estimate_widths(perturbs: Sequence[RecordTable]) -> Table:
    from dprelease.local.report.record_wording import list_halfwidth_heads, list_halfwidth_rows

    head = list_halfwidth_heads(perturbs[0])
    table = build_table("What estimates are worth", head[:2], head[2:])
    for part in perturbs:
        for name, *rest in list_halfwidth_rows(part):
            table.add_row(f"{part.name}: {name}" if len(perturbs) > 1 else name, *rest)
    return table


def _record_errors(
    options: Sequence[Facts], perturbs: Sequence[RecordTable]
) -> Iterator[tuple[str, list[str]]]:
    """List the error of an answer at other totals, a row for each column."""
    from dprelease.local.report.record_wording import format_amount

    for part in perturbs:
        for column in part.columns:
            cells = [
                "too little"
                if errors is None
                else format_amount(column, errors[part.name][column.name])
                for errors in (option["perturb"] for option in options)
            ]
            yield f"{part.name}: {column.name}", cells
