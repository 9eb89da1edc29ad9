"""Refusals of the ledger in words. File names and budgets are public; nothing else is shown.

E301 over the cap, E302 other cost, E305 a cap above the ledger's, E306 one place under two periods;
E601 busy, E602 place, E603 not a ledger, E604 version or tables, E605 broken chain, E606 disk, E607
SQLite too old, E608 missing, E609 lost charge, E611 used up by another process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from difflib import get_close_matches
from fractions import Fraction

from msgspec import Struct

from dprelease.errors import Complaint, ExitCode, Failure, Place, build_write_failure
from dprelease.ledger.entries import Account, Run, SetCap
from dprelease.ledger.privacy_filter import Caps, Total
from dprelease.model import Loss

EXACT_DIGITS = 15  # longest decimal that a message shows in full
ROUNDED_DIGITS = 7


def round_spent(value: Fraction) -> str:
    """Format a spent amount: the exact decimal if it is short, else rounded up."""
    return _format_amount(value, ROUND_CEILING)


def round_remaining(value: Fraction) -> str:
    """Format a remaining amount: the exact decimal if it is short, else rounded down."""
    return _format_amount(value, ROUND_FLOOR)


def _format_amount(value: Fraction, rounding: str) -> str:
    # A decimal that EXACT_DIGITS hold is shown as it is; any other is rounded to ROUNDED_DIGITS.
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
    "never start an empty ledger for a dataset that was released before"
)
FREE = "the budget stays reserved, and running the same release again costs nothing"
QUALITY = "-quality"  # ends the name of the first of the two releases of `run --quality-first`


def describe_exceeded_cap(  # noqa: PLR0913, PLR0917 - the numbers and names of one sentence
    epsilon: Fraction,
    now: Total,
    later: Total,
    caps: Caps,
    dataset: str,
    counting: Sequence[Run],
    place: Place | None,
) -> Complaint:
    """Describe a charge that would exceed the cap on epsilon."""
    cap = caps.epsilon or Fraction(0)
    if later.composed:
        message = (
            f"epsilon {round_spent(epsilon)} would make {round_spent(later.epsilon)} of"
            f' {round_spent(now.epsilon)} already spent on "{dataset}", composed at delta'
            f" {round_spent(later.delta)}, over the cap {round_remaining(cap)}"
        )
        hint = _rest(cap - now.epsilon, counting, "{} remains, composed")
        return Complaint("E301", message, hint, place)
    message = (
        f'epsilon {round_spent(epsilon)} + {round_spent(now.epsilon)} already spent on "{dataset}"'
        f" exceeds the cap {round_remaining(cap)}"
    )
    return Complaint("E301", message, _rest(cap - now.epsilon, counting), place)


def describe_exceeded_delta(
    now: Total, later: Total, dataset: str, counting: Sequence[Run], place: Place | None
) -> Complaint:
    """Describe a charge that would exceed the cap on delta."""
    room = later.room or Fraction(0)
    held_back = f", {round_spent(later.reserve)} of the cap is reserved for composition"
    text = "at most {} remains" + (held_back if later.reserve else "")
    hint = _rest(room - now.counted, counting, text)
    return Complaint(
        "E301",
        f"delta {round_spent(later.counted - now.counted)} + {round_spent(now.counted)} already "
        f'spent on "{dataset}" exceeds the cap {round_remaining(room + later.reserve)}',
        hint,
        place,
    )


def describe_exceeded_rho(
    rho: Fraction | None, cap: Fraction, dataset: str, counting: Sequence[Run], place: Place | None
) -> Complaint:
    """Describe a charge that would exceed the cap on rho, or has no bound in rho."""
    if rho is None:
        message = f'"{dataset}" has a cap on rho, but some release has no bound in rho'
        hint = "use mechanisms with a bound in rho: pure epsilon or gaussian noise, no private keys"
        return Complaint("E301", message, hint, place)
    message = (
        f'the releases of "{dataset}" would come to rho {round_spent(rho)}, over the cap '
        f"{round_remaining(cap)}"
    )
    return Complaint("E301", message, _suggest_remedy(counting), place)


def describe_cap_above_set(name: str, limits: Caps, cap: SetCap) -> Complaint:
    """Describe a cap of the spec that is above the one set in the ledger."""
    message = (
        f"{name}_cap {round_spent(getattr(limits, name))} is above the ledger's cap for "
        f'"{cap.dataset}": {round_remaining(getattr(cap.caps, name))}, by entry {cap.seq}'
    )
    return Complaint("E305", message, key=f"ledger.{name}_cap")


def _rest(amount: Fraction, counting: Sequence[Run], text: str = "at most {} remains") -> str:
    rest = text.format(round_remaining(amount)) if amount > 0 else "nothing is left"
    return f"{rest}; {_suggest_remedy(counting)}"


def warn_about_new_dataset(account: Account) -> tuple[Complaint, ...]:
    """Warn of a dataset that is new in a ledger with other datasets."""
    if account.runs or account.cap is not None or not account.others:
        return ()
    near = get_close_matches(account.dataset, account.others, MOST_NAMED)
    names = ", ".join(f'"{name}"' for name in near or account.others[:MOST_NAMED])
    hidden_count = len(account.others) - MOST_NAMED
    names_text = names if near or hidden_count <= 0 else f"{names} and {hidden_count} more"
    ask = f"did you mean {names}? " if near else f"it has {names_text}; "
    hint = f"{ask}use the same dataset name in every spec, otherwise its budget starts again"
    message = f'the dataset "{account.dataset}" is new in a ledger that has others'
    return (Complaint("W601", message, hint),)


MOST_NAMED = 3


def _suggest_remedy(counting: Sequence[Run]) -> str:
    """Name the runs that count, the last first, and the remedies."""
    last = [f"{run.release} (entry {run.seq})" for run in counting[: -MOST_NAMED - 1 : -1]]
    hidden_count = len(counting) - len(last)
    runs = ", ".join([*last, f"{hidden_count} before"] if hidden_count else last)
    counted = f"the charges are: {runs}; " if runs else ""
    return f"{counted}ask for less, or have the cap raised (dprelease explain E301)"


def suggest_single_payment(
    complaints: Sequence[Complaint], release: str, runs: Sequence[Run]
) -> list[Complaint]:
    """Add a hint to the refusals if both halves of the release seem to be paid for.

    Args:
        complaints: The refusals of the release.
        release: Name of the release.
        runs: Runs of the same dataset and period.
    """
    if not {release, f"{release}{QUALITY}"} <= {run.release for run in runs}:
        return list(complaints)
    way_out = (
        f'; if "{release}{QUALITY}" is from `run --quality-first`, use that option again: it costs '
        "nothing if the spec is the same; a plain run is another release"
    )
    return [complaint._replace(own_hint=f"{complaint.hint}{way_out}") for complaint in complaints]


def describe_empty_promise(dataset: str, place: Place | None) -> Complaint:
    """Describe deltas that reach 1 in sum."""
    return Complaint(
        "E303", f'with this release the deltas charged to "{dataset}" would reach 1', place=place
    )


def format_loss(loss: Loss) -> str:
    """Format a cost in full."""
    parts = [f"epsilon {round_spent(loss.epsilon)}", f"delta {round_spent(loss.delta)}"]
    if loss.rho is not None:
        parts.append(f"rho {round_spent(loss.rho)}")
    return ", ".join(parts)


class Refusal(Struct, frozen=True):
    """A refusal with gaps. Called with what fills them, in order, it is the Failure to raise."""

    code: str
    message: str
    hint: str = ""
    exit_code: ExitCode = ExitCode.LEDGER

    def __call__(self, *names: object, place: Place | None = None) -> Failure:
        """Fill the gaps of message and hint with the same names: gap {0} takes the first."""
        message, hint = self.message.format(*names), self.hint.format(*names)
        return Failure(self.exit_code, Complaint(self.code, message, hint, place))


_ANEW = (
    "check it against a report (dprelease budget verify {0} --against report.json); "
    "only if it is the right ledger, write its witness anew (dprelease budget witness {0})"
)

other_cost = Refusal(  # {0}: the release, {1}: what it was charged, {2}: what it costs now
    "E302", 'this run of "{0}" was charged {1} and now costs {2}', exit_code=ExitCode.BUDGET
)
overlap = Refusal(  # {0}: the entry that charged the data, {1}: the period now, {2}: the one then
    "E306",
    'entry {0} of the ledger charged the data of period "{1}", or a part of it, as disjoint period '
    '"{2}"',
    "use the period under which the data was charged, or leave disjoint_periods out, so that "
    "losses add up; if two schemas have tables of one name, write the schema in `table`",
    ExitCode.BUDGET,
)
moved_data = Refusal(  # {0}: the entry that charged the run, {1}: its disjoint period
    "E306",
    'entry {0} of the ledger charged this run for the data of the disjoint period "{1}" at another '
    "place",
    "put the data, and disjoint_periods, back as they were when it was charged; or a new "
    "`snapshot` releases (and charges) the present data",
    ExitCode.BUDGET,
)
# Gaps: {0} is the path of the ledger, unless said otherwise.
busy = Refusal("E601", "the ledger {0} is locked by another process (waited {1:g} s)")
not_a_ledger = Refusal("E603", "{0} is not a complete dprelease ledger: {1}", RESTORE)
wrong_schema = Refusal("E604", "the ledger {0} {1}", "{2}")
broken_chain = Refusal("E605", "the ledger {0} was changed from outside: {1}", RESTORE)
old_sqlite = Refusal(  # {0}: the version of Python's SQLite, which lacks STRICT tables
    "E607", "the ledger needs SQLite 3.37 or later, this Python has {0}"
)
missing = Refusal("E608", "there is no ledger at {0}")
lost_charge = Refusal(  # {1}: the release that was charged
    "E609",
    'the ledger {0} no longer holds the charge of "{1}"',
    "it was replaced or restored while the release ran; " + RESTORE,
)
used_up = Refusal(  # {0}: the release. Another process burnt the run while this one was at it
    "E611",
    'another process failed in this run of "{0}" after it had drawn noise, and voided its charge',
    exit_code=ExitCode.INTERNAL,
)
bad_guard = Refusal(  # {1}: the witness, {2}: the reason
    "E612", "the witness {1} of the ledger {0} can't be used: {2}", _ANEW
)
no_guard = Refusal(  # {1}: where the witness should be
    "E612",
    "the ledger {0} has no witness at {1}: it can't be checked",
    "put the witness back ([ledger] witness says where); " + _ANEW,
)
lost_ledger = Refusal(  # {1}: the witness, {2}: the number of the entry that it has seen
    "E613", "there is no ledger at {0}, but its witness {1} records entry {2}", RESTORE
)
rolled_back = Refusal(  # the same, and {3}: what the ledger holds instead
    "E613",
    "the ledger {0} is not the one that its witness {1} records, or an older copy of"
    " it: the witness names entry {2}, but the ledger {3}",
    f"{RESTORE}; {_ANEW}",
)
not_in_ledger = Refusal(  # {1}: the report, or a copy; {2}: the reason
    "E613", "the ledger {0} does not hold the charge that {1} names: {2}", RESTORE
)
moved_ledger = Refusal(  # {1}: where to
    "E619",
    "the ledger {0} was moved to {1}",
    "name the new place in [ledger] path; if the move was stopped, finish it: "
    "dprelease budget move {0} {1}",
)
can_not_move = Refusal(  # {1}: where to, {2}: the reason
    "E620", "the ledger {0} can't be moved to {1}: {2}", exit_code=ExitCode.SPEC
)
_REACH = "check that the server runs and can be reached, then run again: "


def build_unreachable_failure(path: str, *, charged: bool) -> Failure:
    """Report that the ledger's server can't be reached."""
    code = ExitCode.AFTER_CHARGE if charged else ExitCode.LEDGER
    tail = FREE if charged else "a charge is either complete or absent, and is never made twice"
    message = f"the server of the ledger {path} can't be reached"
    return Failure(code, Complaint("E621", message, _REACH + tail))


def is_unreachable(failure: Failure) -> bool:
    """Tell if the failure is that of a server that can't be reached."""
    return [complaint.code for complaint in failure.complaints] == ["E621"]


