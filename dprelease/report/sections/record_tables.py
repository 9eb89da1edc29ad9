"""Record-level tables for people: sentences and rows of tables, from the facts of the report.

Names of commands and columns stand between backticks in sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from dprelease.report.facts.record_words import percent
from dprelease.report.numbers import shortened, written

Facts = Mapping[str, Any]
Row = tuple[str, ...]

MOST_PLACES = 9
COLUMNS_HEAD = (
    "column",
    "mechanism",
    "an answer is",
    "it holds the truth",
    "expected error",
    "least possible",
    "scale (classical)",
    "epsilon",
    "delta",
)


def trust_words(report: Facts) -> Iterator[str]:
    """Say who need not be trusted, who must, and what the random order is not claimed for."""
    one = report["meaning"]["of"]
    yield (
        "This is the local model: every record is perturbed on its own, cell by cell, before "
        "anything is counted. What a row says of its record is uncertain by the same measure "
        "whatever the other rows are, and whoever reads, keeps or analyses the table need not be "
        "trusted."
    )
    yield (
        "The true table was read by this run: whoever ran it is trusted with that. For the "
        f"{'people' if one == 'person' else 'rows'} in the table it is as if each had perturbed "
        "its own record, but only if the true table stays where it is."
    )
    yield (
        "Rows are in a random order, so that none can be found by its place. No smaller epsilon is "
        "claimed for that."
    )
    yield (
        "Whatever is computed from the table later costs nothing more: no question to it can "
        "weaken the guarantee."
    )


def record_reading(report: Facts, level: str) -> Iterator[str]:
    """Say what rows and estimates are, and how to make more of them; only what applies."""
    columns = [column for part in report["perturb"] for column in part["columns"]]
    yield (
        "A row of a record-level table is an answer at random, not a fact about anybody. What many "
        "rows say together is known well: read estimates."
    )
    yield (
        f"Estimates are right on average, and an interval holds the figure of these records in "
        f"about {level} of 100 releases. It is about the noise alone: not about other people for "
        "whom these may stand, nor about what bounds and labels do to values."
    )
    if any(column["labels"] for column in columns):
        yield (
            "A share or a number can be negative, or larger than the whole: that is noise around a "
            "small, or a large, figure. Leave it so before you add figures up, for what is cut off "
            "biases the sum."
        )
        yield (
            "A record that has none of the labels counts as the one that was drawn for it, evenly: "
            "intervals are about the labels so given."
        )
    if any(column["truth"] and column["truth"]["labels_in_answer"] > 1 for column in columns):
        yield (
            "An answer of several labels says of each of them a little: the true label is among "
            "them more often than any other. Never count such an answer as that many records."
        )
    if any(column["grid"] for column in columns):
        yield (
            "A number in a row can lie far outside the bounds. Means and sums of many rows are "
            "right on average; a median, a maximum or a spread of the rows is that of the noise."
        )
    files = [part["file"] for part in report["perturb"] if "file" in part]
    yield (
        "To estimate yourself: `dprelease estimate "
        f"{files[0] if files else 'TABLE'}` makes frequencies, means and cross tables from the "
        "table and `report.json` beside it, nothing else; `--cross A,B` crosses any two columns "
        "with labels."
    )


def column_rows(part: Facts) -> list[Row]:
    """Give a row of ``COLUMNS_HEAD`` for each column of a table."""
    return [
        (
            column["name"],
            column["mechanism"],
            answer_of(column),
            "-" if column["truth"] is None else percent(column["truth"]["own"]),
            error_of(column, "expected"),
            error_of(column, "floor"),
            _scale(column["error"]),
            written(shortened(column["epsilon"])),
            written(shortened(column["delta"])),
        )
        for column in part["columns"]
    ]


def error_of(column: Facts, which: str) -> str:
    """Write the expected error of an answer, or the least one: a chance, or a distance."""
    said = amount(column, column["error"][which])
    return f"wrong in {said}" if column["error"]["of"] == "chance" else f"{said} off"


def amount(column: Facts, value: float) -> str:
    """Write an error of a column without words, in few digits."""
    return percent(value) if column["error"]["of"] == "chance" else _digits(value)


def answer_of(column: Facts) -> str:
    """Say what kind of thing an answer is."""
    if column["labels"] is None:
        return "a number" if column["law"]["law"] == "laplace" else "a level"
    size, labels = column["law"]["size"], len(column["labels"]["labels"])
    return f"{'one' if size == 1 else size} of {labels:,} labels"


def _scale(error: Facts) -> str:
    if error["classical_scale"] is None:
        return "-"
    own = "-" if error["scale"] is None else _digits(error["scale"])
    return f"{own} ({_digits(error['classical_scale'])})"


def _digits(value: float) -> str:
    return written(float(f"{value:.5g}"))


def halfwidth_head(part: Facts) -> Row:
    """Name the columns of ``halfwidth_rows``."""
    sizes = [each["records"] for each in part["columns"][0]["error"]["halfwidths"]]
    return ("column", "estimate", *(f"n = {size:,}" for size in sizes))


def halfwidth_rows(part: Facts) -> list[Row]:
    """Say for each column how far estimates are off, by the number of records."""
    return [
        (
            column["name"],
            "share of a label" if column["error"]["of"] == "chance" else "mean",
            *(
                f"± {percent(shortened(each['halfwidth'], 3))}"
                if column["error"]["of"] == "chance"
                else f"± {written(shortened(each['halfwidth'], 3))}"
                for each in column["error"]["halfwidths"]
            ),
        )
        for column in part["columns"]
    ]


@dataclass(frozen=True, slots=True)
class Estimated:
    """Estimates of one column, or of a pair: keys first, then figures with their intervals."""

    title: str
    head: Row
    keys: int
    rows: tuple[Row, ...]


def estimated(part: Facts) -> list[Estimated]:
    """Lay out all estimates of a table that was drawn: means, frequencies, cross tables."""
    found = part["estimates"]
    tables = []
    if found["means"]:
        head = ("column", "mean", "interval", "sum", "interval")
        rows = tuple(_mean(each) for each in found["means"])
        tables.append(Estimated("Means", head, 1, rows))
    tables += [
        Estimated(
            f"Frequencies of {each['column']}",
            (each["column"], "share", "interval", "number", "interval"),
            1,
            tuple((_named(cell["label"]), *_counted(cell)) for cell in each["labels"]),
        )
        for each in found["frequencies"]
    ]
    tables += [
        Estimated(
            f"{each['columns'][0]} by {each['columns'][1]}",
            (*each["columns"], "share", "interval", "number", "interval"),
            2,
            tuple((*map(_named, cell["labels"]), *_counted(cell)) for cell in each["cells"]),
        )
        for each in found["crosses"]
    ]
    return tables


def _named(label: str) -> str:
    return label or "(empty)"


def _mean(facts: Facts) -> Row:
    return (
        facts["column"],
        *_figure([facts[f"mean{end}"] for end in ("", "_lower", "_upper")]),
        *_figure([facts[f"sum{end}"] for end in ("", "_lower", "_upper")]),
    )


def _counted(facts: Facts) -> Row:
    shares = [100 * facts[f"share{end}"] for end in ("", "_lower", "_upper")]
    numbers = [facts[f"number{end}"] for end in ("", "_lower", "_upper")]
    return *_figure(shares, "%"), *_figure(numbers)


def _figure(values: Sequence[float], unit: str = "") -> Row:
    """A figure and its interval, to two digits of the half-width; ends are rounded outward."""
    value, lower, upper = (Decimal(repr(float(each))) for each in values)
    wide = (upper - lower) / 2
    places = min(MOST_PLACES, max(0, 1 - wide.adjusted())) if wide > 0 else MOST_PLACES
    unit_of_last = Decimal(1).scaleb(-places)
    said = [
        f"{_unsigned(each.quantize(unit_of_last, rounding))}{unit}"
        for each, rounding in (
            (value, ROUND_HALF_EVEN),
            (lower, ROUND_FLOOR),
            (upper, ROUND_CEILING),
        )
    ]
    return said[0], f"{said[1]} to {said[2]}"


def _unsigned(value: Decimal) -> str:
    """Write a number without a sign before 0."""
    return f"{abs(value) if value == 0 else value:,f}"
