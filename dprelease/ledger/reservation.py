"""What a charge gives, and the tests it has to pass."""

from __future__ import annotations

from dataclasses import dataclass

from dprelease.errors import ExitCode, Failure, Place
from dprelease.ledger.messages import nothing_promised, over_cap
from dprelease.ledger.records import Account, Book, Caps, Run, State, total
from dprelease.model import Loss


@dataclass(frozen=True, slots=True)
class Reservation:
    """Proof that a run is paid for. ``fresh``: this call made the charge.

    ``before`` and ``after`` are what was spent on the dataset around this charge, the same
    however often the run is repeated.
    """

    run: Run
    state: State
    fresh: bool
    before: Loss
    after: Loss

    @property
    def run_id(self) -> str:
        """The identity of the run."""
        return self.run.run_id


def reservation_of(book: Book, run: Run, *, fresh: bool) -> Reservation:
    """The reservation of a run that the book holds."""
    before = book.account(run.dataset, before=run.seq).spent
    state = State.SEALED if run.seal else State.CHARGED
    return Reservation(run, state, fresh, before, total((before, run.loss)))


def check_loss(loss: Loss) -> None:
    """Raises ValueError for what can't be a privacy loss: a mistake of the caller."""
    if loss.epsilon < 0 or not 0 <= loss.delta < 1 or (loss.rho is not None and loss.rho < 0):
        raise ValueError("a privacy loss is not negative, and delta is below 1")


def check_caps(account: Account, asked: Loss, caps: Caps, place: Place | None) -> None:
    """Refuses (exit 3) a loss that would lift the account over a cap; compared exactly."""
    amounts = (
        ("epsilon", asked.epsilon, account.spent.epsilon, caps.epsilon),
        ("delta", asked.delta, account.spent.delta, caps.delta),
    )
    complaints = [
        over_cap(what, asked=more, spent=spent, cap=cap, dataset=account.dataset, place=place)
        for what, more, spent, cap in amounts
        if cap is not None and more + spent > cap
    ]
    if asked.delta + account.spent.delta >= 1:
        complaints.append(nothing_promised(account.dataset, place))
    if complaints:
        raise Failure(ExitCode.BUDGET, complaints)
