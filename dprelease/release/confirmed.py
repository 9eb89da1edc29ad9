"""A plan with its second opinion, for all that goes on to use it."""

from __future__ import annotations

from dprelease.errors import Failure
from dprelease.kernel.certify.certify import CertifiedPlan, certify
from dprelease.model import Release
from dprelease.planning.planner import make_plan
from dprelease.privacy.composition import PLD


def confirmed_plan(release: Release) -> CertifiedPlan:
    """Plan a release and certify the plan.

    A numerical claim is one that two programs of finite precision have to agree on. Where the
    second does not confirm the first, for very little noise on many figures say, the release is
    planned by sums and zCDP instead: more noise, and certified like any other.
    Raises Failure with every complaint.
    """
    made = make_plan(release)
    try:
        return certify(made)
    except Failure:
        if made.method != PLD or release.privacy.accounting != "auto":
            raise
    return certify(make_plan(release, numerical=False))
