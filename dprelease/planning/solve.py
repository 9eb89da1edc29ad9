"""From drafts to noise: budgets of their own first, then targets, then what is left by weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import is_

from msgspec import Struct, field
from msgspec.structs import replace

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.mechanisms import NOTHING
from dprelease.mechanisms.mechanism_registry import get_law, refine_choice, refine_selection
from dprelease.model import AxisKind, Loss, Reading, Release
from dprelease.planning.blocks import is_of_feature
from dprelease.planning.budget_split import (
    FactorSearch,
    Mix,
    Outcome,
    add_plainly,
    build_pure_mix,
    iter_mixes,
)
from dprelease.planning.budgets import Total, complain, sum_selection_deltas
from dprelease.planning.demanded_noise import (
    build_delta_failure,
    choose_drafts,
    choose_own,
    choose_selections,
    count_most_keys,
    find_weakest_choice,
    share_free_deltas,
)
from dprelease.planning.figure_errors import (
    Errors,
    compute_errors,
    compute_planned_errors,
    name_aspects,
)
from dprelease.planning.selecting_means import has_lower_thresholds, select_by_means
from dprelease.planning.shared_releases import (
    add_up_counts,
    build_drafts,
    build_unshared_drafts,
    join_column_statistics,
)
from dprelease.planning.steps import Choices, Draft, iter_alternatives
from dprelease.planning.strategy_choice import WORTH, Scope, plan_together
from dprelease.postprocess.intervals.number_text import number, write_budget
from dprelease.privacy import zcdp
from dprelease.privacy.composition import BASIC, PLD, Cost
from dprelease.privacy.interval_arithmetic import round_down

FEW = 3
"""So many Gaussian losses are stated as tightly as can be, beside the loss of them all."""

MANY = 100
"""Of more drafts only the mix is followed up that is best by rho."""

NO_RHO = Fraction(10**9)
"""More than any rho."""

BETTER = 0.99
"""A delta is spent where it takes at least a hundredth off the error."""

AS_GOOD = 1.0005
"""An error larger by up to this factor counts as no larger.

A search for noise ends before all of the total is used.
"""

ROUNDED = {AxisKind.RUNNING, AxisKind.SCALED, AxisKind.TREE}
"""Running sums of counts that are mixed so are rounded to whole numbers."""

DIGITS = 6
"""Digits of the errors that combined figures are compared with, and of a lowered epsilon."""


class Solution(Struct, frozen=True):
    """The noise of every draft and the loss of all together; ``alone`` as in a plan."""

    drafts: Sequence[Draft]
    choices: Choices
    loss: Loss
    method: str
    error: float
    alone: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[float, Fraction, Fraction]:
        """Return what the best solution has least: error first, then epsilon and delta."""
        return self.error, self.loss.epsilon, self.loss.delta

    def compute_errors(self, *, exactly: bool = False) -> Errors:
        """Compute the error of every figure; ``exactly``: by the discrete laws, roundings too."""
        noise = compute_planned_errors(self.drafts, self.choices, exactly=exactly)
        errors = dict(compute_errors(self.drafts, noise))
        for draft in self.drafts if exactly else ():
            if draft.released.axes and draft.released.axes[-1].kind in ROUNDED:
                errors |= {
                    read.query.name: errors[read.query.name] + 1 / 12 for read in draft.reads
                }
        return errors


class Unmet(Failure):
    """The total can't meet the accuracy targets; ``needed`` is the total that would."""

    def __init__(self, needed: Fraction, complaint: Complaint) -> None:
        super().__init__(ExitCode.SPEC, complaint)
        self.needed = needed


def choose_best_solution(
    release: Release, total: Total, *, jointly: bool = True, as_version_02: bool = False
) -> Solution:
    """Try sharing all, none and some of the targeted releases; return the least noisy plan.

    Without ``jointly`` no counts are planned together, and no query is released in another way;
    ``as_version_02``: only by strategies that version 0.2 had, compared as it did.
    Raises Failure or ValueError if no attempt succeeds.
    """
    solution = _choose_solution(release, total, jointly=jointly, as_version_02=as_version_02)
    if as_version_02 or not jointly:
        return solution
    # Cut the noise of counts that select private keys where that shows keys of fewer units.
    choices = dict(solution.choices)
    for draft in solution.drafts:
        if draft.selects and len(draft.released.transform) == 1:
            choice, keys = choices[draft.name], count_most_keys(draft)
            choices[draft.name] = refine_selection(draft, keys, choice)
    return replace(solution, choices=choices)


