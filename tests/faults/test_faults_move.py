"""A ledger that is moved: killed or out of disk at any step, one place at most takes charges."""

from __future__ import annotations

import os
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from faulty import Nursery, fill, write_spec
from test_faults_records import SPEC as RECORDS
from thorough import some

from dprelease.errors import Failure
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss

OLD, NEW = "ledger.sqlite", "there/moved.sqlite"
MOVE = ("budget", "move", OLD, NEW)


@pytest.fixture(scope="module")
def released(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger that holds a release, a table of records and a cap."""
    folder = fill(tmp_path_factory.mktemp("released") / "folder")
    cap = ("budget", "cap", "small.csv", "--epsilon", "6", "--reason", "board", OLD)
    assert nursery.run(folder, *cap).code == 0
    assert nursery.run(folder, "run", "small.toml").code == 0
    records = RECORDS.replace("epsilon_cap = 2", "")
    records = records.replace('"ledger.sqlite"', '"ledger.sqlite"\ndataset = "records"')
    records = records.replace('name = "small"', 'name = "records"').replace("out-small", "out-r")
    (folder / "records.toml").write_text(records, encoding="ascii")
    ended = nursery.run(folder, "run", "records.toml")
    assert ended.code == 0, ended.err
    return folder


def copy_release(released: Path, folder: Path) -> Path:
    shutil.copytree(released, folder)
    (folder / "there").mkdir()
    return folder


def is_taking_charges(place: Path) -> bool:
    """Whether there is a ledger that takes a charge, or one would begin where one was."""
    if not place.exists() and not place.with_name(f"{place.name}.witness").exists():
        return False
    code = 0
    try:
        with Ledger.open(str(place), 1) as book:
            book.charge("f" * 64, "other", "try", Loss(Fraction(1)), Caps(), {})
    except Failure as refused:
        code = int(refused.exit_code)
    assert code in {0, 6}
    return code == 0


def check_moved(folder: Path, nursery: Nursery) -> None:
    """The ledger is at the new place, whole, and the old one refuses; nothing else is left."""
    with Ledger.read(str(folder / NEW)) as book:
        book.verify()
        assert [run.release for run in book.list_runs()][:2] == ["small", "records"]
        assert [str(cap.caps.epsilon) for cap in book.list_caps()] == ["6"]
    assert not is_taking_charges(folder / OLD)
    assert sorted(os.listdir(folder / "there")) == [
        "moved.sqlite", "moved.sqlite.records", "moved.sqlite.witness"
    ]  # fmt: skip
    assert len(os.listdir(folder / "there" / "moved.sqlite.records")) == 1
    assert sorted(name for name in os.listdir(folder) if name.startswith(OLD)) == [
        "ledger.sqlite.witness"
    ]
    old = nursery.run(folder, "run", "small.toml")
    assert (old.code, "E619" in old.err, NEW in old.err) == (6, True, True)
    for name in ("small", "records"):
        text = (folder / f"{name}.toml").read_text().replace(f'"{OLD}"', f'"{NEW}"')
        (folder / f"new-{name}.toml").write_text(text)
        ended = nursery.run(folder, "run", f"new-{name}.toml")
        assert ended.code == 0, ended.err
        assert "nothing was spent" in ended.said


def test_a_ledger_moves_with_its_witness_and_records(
    nursery: Nursery, released: Path, tmp_path: Path
) -> None:
    folder = copy_release(released, tmp_path / "well")
    ended = nursery.run(folder, *MOVE)
    assert ended.code == 0, ended.err
    check_moved(folder, nursery)
    assert nursery.run(folder, *MOVE).code == 0  # done before
    back = nursery.run(folder, "budget", "move", NEW, OLD)
    assert back.code == 0, back.err
    assert is_taking_charges(folder / OLD)
    assert not is_taking_charges(folder / NEW)


def test_a_move_that_is_killed_at_any_step(
    nursery: Nursery, released: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    assert nursery.run(copy_release(released, tmp_path / "well"), *MOVE, log=str(log)).code == 0
    found = log.read_text(encoding="ascii").split("\n")[:-1]
    assert {"link", "unlink", "sqlite", "fsync", "replace"} <= set(found)
    places = [at for at, step in enumerate(found, start=1) if not step.startswith("after")]
    turned = 0
    for at in some(places, 5):
        folder = copy_release(released, tmp_path / str(at))
        ended = nursery.run(folder, *MOVE, what="kill", at=at, log=str(folder / ".log"))
        assert ended.code == -9
        live = [is_taking_charges(folder / place) for place in (OLD, NEW)]
        assert sum(live) <= 1
        turned += not live[0]
        other = nursery.run(folder, "budget", "move", OLD, "elsewhere.sqlite")
        if live[0]:
            assert other.code == 0
            assert is_taking_charges(folder / "elsewhere.sqlite")
        else:
            assert other.code == 6
            assert nursery.run(folder, *MOVE).code == 0
            check_moved(folder, nursery)
        shutil.rmtree(folder)
    assert 1 < turned < len(places)


@pytest.mark.thorough
def test_a_move_on_a_full_disk(nursery: Nursery, released: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert nursery.run(copy_release(released, tmp_path / "well"), *MOVE, log=str(log)).code == 0
    count = len(log.read_text(encoding="ascii").split("\n")[:-1])
    for at in range(1, count, 3):
        folder = copy_release(released, tmp_path / str(at))
        ended = nursery.run(folder, *MOVE, what="full", at=at, log=str(folder / ".log"))
        assert ended.code in {0, 6}, ended.err
        assert sum(is_taking_charges(folder / place) for place in (OLD, NEW)) <= 1
        assert nursery.run(folder, *MOVE).code == 0
        check_moved(folder, nursery)
        shutil.rmtree(folder)


def test_what_is_in_the_way_stays(nursery: Nursery, released: Path, tmp_path: Path) -> None:
    folder = copy_release(released, tmp_path / "well")
    (folder / NEW).write_text("mine")
    assert nursery.run(folder, *MOVE).code == 2
    assert (folder / NEW).read_text() == "mine"
    (folder / NEW).unlink()
    Ledger.open(str(folder / NEW)).close()
    assert nursery.run(folder, *MOVE).code == 2
    (folder / NEW).unlink()  # its witness waits for it
    assert "E620" in nursery.run(folder, *MOVE).err
    assert nursery.run(folder, "budget", "move", OLD, "nowhere/l.sqlite").code == 2
    assert nursery.run(folder, "budget", "move", OLD, OLD).code == 2
    assert nursery.run(folder, "budget", "move", "absent.sqlite", NEW).code == 6
    assert is_taking_charges(folder / OLD)


def test_a_witness_elsewhere_stays(nursery: Nursery, released: Path, tmp_path: Path) -> None:
    folder = copy_release(released, tmp_path / "well")
    (folder / f"{OLD}.witness").rename(folder / "w")
    assert nursery.run(folder, *MOVE).code == 6  # which is the right one can't be told
    ended = nursery.run(folder, *MOVE, "--witness", "w")
    assert ended.code == 0, ended.err
    with Ledger.open(str(folder / NEW), 1, str(folder / "w")) as book:
        book.verify()
    assert not is_taking_charges(folder / OLD)
    with pytest.raises(Failure, match="E613"):
        Ledger.open(str(folder / OLD), 1, str(folder / "w"))


def test_one_that_waited_does_not_charge_what_was_moved(tmp_path: Path) -> None:
    from dprelease.ledger.moving import move_ledger

    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    with Ledger.open(old, 1) as waiting:
        made = waiting.charge("a" * 64, "d", "r", Loss(Fraction(1)), Caps(), {})
        move_ledger(old, new, (f"{old}.records", f"{new}.records"))
        for act in (
            lambda: waiting.charge("b" * 64, "d", "r", made.run.loss, Caps(), {}),
            lambda: waiting.seal(made, b"x"),
        ):
            with pytest.raises(Failure, match=f"E619 .* was moved to {new}") as refused:
                act()
            assert refused.value.exit_code == 6
    with Ledger.open(new, 1) as moved:
        assert [run.run_id for run in moved.list_runs()] == ["a" * 64]
        assert moved.seal(moved.charge("a" * 64, "d", "r", made.run.loss, Caps(), {}), b"x") == b"x"


def test_a_backup_put_back_at_the_old_place_is_refused(
    nursery: Nursery, released: Path, tmp_path: Path
) -> None:
    folder = copy_release(released, tmp_path / "well")
    assert nursery.run(folder, *MOVE).code == 0
    shutil.copy(released / OLD, folder / OLD)
    assert not is_taking_charges(folder / OLD)
    write_spec(folder, "third", over=3)
    assert "E619" in nursery.run(folder, "run", "third.toml").err
