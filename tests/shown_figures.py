"""Every figure that HTML, Markdown, ``show`` and JSON show, held against the sealed figures.

What is shown must be the rounding of what is published: two digits of the smallest half-width of
the rows shown, half-widths upward, ends of intervals outward. Reckoned here anew, in fractions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from html import unescape
from math import ceil, floor
from pathlib import Path

from dprelease import show
from dprelease.cli.views.show_view import build_page
from dprelease.model import OutputColumn, OutputTable
from dprelease.output.released_tables import list_tables, read_rows

SHOWN = 24
BESIDE = ("_noise_moe", "_rank_moe", "_flag", "_low", "_high")
Cells = list[str]


def check_shown(tables: Sequence[OutputTable], output: Path) -> int:
    """Compare all forms with the tables of a release; give the number of figures compared."""
    html = (output / "report.html").read_text(encoding="utf-8")
    markdown = (output / "report.md").read_text(encoding="utf-8")
    described = {table.name: table for table in list_tables(str(output))}
    compared = 0
    for number, table in enumerate(tables, 1):
        wanted, on_page = list_expected(table), list_expected(table, on_page=True)
        released = described[table.name]
        pages = {
            "html": list(iter_html_rows(html, f"table-{number}")),
            "markdown": list(iter_markdown_rows(markdown, released.file.name)),
            "show": list(show_rows(build_page(released, read_rows(released, SHOWN)))),
        }
        for form, rows in pages.items():
            told = wanted if form == "show" else on_page
            assert len(rows) == len(told), (form, table.name)
            for row, cells in zip(rows, told, strict=True):
                for cell in cells:
                    assert cell in row, (form, table.name, cell, row)
        assert show(output)[table.name].to_dict()["values"] == list_json_values(table), table.name
        compared += sum(map(len, wanted))
    return compared


def list_expected(table: OutputTable, *, on_page: bool = False) -> list[Cells]:
    """The figures of the first rows as they are to be shown.

    A page turns a table of few rows and many figures, and says below it what all rows have alike.
    """
    named = {column.name: column for column in table.columns}
    figures = [
        column
        for column in table.columns
        if column.query is not None
        and not any(
            column.name.endswith(end) and column.name.removesuffix(end) in named for end in BESIDE
        )
    ]
    cells = [
        [
            None if column.values[row] is None else f" {cell(column, named, row)} "
            for row in range(min(SHOWN, table.rows))
        ]
        for column in figures
        if not (on_page and is_said_once(column, named))
    ]
    is_turned = on_page and table.rows <= 2 and len(figures) > 4
    rows = cells if is_turned else list(zip(*cells, strict=True))
    return [[text for text in row if text is not None] for row in rows]


def is_said_once(column: OutputColumn, named: dict[str, OutputColumn]) -> bool:
    """Whether a column is a quantile of running counts, which is the same in all rows."""
    suffix = column.name.removeprefix(str(column.query))
    is_quantile = suffix.startswith("_q") and f"{column.name}_rank_moe" not in named
    return is_quantile and 1 == len(set(column.values)) < len(column.values)


def cell(column: OutputColumn, named: dict[str, OutputColumn], row: int) -> str:
    """A figure with its noise; a name by itself."""
    if column.kind == "text":
        return str(column.values[row])
    about = {end: named[column.name + end] for end in BESIDE if column.name + end in named}
    value = Fraction(str(column.values[row])) / 10**column.decimals
    half = about.get("_noise_moe")
    unit = Fraction(1, 10**column.decimals)
    if half is not None:
        sizes = [one for one in half.values[:SHOWN] if isinstance(one, int) and one > 0]
        digits = len(str(min(sizes, default=0)))
        unit *= 10 ** max(digits - 2, 0)
    stated = column.names.decimals
    if stated is not None and not column.name.endswith("_count"):
        unit = Fraction(1, 10 ** min(column.decimals, stated))
    text = write_value(floor(value / unit + Fraction(1, 2)) * unit, unit)
    if "_low" in about:
        low, high = (
            Fraction(str(about[end].values[row])) / 10 ** about[end].decimals
            for end in ("_low", "_high")
        )
        known = half is not None and half.values[row] is not None
        size = Fraction(str(half.values[row])) / 10**half.decimals if known and half else None
        if size is None or (low, high) != (value - size, value + size):
            ends = (
                write_value(floor(low / unit) * unit, unit),
                write_value(ceil(high / unit) * unit, unit),
            )
            return f"{text} ({ends[0]} to {ends[1]})"
    if half is not None:
        size = Fraction(str(half.values[row])) / 10**half.decimals
        return f"{text} ± {write_value(ceil(size / unit) * unit, unit)}"
    if "_rank_moe" in about:
        ranks = about["_rank_moe"]
        size = Fraction(str(ranks.values[row])) / 10**ranks.decimals
        unit = Fraction(1)
        if ranks.decimals:  # weight: two digits
            sizes = [one for one in ranks.values[:SHOWN] if isinstance(one, int) and one > 0]
            unit = Fraction(10 ** max(len(str(min(sizes))) - 2, 0), 10**ranks.decimals)
        return f"{text} (within {write_value(ceil(size / unit) * unit, unit)} ranks)"
    return text


def write_value(value: Fraction, unit: Fraction) -> str:
    """A multiple of a power of ten, in plain digits."""
    places = len(str(unit.denominator)) - 1
    number = int(value * 10**places)
    whole, rest = divmod(abs(number), 10**places)
    return f"{'-' if number < 0 else ''}{whole:,}" + (f".{rest:0{places}d}" if places else "")


def iter_html_rows(html: str, name: str) -> Iterator[str]:
    """The texts of the rows of a table."""
    start = html.index(f'aria-labelledby="{name}"')
    body = html[html.index("<tbody", start) : html.index("</tbody>", start)]
    for row in re.findall(r"<tr\b.*?</tr>", body, re.DOTALL):
        cells = re.findall(r"<t[dh]\b.*?</t[dh]>", row, re.DOTALL)
        yield plain("  ".join(unescape(re.sub(r"<[^>]*>", "", text)) for text in cells))


def iter_markdown_rows(markdown: str, file: str) -> Iterator[str]:
    text = re.sub(r"\\(.)", r"\1", markdown)
    heading = re.search(rf"^### .*\]\({re.escape(file)}\)\)$", text, re.MULTILINE)
    assert heading is not None, file
    lines = text[text.index("\n| ", heading.end()) + 1 :].split("\n\n")[0].splitlines()
    for line in lines[2:]:
        yield plain(line.replace("|", " "))


def show_rows(page: str) -> Iterator[str]:
    lines = page.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("──"))
    for line in lines[start + 1 :]:
        if not line:
            return
        yield plain(line)


def plain(text: str) -> str:
    return f" {' '.join(text.replace(chr(0x2212), '-').split())} "


def list_json_values(table: OutputTable) -> list[list[object]]:
    return [[number(column, row) for column in table.columns] for row in range(table.rows)]


def number(column: OutputColumn, row: int) -> object:
    value = column.values[row]
    if isinstance(value, int):
        return value / 10**column.decimals if column.decimals else value
    if column.kind == "key" and str(column.type) == "integer" and value is not None:
        return int(value)
    if column.kind == "key" and str(column.type) == "boolean":
        return {"true": True, "false": False}.get(str(value), value)
    return value or None