def _choose_solution(
    release: Release, total: Total, *, jointly: bool, as_version_02: bool
) -> Solution:
    unshared = build_unshared_drafts(release)
    joined = join_column_statistics(release, unshared)
    drafts = add_up_counts(release, joined)
    joint = any(draft.demand.targeted and len(draft.reads) > 1 for draft in drafts)
    if not joint:
        solution = solve(release, drafts, total)
        if not jointly:
            return solution
        if as_version_02:
            solution = _try_strategies(release, joined, solution, total, Scope.AS_VERSION_02)
        else:
            solution = _try_all_strategies(release, unshared, joined, solution, total)
        solution = _try_alternatives(release, solution, total, as_version_02=as_version_02)
        if as_version_02 or total.rho is not None:
            return solution
        return _try_selecting_means(release, solution, total)
    separate_drafts = build_drafts(release, join_targets=False)
    solutions: list[Solution] = []
    failed: list[Failure | ValueError] = []
    for candidate in (
        separate_drafts,
        drafts,
        choose_drafts(release, drafts, separate_drafts, by_rho=total.concentrates),
    ):
        try:
            solutions.append(solve(release, candidate, total))
        except (Failure, ValueError) as problem:
            failed.append(problem)
    if not solutions:
        unmet = [problem for problem in failed if isinstance(problem, Unmet)]
        raise min(unmet, key=lambda problem: problem.needed) if unmet else failed[0]
    return min(solutions, key=lambda solution: solution.rank)


def _try_alternatives(
    release: Release, solution: Solution, total: Total, *, as_version_02: bool
) -> Solution:
    """Release queries by the alternatives of their statistics where that is worth it.

    The error of each such query is then at most ``WORTH`` times what it was, and that of no other
    query is above ``AS_GOOD`` times. ``as_version_02``: compare the
    continuous laws; of little noise these tell little.
    """
    alternatives = [
        list(iter_alternatives(draft, as_version_02=as_version_02)) for draft in solution.drafts
    ]
    for place in range(max(map(len, alternatives), default=0)):
        drafts = [
            others[place] if place < len(others) else draft
            for draft, others in zip(solution.drafts, alternatives, strict=True)
        ]
        solution = _try_drafts(release, solution, drafts, total, exactly=not as_version_02)
    return solution


def _try_selecting_means(release: Release, solution: Solution, total: Total) -> Solution:
    """Let means select private keys where no more units are asked for, and no figure errs more."""
    drafts = select_by_means(solution.drafts)
    if drafts is None:
        return solution
    joint = solve(release, drafts, total)
    before, after = solution.compute_errors(), joint.compute_errors()
    no_worse = all(after[name] <= AS_GOOD * before[name] for name in after)
    lower = has_lower_thresholds(drafts, joint.choices, solution.drafts, solution.choices)
    return replace(joint, alone=solution.alone) if no_worse and lower else solution


def _try_drafts(
    release: Release, solution: Solution, drafts: Sequence[Draft], total: Total, *, exactly: bool
) -> Solution:
    """Replace drafts of a solution by these where each errs less by it, and no other one more."""
    before = solution.compute_errors(exactly=exactly)
    for _ in range(2):  # all of them; then those that err less by it
        if all(map(is_, drafts, solution.drafts)):
            break
        alternative = solve(release, drafts, total)
        after = alternative.compute_errors(exactly=exactly)
        gaining = {name for name in before if after[name] <= WORTH * before[name]}
        pairs = list(zip(drafts, solution.drafts, strict=True))
        all_gain = all(new is old or new.name in gaining for new, old in pairs)
        if all_gain and all(after[name] <= AS_GOOD * before[name] for name in before):
            return replace(alternative, alone=solution.alone)
        drafts = [new if new.name in gaining else old for new, old in pairs]
    return solution


