"""What one step loses, held against what it claims.

Additive noise costs by how far the released integers move, keys by threshold and new keys, choices
by the range in which scores move, quantiles by the selections of their scheme. Nothing that a plan
states of sensitivities is used; but they are published, so they may not be too small either.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.kernel.certify.row_effects import corners
from dprelease.kernel.certify.unit_limits import coarse_limits, limits_of
from dprelease.kernel.certify.worst_change import Worst, worst_change
from dprelease.kernel.verify import additive as witness
from dprelease.kernel.verify import quantiles as quantile_witness
from dprelease.kernel.verify.partition_selection import Selection, confirms
from dprelease.model import Adjacency, Form, Loss, MeasureKind, NoiseFamily, Privacy, Step


def step_holds(step: Step, privacy: Privacy) -> bool:
    """Say whether a step that is executable loses at most what it claims."""
    if step.form is Form.CHOICE:
        return _choice_holds(step, privacy)
    if step.form is Form.QUANTILES:
        return _quantiles_hold(step, privacy)
    worst = worst_change(step, privacy)
    known = step.sensitivity
    if worst.l1 > known.l1 or worst.shift.l2_squared > known.l2_squared:
        return False
    if step.threshold is not None:
        return _keys_hold(step, step.threshold, privacy)
    return _numbers_hold(step, worst)


def _numbers_hold(step: Step, worst: Worst) -> bool:
    noise, claimed = step.noise, step.loss
    if noise.family is NoiseFamily.NONE:
        return worst.l1 == 0
    if noise.parameter <= 0 or claimed.epsilon <= 0:
        return False
    if noise.family is NoiseFamily.LAPLACE:
        epsilon = witness.laplace_epsilon(noise.parameter, worst.l1)
        return _covers(claimed, epsilon, witness.pure_rho(epsilon))
    return noise.family is NoiseFamily.GAUSSIAN and _gaussian_holds(step, worst)


def _gaussian_holds(step: Step, worst: Worst) -> bool:
    noise, claimed = step.noise, step.loss
    rho = witness.gaussian_rho(noise.parameter, worst.shift.l2_squared)
    if claimed.rho is None or rho > claimed.rho:
        return False
    if witness.zcdp_delta_upper(claimed.rho, claimed.epsilon) <= claimed.delta:
        return True
    delta = witness.gaussian_delta_upper(noise.parameter, worst.shift, claimed.epsilon)
    return delta <= claimed.delta


def _covers(claimed: Loss, epsilon: Fraction, rho: Fraction) -> bool:
    """Whether a claim is no better than a loss without delta."""
    enough = claimed.rho is None or rho <= claimed.rho
    return enough and claimed.delta >= 0 and epsilon <= claimed.epsilon


def _keys_hold(step: Step, threshold: int, privacy: Privacy) -> bool:
    """Keys and their counts: what is new may not be shown, what isn't may not be told apart."""
    limits = limits_of(step, privacy)
    selection = Selection(
        step.noise,
        threshold,
        rows=limits.rows,
        groups=limits.groups,
        per_key=limits.per_cell,
        adjacency=privacy.adjacency,
    )
    # Keys that are shown or not have no rho.
    return step.loss.rho is None and confirms(selection, step.loss.epsilon, step.loss.delta)


# --- choices ------------------------------------------------------------------------------------


def span_of_scores(step: Step, privacy: Privacy) -> int:
    """Bound the range of the changes of scores, greatest less smallest, summed over cells.

    If v rows enter a cell and u leave, and each row adds between l <= 0 and h >= 0 to a score, each
    score there moves by at least v l - u h and at most v h - u l: within (u + v)(h - l). A unit
    that is counted adds its 1 to some scores of each of its cells, instead of its rows.
    """
    limits = coarse_limits(step.query, privacy)
    candidates = step.query.candidates
    number = limits.rows
    if candidates is not None:
        most = candidates.grid.upper
    else:
        effects = [Fraction(0), *(effect for (effect,) in corners(step))]
        most = int(max(effects) - min(effects))
        if all(measure.kind is MeasureKind.UNITS for measure in step.measures):
            number = limits.groups
    return number * most * (2 if limits.replaced else 1)


def _choice_holds(step: Step, privacy: Privacy) -> bool:
    """Picks follow each other, each of the whole rate; cells are independent.

    Let the score of each candidate o in a cell move by m(o), and r be max m - min m. The
    exponential mechanism's log-ratio is rate m(o) plus a number that is the same for all o: its
    range is rate r. Permute-and-flip takes o if an exponential noise of its own lifts it above the
    best h of the others (their noise fixed): with a probability e^-(rate (h - score)), or 1. As h
    moves by no less than min m and no more than max m, h - score moves by at most r. Ranges and
    epsilons of independent cells add up, and those of fewer candidates are no larger.
    """
    known, claimed, rate = step.sensitivity, step.loss, step.noise.parameter
    span = span_of_scores(step, privacy)
    stated = known.choice_l1 * (1 if known.monotone else 2)
    if known.monotone and privacy.adjacency is not Adjacency.ADD_REMOVE:
        return False
    if span > stated or rate <= 0 or claimed.epsilon <= 0:
        return False
    epsilon, picks = rate * span, step.query.picks
    rho = (
        witness.range_rho(epsilon)
        if step.noise.family is NoiseFamily.EXPONENTIAL
        else witness.pure_rho(epsilon)
    )
    return _covers(claimed, picks * epsilon, picks * rho)


# --- quantiles ----------------------------------------------------------------------------------


def _quantiles_hold(step: Step, privacy: Privacy) -> bool:
    scheme, points = step.scheme, step.points
    if scheme is None or points is None or step.loss.epsilon <= 0:
        return False
    limits = coarse_limits(step.query, privacy)
    if limits.rows > step.sensitivity.l1:
        return False
    stays = limits.replaced and limits.certain and points.null_fill is not None
    return _covers(
        step.loss,
        quantile_witness.epsilon(scheme.steps, limits.rows, limits.replaced, stays=stays),
        quantile_witness.rho(scheme.steps, limits.rows, limits.replaced, stays=stays),
    )
