"""A figure has one half-width: in its table, in the plan and where figures are combined."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import dprelease
from dprelease.combination.combined_intervals import sum_interval
from dprelease.reports.rerender import read_release

ROOT = Path(__file__).parents[2]
SPECS = ["every_statistic_rows", "every_statistic_people", "clinic_gaussian"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SPECS)
def test_a_cell_combined_alone_has_the_half_width_of_its_table(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("release_specs", "sample_data"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.sqlite*")
        )
    monkeypatch.chdir(tmp_path)
    result = dprelease.run(f"release_specs/{name}.toml")
    facts, published = read_release(result.output)
    alpha = 1 - Fraction(facts.provenance.interval)
    tables = {file: table.to_pydict() for file, table in result.tables.items()}
    compared = 0
    for figures in published.figures:
        halves = tables[figures.table].get(f"{figures.name}_noise_moe")
        finishing = figures.query.finishing
        # The half-width of a figure that is moved or hidden reaches to the end of its interval.
        if figures.terms is None or halves is None or finishing is not None:
            continue
        place = next(at for at, value in enumerate(figures.values) if value is not None)
        interval = sum_interval(published, [(figures, {place: Fraction(1)})], alpha)
        assert interval.half == Fraction(str(halves[place])), figures.name
        planned = figures.query.noise_halfwidth
        if planned is not None and figures.name == figures.query.name.partition(":")[0]:
            assert Fraction(str(planned)) == interval.half, figures.name
        compared += 1
    assert compared
