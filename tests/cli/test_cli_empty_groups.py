"""A group without records has no share, mean or quantile, in every form that a release takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

SPEC = """\
schema = 1
release.name = "groups"

[data]
path = "visits.csv"

[privacy]
unit = "column"
unit_column = "patient"
unit_description = "one patient"
adjacency = "add-remove"
epsilon = 3
bounding = { max_rows_per_unit = 2, max_groups_per_unit = 2 }

[columns.region]
type = "string"
keys = ["north", "south"]
source = "public: map"

[columns.days]
type = "integer"
lower = 0
upper = 100
source = "public: rule"

[[query]]
name = "stay"
statistic = "mean"
column = "days"
by = ["region"]

[[query]]
name = "long"
statistic = "proportion"
where = "days > 30"
by = ["region"]

[[query]]
name = "middle"
statistic = "median"
column = "days"
by = ["region"]

[output]
path = "out"
interval = 0.999999 # the noise of an empty group is within it
"""


@pytest.fixture(params=["csv", pytest.param("parquet", marks=pytest.mark.thorough)])
def table(
    request: pytest.FixtureRequest, cli: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[object]]:
    """The columns of the published table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups.toml").write_text(f'{SPEC}format = "{request.param}"\n')
    lines = [f"{at % 4000},north,{at % 60}\n" for at in range(8000)]
    (tmp_path / "visits.csv").write_text("patient,region,days\n" + "".join(lines))
    ran = cli("run", "groups.toml")
    assert ran.code == 0, ran.err
    if request.param == "csv":
        options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        read = pyarrow.csv.read_csv("out/by_region.csv", convert_options=options)
    else:
        read = pyarrow.parquet.read_table("out/by_region.parquet")
    columns: dict[str, list[object]] = read.to_pydict()
    return columns


def test_its_figures_are_empty(cli: Callable, table: dict[str, list[object]]) -> None:
    for name in ("stay", "stay_low", "stay_noise_moe", "long", "long_high", "middle"):
        assert table[name][0] is not None, name
        assert table[name][1] is None, name
    for name in ("stay_count", "long_count", "middle_rank_moe"):
        assert None not in table[name]
    for name in ("stay_flag", "long_flag", "middle_flag"):
        assert table[name] == ["bounded", "bounded low_reliability"]
    shown = cli("show", "out")
    assert shown.code == 0, shown.err
    assert "* low_reliability: the noise is large beside" in shown.out
    assert "bounded: rows of a unit beyond the limits do not count in stay, long, middle" in (
        " ".join(shown.out.split())
    )
    for figure in ("stay[region=south]", "mean(long)"):
        refused = cli("combine", "out", figure)
        assert refused.err.startswith("E844")
        assert "is empty" in refused.err
    assert cli("combine", "out", "stay[region=north]").code == 0
    for form in ("md", "html", "json"):
        assert cli("report", "out", "--format", form).code == 0
