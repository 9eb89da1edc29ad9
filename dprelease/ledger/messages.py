"""Refusals of the ledger in words. File names and budgets are public; nothing else is shown.

E301 over the cap, E302 other cost; E601 busy, E602 place, E603 not a ledger, E604 version or
tables, E605 broken chain, E606 disk, E607 SQLite too old, E608 missing, E609 lost charge, E611 used
up by another process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction

from dprelease.errors import Complaint, ExitCode, Failure, Place
from dprelease.ledger.filters import Caps, Total
from dprelease.model import Loss

EXACT_DIGITS = 15  # longest decimal that a message shows in full
ROUNDED_DIGITS = 7


def shown_up(value: Fraction) -> str:
    """A spent amount for people: the exact decimal when short, else rounded up."""
    return _shown(value, ROUND_CEILING)


def shown_down(value: Fraction) -> str:
    """An amount still to be had, for people: the exact decimal when short, else rounded down."""
    return _shown(value, ROUND_FLOOR)


def _shown(value: Fraction, rounding: str) -> str:
    for digits in (EXACT_DIGITS, ROUNDED_DIGITS):
        context = Context(prec=digits, rounding=rounding)
        number = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
        if not context.flags[Inexact]:
            break
    lead = number.adjusted()
    if not -4 <= lead <= EXACT_DIGITS:
        return f"{number.scaleb(-lead):f}e{lead}"
    text = f"{number:f}"
    return text if "." in text else f"{text}.0"


RESTORE = (
    "restore the ledger from a backup that is not older than the last release; "
    "never start an empty one for a data set that was released before"
)
FREE = "the budget stays reserved, and running the same release again costs nothing"


def over_cap(  # noqa: PLR0913, PLR0917 - the numbers and names of one sentence
    epsilon: Fraction, now: Total, then: Total, caps: Caps, dataset: str, place: Place | None
) -> Complaint:
    """The charge would lift what is spent over the cap. Losses are rounded up, what's left down."""
    cap = caps.epsilon or Fraction(0)
    if then.composed:
        message = (
            f"epsilon {shown_up(epsilon)} would make {shown_up(then.epsilon)} of"
            f' {shown_up(now.epsilon)} already spent on "{dataset}", composed at delta'
            f" {shown_up(then.delta)}, over the cap {shown_down(cap)}"
        )
        return Complaint("E301", message, _rest(cap - now.epsilon, "{} is left, composed"), place)
    message = (
        f'epsilon {shown_up(epsilon)} + {shown_up(now.epsilon)} already spent on "{dataset}"'
        f" exceeds the cap {shown_down(cap)}"
    )
    return Complaint("E301", message, _rest(cap - now.epsilon), place)


def over_room(now: Total, then: Total, dataset: str, place: Place | None) -> Complaint:
    """The same for delta. Some of the cap may be kept for composing epsilons."""
    room = then.room or Fraction(0)
    hint = _rest(room - now.counted)
    if then.reserve:
        hint += f"; {shown_up(then.reserve)} of the cap is kept for composing epsilons"
    return Complaint(
        "E301",
        f"delta {shown_up(then.counted - now.counted)} + {shown_up(now.counted)} already spent on"
        f' "{dataset}" exceeds the cap {shown_down(room + then.reserve)}',
        hint,
        place,
    )


def _rest(amount: Fraction, text: str = "at most {} is left") -> str:
    return text.format(shown_down(amount)) if amount > 0 else "nothing is left"


def nothing_promised(dataset: str, place: Place | None) -> Complaint:
    """The deltas of all releases reach 1: that promises nothing, whatever the caps say."""
    return Complaint(
        "E303",
        f'with this release the deltas charged to "{dataset}" would reach 1',
        "choose deltas far below one over the number of rows",
        place,
    )


def other_cost(release: str, charged: Loss, cost: Loss, place: Place | None) -> Failure:
    """The run is in the ledger at another price: its claim and its charge would differ."""
    return Failure(
        ExitCode.BUDGET,
        Complaint(
            "E302",
            f'this run of "{release}" was charged {_cost(charged)} and now costs {_cost(cost)}',
            "use the version of dprelease that made the charge, "
            "or a new `snapshot` or period to release (and pay) anew",
            place,
        ),
    )


def _cost(loss: Loss) -> str:
    parts = [f"epsilon {shown_up(loss.epsilon)}", f"delta {shown_up(loss.delta)}"]
    if loss.rho is not None:
        parts.append(f"rho {shown_up(loss.rho)}")
    return ", ".join(parts)


def busy(path: str, wait: float) -> Failure:
    """Another process held the ledger for the whole wait."""
    return _refused(
        "E601",
        f"the ledger {path} is locked by another process (waited {wait:g} s)",
        "wait for the other run to end, or give a longer wait",
    )


def bad_place(path: str, reason: str, hint: str, what: str = "ledger") -> Failure:
    """The ledger, or its witness, can't be written (or read) where it is."""
    return _refused("E602", f"the {what} {path} can't be used: {reason}", hint)


def not_a_ledger(path: str, reason: str) -> Failure:
    """The file is not a dprelease ledger, or is damaged."""
    return _refused("E603", f"{path} is not a whole dprelease ledger: {reason}", RESTORE)


