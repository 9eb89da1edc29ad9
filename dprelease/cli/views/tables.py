"""Tables for people: as wide as the terminal, in a pipe as wide as they need to be."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from dprelease.cli.console import in_colour, width_of

if TYPE_CHECKING:
    from rich.table import Table

PIPED_WIDTH = 1_000
NARROWEST = 60  # below it a table is more readable broken by the terminal than folded


def new_table(title: str) -> Table:
    """Make a table without a frame, its title above."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        title=title, title_justify="left", box=SIMPLE_HEAD,
        pad_edge=False, padding=(0, 1, 0, 0),
        show_edge=False, title_style="bold", header_style="",
    )  # fmt: skip


def rendered(tables: Sequence[tuple[Table, str]]) -> str:
    """Render tables with their captions, without the blanks that rich leaves at line ends."""
    from rich.console import Console

    page = StringIO()
    console = Console(
        file=page,
        force_terminal=in_colour(sys.stdout),
        color_system="standard" if in_colour(sys.stdout) else None,
        width=max(NARROWEST, width_of(sys.stdout) or PIPED_WIDTH),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for table, caption in tables:
        console.print(table)
        if caption:  # a table's own is folded to the width of the table
            console.print(caption, style="dim")
        console.print()
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())
