"""Killed, terminated, interrupted, or out of disk at every single step of a run.

Before each step, one process for each. (After one is before the next.) Afterwards the ledger is
whole, the budget is charged once or not at all, what is published is sealed, and running again
completes the release at no further cost.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from faulty import End, Nursery, check_recovered, check_whole, fill, read_published, runs
from thorough import some

PACKAGE = "datapackage.json"


def steps(nursery: Nursery, folder: Path) -> list[str]:
    """The steps of a run that goes well."""
    assert nursery.run(folder, "run", "small.toml", log=str(folder / ".log")).code == 0
    return read_steps(folder)


def read_steps(folder: Path) -> list[str]:
    return (folder / ".log").read_text(encoding="ascii").split("\n")[:-1]


def check_killed(end: End, folder: Path, at: int) -> None:
    """It was killed at a step, unless it had fewer; their number is not always the same."""
    assert end.code == -9 or len(read_steps(folder)) < at


@pytest.fixture
def places(nursery: Nursery, tmp_path: Path) -> list[tuple[int, str, Path]]:
    """A fresh folder for each step of a run."""
    found = steps(nursery, fill(tmp_path / "well"))
    assert {"sqlite", "fsync", "rename", "mkdir", "open"} <= set(found)
    assert len(found) > 40
    return [
        (number, step, fill(tmp_path / str(number)))
        for number, step in enumerate(found, start=1)
        if not step.startswith("after")
    ]


def test_killed_at_any_step(nursery: Nursery, places: list[tuple[int, str, Path]]) -> None:
    charged = 0
    for number, _step, folder in some(places, 8):
        end = nursery.run(
            folder, "run", "small.toml", what="kill", at=number, log=str(folder / ".log")
        )
        check_killed(end, folder, number)
        check_whole(folder)
        charged += len(runs(folder))
        check_recovered(nursery, folder, twice=number % 6 == 0)
        shutil.rmtree(folder)
    assert charged > 3, "some were killed after the charge"


SNAPSHOT = '[data]\nsnapshot = "{}"\n'


def snapshots(folder: Path) -> None:
    """A release of one year's data, and a spec of the next year's, which has other tables."""
    fill(folder)
    text = (folder / "small.toml").read_text(encoding="ascii")
    (folder / "next.toml").write_text(
        text.replace("[data]\n", SNAPSHOT.format(2027)).replace('name = "long"', 'name = "later"')
        + '[report]\nformats = ["md", "json", "html"]\n',
        encoding="ascii",
    )
    first = text.replace("[data]\n", SNAPSHOT.format(2026))
    (folder / "small.toml").write_text(
        first + '[report]\nformats = ["md", "json"]\n', encoding="ascii"
    )


READERS = (
    ("show", "out-small"),
    ("combine", "out-small", "sum(visits)"),
    ("report", "out-small", "-o", "again.md"),
)


def test_killed_while_a_new_snapshot_goes_over_an_old_one(nursery: Nursery, tmp_path: Path) -> None:
    """No reader takes tables of one year beside the report of another for a release."""
    well = tmp_path / "well"
    snapshots(well)
    assert nursery.run(well, "run", "small.toml").code == 0
    old = read_published(well)
    again = shutil.copytree(well, tmp_path / "again")
    assert nursery.run(well, "run", "next.toml", log=str(well / ".log")).code == 0
    names = read_published(well).keys()
    assert names != old.keys()
    found = read_steps(well)
    places = [at for at, step in enumerate(found, 1) if not step.startswith("after")]
    refused = 0
    for at in some(places[::2], 6):
        folder = shutil.copytree(again, tmp_path / str(at))
        end = nursery.run(folder, "run", "next.toml", what="kill", at=at, log=str(folder / ".log"))
        check_killed(end, folder, at)
        files = read_published(folder)
        whole = files == old or (files.keys() == names and b"under_way" not in files[PACKAGE])
        ends = nursery.run_all([nursery.request(folder, *reader) for reader in READERS])
        if not whole:
            refused += 1
            for end in ends:
                assert end.code == 2
                assert "E017" in end.err
                assert '"small"' in end.err
        else:
            assert [end.code for end in ends] == [0, 0, 0]
        assert nursery.run(folder, "run", "next.toml").code == 0
        assert read_published(folder).keys() == names
        shutil.rmtree(folder)
    assert refused


@pytest.mark.thorough
@pytest.mark.parametrize(("what", "code"), [("interrupt", 130), ("terminate", 143)])
def test_stopped_at_any_step(
    nursery: Nursery, places: list[tuple[int, str, Path]], what: str, code: int
) -> None:
    for number, _step, folder in some(places[1::7], 9):
        end = nursery.run(
            folder, "run", "small.toml", what=what, at=number, log=str(folder / ".log")
        )
        if end.code != 0:  # some of the last steps can't be stopped any more
            assert end.code == code
            assert "running it again is free" in end.err
        check_whole(folder)
        check_recovered(nursery, folder)
        shutil.rmtree(folder)


@pytest.mark.thorough
def test_a_full_disk_at_any_step(nursery: Nursery, places: list[tuple[int, str, Path]]) -> None:
    codes = set()
    for number, step, folder in some(places[::2], 6):
        end = nursery.run(
            folder, "run", "small.toml", what="full", at=number, log=str(folder / ".log")
        )
        codes.add(end.code)
        assert end.code in {0, 5, 6}, end.err
        assert "bug" not in end.err
        if end.code == 0:  # only steps that tidy up were left
            assert read_published(folder)
        else:
            assert "hint" in end.err
            charged = len(runs(folder))
            assert (end.code == 5) == bool(charged), f"{step} {end.err}"
        check_whole(folder)
        check_recovered(nursery, folder, twice=False)
        shutil.rmtree(folder)
    assert codes >= {5, 6}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("largest", [1000, 4096, 20_000, 41_000, 45_000])
def test_files_that_may_not_grow(nursery: Nursery, folder: Path, largest: int) -> None:
    """Really refused by the system: a limit for the size of files."""
    end = nursery.run(folder, "run", "-q", "small.toml", largest=largest)
    assert end.code in {0, 5, 6, 70}, end.err
    check_whole(folder)
    check_recovered(nursery, folder)
