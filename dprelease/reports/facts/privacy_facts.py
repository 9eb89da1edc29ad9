"""Privacy facts: what a release protects, how strongly, and who vouches for it, in a fixed form.

They stand in report.json under one key, and on a label that a portal can embed. All numbers are
those of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dprelease.reports.facts.hazard_facts import translate_status
from dprelease.reports.facts.unit_facts import NO_PROTECTION
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import (
    Beliefs,
    Checklist,
    LearntAtMost,
    PlanFacts,
    PrivacyFacts,
    TotalLoss,
)

MANY = 10
"""So many units together have a line of their own; see ``unit_facts.GROUPS``."""


def summarize_privacy(facts: PlanFacts, plan: str | None) -> PrivacyFacts:
    """Summarize a plan or a report; ``plan`` is the digest of the plan, if it is known."""
    unit, loss, meaning = facts.deployment.privacy_unit, facts.accounting, facts.meaning
    totals = {total.of: total for total in meaning.totals}
    cap = totals.pop("cap", None)
    so_far = next(iter(totals.values()), None)
    counts = Counter(translate_status(hazard.status) for hazard in facts.hazards)
    many = next((row for row in meaning.groups if row.units == MANY), None)
    review = facts.review
    return PrivacyFacts(
        unit=meaning.of,
        protects=unit.description,
        adjacency=unit.adjacency,
        noise_added_to=facts.deployment.model,
        epsilon=loss.epsilon,
        delta=loss.delta,
        epsilon_of_all=None if so_far is None else so_far.epsilon,
        epsilon_cap=None if cap is None else cap.epsilon,
        learnt_at_most=LearntAtMost(
            this_release=_bound_beliefs(meaning.beliefs, loss.delta),
            all_releases=_bound_total(so_far),
            cap_used_up=_bound_total(cap),
            ten_together=_bound_belief(many.beliefs[-1] if many and many.beliefs else None),
        ),
        checklist=Checklist(
            ruled_out=counts["checked"],
            to_judge=counts["see"],
            stated=counts["stated"],
            not_checked=counts["not checked"],
            attention=counts["attention"],
        ),
        reviewer=None if review is None else review.reviewer,
        decision=None if review is None else review.decision,
        plan=plan,
    )


def is_protecting(bounds: tuple[Number, Number] | None) -> bool:
    """Tell if a belief of one half stays below what counts as no protection."""
    return bounds is not None and bounds[1] <= NO_PROTECTION[0]


def _bound_total(total: TotalLoss | None) -> tuple[Number, Number] | None:
    return None if total is None else _bound_beliefs(total.beliefs, total.delta)


def is_bounding(beliefs: Beliefs, delta: Number | None) -> bool:
    """Tell if a loss bounds beliefs; ``delta`` None: no cap limits how large that grows."""
    return delta is not None and max(float(delta), float(beliefs.delta)) < NO_PROTECTION[1]


def _bound_beliefs(
    beliefs: Sequence[Beliefs], delta: Number | None
) -> tuple[Number, Number] | None:
    """Give what a belief of one half about what matters most stays between; None: no bound."""
    last = beliefs[-1]
    if not is_bounding(last, delta):
        return None
    row = last.get_row(0.5)
    return row.posterior_low, row.posterior_high


def _bound_belief(most: Number | None) -> tuple[Number, Number] | None:
    """Give what a belief of one half stays between, by the most that it may become."""
    # Both ends were rounded outward, to so many digits.
    return None if most is None else (float(f"{1 - most:.12g}"), most)
