"""Charging, sealing and publishing through a real file."""

import os
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dprelease.errors import ExitCode, Failure, Place
from dprelease.ledger.connection import APPLICATION_ID, FIRST, open_for_writing
from dprelease.ledger.entries import State
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.reservation import Reservation
from dprelease.ledger.store import Ledger, read_account
from dprelease.model import Loss

A, B, C = "a" * 64, "b" * 64, "c" * 64
HALF = Loss(Fraction(1, 2))
NO_CAPS = Caps()


@pytest.fixture(params=["file", "server"])
def path(request: pytest.FixtureRequest) -> str:
    """Where the ledger is: what holds of one in a file holds of one on a server."""
    found: str = request.getfixturevalue(request.param)
    return found


def pay(ledger: Ledger, run: str = A, loss: Loss = HALF, caps: Caps = NO_CAPS) -> Reservation:
    return ledger.charge(run, "payroll", "pay", loss, caps, {"method": "pure"})


def test_a_charge_is_durable_and_reported(path: str, ledger: Ledger) -> None:
    made = pay(ledger)
    assert made.fresh
    assert made.state is State.CHARGED
    assert (made.before.epsilon, made.after.epsilon) == (0, Fraction(1, 2))
    with Ledger.read(path) as other:
        (run,) = other.list_runs()
    assert (run.run_id, run.dataset, run.release, run.loss) == (A, "payroll", "pay", HALF)
    assert run.detail == {"method": "pure"}
    assert run.charged_at.endswith("+00:00")


def test_the_same_run_is_charged_once(ledger: Ledger) -> None:
    pay(ledger)
    again = pay(ledger)
    assert not again.fresh
    assert again.state is State.CHARGED
    assert ledger.read_account("payroll").spent_loss.epsilon == Fraction(1, 2)


def test_a_repeated_charge_states_the_same_before_and_after(ledger: Ledger) -> None:
    pay(ledger)
    first = pay(ledger, B)
    pay(ledger, C)
    again = pay(ledger, B)
    assert (first.before, first.after) == (again.before, again.after)
    assert again.before.epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    "other",
    [
        Loss(Fraction(2, 5)),
        Loss(Fraction(3, 5)),
        Loss(Fraction(1, 2), Fraction(1, 10**6)),
        Loss(Fraction(1, 2), rho=Fraction(1, 8)),
    ],
)
def test_the_same_run_at_another_cost_is_refused(ledger: Ledger, other: Loss) -> None:
    pay(ledger)
    with pytest.raises(Failure, match=r"E302 .*charged epsilon 0\.5.*now costs") as refused:
        pay(ledger, loss=other)
    assert refused.value.exit_code is ExitCode.BUDGET
    assert len(ledger.list_runs()) == 1


def test_a_cap_is_exact(ledger: Ledger) -> None:
    caps = Caps(Fraction(1))
    third = Loss(Fraction(1, 3))
    for run in (A, B, C):
        pay(ledger, run, third, caps)
    with pytest.raises(Failure, match="nothing is left"):
        pay(ledger, "d" * 64, Loss(Fraction(1, 10**30)), caps)
    assert ledger.read_account("payroll").spent_loss.epsilon == 1


def test_a_charge_of_nothing_fits_a_full_cap(ledger: Ledger) -> None:
    pay(ledger, caps=Caps(Fraction(1, 2)))
    pay(ledger, B, Loss(Fraction(0)), Caps(Fraction(1, 2)))
    assert len(ledger.list_runs()) == 2


def test_the_message_over_the_cap(ledger: Ledger) -> None:
    ledger.charge(A, "payroll-2026", "pay", Loss(Fraction(14, 10)), NO_CAPS, {})
    place = Place("simple.toml", 16, 11)
    with pytest.raises(Failure) as refused:
        ledger.charge(
            B, "payroll-2026", "pay", Loss(Fraction(1)), Caps(Fraction(2)), {}, place=place
        )
    assert refused.value.exit_code is ExitCode.BUDGET
    assert str(refused.value) == (
        'simple.toml:16:11  E301 epsilon 1.0 + 1.4 already spent on "payroll-2026" '
        "exceeds the cap 2.0   hint: at most 0.6 remains; the charges are: pay (entry 1); "
        "ask for less, or have the cap raised (dprelease explain E301)"
    )
    assert len(ledger.list_runs()) == 1


