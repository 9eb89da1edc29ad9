"""Split of the remaining budget by weight: one common factor for all scales.

A weight says how much the variance of a figure's noise matters, in units of what one unit can move
it. Least is the weighted sum of variances where intensities (sensitivity over scale) go with the
cube root of weight while pure losses add up, and with the fourth root once squares of intensities
do, as for concentrated losses. So each draft has an intensity ``factor * root(weight)``, and the
one factor is raised until the composed loss just meets the total. Any factor found is checked by
composing what it gives: the search decides how much is used, never whether it is allowed.

*Kinds of noise.* Alone, Laplace noise is least; many releases together lose less with Gaussian
noise, and so do releases of many integers at once. Drafts alike take the same kind. The mixes tried
are all of one kind, all of the other, and those in between that give Gaussian noise to the drafts
that gain most by it, in the order of how much their L1 norm exceeds their L2 norm, and of their
weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import log, sqrt, tanh

from msgspec import Struct, field
from msgspec.structs import replace

from dprelease.mechanisms import Choice, Mechanism
from dprelease.mechanisms.mechanism_registry import get_law, refine_choice
from dprelease.planning.budgets import Total, compute_root
from dprelease.planning.steps import Choices, Draft
from dprelease.privacy import zcdp
from dprelease.privacy.composition import BEYOND_RHO, Cost, compose_numerically
from dprelease.privacy.interval_arithmetic import round_down

CLOSE = 0.9997
"""A numerical search ends when so much of the total is used."""

CLOSER = 1 - 1e-12
"""One that adds up rho, which is exact and quick, goes on to here."""

_ROUNDS = 40
_DIGITS = 15


class Outcome(Struct, frozen=True):
    """A complete choice with the error by which it is compared."""

    choices: Choices
    error: float
    mix: Mix


def add_plainly(
    drafts: Sequence[Draft], fixed: Sequence[Cost], total: Total, mix: Mix
) -> Outcome | None:
    """Share epsilon by plain addition, without spending any delta."""
    if total.epsilon is None:
        return None
    remaining_epsilon = total.epsilon - sum((cost.loss.epsilon for cost in fixed), Fraction(0))
    roots = _compute_roots(drafts, mix, 3)
    if remaining_epsilon <= 0:
        return None
    factor = remaining_epsilon / sum(roots.values(), Fraction(0))
    intensities = {name: factor * draft_root for name, draft_root in roots.items()}
    outcome = _plan(drafts, mix, intensities)
    # Mixes are compared by the error after refinement.
    spared = sum(_estimate_spared_loss(draft, outcome.choices[draft.name]) for draft in drafts)
    return replace(outcome, error=outcome.error - spared)


def _estimate_spared_loss(draft: Draft, choice: Choice) -> float:
    """Estimate what refining the noise takes off a draft's error."""
    # Noise is refined only where losses are added up, as here.
    fine = refine_choice(draft, choice)
    if fine is choice:
        return 0.0
    before, after = (
        float(get_law(option.noise.family).compute_variance(option.noise))
        for option in (choice, fine)
    )
    return float(draft.demand.weight) * (before - after) / draft.sensitivity.l1**2


