"""Caps in the ledger: entries of the chain that bind every spec of the dataset."""

import os
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from dprelease.errors import ExitCode, Failure
from dprelease.ledger.connection import FIRST, STATEMENTS, WITH_CAPS
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss

ONE = Fraction(1)
ONCE = Loss(ONE)
NO_CAPS = Caps()


def pay(
    ledger: Ledger, number: int = 1, loss: Loss = ONCE, caps: Caps = NO_CAPS, **terms: object
) -> Caps:
    run = f"{number:064x}"
    return ledger.charge(run, "payroll", "pay", loss, caps, {}, **terms).run.caps  # type: ignore[arg-type]


def check_refused(code: str, ledger: Ledger, *given: object, **terms: object) -> str:
    before = ledger.read_head()
    with pytest.raises(Failure) as raised:
        pay(ledger, *given, **terms)  # type: ignore[arg-type]
    assert raised.value.exit_code is ExitCode.BUDGET
    assert [complaint.code for complaint in raised.value.complaints] == [code]
    assert ledger.read_head() == before
    return str(raised.value)


def form(path: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_cap_binds_a_spec_that_states_none(ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"epsilon": Fraction(3, 2)}, "board")
    assert pay(ledger) == Caps(Fraction(3, 2))  # what the charge notes
    told = check_refused("E301", ledger, 2)
    assert "exceeds the cap 1.5" in told
    assert "at most 0.5 remains; the charges are: pay (entry 2)" in told
    assert ledger.charge("c" * 64, "other", "r", Loss(ONE * 9), Caps(), {}).fresh


@pytest.mark.parametrize(
    ("caps", "higher"),
    [(Caps(Fraction(3, 2), Fraction(1, 10**6), ONE), None),
     (Caps(ONE), None),
     (Caps(Fraction(3, 2) + Fraction(1, 10**12)), "epsilon_cap"),
     (Caps(None, Fraction(2, 10**6)), "delta_cap")],
)  # fmt: skip
def test_a_spec_may_state_a_lower_cap_and_no_higher_one(
    ledger: Ledger, caps: Caps, higher: str | None
) -> None:
    own = {"epsilon": Fraction(3, 2), "delta": Fraction(1, 10**6)}
    ledger.set_cap("payroll", own, "board")
    if higher is not None:
        assert f"[ledger.{higher}]" in check_refused("E305", ledger, 1, Loss(ONE), caps)
        return
    held = pay(ledger, 1, Loss(ONE), caps)
    assert (held.epsilon, held.delta, held.rho) == (caps.epsilon, Fraction(1, 10**6), caps.rho)


def test_what_was_charged_is_free_under_any_cap(ledger: Ledger) -> None:
    pay(ledger, 1, Loss(ONE), Caps(Fraction(9)))
    ledger.set_cap("payroll", {"epsilon": Fraction(1, 2)}, "less")
    assert pay(ledger, 1, Loss(ONE), Caps(Fraction(9))) == Caps(Fraction(9))
    assert "nothing is left" in check_refused("E301", ledger, 2, Loss(Fraction(1, 10**9)))


def test_the_last_entry_counts_and_what_is_not_named_stays(ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"epsilon": ONE, "delta": Fraction(1, 100)}, "first")
    ledger.set_cap("payroll", {"epsilon": Fraction(5)}, "raised")
    account = ledger.set_cap("other", {"epsilon": ONE / 9}, "another")
    assert account.dataset == "other"
    cap = ledger.read_account("payroll").cap
    assert cap is not None
    assert (cap.caps, cap.reason, cap.seq) == (Caps(Fraction(5), Fraction(1, 100)), "raised", 2)
    pay(ledger, 1, Loss(Fraction(4)))
    gone = ledger.set_cap("payroll", {"epsilon": None}, "lifted").cap
    assert gone is not None
    assert gone.caps == Caps(None, Fraction(1, 100))
    pay(ledger, 2, Loss(Fraction(99)))
    assert [cap.reason for cap in ledger.list_caps()] == ["first", "raised", "another", "lifted"]


def test_rhos_add_up_under_their_cap(ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"rho": Fraction(1, 2)}, "zCDP")
    gaussian = Loss(ONE, Fraction(1, 10**6), Fraction(1, 4))
    pay(ledger, 1, gaussian)
    pay(ledger, 2, gaussian)
    assert "rho 0.75, over the cap 0.5" in check_refused("E301", ledger, 3, gaussian)
    ledger.set_cap("payroll", {"rho": Fraction(3, 4)}, "more")
    pay(ledger, 3, gaussian)