_MEANT = "if you intend a ledger without it, run with --fresh-ledger"
lost_by_output = Refusal(  # {1}: the report in the output folder, {2}: the reason
    "E618",
    "the ledger {0} does not hold the charge of {1}, which this run would replace: {2}",
    f"find the ledger that was charged ([ledger] path), or choose another output; {_MEANT}",
)
spoilt_in_output = Refusal(  # the same
    "E618",
    "{1} can't be read: the ledger {0} can't be checked for its charge",
    "move it away once you are sure of the ledger, or run the release that wrote it again "
    f"at no cost; {_MEANT}",
)
no_report = Refusal(  # {0}: the report
    "E614", "{0} can't be used: {1}", exit_code=ExitCode.SPEC
)


def build_export_failure(file: str, reason: str, *, is_of_disk: bool) -> Failure:
    """Report that the entries can't be written to a file."""
    message = f"the entries can't be written to {file}: {reason}"
    return build_write_failure("E615", message, "choose another FILE", is_of_disk=is_of_disk)


def build_place_failure(path: str, reason: str, hint: str, subject: str = "ledger") -> Failure:
    """Report that the ledger or its witness can't be used where it is."""
    message = f"the {subject} {path} can't be used: {reason}"
    return Failure(ExitCode.LEDGER, Complaint("E602", message, hint))


