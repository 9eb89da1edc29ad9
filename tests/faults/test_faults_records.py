"""Tables of records: killed or out of disk at any step, they are charged once and not half there.

What a run draws is kept beside the ledger before it is sealed there; whatever happens between, the
next run publishes what is sealed, or draws anew where nothing is.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from faulty import Nursery, check_whole, fill, read_published, runs
from thorough import some

SPEC = """\
[release]
name = "small"

[data]
path = "small.csv"

[privacy]
unit = "row"
adjacency = "replace-one"

[ledger]
path = "ledger.sqlite"
epsilon_cap = 2

[columns.region]
type = "string"
keys = ["north", "south"]

[columns.days]
type = "integer"
lower = 0
upper = 100

[[perturb]]
name = "people"
columns = ["region", "days"]
epsilon = 2

[output]
path = "out-small"

[report]
formats = ["json"]
"""


def fill_folder(folder: Path) -> Path:
    fill(folder)
    (folder / "small.toml").write_text(SPEC, encoding="ascii")
    return folder


def read_kept(folder: Path) -> list[str]:
    store = folder / "ledger.sqlite.records"
    return sorted(os.listdir(store)) if store.exists() else []


def check_recovered(nursery: Nursery, folder: Path) -> None:
    """The cap is for one run: a second draw would be refused, or free."""
    before = read_published(folder)
    first = nursery.run(folder, "run", "small.toml")
    assert first.code == 0, first.err
    files = read_published(folder)
    assert files["people.csv"].count(b"\n") == 4
    if "people.csv" in before:
        assert files["people.csv"] == before["people.csv"]
    second = nursery.run(folder, "run", "small.toml")
    assert second.code == 0
    assert read_published(folder) == files
    assert len(runs(folder)) == 1
    assert len(read_kept(folder)) == 1, "traces of the fault"


@pytest.fixture
def steps(nursery: Nursery, tmp_path: Path) -> list[int]:
    """The numbers of the steps of a run."""
    folder = fill_folder(tmp_path / "well")
    assert nursery.run(folder, "run", "small.toml", log=str(folder / ".log")).code == 0
    found = (folder / ".log").read_text(encoding="ascii").split("\n")[:-1]
    return [at for at, step in enumerate(found, start=1) if not step.startswith("after")]


@pytest.mark.thorough
def test_killed_at_any_step(nursery: Nursery, tmp_path: Path, steps: list[int]) -> None:
    kept_before_the_seal = 0
    for number in some(steps[1::6], 6):
        folder = fill_folder(tmp_path / str(number))
        how = {"what": "kill", "at": number, "log": str(folder / ".log")}
        assert nursery.run(folder, "run", "small.toml", **how).code == -9
        check_whole(folder)
        kept_before_the_seal += bool(read_kept(folder)) and not read_published(folder)
        check_recovered(nursery, folder)
        shutil.rmtree(folder)
    assert kept_before_the_seal


@pytest.mark.thorough
def test_a_full_disk_at_any_step(nursery: Nursery, tmp_path: Path, steps: list[int]) -> None:
    codes = set()
    for number in some(steps[::12], 3):
        folder = fill_folder(tmp_path / str(number))
        how = {"what": "full", "at": number, "log": str(folder / ".log")}
        end = nursery.run(folder, "run", "small.toml", **how)
        codes.add(end.code)
        assert end.code in {0, 2, 5, 6}, end.err
        check_whole(folder)
        check_recovered(nursery, folder)
        shutil.rmtree(folder)
    assert 5 in codes
