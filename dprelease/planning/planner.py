"""The planner: every query's noise and the loss of them all, fixed before any data is opened."""

from __future__ import annotations

from fractions import Fraction

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.finish.text import number
from dprelease.model import Loss, Plan, Release
from dprelease.planning.budget import STATED_DELTA, Total, choices_of, total_of
from dprelease.planning.draft import drafts_of
from dprelease.planning.selections import selecting_loss


def make_plan(release: Release) -> Plan:
    """Plan a release.

    The composed loss is at most the declared total. Raises Failure (exit code 2) when the
    queries' budgets do not fit into it.
    """
    total = total_of(release)
    drafts = drafts_of(release)
    if total.accounting == "zcdp" and total.delta == 0:
        raise _not_composable(release, total)
    try:
        choices = choices_of(release, drafts, total)
        losses = [choices[draft.query.name].loss for draft in drafts]
        others = [choices[draft.query.name].loss for draft in drafts if not draft.selects]
        loss, method = total.loss_of(others, selecting_loss(drafts, choices))
    except ValueError:
        raise _not_composable(release, total) from None
    steps = tuple(draft.step(choices[draft.query.name]) for draft in drafts)
    _check_total(release, loss, total)
    basic = Loss(
        sum((each.epsilon for each in losses), Fraction(0)),
        sum((each.delta for each in losses), Fraction(0)),
    )
    return Plan(release, steps, loss, method, basic, _notes(release, total, loss))


def _not_composable(release: Release, total: Total) -> Failure:
    key = "privacy.accounting"
    return Failure(
        ExitCode.SPEC,
        Complaint(
            "E315",
            f"the queries' budgets can't be composed by accounting = \"{total.accounting}\""
            + ("" if total.delta else " without a delta"),
            "let accounting be auto, or let the deltas of [privacy] and of the queries fit it",
            release.place(key),
            key,
        ),
    )


def _check_total(release: Release, loss: Loss, total: Total) -> None:
    key, spent, allowed = "privacy.epsilon", loss.epsilon, total.epsilon
    if total.rho is not None:
        key, spent, allowed = "privacy.rho", loss.rho or Fraction(0), total.rho
    if allowed is not None and spent > allowed:
        kind = key.rsplit(".", maxsplit=1)[1]
        raise Failure(
            ExitCode.SPEC,
            Complaint(
                "E311",
                f"the queries come to {kind} {number(spent, 6, up=True)} together, more than "
                f"the total {number(allowed, 6)}",
                "lower the queries' budgets, or raise the total",
                release.place(key),
                key,
            ),
        )
    if release.privacy.epsilon is not None and loss.delta > release.privacy.delta:
        raise Failure(
            ExitCode.SPEC,
            Complaint(
                "E314",
                f"the queries need delta {number(loss.delta, 3, up=True)}, more than the total "
                f"{number(release.privacy.delta, 3)}",
                "lower the queries' deltas, or raise the total's",
                release.place("privacy.delta"),
                "privacy.delta",
            ),
        )


def _notes(release: Release, total: Total, loss: Loss) -> tuple[str, ...]:
    notes = []
    if release.privacy.delta == 0 and total.delta == STATED_DELTA and loss.delta:
        notes.append(
            "No delta is declared beside rho: epsilon is stated at delta = "
            f"{number(STATED_DELTA)}, and charged so."
        )
    if total.epsilon is not None and loss.epsilon < total.epsilon:
        left = total.epsilon - loss.epsilon
        notes.append(
            f"{number(left, 3)} of the total epsilon {number(total.epsilon, 6)} is not used."
        )
    return tuple(notes)
