"""Runs with tables of records: what is published, kept, repeated, and lost."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from oracle.engine import get

import dprelease
from dprelease.errors import Failure
from dprelease.files.system import NoMoreThreads
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.local import record_release as recording
from dprelease.local.store import table_store

Spec = dict[str, Any]
ROWS = 300


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    table = tmp_path / "t.csv"
    lines = [f"{'abc'[row % 3]},{row % 10},{'true' if row % 4 else 'false'}" for row in range(ROWS)]
    table.write_text("\n".join(["g,x,u", *lines]) + "\n")
    return {
        "release": {"name": "r"},
        "data": {"path": str(table)},
        "privacy": {"unit": "row", "adjacency": "replace-one"},
        "ledger": {"path": str(tmp_path / "l.sqlite"), "dataset": "d", "epsilon_cap": 5},
        "columns": {
            "g": {"type": "string", "keys": ["a", "b", "c"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
            "u": {"type": "boolean", "source": "p"},
        },
        "perturb": [{"name": "people", "columns": ["u", "x", "g"], "epsilon": 3}],
        "output": {"path": str(tmp_path / "out")},
        "report": {"formats": ["json"]},
    }


def content(spec: Spec) -> dict[str, bytes]:
    directory = Path(spec["output"]["path"])
    return {each.name: each.read_bytes() for each in sorted(directory.iterdir())}


def kept(spec: Spec) -> list[str]:
    return sorted(os.listdir(f"{spec['ledger']['path']}.records"))


def code_of(failure: pytest.ExceptionInfo[Failure]) -> tuple[int, str]:
    return failure.value.exit_code, failure.value.complaints[0].code


def test_a_row_for_each_record_with_the_same_columns(spec: Spec) -> None:
    result = dprelease.run(spec)
    table = result.tables["people"]
    assert table.column_names == ["u", "x", "g"]
    assert table.num_rows == ROWS
    lines = content(spec)["people.csv"].decode().splitlines()
    assert len(lines) == ROWS + 1
    assert all(line.split(",")[0] in {"true", "false"} for line in lines[1:])
    assert set(table["g"].to_pylist()) == {"a", "b", "c"}
    (told,) = result.report["perturb"]
    assert (told["file"], told["rows"], told["epsilon"]) == ("people.csv", ROWS, 3)
    assert told["sha256"] == result.report["provenance"]["files"]["people.csv"]
    package = json.loads(content(spec)["datapackage.json"])
    resource = next(each for each in package["resources"] if each["path"] == "people.csv")
    assert resource["hash"] == f"sha256:{told['sha256']}"
    assert [each["name"] for each in resource["schema"]["fields"]] == ["u", "x", "g"]
    assert "primaryKey" not in resource["schema"]


def test_what_it_costs_is_charged_once(spec: Spec) -> None:
    first = dprelease.run(spec)
    before = content(spec)
    again = dprelease.run(spec)
    assert (first.charged, again.charged, again.already_released) == (True, False, True)
    assert content(spec) == before
    assert first.report["accounting"]["epsilon"] == 3
    with pytest.raises(Failure) as failure:
        dprelease.run(spec, new_noise=True)
    assert code_of(failure) == (3, "E301")
    assert len(kept(spec)) == 1


def test_new_noise_is_another_table(spec: Spec) -> None:
    spec["ledger"]["epsilon_cap"] = 6
    dprelease.run(spec)
    before = content(spec)["people.csv"]
    dprelease.run(spec, new_noise=True)
    assert content(spec)["people.csv"] != before
    assert len(kept(spec)) == 2


def test_another_format_holds_the_same_rows(spec: Spec) -> None:
    first = dprelease.run(spec)
    rows = first.tables["people"].to_pylist()
    spec["output"] |= {"format": "parquet", "path": spec["output"]["path"] + "2"}
    second = dprelease.run(spec)
    assert not second.charged
    assert second.tables["people"].to_pylist() == rows
    assert second.report["perturb"][0]["estimates"] == first.report["perturb"][0]["estimates"]
    assert "people.parquet" in content(spec)


def test_the_published_file_stands_in_for_one_that_is_gone(spec: Spec) -> None:
    dprelease.run(spec)
    before = content(spec)
    (name,) = kept(spec)
    (Path(f"{spec['ledger']['path']}.records") / name).unlink()
    assert dprelease.run(spec).already_released
    assert content(spec) == before


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_a_published_table_is_kept_again_before_it_goes(spec: Spec, how: str) -> None:
    """In another format the published file is replaced: it must not be the only one there is."""
    first = dprelease.run(spec)
    before, rows = content(spec)["people.csv"], first.tables["people"].to_pylist()
    (name,) = kept(spec)
    stored = Path(f"{spec['ledger']['path']}.records") / name
    stored.unlink()
    if how == "changed":
        stored.write_bytes(b"other")
    spec["output"]["format"] = "parquet"
    for _ in range(2):
        assert dprelease.run(spec).tables["people"].to_pylist() == rows
        assert "people.parquet" in content(spec)
        assert not [each for each in content(spec) if each.startswith("people.csv")]
    assert stored.read_bytes() == before
    assert stored.stat().st_mode & 0o777 == 0o600
    spec["output"]["format"] = "csv"
    dprelease.run(spec)
    assert content(spec)["people.csv"] == before


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_a_table_that_is_lost_is_not_drawn_again_for_free(spec: Spec, how: str) -> None:
    dprelease.run(spec)
    (name,) = kept(spec)
    stored = Path(f"{spec['ledger']['path']}.records") / name
    published = Path(spec["output"]["path"]) / "people.csv"
    for each in (stored, published):
        if how == "gone":
            each.unlink()
        else:
            each.write_bytes(each.read_bytes()[:-2] + b"9\n")
    with pytest.raises(Failure) as failure:
        dprelease.run(spec)
    assert code_of(failure) == (6, "E617")


def test_a_full_disk_is_free_and_leaves_nothing(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(recording, "write_records", full)
        with pytest.raises(Failure) as failure:
            dprelease.run(spec)
    assert code_of(failure) == (5, "E597")
    assert kept(spec) == []
    assert not Path(spec["output"]["path"]).exists()
    assert dprelease.run(spec).report["ledger"]["after"]["epsilon"] == 3


@pytest.mark.parametrize("problem", [ZeroDivisionError, MemoryError, NoMoreThreads])
def test_a_mistake_of_ours_or_no_memory_after_the_draw_uses_the_charge_up(
    spec: Spec, monkeypatch: pytest.MonkeyPatch, problem: type[Exception]
) -> None:
    def broken(*_: object) -> None:
        raise problem("a canary")

    with monkeypatch.context() as patch:
        patch.setattr(recording, "write_records", broken)
        with pytest.raises(Failure) as failure:
            dprelease.run(spec)
    assert code_of(failure) == (70, "E598")
    assert "canary" not in str(failure.value)
    with pytest.raises(Failure) as failure:
        dprelease.run(spec)
    assert code_of(failure) == (3, "E301")


def two_tables(spec: Spec) -> None:
    spec["perturb"] = [
        {"name": "people", "columns": ["u", "x"], "epsilon": 2},
        {"name": "others", "columns": ["g"], "epsilon": 1},
    ]


class Second:
    """An engine that reads for the first table, and fails at the second."""

    def __init__(self, problem: Exception) -> None:
        self.problem, self.reads = problem, 0

    def fail(self, real: Any) -> Any:
        def records(_engine: Any, request: Any, share: Any = None) -> Any:
            self.reads += 1
            if self.reads % 2 == 0:
                raise self.problem
            return real(request, share)

        return records


@pytest.mark.one_in(3)
@pytest.mark.parametrize("problem", [Failure(5, []), OSError(28, "full"), KeyError("ours")])
def test_a_table_that_was_drawn_and_not_sealed_goes_with_its_run(
    spec: Spec, problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt draws the first table anew: two of them would be two looks for one charge."""
    two_tables(spec)
    drawn: list[str] = []
    keep = table_store.Unsealed.keep

    def watched(self: table_store.Unsealed, made: str, path: str) -> None:
        keep(self, made, path)
        drawn.append(path)

    monkeypatch.setattr(table_store.Unsealed, "keep", watched)
    with monkeypatch.context() as patch:
        duckdb = get("duckdb")
        patch.setattr(type(duckdb), "records", Second(problem).fail(duckdb.records))
        for attempt in range(3):
            with pytest.raises(Failure):
                dprelease.run(spec)
            assert len(drawn) == attempt + 1
            assert kept(spec) == []
    dprelease.run(spec)
    assert len(kept(spec)) == 2


