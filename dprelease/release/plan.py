"""A certified plan of a release, and the call that makes it for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from dprelease.errors import Failure
from dprelease.model import Loss, Plan, Query, Release
from dprelease.reports.text.shown_numbers import Amount
from dprelease.specfile import load

if TYPE_CHECKING:
    from dprelease.kernel.certify.certify import CertifiedPlan


def plan_and_certify(
    release: Release, *, jointly: bool = True, is_sealed: bool = False
) -> CertifiedPlan:
    """Plan a release and certify the plan.

    A numerical claim is one that two programs of finite precision have to agree on. Where the
    second does not confirm the first, for very little noise on many figures say, a little more is
    claimed; at last the release is planned by sums and zCDP instead: more noise, and certified like
    any other. ``jointly``: see ``make_plan``. ``is_sealed``: see ``certify``. Raises Failure with
    every complaint.
    """
    # Imported here for start-up: to load a spec needs no planner.
    from dprelease.kernel.certify.certify import certify
    from dprelease.planning.planner import make_plan
    from dprelease.privacy.composition import MARGINS, PLD

    for margin in MARGINS:
        draft_plan = make_plan(release, margin=margin, jointly=jointly)
        try:
            return certify(draft_plan, is_sealed=is_sealed)
        except Failure:
            last = margin == MARGINS[-1] and release.privacy.accounting != "auto"
            if draft_plan.method != PLD or last:
                raise
    return certify(make_plan(release, margin=None, jointly=jointly), is_sealed=is_sealed)


CLOSE = Fraction(1, 10**5)
"""Numerical losses of one plan, from other machines or versions, differ by no more than this part.
"""


def plan_as_charged(
    certified: CertifiedPlan, charged: Loss, is_noise_of: Callable[[Plan], bool], *, is_sealed: bool
) -> CertifiedPlan:
    """Give the plan of a run that was charged: this one, or as an earlier version planned.

    ``is_noise_of`` says whether all that is sealed of the run has the noise of a plan. A numerical
    loss of which only the last digits differ is claimed as it was charged. The last plan that was
    tried is given where none fits: whoever holds the run against it says so.
    """
    from dprelease.kernel.certify.certify import certify

    for candidate in _iter_version_plans(certified, is_sealed=is_sealed):
        certified = candidate
        if is_noise_of(candidate.plan) and _is_close(candidate.plan.loss, charged):
            break
    plan = certified.plan
    if plan.loss.epsilon == charged.epsilon or not _is_close(plan.loss, charged):
        return certified
    loss = replace(plan.loss, epsilon=charged.epsilon)
    return certify(replace(plan, loss=loss), is_sealed=is_sealed)


def _iter_version_plans(certified: CertifiedPlan, *, is_sealed: bool) -> Iterator[CertifiedPlan]:
    """Give the plan, and those that earlier versions made.

    Version 0.2 took every share among all records, curves from wide bins, and the number of records
    for fixed. It planned fewer counts together. What is not sealed is not read so any more.
    """
    yield certified
    release = certified.plan.release
    queries = tuple(map(_ask_as_0_2, release.queries))
    releases = [release]
    if queries != release.queries:
        releases.append(replace(release, queries=queries))
    if is_sealed and not release.privacy.has_fixed_records:
        privacy = replace(release.privacy, has_fixed_records=True)
        releases += [replace(tried, privacy=privacy) for tried in releases]
    for tried in releases:
        if tried is not release:
            yield plan_and_certify(tried, is_sealed=is_sealed)
        yield plan_and_certify(tried, jointly=False, is_sealed=is_sealed)


def _ask_as_0_2(query: Query) -> Query:
    """Ask for shares among all records and for curves from wide bins, as version 0.2 did."""
    curve = tuple(replace(axis, smooth=False) for axis in query.curve)
    return replace(query, among=None, curve=curve)


def _is_close(loss: Loss, charged: Loss) -> bool:
    same_delta = loss.delta == charged.delta
    return same_delta and abs(loss.epsilon - charged.epsilon) <= CLOSE * charged.epsilon


class ReleasePlan(Plan, frozen=True):
    """A certified plan, with what callers ask of it."""

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the whole release, as it is charged: exact, and printed as a decimal."""
        return Amount(self.loss.epsilon)

    @property
    def delta(self) -> Fraction:
        """The delta of the whole release, as it is charged: exact, and printed as a decimal."""
        return Amount(self.loss.delta)

    def to_dict(self) -> dict[str, Any]:
        """The plan in JSON values, as ``dprelease plan --json`` prints it."""
        from dprelease.reports.plan_facts import describe

        return describe(self)

    def __repr__(self) -> str:
        """Name the release, its loss and its tables; all else would fill a screen."""
        tables = dict.fromkeys(query.table for query in self.release.queries)
        tables |= dict.fromkeys(step.perturb.name for step in self.records)
        loss = f"epsilon {self.epsilon}" + (f", delta {self.delta}" if self.delta else "")
        return f"<Plan of {self.release.about.name}: {loss}; {', '.join(tables)}>"

    def _repr_html_(self) -> str:
        from dprelease.reports.text.notebook import render_table

        facts: dict[str, Any] = self.to_dict()
        steps = [*facts["steps"], *facts.get("perturb", ())]
        names = ("name", "table", "statistic", "mechanism", "expected_error", "epsilon")
        rows = [[step.get(name) for name in names] for step in steps]
        return render_table(repr(self).strip("<>"), names, rows)


def plan(
    spec: str | PathLike[str] | Mapping[str, Any] | Release,
    *,
    ledger: str | PathLike[str] | None = None,
    output: str | PathLike[str] | None = None,
    allow_outside_lists: bool = False,
) -> ReleasePlan:
    """Do what the package's ``plan`` says."""
    from dprelease.specfile.complaints.spec_paths import relocate

    if not isinstance(spec, Release):
        spec = load(spec, allow_outside_lists=allow_outside_lists)
    return build_release_plan(plan_and_certify(relocate(spec, ledger, output)).plan)


def build_release_plan(plan: Plan) -> ReleasePlan:
    """The plan with what callers ask of it."""
    return ReleasePlan(**asdict(plan))