def _try_all_strategies(
    release: Release,
    unshared: Sequence[Draft],
    joined: Sequence[Draft],
    solution: Solution,
    total: Total,
) -> Solution:
    """Plan counts together, and then queries of all statistics if no figure errs more by it."""
    before = solution.compute_errors()
    counts = _try_strategies(release, joined, solution, total, Scope.COUNTS)
    joint = _try_strategies(release, joined, solution, total, Scope.TOGETHER)
    if _weigh_errors(joint, before) < _weigh_errors(counts, before):
        counts = joint
    if not any(map(is_of_feature, unshared)):
        return counts
    together = _try_strategies(release, unshared, counts, total, Scope.ALL)
    joint = _try_strategies(release, unshared, solution, total, Scope.ALL_TOGETHER)
    if joint is not solution and _weigh_errors(joint, before) < _weigh_errors(together, before):
        together = joint
    if together is counts:
        return counts
    alone = {name: Fraction(f"{before[name]:.{DIGITS}g}") for name in together.alone}
    return replace(together, alone=alone)


def _try_strategies(
    release: Release, bases: Sequence[Draft], solution: Solution, total: Total, scope: Scope
) -> Solution:
    """Plan queries together where no figure errs more by it.

    ``bases`` are the drafts before any is read from another's release, or any count added up.
    """
    before = solution.compute_errors()
    # Weigh pieces for losses like those of the solution, concentrated or pure; if that does not
    # help, for the other kind.
    added_up = solution.method == BASIC
    kinds = [not added_up, added_up] if total.concentrates else [False]
    if scope.is_joint:  # pure losses first, as that of what is drawn together is
        kinds.sort()
    for concentrated in kinds:
        drafts = plan_together(
            release,
            bases,
            solution.drafts,
            concentrated=concentrated,
            scope=scope,
            shares=None
            if concentrated or added_up or not scope.is_joint
            else _compare_with_pure(release, solution, total),
        )
        if drafts is None:
            continue
        joint = solve(release, drafts, total)
        after = joint.compute_errors()
        if all(after[name] <= AS_GOOD * before[name] for name in before):
            # The report compares combined figures with what they would be if planned alone.
            reads = (read for draft in drafts for read in draft.reads)
            names = [read.query.name for read in reads if read.reading is Reading.COMBINED]
            alone = {name: Fraction(f"{before[name]:.{DIGITS}g}") for name in names}
            return replace(joint, alone=alone)
    return solution


def _compare_with_pure(release: Release, solution: Solution, total: Total) -> Errors:
    """Compute what figures err as parts of what they would if losses were pure."""
    pure_total = replace(total, rho=None, delta=Fraction(0), accounting="pure")
    try:
        pure = solve(release, solution.drafts, pure_total).compute_errors()
    except (Failure, ValueError):
        return {}
    errors = solution.compute_errors()
    return {name: errors[name] / error for name, error in pure.items() if error}


def _weigh_errors(solution: Solution, before: Errors) -> float:
    """Add up the errors as shares of those before, each by the weight of its query."""
    weights = {
        name: float(read.query.weight)
        for draft in solution.drafts
        for read in draft.reads
        for name in name_aspects(read.query)
    }
    return sum(
        weights[name] * error / before[name]
        for name, error in solution.compute_errors().items()
        if before[name]
    )


def solve(release: Release, drafts: Sequence[Draft], total: Total) -> Solution:
    """Choose the noise of all drafts; raise Failure if the total can't pay for them."""
    fixed: Choices = {draft.name: NOTHING for draft in drafts if draft.free}
    fixed |= choose_selections(release, drafts, total)
    remaining_delta = total.delta - sum(
        (choice.loss.delta for choice in fixed.values()), Fraction(0)
    )
    paying = [draft for draft in drafts if draft.name not in fixed]
    deltas = share_free_deltas(paying, max(remaining_delta, Fraction(0)))
    for draft in paying:
        if draft.demand.is_stated:
            fixed[draft.name] = choose_own(release, draft, deltas)
    targeted = [d for d in paying if d.demand.targeted]
    shared = [d for d in paying if d.name not in fixed and not d.demand.targeted]
    solver = _Solver(release, drafts, total, fixed, deltas)
    if targeted:
        fixed |= solver.meet_targets(targeted, shared)
    if shared:
        for outcome in solver.rank_mixes(shared):
            choices = {**fixed, **outcome.choices}
            solution = solver.complete_solution(choices, [*targeted, *shared], outcome.error)
            if total.is_within(solution.loss):
                return solution
        raise solver.build_exhausted_failure(shared)
    solution = solver.complete_solution(fixed, targeted, 0.0)
    if solution.method != PLD or total.epsilon is None or total.is_within(solution.loss):
        return solution
    # Selections by weight have all of epsilon, which leaves no margin for a numerical claim.
    lower = replace(total, epsilon=round_down(total.epsilon**2 / solution.loss.epsilon, DIGITS))
    choices = fixed | choose_selections(release, drafts, lower)
    return solver.complete_solution(choices, targeted, 0.0)


