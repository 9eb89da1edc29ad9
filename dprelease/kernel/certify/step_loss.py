"""What one step loses, held against what it claims.

Additive noise costs by how far the released integers move, keys by threshold and new keys, choices
by the range in which scores move, quantiles by the selections of their scheme. Nothing that a plan
states of sensitivities is used; but they are published, so they may not be too small either.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.certify.rules import AtMost, Breach, Rule, Rules, find_breaches
from dprelease.kernel.certify.survey_weights import bound_row_weight, is_always_weighted
from dprelease.kernel.certify.unit_limits import (
    Limits,
    derive_coarse_limits,
    derive_limits,
    find_corners,
)
from dprelease.kernel.certify.worst_change import Worst, bound_worst_change
from dprelease.kernel.verify import additive, quantiles
from dprelease.kernel.verify.partition_selection import Selection, is_confirmed
from dprelease.model import Adjacency, Form, Loss, MeasureKind, Noise, NoiseFamily, Privacy, Step


class _Priced(Struct, frozen=True):
    """A step, the bounds on units, and the worst that these let happen to its integers."""

    step: Step
    privacy: Privacy
    worst: Worst


Cost = tuple[Loss, Loss]
"""What a step costs as derived here, and what it claims."""


def step_loss_breaches(step: Step, privacy: Privacy, name: str) -> Iterator[Breach]:
    """Give what a step that means what it says loses beyond its claim."""
    if step.form is Form.CHOICE:
        yield from find_breaches(CHOICE, (step, privacy), name)
        yield from find_breaches(COVERED, (_compute_choice_loss(step, privacy), step.loss), name)
        return
    if step.form is Form.QUANTILES:
        yield from find_breaches(QUANTILES, (step, privacy), name)
        yield from find_breaches(COVERED, (_compute_quantile_loss(step, privacy), step.loss), name)
        return
    priced = _Priced(step, privacy, bound_worst_change(step, privacy))
    yield from find_breaches(SENSITIVITY, priced, name)
    if step.threshold is not None:
        yield from find_breaches(KEYS, priced, name)
    elif step.noise.family is NoiseFamily.NONE:
        yield from find_breaches(NOISELESS, priced, name)
    elif step.noise.family is not NoiseFamily.GAUSSIAN:
        epsilon = compute_pure_epsilon(step.noise, priced.worst)
        cost = Loss(epsilon, Fraction(0), additive.bound_pure_rho(epsilon))
        yield from find_breaches(COVERED, (cost, step.loss), name)
    else:
        yield from find_breaches(GAUSSIAN, priced, name)


# Of what is lost without a delta.
COVERED: Rules[Cost] = (
    AtMost(
        "it costs no more epsilon than it claims", lambda case: (case[0].epsilon, case[1].epsilon)
    ),
    AtMost(
        "it costs no more rho than it claims",
        lambda case: (
            None if case[0].rho is None or case[1].rho is None else (case[0].rho, case[1].rho)
        ),
    ),
)

# --- noisy numbers -------------------------------------------------------------------------------


def compute_pure_epsilon(noise: Noise, worst: Worst) -> Fraction:
    """Give the epsilon of Laplace noise, or that of a staircase, which counts stairs."""
    if noise.family is NoiseFamily.STAIRCASE:
        return additive.compute_staircase_epsilon(noise, worst.l1, worst.shift)
    return additive.compute_laplace_epsilon(noise.parameter, worst.l1)


def _compare_gaussian_rho(priced: _Priced) -> tuple[Fraction, Fraction]:
    noise, claimed = priced.step.noise, priced.step.loss.rho
    rho = additive.compute_gaussian_rho(noise.parameter, priced.worst.shift.l2_squared)
    return rho, claimed if claimed is not None else Fraction(0)


def _compare_gaussian_delta(priced: _Priced) -> tuple[Fraction, Fraction]:
    """By its rho, or else as summed over the integers."""
    noise, claimed = priced.step.noise, priced.step.loss
    delta = additive.bound_zcdp_delta(claimed.rho or Fraction(0), claimed.epsilon)
    if delta > claimed.delta:
        shift = priced.worst.shift
        delta = additive.bound_gaussian_delta(noise.parameter, shift, claimed.epsilon)
    return delta, claimed.delta


def _is_key_loss_confirmed(priced: _Priced) -> bool:
    """Keys and their counts: what is new may not be shown, what isn't may not be told apart."""
    step, limits = priced.step, derive_limits(priced.step, priced.privacy)
    selection = Selection(
        step.noise,
        step.threshold or 0,
        rows=limits.rows,
        groups=limits.groups,
        per_key=limits.per_cell,
        adjacency=priced.privacy.adjacency,
    )
    return is_confirmed(selection, step.loss.epsilon, step.loss.delta)


