"""Numbers, tables and annotations, as people and GitHub read them.

Numbers have few digits, and a loss or an error is never smaller than it is. Tables are as wide as
the terminal, in a pipe as wide as they need to be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from io import StringIO
from typing import TYPE_CHECKING

from dprelease.cli.views.console import count_columns, get_width, is_coloured
from dprelease.errors import Complaint, Place

if TYPE_CHECKING:
    from rich.table import Table

DIGITS = 3
BUDGET_DIGITS = 12


def round_up(value: object) -> str:
    """Write a loss, a scale or an error: rounded up at three digits, ``-`` when there is none."""
    return _write_number(value, ROUND_CEILING)


def round_down(value: object) -> str:
    """Write what is left: rounded down at three digits."""
    return _write_number(value, ROUND_FLOOR)


def format_spent(value: object) -> str:
    """Write what a budget paid: all of its digits but for the thirteenth, rounded up."""
    return _write_number(value, ROUND_CEILING, BUDGET_DIGITS)


def format_remaining(value: object) -> str:
    """Write what is left of a budget: all of its digits but for the thirteenth, rounded down."""
    return _write_number(value, ROUND_FLOOR, BUDGET_DIGITS)


def _write_number(value: object, rounding: str, precision: int = DIGITS) -> str:
    if value is None:
        return "-"
    number = Context(prec=precision, rounding=rounding).create_decimal(str(value))
    if number == 0:
        return "0"
    digits = number.normalize()  # without zeros at the end
    plain = -4 <= number.adjusted() <= 14
    return f"{digits:,f}" if plain else f"{digits:e}".replace("e+", "e")


def format_count(number: int, noun: str) -> str:
    """Write a number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


PIPED_WIDTH = 1_000
NAMES = 0.42  # of the width of a terminal, so that the numbers beside them have room
NARROWEST = 60  # below it a table is more readable broken by the terminal than folded


def build_table(title: str, texts: Iterable[str] = (), numbers: Iterable[str] = ()) -> Table:
    """Make a table without a frame, its title above; columns of texts, then those of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD,
        pad_edge=False, padding=(0, 1, 0, 0),
        show_edge=False, title_style="bold", header_style="",
    )  # fmt: skip
    for heading in texts:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def name_lines(name: str, indent: str = "") -> str:
    """Break a long name after an underscore or blank, where a terminal would break it anywhere."""
    width = get_width(sys.stdout)
    if width is None:
        return f"{indent}{name}"
    from re import findall

    lines = [indent]
    for part in findall(r"[^_ ]*[_ ]+|[^_ ]+", name):
        if lines[-1] != indent and count_columns(lines[-1] + part.rstrip()) > width * NAMES:
            lines.append(indent)
        lines[-1] += part
    return "\n".join(line.rstrip(" ") for line in lines)


def render_tables(tables: Sequence[tuple[Table, str]]) -> str:
    """Render tables with their captions, without the blanks that rich leaves at line ends."""
    from rich.console import Console

    page = StringIO()
    console = Console(
        file=page,
        force_terminal=is_coloured(sys.stdout),
        color_system="standard" if is_coloured(sys.stdout) else None,
        width=max(NARROWEST, get_width(sys.stdout) or PIPED_WIDTH),
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


GAP = "  "
WITHIN_RANKS = "within n ranks: nearest to a value up to n places (or weight n) off the quantile"


def shorten_text(text: str, width: int) -> str:
    """Cut a text to a number of terminal columns; many characters take two."""
    from rich.cells import cell_len, chop_cells

    return text if cell_len(text) <= width else chop_cells(text, width - 1)[0] + "…"


def pad_cells(cells: Sequence[str], *, number: bool) -> list[str]:
    """Pad the cells of a column, heading first, to one width; numbers to the right."""
    from rich.cells import cell_len, set_cell_size

    width = max(map(cell_len, cells))
    return [
        " " * (width - cell_len(cell)) + cell if number else set_cell_size(cell, width)
        for cell in cells
    ]


def rule_lines(columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Join padded columns to lines, with a rule below the headings."""
    from rich.cells import cell_len

    heading, *rows = zip(*columns, strict=True)
    yield GAP.join(heading).rstrip()
    yield GAP.join("─" * cell_len(cell) for cell in heading)
    for row in rows:
        yield GAP.join(row).rstrip()


def build_annotation(
    kind: str, file: str, title: str, message: str, place: Place | None = None
) -> str:
    """Build a GitHub annotation, escaped; ``kind`` is error, warning or notice."""
    properties = {"file": place.file if place else file}
    if place:
        properties |= {"line": str(place.line), "col": str(place.column)}
    properties["title"] = title
    escaped = {
        name: _escape_data(value).replace(":", "%3A").replace(",", "%2C")
        for name, value in properties.items()
    }
    listed = ",".join(f"{name}={value}" for name, value in escaped.items())
    return f"::{kind} {listed}::{_escape_data(message)}"


def format_mark(kind: str, file: str, complaint: Complaint) -> str:
    """Format a complaint as an annotation."""
    message = f"{complaint.message} (hint: {complaint.hint})"
    return build_annotation(kind, file, complaint.code, message, complaint.place)


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