class _Solver(Struct, frozen=True):
    release: Release
    drafts: Sequence[Draft]
    total: Total
    fixed: Choices
    deltas: Mapping[str, Fraction]

    def _list_costs(self, choices: Choices) -> list[Cost]:
        """List the costs of the drafts that have noise."""
        chosen = [choices[draft.name] for draft in self.drafts if draft.name in choices]
        return [Cost(choice.loss, choice.events, choice.failure) for choice in chosen]

    # --- targets --------------------------------------------------------------------------------

    def meet_targets(self, drafts: Sequence[Draft], shared: Sequence[Draft]) -> Choices:
        """Find the mix of mechanisms that meets all targets at the least loss."""
        options: list[tuple[Loss, Choices]] = []
        pure = build_pure_mix(drafts)
        mixes: Iterable[Mix] = [pure] if pure is not None else []
        if self.total.concentrates:
            mixes = iter_mixes(drafts)
        for mix in mixes:
            choices = {
                draft.name: find_weakest_choice(self.release, draft, mix[draft.name])
                for draft in drafts
            }
            try:
                loss, _ = self.total.compose_loss(self._list_costs({**self.fixed, **choices}))
            except ValueError:
                continue
            options.append((loss, choices))
        if not options:
            raise ValueError("these targets don't compose")
        loss, choices = min(
            options, key=lambda option: (self._measure_loss(option[0]), option[0].delta)
        )
        if not self.total.is_within(loss) or (shared and self._is_spent(loss)):
            raise self._build_unmet(loss, shared)
        return choices

    def _is_spent(self, loss: Loss) -> bool:
        total = self.total
        if total.rho is not None:
            return loss.rho is None or loss.rho >= total.rho
        return total.epsilon is not None and loss.epsilon >= total.epsilon

    def _build_unmet(self, loss: Loss, shared: Sequence[Draft]) -> Unmet:
        total = self.total
        key = "privacy.rho" if total.rho is not None else "privacy.epsilon"
        needed = self._measure_loss(loss)
        allowed = total.rho if total.rho is not None else total.epsilon
        kind = key.rsplit(".", maxsplit=1)[1]
        beside = ", with nothing left for the queries that have a weight" if shared else ""
        enough = "more than " if shared else ""
        return Unmet(
            needed,
            Complaint(
                "E318",
                f"the accuracy targets take {kind} {write_budget(needed)} "
                f"together with the stated budgets{beside}; the total is "
                f"{number(allowed or Fraction(0), 6)}",
                f"a total of {enough}{write_budget(needed)} meets them; or allow wider targets",
                self.release.place(key),
                key,
            ),
        )

    def _measure_loss(self, loss: Loss) -> Fraction:
        """Measure the loss in terms of the total; a loss without rho exceeds every other."""
        if self.total.rho is None:
            return loss.epsilon
        return loss.rho if loss.rho is not None else NO_RHO

    # --- weights --------------------------------------------------------------------------------

    def rank_mixes(self, drafts: Sequence[Draft]) -> list[Outcome]:
        """List the outcomes of the mixes, the one with the least weighted error first."""
        fixed = self._list_costs(self.fixed)
        outcomes: list[Outcome] = []
        pure = build_pure_mix(drafts)
        if pure is not None and self.total.accounting in {"auto", "plain", "pure"}:
            added_up = add_plainly(drafts, fixed, self.total, pure)
            if added_up is not None:
                outcomes = [added_up]
        if self.total.concentrates:
            exact = self._calibrate_alone(drafts, fixed)
            if exact is not None and (not outcomes or exact.error < outcomes[0].error):
                outcomes = [exact, *outcomes]
            if not outcomes or exact is None:
                outcomes = self._compose_mixes(drafts, fixed, outcomes)
        return outcomes

    def complete_solution(
        self, choices: Choices, open_ones: Sequence[Draft], error: float
    ) -> Solution:
        """State the loss of each choice alone, and compose the loss of all."""
        completed_choices = dict(choices)
        is_large = len(open_ones) > FEW
        for draft in open_ones:
            own = draft.demand.delta
            delta = own if own is not None else self.deltas.get(draft.name, Fraction(0))
            if delta == 0:
                # The other queries claim all of delta; this one only states the cost alone.
                delta = self.total.delta / len(self.drafts)
            if delta > 0:
                choice = completed_choices[draft.name]
                mechanism = get_law(choice.noise.family)
                completed_choices[draft.name] = mechanism.state_loss(
                    draft, choice, delta, roughly=is_large
                )
        loss, method = self.total.compose_loss(self._list_costs(completed_choices))
        if method != PLD:
            completed_choices |= {
                draft.name: refine_choice(draft, completed_choices[draft.name])
                for draft in self.drafts
                if draft.name in completed_choices
            }
        return Solution(self.drafts, completed_choices, loss, method, error)

    def build_exhausted_failure(self, drafts: Sequence[Draft]) -> Failure:
        """Build the failure of drafts for which the other queries leave no budget."""
        draft, selected = drafts[0], sum_selection_deltas(self.release)
        gaussian = [other for other in drafts if other.mechanisms.pure.needs_delta]
        if gaussian and 0 < self.total.delta <= selected:
            return build_delta_failure(self.release, gaussian[0])
        return complain(
            self.release, draft.query, "E312", f'the total leaves nothing for "{draft.name}"'
        )

    def _calibrate_alone(self, drafts: Sequence[Draft], fixed: Sequence[Cost]) -> Outcome | None:
        """Calibrate a single release with Gaussian noise, beside pure losses, to the last digit."""
        total = self.total
        lone = len(drafts) == 1 and all(cost.loss.delta == 0 for cost in fixed)
        if (
            not lone
            or total.accounting not in {"auto", "plain"}
            or total.epsilon is None
            or not total.delta
        ):
            return None
        draft = drafts[0]
        remaining_epsilon = total.epsilon - sum((cost.loss.epsilon for cost in fixed), Fraction(0))
        mechanism = draft.mechanisms.concentrated
        if not mechanism.needs_delta or remaining_epsilon <= 0:
            return None
        choice = mechanism.calibrate(draft, remaining_epsilon, total.delta)
        error = float(mechanism.compute_variance(choice.noise)) / draft.sensitivity.l1**2
        return Outcome({draft.name: choice}, error * float(draft.demand.weight), {})

    def _compose_mixes(
        self, drafts: Sequence[Draft], fixed: Sequence[Cost], pure: list[Outcome]
    ) -> list[Outcome]:
        """Compose the mixes tightly; rank the pure one first unless a delta reduces the error."""
        total = self.total
        # The first factor to try, as if every squared intensity had an equal part of rho.
        rho = total.rho
        if rho is None:
            rho = zcdp.find_rho(total.epsilon or Fraction(1), total.delta)
        weights = sum((d.demand.weight ** Fraction(1, 2) for d in drafts), 0.0)
        guess = Fraction((2 * float(rho) / float(weights)) ** 0.5).limit_denominator(10**9)
        searches = [FactorSearch(drafts, fixed, total, mix) for mix in iter_mixes(drafts)]
        if len(drafts) > MANY:
            # The loss of many releases is nearly that of their rho, so rho ranks the mixes.
            searches = [
                min(
                    searches,
                    key=lambda search: search.estimate_error(search.estimate_factor(guess)),
                )
            ]
        outcomes = [search.find_outcome(search.solve_rho(guess), guess) for search in searches]
        ranked = [(outcome.error, outcome) for outcome in outcomes if outcome is not None]
        ranked += [(BETTER * outcome.error, outcome) for outcome in pure]
        return [outcome for _, outcome in sorted(ranked, key=lambda pair: pair[0])]