def test_the_cap_on_delta_counts_too(ledger: Ledger) -> None:
    tiny = Loss(Fraction(1), Fraction(1, 10**6))
    caps = Caps(None, Fraction(15, 10**7))
    pay(ledger, A, tiny, caps)
    with pytest.raises(Failure, match=r"delta 1e-6 \+ 1e-6 already .* cap 1\.5e-6 .* most 5e-7"):
        pay(ledger, B, tiny, caps)


def test_a_cap_on_delta_is_exact(ledger: Ledger) -> None:
    caps = Caps(None, Fraction(1, 10**6))
    for run in (A, B):
        pay(ledger, run, Loss(Fraction(1), Fraction(1, 2 * 10**6)), caps)
    with pytest.raises(Failure, match="nothing is left"):
        pay(ledger, C, Loss(Fraction(1), Fraction(1, 10**30)), caps)


def test_deltas_that_come_to_one_are_refused_without_a_cap_too(ledger: Ledger) -> None:
    half = Loss(Fraction(1), Fraction(1, 2))
    pay(ledger, A, half)
    with pytest.raises(Failure, match="E303") as refused:
        pay(ledger, B, half)
    assert refused.value.exit_code is ExitCode.BUDGET
    pay(ledger, B, Loss(Fraction(1), Fraction(499, 1000)))


def test_both_caps_complain_at_once(ledger: Ledger) -> None:
    with pytest.raises(Failure) as refused:
        pay(ledger, loss=Loss(Fraction(3), Fraction(1, 2)), caps=Caps(Fraction(2), Fraction(1, 4)))
    assert [each.code for each in refused.value.complaints] == ["E301", "E301"]


def test_a_cap_lowered_later_leaves_nothing(ledger: Ledger) -> None:
    pay(ledger, loss=Loss(Fraction(3)))
    with pytest.raises(Failure, match="nothing is left"):
        pay(ledger, B, caps=Caps(Fraction(2)))


def test_datasets_have_accounts_of_their_own(ledger: Ledger) -> None:
    pay(ledger)
    ledger.charge(B, "other", "pay", HALF, Caps(Fraction(1, 2)), {})
    assert [each.run_id for each in ledger.read_account("other").runs] == [B]


@pytest.mark.parametrize(
    "loss",
    [Loss(Fraction(-1)), Loss(Fraction(1), Fraction(1)), Loss(Fraction(1), rho=Fraction(-1))],
)
def test_an_impossible_loss_is_a_mistake_of_the_caller(ledger: Ledger, loss: Loss) -> None:
    with pytest.raises(ValueError, match="not negative"):
        pay(ledger, loss=loss)
    assert ledger.list_runs() == ()


def test_a_detail_with_a_float_is_refused_before_the_charge(ledger: Ledger) -> None:
    with pytest.raises(TypeError):
        ledger.charge(A, "payroll", "pay", HALF, NO_CAPS, {"scale": 0.5})
    assert ledger.list_runs() == ()


def test_the_first_seal_stays(path: str, ledger: Ledger) -> None:
    made = pay(ledger)
    assert ledger.read_sealed(A) is None
    assert ledger.seal(made, b"first") == b"first"
    assert ledger.seal(made, b"second") == b"first"
    assert ledger.read_sealed(A) == b"first"
    assert pay(ledger).state is State.SEALED
    with Ledger.open(path) as later:
        assert later.read_sealed(A) == b"first"


def test_an_unknown_run_has_no_seal(ledger: Ledger) -> None:
    assert ledger.read_sealed(B) is None


def test_empty_and_large_payloads(ledger: Ledger) -> None:
    large = os.urandom(3_000_000)
    assert ledger.seal(pay(ledger), b"") == b""
    assert ledger.seal(pay(ledger, B), large) == large
    assert (ledger.read_sealed(A), ledger.read_sealed(B)) == (b"", large)
    ledger.verify()