def test_under_a_cap_on_rho_every_run_needs_a_rho(ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"rho": Fraction(100)}, "zCDP")
    assert "some release has no bound in rho" in check_refused(
        "E301", ledger, 1, Loss(ONE, Fraction(1, 10**6))
    )
    pay(ledger, 1, Loss(ONE))  # pure epsilon has one


def test_a_pure_run_takes_what_its_epsilon_means_in_rho(ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"rho": Fraction(1, 100)}, "zCDP")
    check_refused("E301", ledger, 1, Loss(ONE))
    pay(ledger, 1, Loss(Fraction(1, 10)))  # about 1/200


def test_what_counts_is_that_of_the_period(ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"epsilon": Fraction(3)}, "a month")
    for number, period in enumerate(["2026-01", "2026-01", "2026-02"], 1):
        pay(ledger, number, Loss(ONE), period=period, disjoint=True)
    told = check_refused("E301", ledger, 4, Loss(Fraction(5, 2)), period="2026-02", disjoint=True)
    assert "epsilon 2.5 + 1.0 already spent" in told
    assert "at most 2.0 remains; the charges are: pay (entry 4);" in told
    pay(ledger, 4, Loss(Fraction(2)), period="2026-02", disjoint=True)


def test_the_first_cap_alone_changes_the_format_and_no_entry(path: str, ledger: Ledger) -> None:
    reservation = ledger.charge("a" * 64, "payroll", "pay", Loss(ONE), Caps(), {})
    ledger.seal(reservation, b"numbers" * 1000)
    ledger.record_published(reservation, {"t.csv": "0" * 64})
    entries = ledger.chain()
    assert form(path) == FIRST  # which versions without caps read
    ledger.set_cap("payroll", {"epsilon": ONE}, "board")
    assert form(path) == WITH_CAPS  # and refuse
    assert ledger.chain()[:-1] == entries
    assert ledger.read_sealed("a" * 64) == b"numbers" * 1000
    assert ledger.verify().seq == 4
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        made = {row[0] for row in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        for change in ("DELETE FROM entries", "UPDATE entries SET kind = 'cap'",
                       "DELETE FROM payloads"):  # fmt: skip
            with pytest.raises(sqlite3.DatabaseError, match="only ever appended"):
                db.execute(change)
    assert made == set(STATEMENTS[WITH_CAPS])
    with Ledger.read(path) as again:
        assert again.read_head() == ledger.read_head()


def test_a_ledger_that_is_open_meanwhile_learns_of_the_cap(path: str, ledger: Ledger) -> None:
    with Ledger.open(path) as other:
        pay(ledger, 1)
        other.set_cap("payroll", {"epsilon": ONE}, "board")
    check_refused("E301", ledger, 2)


def test_a_disk_that_fails_at_the_change_of_format_leaves_the_ledger(
    path: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay(ledger)
    head = ledger.read_head()
    broken = (STATEMENTS[WITH_CAPS][0], "", "no statement at all")
    with monkeypatch.context() as patch:
        patch.setitem(STATEMENTS, WITH_CAPS, broken)
        with pytest.raises(Failure):
            ledger.set_cap("payroll", {"epsilon": ONE}, "board")
    assert (form(path), ledger.read_head()) == (FIRST, head)
    ledger.set_cap("payroll", {"epsilon": ONE}, "board")
    assert ledger.verify().seq == 2


def test_a_cap_that_was_edited_or_taken_out_is_noticed(path: str, ledger: Ledger) -> None:
    ledger.set_cap("payroll", {"epsilon": ONE}, "board")
    pay(ledger)
    copy = f"{path}.copy"
    for change in ("UPDATE entries SET content = replace(content, 'board', 'bored')",
                   "DELETE FROM entries WHERE kind = 'cap'"):  # fmt: skip
        shutil.copy(path, copy)
        with closing(sqlite3.connect(copy)) as db:
            triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            for name, _ in (stored := triggers.fetchall()):
                db.execute(f"DROP TRIGGER {name}")
            assert db.execute(change).rowcount > 0
            for _, sql in stored:
                db.execute(sql)
            db.commit()
        with pytest.raises(Failure, match="E605"), Ledger.open_unguarded(copy) as spoilt:
            spoilt.read_head()
        os.unlink(copy)