SENSITIVITY: Rules[_Priced] = (
    AtMost(
        "its integers change by no more than the L1 sensitivity that it states",
        lambda case: (case.worst.l1, case.step.sensitivity.l1),
    ),
    AtMost(
        "its integers change by no more than the squared L2 sensitivity that it states",
        lambda case: (case.worst.shift.l2_squared, case.step.sensitivity.l2_squared),
    ),
    AtMost(
        "no more of its integers change at once than it states",
        lambda case: (case.worst.shift.coordinates, case.step.sensitivity.coordinates),
    ),
)
NOISELESS: Rules[_Priced] = (
    AtMost(
        "integers without noise are the same in all neighbours", lambda case: (case.worst.l1, 0)
    ),
)
GAUSSIAN: Rules[_Priced] = (
    Rule("Gaussian noise claims a rho", lambda case: case.step.loss.rho is not None),
    AtMost("Gaussian noise costs no more rho than it claims", _compare_gaussian_rho),
    AtMost(
        "Gaussian noise costs no more delta, at its epsilon, than it claims",
        _compare_gaussian_delta,
    ),
)
KEYS: Rules[_Priced] = (
    Rule("keys that are shown or not have no rho", lambda case: case.step.loss.rho is None),
    Rule(
        "the selection of keys costs no more epsilon and delta than it claims",
        _is_key_loss_confirmed,
    ),
)

# --- choices -------------------------------------------------------------------------------------


def bound_score_span(step: Step, privacy: Privacy) -> int:
    """Bound the range of the changes of scores, greatest less smallest, summed over cells.

    If v rows enter a cell and u leave, and each row adds between l <= 0 and h >= 0 to a score, each
    score there moves by at least v l - u h and at most v h - u l: within (u + v)(h - l). A unit
    that is counted adds its 1 to some scores of each of its cells, instead of its rows.
    """
    limits = derive_coarse_limits(step.query, privacy)
    candidates = step.query.candidates
    number = limits.rows
    if candidates is not None:
        score_bound = candidates.grid.upper
    else:
        effects = [Fraction(0), *(effect for (effect,) in find_corners(step))]
        score_bound = int(max(effects) - min(effects))
        if all(measure.kind is MeasureKind.UNITS for measure in step.measures):
            number = limits.groups
    return number * score_bound * (2 if limits.replaced else 1)


def _compute_choice_loss(step: Step, privacy: Privacy) -> Loss:
    """Picks follow each other, each of the whole rate; cells are independent.

    Let the score of each candidate o in a cell move by m(o), and r be max m - min m. The
    exponential mechanism's log-ratio is rate m(o) plus a number that is the same for all o: its
    range is rate r. Permute-and-flip takes o if an exponential noise of its own lifts it above the
    best h of the others (their noise fixed): with a probability e^-(rate (h - score)), or 1. As h
    moves by no less than min m and no more than max m, h - score moves by at most r. Ranges and
    epsilons of independent cells add up, and those of fewer candidates are no larger.
    """
    epsilon, picks = step.noise.parameter * bound_score_span(step, privacy), step.query.picks
    exponential = step.noise.family is NoiseFamily.EXPONENTIAL
    rho = additive.bound_range_rho(epsilon) if exponential else additive.bound_pure_rho(epsilon)
    return Loss(picks * epsilon, Fraction(0), picks * rho)


def _read_stated_span(step: Step) -> int:
    sensitivity = step.sensitivity
    return sensitivity.choice_l1 * (1 if sensitivity.monotone else 2)


CHOICE: Rules[tuple[Step, Privacy]] = (
    Rule(
        "scores are only monotone if rows are added or removed",
        lambda case: not case[0].sensitivity.monotone or case[1].adjacency is Adjacency.ADD_REMOVE,
    ),
    AtMost(
        "scores change by no more than the sensitivity that it states",
        lambda case: (bound_score_span(*case), _read_stated_span(case[0])),
    ),
)

# --- quantiles -----------------------------------------------------------------------------------


def _derive_quantile_limits(step: Step, privacy: Privacy) -> tuple[Limits, bool]:
    """The bounds on units, and whether a value that is replaced stays in its cell."""
    limits = derive_coarse_limits(step.query, privacy)
    valued = step.points is not None and step.points.null_fill is not None
    return limits, limits.replaced and limits.certain and valued and is_always_weighted(step)


def _compute_quantile_loss(step: Step, privacy: Privacy) -> Loss:
    limits, stays = _derive_quantile_limits(step, privacy)
    steps = step.scheme.steps if step.scheme is not None else ()
    records = limits.rows * bound_row_weight(step)
    epsilon = quantiles.bound_epsilon(steps, records, limits.replaced, stays=stays)
    rho = quantiles.bound_rho(steps, records, limits.replaced, stays=stays)
    return Loss(epsilon, Fraction(0), rho)


def bound_quantile_spans(step: Step, privacy: Privacy) -> list[Fraction]:
    """Give the ranges of the log-ratios of all selections of a step of quantiles."""
    if step.scheme is None:
        return []
    limits, stays = _derive_quantile_limits(step, privacy)
    records = limits.rows * bound_row_weight(step)
    return quantiles.bound_spans(step.scheme.steps, records, limits.replaced, stays=stays)


QUANTILES: Rules[tuple[Step, Privacy]] = (
    AtMost(
        "a unit has no more rows in quantiles than the sensitivity that it states",
        lambda case: (
            derive_coarse_limits(case[0].query, case[1]).rows * bound_row_weight(case[0]),
            case[0].sensitivity.l1,
        ),
    ),
)
