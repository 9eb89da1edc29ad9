"""The witness: never ahead of the ledger, and no other ledger is taken for the one it has seen."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from dprelease.errors import ExitCode, Failure
from dprelease.ledger.chain import GENESIS
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.reservation import Reservation
from dprelease.ledger.rollback_guard import prepare_guard, read_guard, write_guard
from dprelease.ledger.store import Ledger, find_database_kind, read_account
from dprelease.model import Loss

ONE = Loss(Fraction(1))


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A ledger with one charge."""
    found = str(tmp_path / "ledger.sqlite")
    with Ledger.open(found, 1) as ledger:
        pay(ledger, 1)
    return found


def pay(ledger: Ledger, number: int, caps: Caps = Caps()) -> Reservation:  # noqa: B008 - frozen
    return ledger.charge(f"{number:064x}", "d", "r", ONE, caps, {})


def read_witness(path: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(f"{path}.witness").read_text(encoding="ascii"))
    return found


def check_refused(path: str, witness: str | None = None) -> Failure:
    """Every way to open it is refused, with something to do."""
    failures = []
    for act in (Ledger.open, Ledger.read, lambda *given: read_account(given[0], "d", 1, given[2])):
        with pytest.raises(Failure) as caught:
            act(path, 1, witness)
        assert caught.value.exit_code is ExitCode.LEDGER
        assert caught.value.complaints[0].hint
        failures.append(caught.value)
    return failures[0]


def test_it_follows_every_change(path: str) -> None:
    with Ledger.open(path) as ledger:
        for step in (
            lambda: ledger.seal(pay(ledger, 2), b"x"),
            lambda: ledger.record_published(pay(ledger, 2), {"a.csv": "0"}),
            lambda: ledger.burn(pay(ledger, 1)),
        ):
            step()
            head = ledger.read_head()
            assert read_witness(path) == {
                "schema": "dprelease/witness/1", "seq": head.seq, "hash": head.hash
            }  # fmt: skip
    assert stat.S_IMODE(os.stat(f"{path}.witness").st_mode) == 0o600


def test_an_empty_ledger_has_one_too(tmp_path: Path) -> None:
    path = str(tmp_path / "l")
    Ledger.open(path).close()
    assert (read_witness(path)["seq"], read_witness(path)["hash"]) == (0, GENESIS)
    os.unlink(path)  # nothing was in it
    Ledger.open(path).close()


def test_its_mode_and_a_link_to_it_are_kept(path: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    os.rename(f"{path}.witness", elsewhere)
    os.chmod(elsewhere, 0o640)
    os.symlink(elsewhere, f"{path}.witness")
    with Ledger.open(path) as ledger:
        pay(ledger, 2)
    assert os.path.islink(f"{path}.witness")
    assert read_witness(path)["seq"] == 2
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "ledger.sqlite", "ledger.sqlite.witness"]


def test_a_ledger_ahead_of_it_is_fine_and_puts_it_right(path: str) -> None:
    old = Path(f"{path}.witness").read_bytes()
    with Ledger.open(path) as ledger:
        pay(ledger, 2)
    Path(f"{path}.witness").write_bytes(old)
    with Ledger.read(path) as reader:
        assert reader.read_head().seq == 2
    assert read_witness(path)["seq"] == 1
    Ledger.open(path).close()
    assert read_witness(path)["seq"] == 2


def test_an_older_copy_is_refused(path: str, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    with Ledger.open(path) as ledger:
        pay(ledger, 2)
    shutil.copy(tmp_path / "old", path)
    failure = check_refused(path)
    assert failure.complaints[0].code == "E613"
    assert "entry 2, but the ledger ends with entry 1" in str(failure)
    assert f"dprelease budget verify {path} --against report.json" in str(failure)
    assert f"dprelease budget witness {path}" in str(failure)


def test_an_older_copy_that_was_charged_again_is_refused(path: str, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    with Ledger.open(path) as ledger:
        pay(ledger, 2)
    Ledger.renew_guard(str(tmp_path / "old"))
    with Ledger.open(str(tmp_path / "old")) as forged:
        pay(forged, 3)
        pay(forged, 4)
    shutil.copy(tmp_path / "old", path)
    assert "entry 2, but the ledger holds another" in str(check_refused(path))


def test_a_missing_ledger_is_refused_and_none_is_made(path: str) -> None:
    os.unlink(path)
    assert "records entry 1" in str(check_refused(path))
    assert not os.path.exists(path)


def test_a_missing_witness_is_refused(path: str) -> None:
    os.unlink(f"{path}.witness")
    failure = check_refused(path)
    assert failure.complaints[0].code == "E612"
    assert f"dprelease budget witness {path}" in str(failure)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"not json", b'{"schema": "dprelease/witness/1", "seq": true, "hash": ""}',
     b'{"schema": "dprelease/witness/1", "seq": -1, "hash": "00"}', b" " * 9000, b"\xff",
     b'{"schema": "dprelease/witness/2", "seq": 1, "hash": "%s"}' % (b"0" * 64)],
)  # fmt: skip
def test_a_spoilt_witness_is_refused(path: str, content: bytes) -> None:
    Path(f"{path}.witness").write_bytes(content)
    assert check_refused(path).complaints[0].code == "E612"
    assert Path(f"{path}.witness").read_bytes() == content


