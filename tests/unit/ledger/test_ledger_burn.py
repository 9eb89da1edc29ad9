"""Runs that are used up without numbers, and which run of a release comes next."""

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from dprelease.errors import ExitCode, Failure
from dprelease.ledger.chain import EMPTY, BrokenChain, Entry, follow
from dprelease.ledger.entries import BURNT, State, charge_content, read_book
from dprelease.ledger.identity import run_id, write_canonical_json
from dprelease.ledger.privacy_filter import Caps, Terms, wrap_loss
from dprelease.ledger.reservation import Reservation, find_current_run
from dprelease.ledger.store import Ledger
from dprelease.model import Loss, Release
from dprelease.specfile import load

A = "a" * 64
ONE = Loss(Fraction(1))
SPEC = Path(__file__).parents[3] / "release_specs" / "best_price.toml"


def pay(ledger: Ledger, run: str = A, caps: Caps = Caps()) -> Reservation:  # noqa: B008 - frozen
    return ledger.charge(run, "d", "r", ONE, caps, {})


def test_a_burnt_run_stays_charged_and_has_no_numbers(path: str, ledger: Ledger) -> None:
    assert ledger.burn(pay(ledger))
    with Ledger.read(path) as other:
        (run,) = other.list_runs()
        assert other.read_sealed(A) is None
        assert other.verify().seq == 2
    assert (run.state, run.seal, run.sealed_at) == (State.BURNT, None, None)
    assert run.burnt_at is not None
    assert ledger.read_account("d").spent_loss.epsilon == 1
    again = pay(ledger, caps=Caps(Fraction(1)))
    assert (again.state, again.fresh) == (State.BURNT, False)


def test_a_burnt_run_is_never_sealed(ledger: Ledger) -> None:
    made = pay(ledger)
    ledger.burn(made)
    with pytest.raises(Failure, match=r"E611 .*charged again") as refused:
        ledger.seal(made, b"late")
    assert refused.value.exit_code is ExitCode.INTERNAL
    assert ledger.read_sealed(A) is None
    assert not ledger.burn(made)
    assert ledger.verify().seq == 2


def test_a_sealed_run_is_never_burnt(ledger: Ledger) -> None:
    made = pay(ledger)
    ledger.seal(made, b"numbers")
    assert not ledger.burn(made)
    assert ledger.read_sealed(A) == b"numbers"
    assert ledger.verify().seq == 2


def test_the_file_itself_lets_a_run_end_once(path: str, ledger: Ledger) -> None:
    ledger.burn(pay(ledger))
    head = ledger.read_head()
    late = follow(head, "seal", A, "now", write_canonical_json({"sha256": "0" * 64, "size": 0}))
    with sqlite3.connect(path) as raw, pytest.raises(sqlite3.IntegrityError, match="appended"):
        raw.execute(
            "INSERT INTO entries (seq, kind, run_id, written_at, content, previous, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (late.seq, late.kind, A, late.written_at, late.content, late.previous, late.hash),
        )
    raw.close()


def list_entries(*contents: tuple[str, dict[str, object]]) -> list[Entry]:
    made = [
        follow(
            EMPTY,
            "charge",
            A,
            "t",
            charge_content("d", "r", Terms(ONE, wrap_loss(ONE)), Caps(), {}),
        )
    ]
    for kind, content in contents:
        head = replace(EMPTY, seq=made[-1].seq, hash=made[-1].hash)
        made.append(follow(head, kind, A, "t", write_canonical_json(content)))
    return made


SEAL: tuple[str, dict[str, object]] = ("seal", {"sha256": "0" * 64, "size": 0})
BURN: tuple[str, dict[str, object]] = ("seal", dict(BURNT))
PUBLISH: tuple[str, dict[str, object]] = ("publish", {"files": {}})


@pytest.mark.parametrize(
    "after",
    [(BURN, SEAL), (SEAL, BURN), (BURN, BURN), (BURN, PUBLISH), (("seal", {"burnt": False}),)],
)
def test_entries_that_contradict_a_burn_are_refused(
    after: tuple[tuple[str, dict[str, object]], ...],
) -> None:
    with pytest.raises(BrokenChain, match="can't be read"):
        read_book(list_entries(*after))
    assert read_book(list_entries(BURN)).runs[A].state is State.BURNT


@pytest.fixture(scope="module")
def release() -> Release:
    return load(SPEC)


@pytest.mark.parametrize(
    ("states", "again", "anew"),
    [
        ("", 0, 0),
        ("c", 0, 0),
        ("s", 0, 1),
        ("b", 1, 1),
        ("bc", 1, 1),
        ("bb", 2, 2),
        ("bs", 1, 2),
        ("sc", 0, 1),
        ("sb", 0, 2),
        ("ss", 1, 2),
        ("sbs", 2, 3),
        ("sbc", 0, 2),
        ("bsb", 1, 3),
    ],
)
def test_which_run_comes_next(
    states: str, again: int, anew: int, release: Release, ledger: Ledger
) -> None:
    for attempt, state in enumerate(states):
        made = pay(ledger, run_id(release, attempt))
        if state == "s":
            ledger.seal(made, b"x")
        elif state == "b":
            ledger.burn(made)
    runs = {run.run_id: run for run in ledger.list_runs()}
    assert find_current_run(release, runs) == run_id(release, again)
    assert find_current_run(release, runs, new_noise=True) == run_id(release, anew)
