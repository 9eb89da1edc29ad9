"""The package as programs and notebooks use it."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import subprocess
import sys
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import tomli

import dprelease
from dprelease.reports.text.shown_numbers import Amount

CHECKOUT = Path(__file__).resolve().parents[2]

DATA = "region,days\n" + "north,3\nsouth,40\nnorth,n/a\nelsewhere,7\n" * 50
EVIL = "<script>alert('x')</script> & \"north\""


def a_spec(**changes: Any) -> dict[str, Any]:
    return {
        "release": {"name": "small"},
        "data": {"path": "small.csv"},
        "privacy": {"unit": "row", "unit_description": "one visit", "adjacency": "add-remove"},
        "ledger": {"epsilon_cap": 2.5},
        "columns": {"region": {"type": "string", "keys": [EVIL, "south"], "source": "public: map"}},
        "query": [
            {"name": "visits", "statistic": "count", "by": ["region"], "epsilon": 0.5}
        ],
        "output": {"path": "out"},
        **changes,
    }  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


def test_every_name_is_there_and_none_is_made_up() -> None:
    for name in dprelease.__all__:
        assert getattr(dprelease, name) is not None
    assert "__getattr__" not in vars(dprelease)
    assert dir(dprelease) == sorted(dprelease.__all__)
    assert dprelease.Result is importlib.import_module("dprelease.release.result").Result
    with pytest.raises(AttributeError):
        _ = dprelease.rum  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_package() -> None:
    project = tomli.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    assert dprelease.__version__ == project["project"]["version"] == version("dprelease")


def test_folders_do_not_take_the_places_of_functions() -> None:
    importlib.import_module("dprelease.reports.report_formats")
    importlib.import_module("dprelease.comparison.spec_changes")
    assert callable(dprelease.report)
    assert callable(dprelease.diff)
    assert dprelease.release.__name__ == "dprelease.release"  # type: ignore[attr-defined]


def test_to_import_it_imports_nothing_heavy() -> None:
    program = """
import sys, dprelease
print(sorted(name for name in sys.modules if name.startswith("dprelease")))
print({"numpy", "pyarrow", "duckdb", "pandas"} & {*sys.modules})
"""
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    assert told == [str(["dprelease", "dprelease.errors"]), "set()"]


@pytest.mark.thorough
def test_types_hold_for_a_program_that_uses_all(tmp_path: Path) -> None:
    """As ``mypy --strict`` sees it; a name that is not there is an error."""
    (tmp_path / "program.py").write_text(
        """
from fractions import Fraction
import dprelease

