"""A figure has one interval: in its table, in the plan and where figures are combined."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import builders
import pytest

import dprelease
from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.combined_intervals import bound_error
from dprelease.combination.expression import combine
from dprelease.reports.rerender import read_release

ROOT = Path(__file__).parents[2]
SPECS = sorted(path.stem for path in (ROOT / "release_specs").glob("*.toml"))
WITHOUT = {"best_price", "clinic_records"}
"""They publish no figure that can be combined."""
PARTS = "_low", "_high", "_noise_moe"
MOST_CELLS = 4


def release(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dprelease.Result, Published]:
    for folder in ("release_specs", "sample_data"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.sqlite*")
        )
    monkeypatch.chdir(tmp_path)
    result = dprelease.run(f"release_specs/{name}.toml")
    return result, read_release(result.output)[1]


def name_cell(figures: Figures, place: int) -> str:
    labels = zip(figures.groups, figures.rows[place], strict=True)
    keys = ", ".join(f'{group}="{label}"' for group, label in labels)
    return f"{figures.table}.{figures.name}[{keys}]" if keys else f"{figures.table}.{figures.name}"


def test_a_figure_that_agrees_has_the_law_of_all_integers_that_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n" + "x,u\n" * 900 + "y,v\n" * 900, encoding="utf-8")
    keys = {"a": ["x", "y", "z"], "b": ["u", "v"]}
    rest = {"type": "string", "other": "rest", "nulls": "rest"}
    result = dprelease.run(
        builders.spec(
            columns={name: rest | {"keys": own} for name, own in keys.items()},
            query=[
                {"name": "cells", "statistic": "count", "by": ["a", "b"], "epsilon": 0.25},
                {"name": "rows", "statistic": "count", "by": ["a"], "epsilon": 0.25},
                {"name": "all", "statistic": "count", "epsilon": 0.5},
            ],
            postprocess={"consistent": True, "integer": True},
        )
    )
    published = read_release(result.output)[1]
    figures = next(one for one in published.figures if one.name == "rows")
    assert figures.agreed is not None
    _, cell = combine(published, name_cell(figures, 0), published.alpha)
    half = bound_error(published.alpha, (published, [(figures, {0: Fraction(1)})]))
    # The table rounds factors up to 8 binary digits, and its ends are whole numbers.
    assert abs(cell.half - half) <= half / 128 + 1
    # What agrees adds up, and so its intervals do: that of all rows is that of the total.
    _, together = combine(published, "sum(rows)", published.alpha)
    _, total = combine(published, "all", published.alpha)
    assert together.value == total.value
    assert abs(together.low - total.low) <= total.half / 128 + 1


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", SPECS)
def test_a_cell_combined_alone_has_the_interval_of_its_table(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, published = release(name, tmp_path, monkeypatch)
    tables = {file: table.to_pydict() for file, table in result.tables.items()}
    compared = 0
    for figures in published.figures:
        columns = tables[figures.table]
        if not is_combinable(figures):
            continue
        shown = [at for at, value in enumerate(columns[figures.name]) if value is not None]
        for place in shown[:MOST_CELLS]:
            _, interval = combine(published, name_cell(figures, place), published.alpha)
            text = {part: columns.get(f"{figures.name}{part}") for part in PARTS}
            low, high, half = (of and of[place] for of in text.values())
            if low is not None:
                # A figure that was moved beyond its interval is within that of `combine`.
                value = columns[figures.name][place]
                ends = min(low, value), max(high, value)
                assert (float(interval.low), float(interval.high)) == ends, figures.name
            elif half is not None:
                assert interval.half == Fraction(str(half)), figures.name
            planned = figures.query.noise_halfwidth
            if low is None and planned is not None and not figures.is_behind:
                assert Fraction(str(planned)) == interval.half, figures.name
            compared += 1
    assert compared or name in WITHOUT


def is_combinable(figures: Figures) -> bool:
    return figures.terms is not None or figures.share is not None
