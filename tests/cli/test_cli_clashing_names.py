"""Queries named like columns of other tables, or like what other queries publish beside theirs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import dprelease
from dprelease.model import OutputColumn, OutputTable
from dprelease.output.released_tables import list_figures, list_tables
from dprelease.reports.charts.figure_charts import find_figures as figures_drawn
from dprelease.reports.rerender import read_release
from dprelease.reports.text.shown_names import title_with_unit

FORMATS = ["html", "md", "json", "registry", "dcat"]
ROWS = [("north", "f", 1), ("north", "m", 2), ("south", "f", 3), ("south", "f", 4)]


def run_release(
    folder: Path, queries: list[dict[str, Any]], format: str = "csv", language: str = "en"
) -> Any:
    with (folder / "d.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("region", "sex", "x"), *ROWS])
    spec = {
        "schema": 1,
        "release": {"name": "clash"},
        "data": {"path": str(folder / "d.csv")},
        "privacy": {
            "unit": "row",
            "unit_description": "one record",
            "adjacency": "add-remove",
            "epsilon": 1000,
        },
        "columns": {
            "region": {"type": "string", "keys": ["north", "south"], "source": "p"},
            "sex": {"type": "string", "keys": ["f", "m"], "source": "p"},
            "x": {"type": "integer", "bins": [0, 2, 5], "lower": 0, "upper": 5, "source": "p"},
        },
        "query": queries,
        "report": {"formats": FORMATS, "language": language},
        "ledger": {"path": str(folder / "l.sqlite"), "dataset": "clash"},
        "output": {"path": str(folder / "out"), "format": format},
    }
    return dprelease.run(spec)


def build_count_query(name: str, *by: str) -> dict[str, Any]:
    return {"name": name, "statistic": "count", **({"by": list(by)} if by else {})}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("region", build_count_query("people", "region")),
        ("x", build_count_query("people", "x")),
        ("x_from", build_count_query("people", "x")),
        ("x_to", build_count_query("people", "x")),
        ("region_state", {"name": "quality", "statistic": "quality", "columns": ["region"]}),
        ("people_noise_moe", build_count_query("people", "region")),
        ("people_flag", build_count_query("people", "region")),
        ("mean_x_count", {"name": "mean_x", "statistic": "mean", "column": "x", "by": ["region"]}),
        ("mean_x_low", {"name": "mean_x", "statistic": "mean", "column": "x", "by": ["region"]}),
    ],
)
def test_a_name_means_a_column_of_its_own_table_alone(
    tmp_path: Path, format: str, name: str, other: dict[str, Any]
) -> None:
    tables = run_release(tmp_path, [build_count_query(name, "sex"), other], format).tables
    assert tables["by_sex"].column(name).to_pylist() == [3, 1]
    out = str(tmp_path / "out")
    assert dprelease.combine(out, f'by_sex.{name}[sex="f"]').value == 3
    assert dprelease.show(out)["by_sex"].rows[0][name] == 3
    assert "| f | 3" in dprelease.report(out).text


@pytest.mark.one_in(4)
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("ending", ["low", "high", "rank_moe", "count", "mean"])
def test_a_figure_of_its_own_is_beside_no_other_one(
    tmp_path: Path, ending: str, order: int, language: str
) -> None:
    name = f"people_{ending}"
    queries = [
        build_count_query("people", "x"),
        {**build_count_query(name, "x"), "where": "sex = 'f'"},
    ]
    result = run_release(tmp_path, queries[::order], language=language)
    assert result.tables["by_x"].column(name).to_pylist() == [1, 2]
    (described,) = list_tables(str(tmp_path / "out"))
    fields = described.fields
    shown = {figure.name: figure for figure in list_figures(fields)}
    assert list(shown) == ["x", *(query["name"] for query in queries[::order])]
    for figure in ("people", name):
        beside = [shown[figure].moe, shown[figure].flag]
        assert [fields[place or 0].name for place in beside] == [
            f"{figure}_noise_moe",
            f"{figure}_flag",
        ]
        assert shown[figure].low is shown[figure].high is shown[figure].ranks is None
    _, published = read_release(str(tmp_path / "out"))
    (table,) = published._tables.values()
    drawn = {figure.name: list(figure.companions) for figure in figures_drawn(table)}
    assert drawn == {figure: ["_noise_moe", "_flag"] for figure in ("people", name)}
    page = dprelease.report(tmp_path / "out").text
    assert page.count("± ") >= 4
    assert f"| {name} |" in page or f"| {name} " in page


def test_a_key_is_beside_no_figure(tmp_path: Path) -> None:
    top = {"name": "sex", "statistic": "top_k", "column": "region", "k": 1, "by": ["sex"]}
    run_release(tmp_path, [top])
    (described,) = list_tables(str(tmp_path / "out"))
    names = [figure.name for figure in list_figures(described.fields)]
    assert names == ["sex", "sex_1", "sex_noise_moe"]
    assert "| sex | sex_1 | sex_noise_moe |" in dprelease.report(tmp_path / "out").text


def test_flags_and_units_follow_the_query_not_its_name(tmp_path: Path) -> None:
    queries = [
        {**build_count_query("n_flag", "sex"), "hide_below": 2, "unit": "people"},
        {**build_count_query("n_count", "sex"), "unit": "people", "publish_if": "count > 2"},
        {**build_count_query("n"), "publish_if": "count > 2"},
    ]
    result = run_release(tmp_path, queries)
    rows = result.tables["by_sex"].to_pylist()
    assert [row["n_flag"] for row in rows] == [3, None]
    assert [row["n_flag_flag"] for row in rows] == ["ok", "suppressed"]
    assert [row["n_count"] for row in rows] == [3, None]
    column = next(c for c in result.output_tables[0].columns if c.name == "n_count")
    assert title_with_unit(column) == "n_count (people)"


def test_a_condition_on_its_count_is_of_the_query_itself(tmp_path: Path) -> None:
    queries = [
        {**build_count_query("n", "sex"), "publish_if": "count > 2"},
        {**build_count_query("n_count", "sex"), "where": "sex = 'm'"},
    ]
    rows = run_release(tmp_path, queries).tables["by_sex"].to_pylist()
    assert [row["n"] for row in rows] == [3, None]


def test_figures_of_an_earlier_package_are_told_by_names_and_descriptions(tmp_path: Path) -> None:
    queries = [
        {"name": "m", "statistic": "mean", "column": "x", "by": ["x", "sex"]},
        {"name": "best", "statistic": "mode", "column": "region", "by": ["x", "sex"]},
    ]
    run_release(tmp_path, queries)
    package = tmp_path / "out" / "datapackage.json"
    before = [list_figures(table.fields) for table in list_tables(str(tmp_path / "out"))]
    content = json.loads(package.read_text())
    for resource in content["resources"]:
        for field in resource.get("schema", {}).get("fields", ()):
            field.pop("query", None)
            field.pop("role", None)
    package.write_text(json.dumps(content))
    assert [list_figures(table.fields) for table in list_tables(str(tmp_path / "out"))] == before


@pytest.mark.parametrize("name", ["m", "m_low", "m:by_sex"])
def test_what_a_column_tells_of(name: str) -> None:
    own = name.partition(":")[0]
    column = OutputColumn(f"{own}_mean_high", "number", [], "", 1, name)
    assert (column.suffix, column.aspect, column.figure) == ("_mean_high", "_high", f"{own}_mean")
    column = OutputColumn(own, "number", [], "", 1, name)
    assert (column.suffix, column.aspect, column.figure) == ("", "", own)
    key = OutputColumn("m_low", "key", [], "")
    assert (key.suffix, key.aspect, key.figure) == ("", "", "m_low")
    assert OutputTable("t", (key,)).rows == 0