class FactorSearch(Struct, frozen=True):
    """The search for the common factor of one mix, where losses compose other than by addition.

    They compose by their distributions or by rho, whichever gives the smaller loss: many
    selections may lose less by rho.
    """

    drafts: Sequence[Draft]
    fixed: Sequence[Cost]
    total: Total
    mix: Mix
    roots: dict[str, Fraction] = field(default_factory=dict)
    _made: dict[tuple[str, Fraction], Choice] = field(default_factory=dict)

    def solve_rho(self, guess: Fraction) -> Fraction | None:
        """Find the factor at which the rhos meet the total; None if the accounting is pld."""
        if not self.roots:
            self.roots.update(_compute_roots(self.drafts, self.mix, 4))
        if self.total.accounting == "pld":
            return None
        alone = self.total.rho is not None or self.total.accounting != "auto"
        return _find_largest(self._compute_rho, guess, CLOSER if alone else CLOSE)

    def estimate_factor(self, guess: Fraction) -> Fraction:
        """Estimate the factor of ``solve_rho`` by closed forms, to choose among mixes."""
        if not self.roots:
            self.roots.update(_compute_roots(self.drafts, self.mix, 4))
        allowed = float(_bound_allowed_rho(self.total))
        factor = float(guess)
        for _ in range(4):
            rho = sum(
                _estimate_rho(draft, self.mix[draft.name], factor * float(self.roots[draft.name]))
                for draft in self.drafts
            )
            factor *= sqrt(allowed / rho)
        return Fraction(factor)

    def estimate_error(self, factor: Fraction | None) -> float:
        """Estimate the error at a factor, to choose among mixes."""
        if factor is None:
            return float("inf")
        return sum(
            float(draft.demand.weight)
            * float(self.mix[draft.name].estimate_error(draft, factor * self.roots[draft.name]))
            for draft in self.drafts
        )

    def find_outcome(self, factor: Fraction | None, guess: Fraction) -> Outcome | None:
        """Raise the factor found by rho as far as the distributions of losses allow."""
        largest_factor = factor
        if self.total.rho is None and self.total.accounting in {"auto", "pld"}:
            # The search asks for the first factor again.
            epsilon_at = lru_cache(maxsize=None)(self._compute_epsilon)
            start = round_down(factor or guess, _DIGITS)
            part = epsilon_at(start)
            if factor is None or (part is not None and part <= 1):
                larger_factor = _find_largest(epsilon_at, start, CLOSE)
                largest_factor = max(
                    (candidate for candidate in (factor, larger_factor) if candidate is not None),
                    default=None,
                )
        if largest_factor is None:
            return None
        intensities = {name: largest_factor * draft_root for name, draft_root in self.roots.items()}
        return _plan(self.drafts, self.mix, intensities)

    def _choose(self, draft: Draft, factor: Fraction) -> Choice:
        key = draft.name, factor
        if key not in self._made:
            intensity = factor * self.roots[draft.name]
            self._made[key] = self.mix[draft.name].scale_noise(draft, intensity)
        return self._made[key]

    def _compute_rho(self, factor: Fraction) -> Fraction | None:
        """Compute the share of the total that is spent; None if a loss has no rho."""
        losses = [cost.loss for cost in self.fixed]
        losses += [self._choose(draft, factor).loss for draft in self.drafts]
        rhos = [loss.rho for loss in losses if loss.rho is not None]
        if len(rhos) < len(losses):
            return None
        return sum(rhos, Fraction(0)) / _bound_allowed_rho(self.total)

    def _compute_epsilon(self, factor: Fraction) -> Fraction | None:
        """Compute the share of the total that is spent; None if the losses do not compose."""
        total = self.total
        if total.epsilon is None:
            return None
        events = [event for cost in self.fixed for event in cost.events]
        for draft in self.drafts:
            event = self.mix[draft.name].build_event(draft, factor * self.roots[draft.name])
            events.extend([(event, 1)] if event else self._choose(draft, factor).events)
        epsilon = compose_numerically(events, total.delta, total.margin)
        return None if epsilon is None else epsilon / total.epsilon


def _compute_roots(drafts: Sequence[Draft], mix: Mix, degree: int) -> dict[str, Fraction]:
    roots = {}
    for draft in drafts:
        weight, change = draft.demand.weight, draft.sensitivity
        # Weights refer to the L1 norm, the intensity of Gaussian noise to the L2 norm.
        if mix[draft.name].needs_delta:
            weight *= Fraction(change.l2_squared, change.l1**2)
        elif mix[draft.name].together:
            weight *= compute_joint_size(draft, mix[draft.name])
        roots[draft.name] = compute_root(weight, degree)
    return roots


def compute_joint_size(draft: Draft, mechanism: Mechanism) -> Fraction:
    """Compute the variance of noise drawn together, in units of Laplace noise of its loss."""
    return mechanism.estimate_error(draft, Fraction(1)) / 2


def _plan(drafts: Sequence[Draft], mix: Mix, intensities: dict[str, Fraction]) -> Outcome:
    choices: Choices = {
        draft.name: mix[draft.name].scale_noise(draft, intensities[draft.name]) for draft in drafts
    }
    error = sum(
        float(draft.demand.weight)
        * float(mix[draft.name].estimate_error(draft, intensities[draft.name]))
        for draft in drafts
    )
    return Outcome(choices, error, mix)