plan = dprelease.plan("small.toml")
epsilon: Fraction = plan.epsilon
result: dprelease.Result = dprelease.rehearse("small.toml", rows=10)
weaker: bool = dprelease.diff("old.toml", "small.toml").weaker
names: list[str] = [one.dataset for one in dprelease.budget().datasets]
found: dprelease.CheckedSpec = dprelease.check({})
says: str = dprelease.explain(found.errors[0].code).says
spec: str = dprelease.init("small.csv", delimiter=";")
columns: tuple[str, ...] = dprelease.show("out")["by_region"].columns
text: str = dprelease.report("out", format="html").text
low: Fraction = dprelease.combine("out", "sum(visits)").low
rows: int = dprelease.estimate("out/answers.csv").figures.rows
version: str = dprelease.__version__
""",
        encoding="utf-8",
    )
    wrong = "import dprelease\ndprelease.rum('x')\ndprelease.plan(3)\n"
    (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
    checked = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-incremental"]
    checked += ["--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*checked, "program.py", "wrong.py"], cwd=tmp_path, capture_output=True,
        check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    *wrong_lines, _ = done.stdout.splitlines()
    assert [line for line in wrong_lines if not line.startswith("wrong.py:")] == []
    assert 'has no attribute "rum"' in done.stdout
    assert 'has incompatible type "int"' in done.stdout


def test_a_check_lists_errors_and_warnings_and_raises_nothing(place: Path) -> None:
    found = dprelease.check(a_spec())
    assert (found.errors, found.exit_code) == ((), 0)
    assert [warning.code for warning in found.warnings] == []
    assert found.plan is not None
    assert found.plan.epsilon == Fraction(1, 2)
    assert str(found) == "ok"
    no_cap = dprelease.check(a_spec(ledger={}))
    assert [warning.code for warning in no_cap.warnings] == ["W201"]
    wrong = dprelease.check(a_spec(ledger={}, privacy={"unit": "rwo"}))
    assert wrong.exit_code == 2
    assert wrong.plan is None
    with pytest.raises(dprelease.Failure) as raised:
        dprelease.load(a_spec(ledger={}, privacy={"unit": "rwo"}))
    assert wrong.errors == tuple(raised.value.complaints)
    assert all(error.code in str(wrong) for error in wrong.errors)
    unplanned = dprelease.check(a_spec(privacy={**a_spec()["privacy"], "epsilon": 0.1}))
    assert [error.code for error in unplanned.errors] != []


def test_codes_are_explained() -> None:
    meaning = dprelease.explain("e201")
    assert meaning.code == "E201"
    assert meaning.says
    assert meaning.remedy
    with pytest.raises(ValueError, match="E999"):
        dprelease.explain("E999")


def test_a_spec_is_begun(place: Path) -> None:
    text = dprelease.init("small.csv")
    assert "# [columns.region]" in text
    assert "north" not in text
    assert "# [columns.NAME]" in dprelease.init(place / "absent.csv", header=False)
    with pytest.raises(dprelease.Failure) as refused:
        dprelease.init("absent.csv")
    assert [complaint.code for complaint in refused.value.complaints] == ["E015"]
    with pytest.raises(ValueError, match="delimiter"):
        dprelease.init("small.csv", delimiter="ab")


def test_a_plan_shows_itself_shortly_and_its_epsilon_as_a_decimal(place: Path) -> None:
    plan = dprelease.plan(a_spec())
    assert repr(plan) == "<Plan of small: epsilon 0.5; by_region>"
    assert (str(plan.epsilon), repr(plan.epsilon), f"{plan.epsilon:.2f}") == ("0.5", "0.5", "0.50")
    assert plan.epsilon == Fraction(1, 2)
    assert isinstance(plan.epsilon, Fraction)
    assert plan.epsilon + plan.delta == Fraction(1, 2)
    for other in (copy.deepcopy(plan.epsilon), pickle.loads(pickle.dumps(plan.epsilon))):
        assert (other, str(other)) == (plan.epsilon, "0.5")
    page = plan._repr_html_()
    assert "<td>laplace</td>" in page
    assert page.count("<table>") == page.count("</table>") == 1


def test_an_epsilon_that_is_no_decimal_is_exact_and_shown_rounded_up() -> None:
    third = Amount(Fraction(1, 3))
    assert str(third) == "0.333333333334"
    assert third == Fraction(1, 3)
    assert str(third * 3) == "1"


def test_a_result_shows_published_figures_escaped(place: Path) -> None:
    result = dprelease.run(a_spec())
    assert repr(result) == f"<Result of small: by_region in {place / 'out'}>"
    assert repr(result.plan) == "<Plan of small: epsilon 0.5; by_region>"
    page = result._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<th>visits</th>" in page
    assert "elsewhere" not in page
    rehearsed = dprelease.rehearse(a_spec(), rows=20)
    assert repr(rehearsed).startswith("<REHEARSAL of small: REHEARSAL_by_region")
    assert "REHEARSAL" in rehearsed._repr_html_()
    assert list(rehearsed.tables) == ["by_region"]


def test_what_was_published_is_read_back(place: Path) -> None:
    result = dprelease.run(a_spec())
    shown = dprelease.show("out")
    table = shown["by_region"]
    assert (list(shown), table.warning, table.rehearsal) == (["by_region"], None, False)
    assert table.rows == result.tables["by_region"].to_pylist()
    assert table.to_dict()["values"] == [list(row.values()) for row in table.rows]
    assert "&lt;script&gt;" in table._repr_html_()
    assert dprelease.show("out", rows=1)["by_region"].rows == table.rows[:1]
    with pytest.raises(dprelease.Failure):
        dprelease.show("out", tables=["other"])
    with pytest.raises(dprelease.Failure):
        dprelease.show(".")
    page = dprelease.report("out", format="html")
    assert page.content == (place / "out" / "report.html").read_bytes()
    assert (page.media_type, page.text[:9]) == ("text/html", "<!doctype")
    with pytest.raises(ValueError, match="known"):
        dprelease.report("out", format="doc")
    total = dprelease.combine("out", "sum(visits)", interval="0.9")
    assert total.value == sum(row["visits"] for row in table.rows)
    assert total.low < total.value < total.high
    assert total.level == Fraction(9, 10)
    assert repr(total).startswith("<sum(visits): ")


def test_the_budget_of_a_ledger_and_of_a_spec(place: Path) -> None:
    dprelease.run(a_spec())
    spec = json.loads(json.dumps(a_spec()))
    for told in (
        dprelease.budget(),
        dprelease.budget(spec),
        dprelease.budget(dprelease.load(spec)),
    ):
        (one,) = told.datasets
        assert (one.dataset, one.spent.epsilon, one.cap.epsilon) == ("small.csv", 0.5, 2.5)
        assert one.remaining.epsilon == 2
        assert [run.release for run in one.runs] == ["small"]
        assert "epsilon 0.5 spent, 2 left" in repr(told)
        assert "<td>small.csv</td>" in told._repr_html_()
        assert told.to_dict()["schema"] == "dprelease/budget/1"
    (year,) = dprelease.budget(by="year").to_dict()["datasets"][0]["groups"]
    assert year["releases"] == 1
    with pytest.raises(ValueError, match="year"):
        dprelease.budget(by="week")
    with pytest.raises(dprelease.Failure):
        dprelease.budget("elsewhere.sqlite")


def test_two_specs_are_compared(place: Path) -> None:
    query = a_spec()["query"][0]
    told = dprelease.diff(a_spec(), a_spec(query=[{**query, "epsilon": 0.75}]))
    assert (told.weaker, told.same_release) == (True, False)
    assert told.changes[0].kind == "weaker"
    assert told.to_dict()["exit_code"] == 1
    assert repr(told).startswith("<Comparison: the guarantee is weaker; ")
    assert "<td>weaker</td>" in told._repr_html_()
    assert dprelease.diff(a_spec(), a_spec()).same_release


def test_a_table_of_records_is_estimated(place: Path) -> None:
    spec = a_spec(
        privacy={"unit": "row", "unit_description": "one visit", "adjacency": "replace-one"},
        perturb=[{"name": "answers", "columns": ["region"], "epsilon": 1}],
    )
    dprelease.run(spec)
    told = dprelease.estimate("out/answers.csv")
    assert told.figures.rows == 200
    assert told.to_dict()["rows"] == 200
    assert "200 records" in repr(told)
    assert "<script>" not in told._repr_html_()
    with pytest.raises(dprelease.Failure):
        dprelease.estimate("out/by_region.csv")
