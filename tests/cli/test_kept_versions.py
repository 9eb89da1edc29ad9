"""What earlier versions wrote still works: docs/reference/versions.md promises it.

Each folder of tests/fixtures holds what one version left behind: two specs, their data, saved
plans, ledgers and published files, as ``tests/fixtures/keep.py`` made them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"
VERSIONS = sorted(path.name for path in FIXTURES.iterdir() if (path / "visits.toml").exists())
PUBLISHED = {"visits": "published", "answers": "published-answers"}
LEDGERS = {"visits": "ledger.db", "answers": "ledger-of-answers.db"}
BOTH = pytest.mark.parametrize("name", ["visits", "answers"])


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what a version left behind, elsewhere; ``cli`` runs in it."""
    return Path(shutil.copytree(FIXTURES / request.param, tmp_path / "kept"))


def read_contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_this_version_is_kept() -> None:
    assert ".".join(version("dprelease").split(".")[:2]) in VERSIONS


@BOTH
def test_a_release_is_known_again_and_costs_nothing(cli: Callable, folder: Path, name: str) -> None:
    """The same spec is the same release for a later version, and its tables stay as they were."""
    before = read_contents(folder / PUBLISHED[name])
    assert cli("check", "--strict", f"{name}.toml").code == 0
    again = cli("run", f"{name}.toml")
    assert again.code == 0, again.err
    assert "already released" in again.out
    assert "nothing was spent" in again.out
    after = read_contents(folder / PUBLISHED[name])
    assert after.keys() >= before.keys()
    assert all(after[file] == before[file] for file in before if file.endswith(".csv"))
    entries = cli("budget", "export", LEDGERS[name]).out.splitlines()
    assert sum('"charge"' in entry for entry in entries) == 1


@BOTH
def test_its_tables_are_published_again_from_the_ledger(
    cli: Callable, folder: Path, name: str
) -> None:
    before = read_contents(folder / PUBLISHED[name])
    shutil.rmtree(folder / PUBLISHED[name])
    assert cli("run", f"{name}.toml").code == 0
    after = read_contents(folder / PUBLISHED[name])
    assert all(after[file] == before[file] for file in before if file.endswith(".csv"))


@BOTH
def test_its_ledger_is_whole_and_adds_up(cli: Callable, folder: Path, name: str) -> None:
    report = f"{PUBLISHED[name]}/report.json"
    verified = cli("budget", "verify", LEDGERS[name], "--against", report)
    assert verified.code == 0, verified.err
    spent = json.loads((folder / report).read_text())["ledger"]["after"]["epsilon"]
    assert str(spent) in cli("budget", "show", LEDGERS[name]).out


@BOTH
def test_its_published_files_are_shown_and_reported(cli: Callable, folder: Path, name: str) -> None:
    shown = cli("show", PUBLISHED[name])
    assert shown.code == 0, shown.err
    report = json.loads((folder / PUBLISHED[name] / "report.json").read_text())
    for form in ("md", "html", "registry"):
        rendered = cli("report", PUBLISHED[name], "--format", form)
        assert rendered.code == 0, rendered.err
        assert str(report["deployment"]["basic"]["name"]) in rendered.out
    if name == "answers":
        assert "north" in cli("estimate", f"{PUBLISHED[name]}/answers.csv").out


@BOTH
def test_its_spec_is_compared_with_a_new_one(cli: Callable, folder: Path, name: str) -> None:
    text = (folder / f"{name}.toml").read_text()
    (folder / "new.toml").write_text(text.replace("epsilon_cap = 5.0", "epsilon_cap = 6.0"))
    assert cli("diff", f"{name}.toml", f"{name}.toml").code == 0
    assert cli("diff", f"{name}.toml", "new.toml").code == 1


@BOTH
def test_its_saved_plan_holds_a_run_or_is_refused(cli: Callable, folder: Path, name: str) -> None:
    """A later version may plan otherwise: then it says so, and has spent nothing."""
    run = cli("run", "--plan", f"{name}.plan.json", f"{name}.toml")
    if is_folder_of_this_version(folder):
        assert run.code == 0, run.err
    assert run.code in {0, 2}
    entries = cli("budget", "export", LEDGERS[name]).out.splitlines()
    assert sum('"charge"' in entry for entry in entries) == 1


def is_folder_of_this_version(folder: Path) -> bool:
    report = json.loads((folder / "published" / "report.json").read_text())
    return bool(report["provenance"]["versions"]["dprelease"] == version("dprelease"))