def build_disk_failure(path: str, *, charged: bool, subject: str = "ledger") -> Failure:
    """Report a disk that is full or failing.

    Args:
        path: The file that can't be written.
        charged: The budget is already reserved: the exit code is 5, else 6.
        subject: Name of the file in the message.
    """
    hint = "free space on the disk or repair it, then run again: "
    code = ExitCode.AFTER_CHARGE if charged else ExitCode.LEDGER
    tail = FREE if charged else "a charge is either complete or absent, and is never made twice"
    message = f"the {subject} {path} can't be written: disk full or failing"
    return Failure(code, Complaint("E606", message, hint + tail))


def mark_committed(failure: Failure) -> Failure:
    """Give a failure exit code 5 and the hint that the budget stays reserved."""
    # The change is in the ledger: either nothing was read yet, or nothing more is needed.
    complaints = [
        Complaint(complaint.code, complaint.message, f"{complaint.hint}; {FREE}")
        for complaint in failure.complaints
    ]
    return Failure(ExitCode.AFTER_CHARGE, complaints)


_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DISK = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
_PLACE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_PLACE |= {sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOLFS}


@contextmanager
def translate_errors(path: str, wait: float, *, charged: bool = False) -> Iterator[None]:
    """Turn every error of SQLite inside into a Failure with a remedy.

    Args:
        path: The ledger that messages name.
        wait: Seconds that the lock was waited for.
        charged: The budget is already reserved.
    """
    try:
        yield
    except sqlite3.Error as problem:
        # The low byte is the primary code; errors of the module itself have no code.
        code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        failure = not_a_ledger(path, "SQLite can't read it")
        if code in _BUSY:
            failure = busy(path, wait)
        elif code in _DISK:
            failure = build_disk_failure(path, charged=charged)
        elif code in _PLACE:
            hint = "make the file and its directory writable, or set [ledger] path"
            failure = build_place_failure(path, "it can't be opened for writing", hint)
        raise failure from None