def _bound_allowed_rho(total: Total) -> Fraction:
    """Compute the rho that may be spent."""
    if total.rho is not None:
        return total.rho
    epsilon = total.epsilon or Fraction(0)
    return min(zcdp.find_rho(epsilon, total.delta), epsilon / BEYOND_RHO)


def _estimate_rho(draft: Draft, mechanism: Mechanism, intensity: float) -> float:
    """Estimate the rho of a draft at an intensity; no guarantee rests on it."""
    if mechanism.needs_delta:
        return intensity**2 / 2
    if mechanism.concentrated:
        parts = max(draft.query.picks, len(draft.query.quantiles).bit_length())
        return intensity**2 / (8 * parts)
    return intensity * tanh(intensity / 2)


def _find_largest(
    usage: Callable[[Fraction], Fraction | None], guess: Fraction, close: float
) -> Fraction | None:
    """Find the largest factor that uses no more than the total; None if there is none."""
    # Usage grows with the factor, between in proportion and with its square.
    low: tuple[Fraction, float] | None = None
    high: tuple[Fraction, float] | None = None
    factor = guess
    for _ in range(_ROUNDS):
        factor = round_down(factor, _DIGITS)
        part = usage(factor)
        if part is None:
            high = factor, float("inf")
        elif part <= 1:
            low = factor, float(part)
            if part >= close:
                break
        else:
            high = factor, float(part)
        factor = _choose_next(low, high, (1 + close) / 2)
        if factor <= 0 or (low and high and high[0] - low[0] <= low[0] / 10**14):
            break
    return low[0] if low else None


def _choose_next(
    low: tuple[Fraction, float] | None, high: tuple[Fraction, float] | None, aim: float
) -> Fraction:
    """Choose the next factor to try, by a power law through the known points."""
    if low is None and high is not None:
        step = max(0.1, min(0.9, aim / high[1])) if high[1] < float("inf") else 0.5
        return high[0] * Fraction(step)
    if low is None:
        return Fraction(0)
    if high is None:
        grown = min(10.0, aim / low[1]) if low[1] > 0 else 10.0
        return low[0] * Fraction(max(grown**0.8, 1 + (1 - aim)))
    if high[1] == float("inf"):
        return (low[0] + high[0]) / 2
    x0, x1 = float(low[0]), float(high[0])
    y0, y1 = max(low[1], 1e-12), high[1]
    slope = log(y1 / y0) / log(x1 / x0) if x1 > x0 and y1 > y0 else 1.0
    share = (aim / y0) ** (1 / max(slope, 0.1))
    middle = low[0] * Fraction(share)
    inside = low[0] < middle < high[0]
    return middle if inside else (low[0] + high[0]) / 2


Mix = Mapping[str, Mechanism]

_MOST = 6
"""So many kinds of drafts are told apart in mixes."""


def build_pure_mix(drafts: Sequence[Draft]) -> Mix | None:
    """Build the mix without any delta; None where a spec asks for Gaussian noise."""
    mix = {draft.name: draft.mechanisms.pure for draft in drafts}
    return None if any(mechanism.needs_delta for mechanism in mix.values()) else mix


def iter_mixes(drafts: Sequence[Draft]) -> Iterator[Mix]:
    """Give the mixes to compare where there is a delta: Gaussian noise for none, all, and some."""
    open_ones = [draft for draft in drafts if len(set(draft.mechanisms)) > 1]
    kinds = sorted({_classify(draft) for draft in open_ones}, reverse=True)
    steps = [0, len(kinds), *range(1, len(kinds))][: _MOST + 1]
    for limit in steps:
        chosen = set(kinds[:limit])
        yield {
            draft.name: draft.mechanisms.concentrated
            if _classify(draft) in chosen
            else draft.mechanisms.pure
            for draft in drafts
        }


def _classify(draft: Draft) -> tuple[float, float, bool]:
    """Return the key by which drafts share a mix: gain in norm, weight, and if noise is added."""
    sensitivity = draft.sensitivity
    if not draft.additive:
        return 1.0, float(draft.demand.weight), False
    gain = sensitivity.l1**2 / sensitivity.l2_squared if sensitivity.l2_squared else 1.0
    return round(gain, 2), float(draft.demand.weight), True
