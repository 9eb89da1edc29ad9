"""Where the ledger stands and where a run of the plan would leave it. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.errors import Complaint, Failure
from dprelease.ledger import Account, Caps, Run, Total, account, current_run
from dprelease.ledger.guarantee import check_guarantee, guarantee_of
from dprelease.ledger.reservation import check_caps, terms_of
from dprelease.ledger.totals import spent
from dprelease.model import Loss, Plan
from dprelease.report.numbers import upward


@dataclass(frozen=True, slots=True)
class Standing:
    """The account of the plan's dataset now, and after a run of the plan.

    ``after`` is by plain sums, ``now`` and ``then`` are the composed totals. ``known`` is the run
    in the ledger with the plan's identity: running it again costs nothing. ``refusals`` say why a
    run would be refused.
    """

    path: str
    account: Account
    after: Loss
    now: Total
    then: Total
    caps: Caps
    known: Run | None
    refusals: Sequence[Complaint]

    def facts(self) -> dict[str, object]:
        """The standing in JSON values: what is spent rounded up, what is left rounded down.

        ``composed`` holds the figures that the caps are held against.
        """
        plain, after, caps, then = self.account.spent, self.after, self.caps, self.then
        return {
            "path": self.path,
            "dataset": self.account.dataset,
            "runs": len(self.account.runs),
            "epsilon_spent": upward(plain.epsilon),
            "epsilon_after": upward(after.epsilon),
            "epsilon_cap": None if caps.epsilon is None else upward(caps.epsilon),
            "epsilon_left_after": left_of(caps.epsilon, then.epsilon),
            "delta_spent": upward(plain.delta),
            "delta_after": upward(after.delta),
            "delta_cap": None if caps.delta is None else upward(caps.delta),
            "delta_left_after": left_of(then.room, then.counted),
            "delta_kept": upward(then.reserve),
            "composed": {"now": total_facts(self.now), "after": total_facts(then)},
            "already_charged": self.known is not None,
            "released_at": self.known.sealed_at if self.known else None,
            "refused": [refusal.to_dict() for refusal in self.refusals],
        }


def standing_of(plan: Plan) -> Standing:
    """Read the ledger of the plan's dataset. Raises Failure (exit 6) when it can't be read."""
    release = plan.release
    settings = release.ledger
    found = account(settings.path, settings.dataset, witness=settings.witness)
    caps = Caps(settings.epsilon_cap, settings.delta_cap)
    runs = {run.run_id: run for run in found.runs}
    known = runs.get(current_run(release, runs))
    refusals: list[Complaint] = []
    more = () if known else (terms_of(plan),)
    for asked in more:
        try:
            check_guarantee(found, guarantee_of(release), release.place("privacy.adjacency"))
            check_caps(found, asked, caps, release.place("privacy.epsilon"))
        except Failure as refused:
            refusals = refused.complaints
    after = spent((*found.terms, *more))
    now, then = found.total(caps), found.total(caps, *more)
    return Standing(settings.path, found, after, now, then, caps, known, refusals)


def total_facts(total: Total) -> dict[str, object]:
    """A composed total in JSON values."""
    return {
        "epsilon": upward(total.epsilon),
        "delta": upward(total.delta),
        "by": "zCDP" if total.composed else "plain sums",
    }


def left_of(cap: Fraction | None, spent: Fraction) -> int | float | None:
    """What is left of a cap, rounded down."""
    return None if cap is None else -upward(min(spent - cap, Fraction(0)))
