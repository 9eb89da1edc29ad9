"""Where the ledger stands and where a run of the plan would leave it. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.errors import Complaint, Failure
from dprelease.ledger import Account, Caps, Run, account, current_run, total
from dprelease.ledger.reservation import check_caps, check_guarantee, guarantee_of
from dprelease.model import Loss, Plan
from dprelease.report.numbers import upward


@dataclass(frozen=True, slots=True)
class Standing:
    """The account of the plan's dataset now, and after a run of the plan.

    ``known`` is the run in the ledger with the plan's identity: running it again costs nothing.
    ``refusals`` say why a run would be refused.
    """

    path: str
    account: Account
    after: Loss
    caps: Caps
    known: Run | None
    refusals: Sequence[Complaint]

    def facts(self) -> dict[str, object]:
        """The standing in JSON values: what is spent rounded up, what is left rounded down."""
        spent, after, caps = self.account.spent, self.after, self.caps
        return {
            "path": self.path,
            "dataset": self.account.dataset,
            "runs": len(self.account.runs),
            "epsilon_spent": upward(spent.epsilon),
            "epsilon_after": upward(after.epsilon),
            "epsilon_cap": None if caps.epsilon is None else upward(caps.epsilon),
            "epsilon_left_after": _left(caps.epsilon, after.epsilon),
            "delta_spent": upward(spent.delta),
            "delta_after": upward(after.delta),
            "delta_cap": None if caps.delta is None else upward(caps.delta),
            "delta_left_after": _left(caps.delta, after.delta),
            "already_charged": self.known is not None,
            "released_at": self.known.sealed_at if self.known else None,
            "refused": [refusal.to_dict() for refusal in self.refusals],
        }


def standing_of(plan: Plan) -> Standing:
    """Read the ledger of the plan's dataset. Raises Failure (exit 6) when it can't be read."""
    release = plan.release
    settings = release.ledger
    found = account(settings.path, settings.dataset)
    caps = Caps(settings.epsilon_cap, settings.delta_cap)
    runs = {run.run_id: run for run in found.runs}
    known = runs.get(current_run(release, runs))
    refusals: list[Complaint] = []
    if known is None:
        try:
            check_guarantee(found, guarantee_of(release), release.place("privacy.adjacency"))
            check_caps(found, plan.loss, caps, release.place("privacy.epsilon"))
        except Failure as refused:
            refusals = refused.complaints
    after = found.spent if known else total((found.spent, plan.loss))
    return Standing(settings.path, found, after, caps, known, refusals)


def _left(cap: Fraction | None, spent: Fraction) -> int | float | None:
    return None if cap is None else -upward(min(spent - cap, Fraction(0)))
