"""The report as Markdown, plain words first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dprelease.finish.decimals import placed
from dprelease.model import OutputColumn, OutputTable
from dprelease.report import markdown_review as review
from dprelease.report.markup import cell, grid
from dprelease.report.numbers import shortened, written

Facts = Mapping[str, Any]


ROWS_SHOWN = 12


def render(report: Facts, tables: Mapping[str, OutputTable]) -> str:
    """Render the report; ``tables`` holds the published tables by file name."""
    parts = [
        _head(report),
        _guarantee(report),
        _meaning(report),
        *(
            [review.bullets("What is left out of the data", report["bounding"])]
            if report["bounding"]
            else []
        ),
        _tables(tables),
        _reading(report),
        review.queries(report),
        review.accounting(report),
        review.columns(report),
        review.bullets("What happens to the data before and after", report["processing"]),
        review.hazards(report),
        review.provenance(report),
    ]
    return "\n".join(line for part in parts for line in (*part, ""))


def _head(report: Facts) -> Iterator[str]:
    basic = report["deployment"]["basic"]
    yield f"# {cell(basic['title'])}"
    yield ""
    yield "Privacy report of a release of noisy statistics."
    yield ""
    yield from grid(
        ("about", "this release"),
        [
            (label, basic[key])
            for label, key in (
                ("Release", "name"),
                ("Curator", "data_curator"),
                ("Contact", "contact"),
                ("Purpose", "intended_use"),
                ("Region", "region"),
                ("Sector", "sector"),
                ("Approved by", "approved_by"),
            )
            if basic[key]
        ]
        + [("Released at", report["provenance"]["released_at"])],
    )


def _guarantee(report: Facts) -> Iterator[str]:
    yield "## The guarantee"
    yield ""
    yield f"**{cell(report['guarantee'])}**"
    yield ""
    private = any(query["threshold"] for query in report["queries"])
    groups = "the groups (but for private keys)" if private else "the groups"
    yield (
        f"The size of the noise, {groups} and the intervals below were fixed before any data was "
        "read; the noise was then drawn once."
    )
    yield ""
    yield "Not protected:"
    yield ""
    for line in report["not_protected"]:
        yield f"- {cell(line)}"


def _meaning(report: Facts) -> Iterator[str]:
    yield "## What that means for a person"
    yield ""
    unit = report["meaning"]["of"]
    yield (
        f"Somebody believes something of a {unit} before the release. After it, whatever else they "
        "know, their belief lies within:"
    )
    for table in report["meaning"]["beliefs"]:
        spared = (
            f", but for a probability of about {written(shortened(table['delta'], 2))}"
            if table["delta"]
            else ""
        )
        yield ""
        yield f"Of {cell(table['about'])} (epsilon {written(table['epsilon'])}{spared}):"
        yield ""
        yield from grid(
            ("belief before", "least belief after", "greatest belief after"),
            (
                (
                    _percent(row["prior"]),
                    _percent(row["posterior_low"]),
                    _percent(row["posterior_high"]),
                )
                for row in table["rows"]
            ),
        )
    yield ""
    several, together = "Several rows of one person, or of one family,", "rows together"
    if unit != "row":
        several, together = "Several people, such as a family,", "people together"
    yield f"{several} are protected together by less:"
    yield ""
    yield from grid(
        (together, "epsilon", "delta"),
        (
            (row["units"], row["epsilon"], shortened(row["delta"]))
            for row in report["meaning"]["groups"]
        ),
    )


def _tables(tables: Mapping[str, OutputTable]) -> Iterator[str]:
    yield "## The tables"
    for file, table in tables.items():
        yield ""
        yield f"### {cell(file)}"
        yield ""
        yield from grid([cell(column.name) for column in table.columns], _rows(table.columns))
        if not table.rows:
            yield ""
            yield "No key reached the threshold, so that the table is empty."
        if table.rows > ROWS_SHOWN:
            yield ""
            yield f"... and {table.rows - ROWS_SHOWN:,} more rows in the file."


def _rows(columns: Sequence[OutputColumn]) -> Iterator[Sequence[object]]:
    texts = [_texts(column, _places(column, columns)) for column in columns]
    yield from zip(*texts, strict=True)


def _texts(column: OutputColumn, places: int) -> list[object]:
    return [
        placed(_rounded(value, column.decimals - places), places)
        if isinstance(value, int)
        else value
        for value in column.values[:ROWS_SHOWN]
    ]


def _rounded(value: int, dropped: int) -> int:
    unit: int = 10**dropped
    return (2 * value + unit) // (2 * unit)


def _places(column: OutputColumn, columns: Sequence[OutputColumn]) -> int:
    """Decimals worth showing beside the noise: two digits of the smallest half-width shown.

    The half-width is the column's own, or else that of the query's first figure.
    """
    halves = {each.name: each for each in columns if each.name.endswith("_noise_moe")}
    near = (column.name, f"{column.name}_noise_moe", f"{column.query or ''}_noise_moe")
    found = next((halves[name] for name in near if name in halves), None)
    shown = found.values[:ROWS_SHOWN] if found is not None else []
    smallest = min((half for half in shown if isinstance(half, int) and half > 0), default=0)
    if not smallest or not column.decimals:
        return column.decimals
    return min(column.decimals, max(0, column.decimals - len(str(smallest)) + 2))


def _reading(report: Facts) -> Iterator[str]:
    level = float(report["provenance"]["interval"]) * 100
    yield "## How to read the figures"
    yield ""
    for line in (
        f"`_noise_moe` is the half-width of the noise interval: in at least {level:g} of 100 "
        "releases the figure without noise lies within it. It does not cover sampling, coverage "
        "or measurement error, nor what clamping to the bounds does.",
        *_reading_of_choices(report["queries"], level),
        "A count can be negative: noise was added to a small number.",
        "Cells do not add up to totals released by another query: each has noise of its own.",
        "To combine cells, add the values; the half-width of a sum of n cells is about the "
        "half-width of one cell times the square root of n.",
        *_reading_of_units(report),
        "The tables above show the beginning, rounded; the files hold all.",
        "`_flag` is `low_reliability` where the noise is large beside the figure, else `ok`.",
    ):
        yield f"- {line}"


def _reading_of_choices(queries: Sequence[Facts], level: float) -> Iterator[str]:
    if any(query["statistic"] in {"mode", "top_k", "best"} for query in queries):
        yield (
            "Beside a name that was chosen, `_noise_moe` is by how much its score may fall short "
            f"of the best one's (of its rank's, if several are named), with {level:g}% certainty; "
            "its `_flag` is empty where nothing but the name was released."
        )
    if any(query["form"] == "quantiles" for query in queries):
        yield (
            "Beside a quantile, `_rank_moe` says within how many ranks it is right: if 1,000 "
            "values are put in order, a median is right where number 500 stands. Its `_noise_moe` "
            "and `_flag` are empty, for how far a rank is in values is private."
        )
    if any(query["statistic"] == "ratio" for query in queries):
        yield (
            "A ratio is empty where its denominator can't be told from 0. Its interval holds as "
            "stated over all cells, empty ones counted as held: of ratios that are shown with a "
            "denominator near its noise, more are wrong."
        )


def _reading_of_units(report: Facts) -> Iterator[str]:
    counted = {query["statistic"] for query in report["queries"]}
    many = "people" if report["meaning"]["of"] == "person" else "rows"
    names = {"count_units": f"of {many}", "count_distinct": "of different values"}
    found = [named for statistic, named in names.items() if statistic in counted]
    if found:
        yield (
            f"Numbers {' or '.join(found)} are not for adding up: one that is in two cells counts "
            "in both."
        )


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"