def test_what_a_killed_run_has_drawn_goes_before_the_next_draw(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    real = recording.record_all

    def watched(*given: Any) -> Any:
        seen.append(kept(spec))
        return real(*given)

    def killed(*_: object) -> None:
        raise Failure(5, [])

    monkeypatch.setattr(recording, "record_all", watched)
    with monkeypatch.context() as patch:
        patch.setattr("dprelease.release.run.seal", killed)
        for _ in range(3):
            with pytest.raises(Failure):
                dprelease.run(spec)
            assert len(kept(spec)) == 1
    dprelease.run(spec)
    assert seen == [[], [], [], []]


def test_what_a_living_process_may_still_seal_stays(tmp_path: Path) -> None:
    """It is locked as long as it might; and left open, it is not removed from under its owner."""
    ledger, run = str(tmp_path / "l.sqlite"), "a" * 64
    place = Path(table_store.make_directory(ledger)) / f"{run}-{'b' * 64}.csv"
    with table_store.Unsealed() as unsealed:
        (tmp_path / "made").write_text("drawn")
        unsealed.keep(str(tmp_path / "made"), str(place))
        table_store.clear(ledger, run, lambda: False)
        assert place.exists()
    table_store.clear(ledger, "c" * 64, lambda: False)
    table_store.clear(ledger, run, lambda: True)
    assert place.exists()
    table_store.clear(ledger, run, lambda: False)
    assert not place.exists()


def test_what_is_sealed_stays_though_nobody_holds_it(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has sealed and ended between our charge and our draw."""
    real = recording.record_all
    cleared = table_store.clear
    inner: list[bytes] = []

    def overtaken(*given: Any) -> None:
        monkeypatch.setattr("dprelease.release.run.clear", cleared)
        with monkeypatch.context() as patch:
            patch.setattr(recording, "record_all", real)
            dprelease.run(spec)
        inner.append(content(spec)["people.csv"])
        for each in Path(spec["output"]["path"]).iterdir():
            each.unlink()
        before = kept(spec)
        cleared(*given)
        assert kept(spec) == before

    monkeypatch.setattr("dprelease.release.run.clear", overtaken)
    dprelease.run(spec)
    assert content(spec)["people.csv"] == inner[0]


def test_who_seals_second_publishes_the_table_of_the_first(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = recording.record_all
    inner: list[bytes] = []

    def overtaken(*given: Any) -> Any:
        drawn = real(*given)
        monkeypatch.setattr(recording, "record_all", real)
        dprelease.run(spec)
        inner.append(content(spec)["people.csv"])
        return drawn

    monkeypatch.setattr(recording, "record_all", overtaken)
    result = dprelease.run(spec)
    assert content(spec)["people.csv"] == inner[0]
    assert len(kept(spec)) == 1
    assert result.report["ledger"]["after"]["epsilon"] == 3


def test_the_store_is_for_its_owner_alone(spec: Spec) -> None:
    dprelease.run(spec)
    directory = Path(f"{spec['ledger']['path']}.records")
    assert directory.stat().st_mode & 0o777 == 0o700
    (name,) = kept(spec)
    assert (directory / name).stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}-[0-9a-f]{64}\.csv", name)


def test_a_folder_that_cannot_be_made_costs_nothing(spec: Spec) -> None:
    Path(f"{spec['ledger']['path']}.records").write_text("in the way")
    with pytest.raises(Failure) as failure:
        dprelease.run(spec)
    assert code_of(failure) == (2, "E616")
    assert not Path(spec["ledger"]["path"]).exists()


def test_queries_and_records_add_up(spec: Spec) -> None:
    spec["privacy"]["epsilon"] = 4
    spec["query"] = [{"name": "n", "statistic": "count", "by": ["g"]}]
    result = dprelease.run(spec)
    assert result.plan.loss.epsilon == 4
    assert result.plan.steps[0].loss.epsilon == 1
    assert set(result.tables) == {"by_g", "people"}


def test_no_records_make_an_empty_table(spec: Spec) -> None:
    Path(spec["data"]["path"]).write_text("g,x,u\n")
    assert dprelease.run(spec).tables["people"].num_rows == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_both_engines_make_tables_of_all_records(
    spec: Spec, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oracle.engine import get

    spec["output"]["format"] = form
    monkeypatch.setattr("dprelease.release.run.get", lambda _name: get("reference"))
    assert dprelease.run(spec, entropy=SystemEntropy()).tables["people"].num_rows == ROWS


def test_no_ledger_begins_in_a_folder_that_is_not_there(spec: Spec) -> None:
    """It may be mistyped or not mounted, and a new ledger would forget what was spent."""
    folder = Path(spec["ledger"]["path"]).parent / "mistyped"
    spec["ledger"]["path"] = str(folder / "ledger.sqlite")
    with pytest.raises(Failure) as failure:
        dprelease.run(spec)
    assert code_of(failure) == (6, "E602")
    assert not folder.exists()
    assert not Path(spec["output"]["path"]).exists()
