"""Draw the README's picture: the beginning of the main example's report, and a table of it.

The noise comes from fixed bytes, so that the picture can be drawn again; a real release never
does that.

Run: python tests/docs/report_picture.py        (rewrites docs/pictures/report.svg)
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.terminal_theme import TerminalTheme

import dprelease
from dprelease.report.markdown import render

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "report.svg"
SPEC = ROOT / "release_specs" / "clinic_visits.toml"
TABLE, SHOWN = "by_region.csv", 4  # its first columns
RELEASED_AT = "2026-01-15T09:30:00Z"
END = "Several rows of one person"

PAPER = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [(36, 41, 47), (180, 35, 24), (17, 99, 41), (125, 78, 0),
     (9, 84, 165), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
)  # fmt: skip

# Rich's own template fetches a font from elsewhere; this one takes what the reader has.
TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"
  xml:space="preserve">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
<rect fill="#ffffff" stroke="#d0d7de" x="1" y="1" width="{terminal_width}"
  height="{terminal_height}" rx="6"/>
<g transform="translate(12, 12)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class FixedEntropy:
    """The same bytes in every run: for pictures and tests only."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        self.reads += 1
        return hashlib.shake_256(f"picture/{self.reads}".encode()).digest(size)


def released() -> tuple[str, list[list[str]]]:
    """The report's beginning as Markdown, and the rows of the table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        result = dprelease.run(
            SPEC, ledger=folder / "ledger.sqlite", output=folder / "out", entropy=FixedEntropy()
        )
        rows = list(csv.reader(StringIO((folder / "out" / TABLE).read_text(encoding="utf-8"))))
    report = result.report
    report["provenance"]["released_at"] = RELEASED_AT
    text, found, _ = render(report, {}).partition(END)
    if not found:
        raise ValueError(f"the report no longer holds: {END}")
    return text.rstrip(), rows


def table_of(rows: Sequence[Sequence[str]]) -> Table:
    """The released table."""
    table = Table(
        title=f"{TABLE}, its first columns",
        title_justify="left",
        box=SIMPLE_HEAD,
        title_style="bold",
    )
    for heading in rows[0][:SHOWN]:
        numbers = not heading.endswith(("region", "flag"))
        table.add_column(heading, justify="right" if numbers else "left", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*row[:SHOWN])
    return table


def draw() -> str:
    """The picture as SVG."""
    report, rows = released()
    console = Console(
        record=True, width=110, file=StringIO(), color_system="truecolor", force_terminal=True
    )
    console.print(Markdown(report))
    console.print()
    console.print(table_of(rows))
    return console.export_svg(
        title="", theme=PAPER, code_format=TEMPLATE, unique_id="report", font_aspect_ratio=0.61
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
