"""Where the ledger stands, where a run of the plan would leave it, and both in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dprelease.cli.views.formats import remaining_text, spent_text
from dprelease.errors import Complaint, Failure
from dprelease.ledger.filters import Caps, Total
from dprelease.ledger.guarantee import check_guarantee, guarantee_of
from dprelease.ledger.reservation import check_caps, current_run, terms_of
from dprelease.ledger.store import account
from dprelease.ledger.totals import spent
from dprelease.model import Loss, Plan
from dprelease.report.numbers import upward

LedgerFacts = Mapping[str, Any]
"""The first that ``standing_of`` gives."""


def standing_of(plan: Plan) -> tuple[dict[str, object], Sequence[Complaint]]:
    """Say where the ledger of the plan's dataset stands, now and after a run, in JSON values.

    And why a run would be refused. What is spent is rounded up, what is left rounded down.
    ``composed`` holds the totals that the caps are held against, the others are plain sums. A run
    that is in the ledger costs nothing again. Raises Failure (exit 6) when it can't be read.
    """
    release = plan.release
    settings = release.ledger
    dataset_account = account(settings.path, settings.dataset, witness=settings.witness)
    caps = Caps(settings.epsilon_cap, settings.delta_cap)
    runs = {run.run_id: run for run in dataset_account.runs}
    earlier_run = runs.get(current_run(release, runs))
    refusals: list[Complaint] = []
    more = () if earlier_run else (terms_of(plan),)
    for terms in more:
        try:
            check_guarantee(
                dataset_account, guarantee_of(release), release.place("privacy.adjacency")
            )
            check_caps(dataset_account, terms, caps, release.place("privacy.epsilon"))
        except Failure as refused:
            refusals = refused.complaints
    plain, after = dataset_account.spent, spent((*dataset_account.terms, *more))
    now, then = dataset_account.total(caps), dataset_account.total(caps, *more)
    return {
        "path": settings.path,
        "dataset": dataset_account.dataset,
        "runs": len(dataset_account.runs),
        "epsilon_spent": upward(plain.epsilon),
        "epsilon_after": upward(after.epsilon),
        "epsilon_cap": number_or_none(caps.epsilon),
        "epsilon_left_after": remaining_under(caps.epsilon, then.epsilon),
        "delta_spent": upward(plain.delta),
        "delta_after": upward(after.delta),
        "delta_cap": number_or_none(caps.delta),
        "delta_left_after": remaining_under(then.room, then.counted),
        "delta_kept": upward(then.reserve),
        "composed": {"now": total_facts(now), "after": total_facts(then)},
        "already_charged": earlier_run is not None,
        "released_at": earlier_run.sealed_at if earlier_run else None,
        "refused": [refusal.to_dict() for refusal in refusals],
    }, refusals


def number_or_none(amount: Fraction | None) -> int | float | None:
    """An amount as a JSON number, rounded up."""
    return None if amount is None else upward(amount)


def amounts(of: Loss | Caps | Total) -> dict[str, object]:
    """Epsilon and delta of a loss, of caps or of a total in JSON values."""
    return {"epsilon": number_or_none(of.epsilon), "delta": number_or_none(of.delta)}


def total_facts(total: Total) -> dict[str, object]:
    """A composed total in JSON values."""
    return {**amounts(total), "by": "zCDP" if total.composed else "plain sums"}


def remaining_under(cap: Fraction | None, spent: Fraction) -> int | float | None:
    """What is left of a cap, rounded down."""
    return None if cap is None else -upward(min(spent - cap, Fraction(0)))


def ledger_lines(ledger: LedgerFacts) -> list[str]:
    """Say what is spent, what a run adds and what is left, as ``standing_of`` gives it."""
    lines = [f"ledger   {ledger['path']}", f"         epsilon {_amount(ledger, 'epsilon')}"]
    if ledger["delta_after"]:
        lines.append(f"         delta {_amount(ledger, 'delta')}")
    if _composed(ledger):
        lines.append(f"         composed: {_totals(ledger)}")
    if ledger["released_at"]:
        lines.append(f"         already released at {ledger['released_at']}: a run is free")
    elif ledger["already_charged"]:
        lines.append("         already charged, not yet released: a run is free")
    return lines


def kept_note(ledger: LedgerFacts) -> str:
    """Say what of the delta cap is kept, where something is."""
    reserved = ledger["delta_kept"]
    return f" ({spent_text(reserved)} is kept for composing)" if reserved else ""


def _composed(ledger: LedgerFacts) -> bool:
    return any(total["by"] == "zCDP" for total in ledger["composed"].values())


def _totals(ledger: LedgerFacts) -> str:
    now, then = (ledger["composed"][when]["epsilon"] for when in ("now", "after"))
    after = "" if ledger["already_charged"] else f", {spent_text(then)} after a run"
    at = f" at delta {spent_text(ledger['delta_cap'])}"
    return f"epsilon {spent_text(now)} spent{after}{at}{_left(ledger, 'epsilon', then)}"


def _amount(ledger: LedgerFacts, what: str) -> str:
    spent = f"{spent_text(ledger[f'{what}_spent'])} spent"
    after = ledger[f"{what}_after"]
    if not ledger["already_charged"]:
        spent += f", {spent_text(after)} after a run"
    if ledger[f"{what}_cap"] is None:
        return f"{spent}, no cap"
    if what == "epsilon" and _composed(ledger):
        return f"{spent}, by plain sums"
    note = kept_note(ledger) if what == "delta" else ""
    return spent + _left(ledger, what, after) + note


def _left(ledger: LedgerFacts, what: str, after: float) -> str:
    cap = ledger[f"{what}_cap"]
    if cap is None:
        return ", no cap"
    remaining = ledger[f"{what}_left_after"]
    over = after > cap or (what == "delta" and not remaining)
    if ledger["refused"] and over:
        return f", over the cap {remaining_text(cap)}: a run would be refused"
    return f", {remaining_text(remaining)} left of the cap {remaining_text(cap)}"
