"""A plan for people: two tables that fit 80 columns, then the totals.

On a terminal long names are folded, in a pipe lines are as long as they need to be; nothing is
ever cut off.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING, Any

from dprelease.cli.console import answer, in_colour, on_terminal
from dprelease.cli.ledger_lines import ledger_lines
from dprelease.cli.numbers import rounded_up

if TYPE_CHECKING:
    from rich.table import Table

Facts = Mapping[str, Any]
PIPED_WIDTH = 1_000


def write_plan(plan: Facts) -> None:
    """Write the plan, as ``report.plan.describe`` gives it, to standard output."""
    steps: Sequence[Facts] = plan["steps"]
    answer(f"{plan['release']}: one {plan['unit']} is protected, {plan['adjacency']} neighbours\n")
    answer(_rendered([_what(steps, plan["interval"]), _how(steps)]))
    answer("\n".join(_totals(plan)))


def _what(steps: Sequence[Facts], interval: str) -> Table:
    percent = float(100 * Fraction(interval))
    table = _table("What is published")
    for heading in ("query", "statistic", "table"):
        table.add_column(heading, overflow="fold")
    table.add_column("cells", justify="right")
    table.add_column("expected error", overflow="fold")
    for step in steps:
        table.add_row(
            step["name"], step["statistic"], step["table"], f"{step['cells']:,}",
            step["expected_error"],
        )  # fmt: skip
    table.caption = f"Error is that of the noise alone: {percent:g}% of draws are within."
    return table


def _how(steps: Sequence[Facts]) -> Table:
    with_delta = any(step["delta"] for step in steps)
    table = _table("How it is protected")
    for heading in ("query", "mechanism"):
        table.add_column(heading, overflow="fold")
    for heading in ("sensitivity", "scale", "epsilon", *(["delta"] if with_delta else [])):
        table.add_column(heading, justify="right", overflow="fold")
    for step in steps:
        norm = "l2" if step["mechanism"] == "gaussian" else "l1"
        losses = ["epsilon", "delta"] if with_delta else ["epsilon"]
        table.add_row(
            step["name"],
            step["mechanism"],
            f"{norm.upper()} {rounded_up(step['sensitivity'][norm])}",
            rounded_up(step["scale"]),
            *(rounded_up(step[loss]) for loss in losses),
        )
    return table


def _totals(plan: Facts) -> list[str]:
    total = plan["total"]
    delta = f", delta {rounded_up(total['delta'])}" if total["delta"] else ""
    plain = f"epsilon {rounded_up(total['basic_epsilon'])}"
    if total["basic_delta"]:
        plain += f", delta {rounded_up(total['basic_delta'])}"
    rho = f" (rho {rounded_up(total['rho'])})" if total["rho"] is not None else ""
    lines = [
        f"total    epsilon {rounded_up(total['epsilon'])}{delta}{rho}",
        f"method   {total['method']}; plain addition: {plain}",
        f"dataset  {plan['dataset']}",
    ]
    return [*lines, *ledger_lines(plan["ledger"])]


def _table(title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        title=title, title_justify="left", caption_justify="left", box=SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False, title_style="bold", caption_style="dim", header_style="",
    )  # fmt: skip


def _rendered(tables: Sequence[Table]) -> str:
    """Render with rich, without the blanks it leaves at the ends of lines."""
    from rich.console import Console

    page = StringIO()
    console = Console(
        file=page,
        force_terminal=in_colour(sys.stdout),
        color_system="standard" if in_colour(sys.stdout) else None,
        width=_width(),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for table in tables:
        console.print(table)
        console.print()
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _width() -> int:
    from shutil import get_terminal_size

    return max(60, get_terminal_size().columns) if on_terminal(sys.stdout) else PIPED_WIDTH
