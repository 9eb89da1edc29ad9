"""Charges: which run comes next, the tests it has to pass, and the reservation it gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from msgspec import Struct

from dprelease.errors import Complaint, ExitCode, Failure, Place
from dprelease.ledger.entries import Account, Book, Run, State
from dprelease.ledger.identity import run_id
from dprelease.ledger.ledger_messages import (
    describe_cap_above_set,
    describe_empty_promise,
    describe_exceeded_cap,
    describe_exceeded_delta,
    describe_exceeded_rho,
    moved_data,
    overlap,
    suggest_single_payment,
)
from dprelease.ledger.privacy_filter import Caps, Terms, Total, split_loss
from dprelease.ledger.totals import compute_total, is_meeting, sum_spent, sum_spent_rho
from dprelease.model import LedgerSettings, Loss, Plan, Release, Step
from dprelease.model.key_thresholds import add_failures


class Reservation(Struct, frozen=True):
    """Proof that a run is paid for. ``fresh``: this call made the charge.

    ``before`` and ``after`` are what was spent on the dataset around this charge, by plain sums;
    ``total_before`` and ``total_after`` the same, composed under the caps that the charge notes.
    All are the same however often the run is repeated.
    """

    run: Run
    state: State
    fresh: bool
    before: Loss
    after: Loss
    total_before: Total
    total_after: Total

    @property
    def run_id(self) -> str:
        """Identity of the run."""
        return self.run.run_id


def build_reservation(book: Book, run: Run, *, fresh: bool) -> Reservation:
    """Build the reservation of a run that the book holds.

    Args:
        book: The ledger after the charge.
        run: The charged run.
        fresh: The charge was made by this call.
    """
    account = book.get_account(run.dataset, before=run.seq)
    return Reservation(
        run,
        run.state,
        fresh,
        account.spent_loss,
        sum_spent((*account.terms, run.terms)),
        account.compute_total(run.caps),
        account.compute_total(run.caps, run.terms),
    )


def check_loss(loss: Loss) -> None:
    """Raise ValueError for a negative loss, or a delta of 1 or more."""
    if loss.epsilon < 0 or not 0 <= loss.delta < 1 or (loss.rho is not None and loss.rho < 0):
        raise ValueError("a privacy loss is not negative, and delta is below 1")


def _take_apart(step: Step) -> list[Loss]:
    """Take apart approximate zCDP: that but for which rho holds is a loss of its own.

    Otherwise a step's loss is one.
    """
    failure = add_failures([step])
    if not failure:
        return [step.loss]
    return [Loss(Fraction(0), Fraction(0), step.loss.rho), Loss(Fraction(0), failure)]


def build_terms(plan: Plan) -> Terms:
    """State the loss of a run of the plan, and the period and place of its data."""
    release = plan.release
    losses = [part for step in plan.steps for part in _take_apart(step)]
    losses += [step.loss for step in plan.records]
    parts = split_loss(plan.loss, losses, sums=plan.loss == plan.basic)
    period, disjoint = release.period, release.ledger.disjoint_periods
    if not disjoint or period is None:
        return Terms(plan.loss, parts, period, disjoint)
    # Imported here for start-up: in most specs no periods are disjoint.
    from dprelease.ledger.data_places import list_place_steps

    return Terms(plan.loss, parts, period, disjoint, list_place_steps(release.data.source))


def check_caps(
    account: Account, release: str, terms: Terms, caps: Caps, place: Place | None
) -> None:
    """Refuse a run that would lift the account over a cap; compared exactly.

    Args:
        account: The runs charged so far.
        release: Name of the release.
        terms: Loss, parts, period and place of the data of the new run.
        caps: Caps that the run is held to; see ``derive_caps``.
        place: Where the spec states the budget.

    Raises:
        Failure: Exit code 3 if a cap is exceeded, the deltas reach 1, or the data was charged as
            another, disjoint period.
    """
    for run in account.runs:
        if not is_meeting(run.terms, terms) and _is_same_data(run.terms, terms):
            raise overlap(run.seq, terms.period or "", run.terms.period, place=place)
    current, projected = account.compute_total(caps), account.compute_total(caps, terms)
    # The refusal states the totals for the period of the run where these exceed a cap.
    counting = [run for run in account.runs if is_meeting(run.terms, terms)]
    near = [run.terms for run in counting]
    if not compute_total((*near, terms), caps).is_within(caps):
        current, projected = compute_total(near, caps), compute_total((*near, terms), caps)
    else:  # another period is over its cap: caps were lowered
        counting = list(account.runs)
    complaints: list[Complaint] = []
    if caps.epsilon is not None and projected.epsilon > caps.epsilon:
        complaints.append(
            describe_exceeded_cap(
                terms.loss.epsilon, current, projected, caps, account.dataset, counting, place
            )
        )
    if projected.room is not None and projected.counted > projected.room:
        complaints.append(
            describe_exceeded_delta(current, projected, account.dataset, counting, place)
        )
    if caps.rho is not None:
        rho = sum_spent_rho((*account.terms, terms))
        if rho is None or rho > caps.rho:
            complaints.append(
                describe_exceeded_rho(rho, caps.rho, account.dataset, account.runs, place)
            )
    if sum_spent((*account.terms, terms)).delta >= 1:
        complaints.append(describe_empty_promise(account.dataset, place))
    if complaints:
        same = [run for run in account.runs if run.terms.period == terms.period]
        raise Failure(ExitCode.BUDGET, suggest_single_payment(complaints, release, same))


def check_data_place(run: Run, terms: Terms, place: Place | None) -> None:
    """Refuse a charged run of a disjoint period whose data is now at another place.

    Args:
        run: The charged run.
        terms: Terms that the run has now.
        place: Where the spec states the budget.

    Raises:
        Failure: Exit code 3.
    """
    # Data at another place may have been charged as another period: that would release it a
    # second time for one charge. A sealed run reads nothing more.
    charged_for = run.terms.data
    if run.state is State.CHARGED and charged_for is not None and charged_for != terms.data:
        raise moved_data(run.seq, run.terms.period, place=place)


def _is_same_data(left: Terms, right: Terms) -> bool:
    if left.data is None or right.data is None:
        return False
    # Imported here for start-up: in most ledgers no periods are disjoint.
    from dprelease.ledger.data_places import may_meet

    return may_meet(left.data, right.data)


def read_stated_caps(settings: LedgerSettings) -> Caps:
    """Read the caps that a spec states."""
    return Caps(settings.epsilon_cap, settings.delta_cap, settings.rho_cap)


def derive_caps(account: Account, spec_caps: Caps) -> Caps:
    """Determine the caps that a run is held to.

    Args:
        account: Has the caps set in the ledger, if any.
        spec_caps: Caps that the spec states.

    Returns:
        The caps set in the ledger, or lower ones that the spec states.

    Raises:
        Failure: Exit code 3 if the spec states a higher cap than the ledger.
    """
    cap = account.cap
    if cap is None:
        return spec_caps
    if higher := cap.caps.list_exceeded(spec_caps):
        raise Failure(
            ExitCode.BUDGET, [describe_cap_above_set(name, spec_caps, cap) for name in higher]
        )
    return cap.caps.lower(spec_caps)


def count_revision(release: Release, runs: Iterable[Run], run_id: str) -> int:
    """Number a run among those of its name, dataset and period, from 1.

    Args:
        release: Gives name, dataset and period.
        runs: All runs of the ledger, in the order of their charge.
        run_id: The run to number; one that is not charged yet comes after all that are.
    """
    same = [
        run
        for run in runs
        if (run.dataset, run.release, run.terms.period)
        == (release.ledger.dataset, release.about.name, release.period)
    ]
    charged = [at for at, run in enumerate(same, 1) if run.run_id == run_id]
    return charged[0] if charged else len(same) + 1


def find_current_run(release: Release, runs: Mapping[str, Run], *, new_noise: bool = False) -> str:
    """Find the identity that running the release now has.

    Args:
        release: The checked spec.
        runs: All runs of the ledger, by identity.
        new_noise: Ignore sealed runs, so that new noise is drawn and charged.

    Returns:
        The last sealed run, whose numbers are given again; without one, or with ``new_noise``,
        the first that is charged but not sealed (free), or not charged yet.
    """
    attempt, name = 0, run_id(release)
    last: str | None = None
    # Burnt runs are passed over, so that what was looked at is never drawn again at no cost.
    while (run := runs.get(name)) is not None and run.state is not State.CHARGED:
        last = name if run.state is State.SEALED else last
        attempt += 1
        name = run_id(release, attempt)
    return name if new_noise or last is None else last