def wrong_schema(path: str, reason: str, hint: str) -> Failure:
    """The ledger is of another version, or its tables or triggers were changed."""
    return _refused("E604", f"the ledger {path} {reason}", hint)


def broken_chain(path: str, reason: str) -> Failure:
    """Entries don't hang together: something edited, removed or added them."""
    return _refused("E605", f"the ledger {path} was changed from outside: {reason}", RESTORE)


def disk_trouble(path: str, *, charged: bool, what: str = "ledger") -> Failure:
    """The disk is full or failed. ``charged``: after the budget was reserved."""
    hint = "make room or mend the disk, then run again: "
    code = ExitCode.AFTER_CHARGE if charged else ExitCode.LEDGER
    tail = FREE if charged else "a charge is either whole or absent, and is never made twice"
    message = f"the {what} {path} can't be written: disk full or failing"
    return Failure(code, Complaint("E606", message, hint + tail))


def old_sqlite(version: str) -> Failure:
    """Python's SQLite lacks STRICT tables."""
    return _refused(
        "E607",
        f"the ledger needs SQLite 3.37 or later, this Python has {version}",
        "use a Python built with a newer SQLite",
    )


def missing(path: str) -> Failure:
    """There is no ledger to read."""
    return _refused("E608", f"there is no ledger at {path}", "give the path of an existing ledger")


def lost_charge(path: str, release: str) -> Failure:
    """The ledger no longer holds a charge that was made in it."""
    return _refused(
        "E609",
        f'the ledger {path} no longer holds the charge of "{release}"',
        "it was replaced or restored while the release ran; " + RESTORE,
    )


def bad_guard(path: str, ledger: str, reason: str) -> Failure:
    """There is something, but it says nothing."""
    return _refused(
        "E612", f"the witness {path} of the ledger {ledger} can't be used: {reason}", _anew(ledger)
    )


def no_guard(ledger: str, path: str) -> Failure:
    """A ledger with entries has none."""
    return _refused(
        "E612",
        f"the ledger {ledger} has no witness at {path}: whether it is whole can't be told",
        f"put the witness back ([ledger] witness says where); {_anew(ledger)}",
    )


def lost_ledger(ledger: str, path: str, seq: int) -> Failure:
    """There is a witness of entries, and no ledger."""
    return _refused(
        "E613",
        f"there is no ledger at {ledger}, but its witness {path} has seen entry {seq}",
        RESTORE,
    )


def rolled_back(ledger: str, path: str, seq: int, last: int) -> Failure:
    """The ledger doesn't hold what the witness has seen."""
    what = f"it ends with entry {last}" if last < seq else "it holds another"
    return _refused(
        "E613",
        f"the ledger {ledger} is not the one that its witness {path} has seen, or an older copy of"
        f" it: the witness names entry {seq}, and {what}",
        f"{RESTORE}; {_anew(ledger)}",
    )


def not_in_ledger(ledger: str, report: str, reason: str) -> Failure:
    """A report names a charge that the ledger doesn't hold."""
    return _refused(
        "E613",
        f"the ledger {ledger} does not hold the charge that {report} names: {reason}",
        RESTORE,
    )


def no_report(report: str, reason: str) -> Failure:
    """What is to be held against a ledger says nothing of one."""
    hint = "give the report.json of a release"
    return Failure(ExitCode.SPEC, Complaint("E614", f"{report} can't be used: {reason}", hint))


def no_export(out: str, reason: str) -> Failure:
    """Exported entries have no place."""
    what = f"the entries can't be written to {out}: {reason}"
    return Failure(ExitCode.SPEC, Complaint("E615", what, "choose another FILE"))


def _anew(ledger: str) -> str:
    return (
        f"hold it against a report (dprelease budget verify {ledger} --against report.json); "
        f"only if it is the right one, write its witness anew (dprelease budget witness {ledger})"
    )


def after_commit(failure: Failure) -> Failure:
    """What fails once a change is in the ledger: nothing was read, or nothing more is needed."""
    complaints = [
        Complaint(complaint.code, complaint.message, f"{complaint.hint}; {FREE}")
        for complaint in failure.complaints
    ]
    return Failure(ExitCode.AFTER_CHARGE, complaints)


def used_up(release: str) -> Failure:
    """The run was burnt by another process while this one was at it."""
    return Failure(
        ExitCode.INTERNAL,
        Complaint(
            "E611",
            f'another process failed with this run of "{release}" after it had drawn noise, '
            "and used its charge up",
            "nothing was released; running again draws new noise and is charged again",
        ),
    )


def _refused(code: str, message: str, hint: str) -> Failure:
    return Failure(ExitCode.LEDGER, Complaint(code, message, hint))


_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DISK = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
_PLACE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_PLACE |= {sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOLFS}


@contextmanager
def translated(path: str, wait: float, *, charged: bool = False) -> Iterator[None]:
    """Turns every error of SQLite inside into a Failure with a remedy."""
    try:
        yield
    except sqlite3.Error as problem:
        code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        failure = not_a_ledger(path, "SQLite can't read it")
        if code in _BUSY:
            failure = busy(path, wait)
        elif code in _DISK:
            failure = disk_trouble(path, charged=charged)
        elif code in _PLACE:
            hint = "make the file and its directory writable, or set [ledger] path"
            failure = bad_place(path, "it can't be opened for writing", hint)
        raise failure from None