def test_what_was_published_is_noted_once(ledger: Ledger) -> None:
    made = pay(ledger)
    ledger.seal(made, b"x")
    for files in ({"a.csv": "1"}, {"a.csv": "1"}, {"a.csv": "2"}):
        ledger.record_published(made, files)
    (run,) = ledger.list_runs()
    assert run.files == {"a.csv": "2"}
    assert run.published_at is not None
    assert ledger.read_head().seq == 4


def test_a_charge_that_is_gone_is_not_sealed(tmp_path: Path, ledger: Ledger) -> None:
    with Ledger.open(str(tmp_path / "other.sqlite")) as other:
        made = pay(other)
    for step in (lambda: ledger.seal(made, b"x"), lambda: ledger.record_published(made, {})):
        with pytest.raises(Failure, match="E609") as refused:
            step()
        assert refused.value.exit_code is ExitCode.LEDGER


def test_the_file_is_private_and_marked(file: str) -> None:
    path = file
    with Ledger.open(path) as ledger:
        pay(ledger)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert sorted(os.listdir(os.path.dirname(path))) == ["ledger.sqlite", "ledger.sqlite.witness"]
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert db.execute("PRAGMA user_version").fetchone() == (FIRST,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    db.close()


def test_verify_gives_the_head(ledger: Ledger) -> None:
    empty = ledger.verify()
    ledger.seal(pay(ledger), b"x")
    assert empty.seq == 0
    assert ledger.verify() == ledger.read_head()
    assert ledger.read_head().seq == 2


def test_reading_changes_nothing(path: str, ledger: Ledger) -> None:
    made = pay(ledger)
    before = Path(path).read_bytes() if os.path.exists(path) else ledger.read_head()
    with Ledger.read(path) as reader:
        assert reader.read_account("payroll").spent_loss.epsilon == Fraction(1, 2)
        assert reader.verify() == reader.read_head()
        with pytest.raises(Failure):
            pay(reader, B)
        with pytest.raises(Failure):
            reader.seal(made, b"x")
    assert before == (Path(path).read_bytes() if os.path.exists(path) else ledger.read_head())


def test_an_account_without_a_ledger_is_empty(path: str) -> None:
    assert read_account(path, "payroll").spent_loss.epsilon == 0
    assert not os.path.exists(path)
    with Ledger.open(path) as ledger:
        pay(ledger)
    assert read_account(path, "payroll").spent_loss.epsilon == Fraction(1, 2)


def test_the_clock_is_in_no_decision(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    pay(ledger)
    monkeypatch.setattr(
        "dprelease.ledger.store.format_utc_now", lambda: "1999-01-01T00:00:00+00:00"
    )
    assert not pay(ledger).fresh
    assert pay(ledger, B).run.charged_at.startswith("1999")
    ledger.verify()


def test_names_of_any_kind_are_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "ünï ?#%20 ledger")
    with Ledger.open(path) as ledger:
        ledger.charge(A, 'data "set" \N{SNOWMAN}', "r'; DROP TABLE entries", HALF, NO_CAPS, {})
        (run,) = ledger.list_runs()
    assert run.dataset == 'data "set" \N{SNOWMAN}'
    assert sorted(os.listdir(tmp_path)) == ["ünï ?#%20 ledger", "ünï ?#%20 ledger.witness"]


def test_releases_about_other_neighbours_do_not_add_up(tmp_path: Path) -> None:
    loss = Loss(Fraction(1))
    with Ledger.open(str(tmp_path / "l.sqlite")) as ledger:
        ledger.charge("a" * 64, "d", "r", loss, Caps(), {"adjacency": "add-remove"})
        with pytest.raises(Failure, match="E304") as refused:
            ledger.charge("b" * 64, "d", "s", loss, Caps(), {"adjacency": "replace-one"})
        assert refused.value.exit_code is ExitCode.BUDGET
        ledger.charge("c" * 64, "other", "s", loss, Caps(), {"adjacency": "replace-one"})
        assert ledger.read_account("d").spent_loss.epsilon == 1


def test_what_is_committed_has_reached_the_disk(tmp_path: Path) -> None:
    """EXTRA (3): the file, its journal and their directory are synchronised before a commit ends.

    No crash of a process tells the levels apart, only one of the machine: so look at the level.
    """
    with closing(open_for_writing(str(tmp_path / "l.sqlite"), 1).connection) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
