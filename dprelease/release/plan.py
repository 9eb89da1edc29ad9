"""A certified plan of a release, and the call that makes it for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Loss, Plan, Release
from dprelease.reports.text.shown_numbers import Amount
from dprelease.specfile import load

if TYPE_CHECKING:
    from dprelease.kernel.core.certify import CertifiedPlan


def plan_and_certify(
    release: Release, *, jointly: bool = True, as_version_02: bool = False, is_sealed: bool = False
) -> CertifiedPlan:
    """Plan a release and certify the plan.

    Args:
        release: The checked spec.
        jointly: Plan queries together; see ``make_plan``.
        as_version_02: Choose among the strategies of version 0.2; see ``make_plan``.
        is_sealed: The run is sealed; see ``certify``.

    Returns:
        A plan whose claimed loss was recomputed and confirmed.

    Raises:
        Failure: No plan could be made or certified; it has every complaint.
    """
    # Imported here for start-up: to load a spec needs no planner.
    from dprelease.kernel.certification import certify
    from dprelease.planning.planner import make_plan
    from dprelease.privacy.composition import MARGINS, PLD

    # A numerical claim must be confirmed by a second program of finite precision. Where it is not,
    # as for very little noise on many figures, a little more is claimed; at last the release is
    # planned by sums and zCDP: more noise, and certified like any other.
    for margin in MARGINS:
        draft_plan = make_plan(release, margin=margin, jointly=jointly, as_version_02=as_version_02)
        try:
            return certify(draft_plan, is_sealed=is_sealed)
        except Failure:
            last = margin == MARGINS[-1] and release.privacy.accounting != "auto"
            if draft_plan.method != PLD or last:
                raise
    summed_plan = make_plan(release, margin=None, jointly=jointly, as_version_02=as_version_02)
    return certify(summed_plan, is_sealed=is_sealed)


CLOSE = Fraction(1, 10**5)
"""Numerical losses of one plan, from other machines or versions, differ by no more than this part.
"""


def plan_as_charged(
    certified: CertifiedPlan, charged: Loss, is_noise_of: Callable[[Plan], bool], *, is_sealed: bool
) -> CertifiedPlan:
    """Find the plan of a run that was charged: this one, or an earlier version's.

    Args:
        certified: The plan as made now.
        charged: Loss that the ledger notes.
        is_noise_of: Tells if all that is sealed of the run has the noise of a plan.
        is_sealed: The run is sealed.

    Returns:
        The plan that fits the charge, claiming exactly the charged loss; the last one tried if none
        fits.
    """
    from dprelease.kernel.certification import certify

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
    """Iterate over this plan and those that earlier versions made."""
    # Version 0.2 took every share among all records, curves from wide bins, and the number of
    # records as fixed; it planned fewer counts together, and had no trees. A fixed number of
    # records is tried for sealed runs only.
    yield certified
    release = certified.plan.release
    queries = tuple(
        replace(query, among=None, curve=tuple(replace(axis, smooth=False) for axis in query.curve))
        for query in release.queries
    )
    releases = [release]
    if queries != release.queries:
        releases.append(replace(release, queries=queries))
    if is_sealed and not release.privacy.has_fixed_records:
        privacy = replace(release.privacy, has_fixed_records=True)
        releases += [replace(tried, privacy=privacy) for tried in releases]
    for tried in releases:
        if tried is not release:
            yield plan_and_certify(tried, is_sealed=is_sealed)
        yield plan_and_certify(tried, as_version_02=True, is_sealed=is_sealed)
        yield plan_and_certify(tried, jointly=False, is_sealed=is_sealed)


def _is_close(loss: Loss, charged: Loss) -> bool:
    same_delta = loss.delta == charged.delta
    return same_delta and abs(loss.epsilon - charged.epsilon) <= CLOSE * charged.epsilon


class ReleasePlan(Plan, frozen=True):
    """A certified plan, with what callers ask of it."""

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of the whole release as charged: exact, and printed as a decimal."""
        return Amount(self.loss.epsilon)

    @property
    def delta(self) -> Fraction:
        """Delta of the whole release as charged: exact, and printed as a decimal."""
        return Amount(self.loss.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan in JSON values, as ``dprelease plan --json`` prints it."""
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
    """Wrap a plan for callers of the package."""
    return ReleasePlan(**asdict(plan))


class CheckedSpec(Struct, frozen=True):
    """What a check found in a spec.

    Attributes:
        plan: The plan; None if there are errors.
        errors: What has to be mended, in the order of the file.
        warnings: What works but deserves a second look.
        exit_code: That of ``dprelease check``.
    """

    plan: ReleasePlan | None
    errors: tuple[Complaint, ...]
    warnings: tuple[Complaint, ...]
    exit_code: ExitCode

    def __repr__(self) -> str:
        """Write all that was found, one complaint a line."""
        return "\n".join(map(str, self.errors + self.warnings)) or "ok"


def check(
    spec: str | PathLike[str] | IO[bytes] | Mapping[str, Any],
    *,
    period: str | None = None,
    base: str | None = None,
    allow_outside_lists: bool = False,
) -> CheckedSpec:
    """Do what the package's ``check`` says."""
    from dprelease.reports.facts.explanations import plan_warnings

    warnings: tuple[Complaint, ...] = ()
    try:
        release = load(spec, period=period, base=base, allow_outside_lists=allow_outside_lists)
        warnings = release.warnings
        planned = plan(release)
    except Failure as failure:
        return CheckedSpec(None, tuple(failure.complaints), warnings, failure.exit_code)
    return CheckedSpec(planned, (), warnings + plan_warnings(planned), ExitCode.DONE)