def test_a_witness_elsewhere(tmp_path: Path) -> None:
    path, place = str(tmp_path / "l"), str(tmp_path / "far" / "w")
    os.mkdir(tmp_path / "far")
    with Ledger.open(path, witness=place) as ledger:
        pay(ledger, 1)
    assert sorted(os.listdir(tmp_path)) == ["far", "l"]
    assert read_account(path, "d", witness=place).spent_loss.epsilon == 1
    assert check_refused(path).complaints[0].code == "E612"  # it is not beside the ledger


@pytest.mark.parametrize("what", ["no directory", "a directory"])
def test_a_place_that_cannot_hold_it_is_found_before_the_charge(tmp_path: Path, what: str) -> None:
    path, place = str(tmp_path / "l"), tmp_path / "far" / "w"
    if what == "a directory":
        place.mkdir(parents=True)
    with pytest.raises(Failure) as caught:
        Ledger.open(path, witness=str(place))
    assert caught.value.exit_code is ExitCode.LEDGER
    assert "witness" in str(caught.value)
    with Ledger.open_unguarded(path) if os.path.exists(path) else Ledger.open(path) as ledger:
        assert ledger.read_head().seq == 0


def test_after_the_charge_a_failure_is_free_to_repeat(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path) as ledger:
        with monkeypatch.context() as patch:

            def full(*_: object) -> None:
                raise OSError(28, "No space left on device")

            patch.setattr(os, "replace", full)
            with pytest.raises(Failure) as caught:
                pay(ledger, 2)
        assert caught.value.exit_code is ExitCode.AFTER_CHARGE
        assert "witness" in str(caught.value)
        assert "costs nothing" in str(caught.value)
        assert ledger.read_head().seq == 2
        assert not pay(ledger, 2, Caps(Fraction(2))).fresh
    assert sorted(os.listdir(os.path.dirname(path))) == ["ledger.sqlite", "ledger.sqlite.witness"]
    Ledger.open(path).close()
    assert read_witness(path)["seq"] == 2


def test_a_refused_charge_leaves_it(path: str) -> None:
    with Ledger.open(path) as ledger, pytest.raises(Failure, match="E301"):
        pay(ledger, 2, Caps(Fraction(1)))
    assert read_witness(path)["seq"] == 1


# What another process does at a new ledger happens before the first to the fourth reading of guard
# or entries, or afterwards.
@pytest.mark.parametrize("moments", [*combinations_with_replacement(range(5), 3)])
def test_a_first_charge_meanwhile_is_no_missing_witness(
    moments: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "ledger.sqlite")
    kind = find_database_kind(place)
    database = kind.open_for_writing(place, 1)
    with Ledger(kind.open_for_writing(place, 1), place) as other, Ledger(database, place) as opened:

        def charge_only() -> None:
            with monkeypatch.context() as held:
                held.setattr("dprelease.ledger.store.write_guard", lambda *_: None)
                pay(other, 1)

        steps = (
            lambda: prepare_guard(other.witness, other.read_head(), place),
            charge_only,
            lambda: write_guard(other.witness, other.read_head(), place),
        )
        waiting = list(zip(moments, steps, strict=True))
        readings = 0

        def step_before(read: Callable[..., object]) -> Callable[..., object]:
            def read_later(*given: object) -> object:
                nonlocal readings
                while waiting and waiting[0][0] <= readings:
                    waiting.pop(0)[1]()
                readings += 1
                return read(*given)

            return read_later

        with monkeypatch.context() as patched:
            patched.setattr("dprelease.ledger.store.read_guard", step_before(read_guard))
            patched.setattr(database, "read_version", step_before(database.read_version))
            opened.check_guard()
        for _, step in waiting:
            step()
        opened.check_guard()
        assert opened.read_head().seq == 1


CHARGE = """
import sys
from fractions import Fraction
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss
sys.stdin.readline()
for number in range(6):
    run = f"{int(sys.argv[2]) * 100 + number:064x}"
    with Ledger.open(sys.argv[1], 60) as ledger:
        ledger.charge(run, "d", "r", Loss(Fraction(1)), Caps(), {})
"""


def test_several_processes_leave_it_at_the_end(path: str) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CHARGE, path, str(number)], stdin=subprocess.PIPE, text=True
        )
        for number in range(1, 4)
    ]
    for each in started:
        each.communicate("go\n", timeout=100)
    assert [each.returncode for each in started] == [0, 0, 0]
    with Ledger.read(path) as ledger:
        head = ledger.verify()
    assert head.seq == 19
    assert read_guard(f"{path}.witness", path) == head
