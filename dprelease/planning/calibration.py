"""Noise for one query from its share of the budget. Always rounded toward more noise."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from dprelease.mechanisms import exponential, gaussian, laplace, permute_and_flip, quantiles
from dprelease.mechanisms.top_k import one_shot_errs_less
from dprelease.model import Adjacency, Form, Loss, Noise, NoiseFamily, QuantileScheme
from dprelease.planning.steps import Choice, Draft
from dprelease.planning.total_budget import selection_delta
from dprelease.privacy import composition as accounting
from dprelease.privacy import zcdp
from dprelease.privacy.interval_arithmetic import round_up
from dprelease.privacy.partition_selection import (
    calibrate_gaussian,
    least_threshold_laplace,
)
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.base import null_fill
from dprelease.statistics.shared.sensitivity import may_be_outside

SIGMA_DIGITS = 15
RHO_DIGITS = 12
UNSTATED = Fraction(1)
"""The delta of a loss that nobody may add to others: only its rho and its events are known."""
NOTHING = Choice(Noise(NoiseFamily.NONE, Fraction(0)), Loss(Fraction(0), Fraction(0), Fraction(0)))


def pure(draft: Draft, epsilon: Fraction) -> Choice:
    """The best mechanism of loss epsilon and no delta."""
    if draft.released.form is Form.QUANTILES:
        replace, stays = _replacement(draft)
        rows = draft.sensitivity.l1
        wanted = draft.query.quantiles
        return _searched(draft, quantiles.plan_levels(wanted, epsilon, rows, replace, stays=stays))
    if draft.released.form is Form.CHOICE:
        return _chosen(draft, epsilon)
    l1 = draft.sensitivity.l1
    noise = laplace.calibrate(l1, epsilon)
    return Choice(noise, laplace.loss(noise, l1))


def scaled(draft: Draft, intensity: Fraction, family: NoiseFamily) -> Choice:
    """Noise of a family by its intensity: sensitivity over scale, in L1 or for Gaussian in L2.

    For pure mechanisms it is epsilon; Gaussian noise has rho = intensity^2/2, and is stated by its
    rho alone: its epsilon and delta are those of the release.
    """
    if family is NoiseFamily.GAUSSIAN:
        shift = draft.shift
        sigma2 = round_up(shift.l2_squared / (intensity * intensity), SIGMA_DIGITS)
        noise = Noise(NoiseFamily.GAUSSIAN, sigma2)
        # rounded, so that equal intensities have equal losses
        rho = round_up(zcdp.rho_of_gaussian(shift.l2_squared, sigma2), RHO_DIGITS)
        return Choice(noise, Loss(Fraction(0), UNSTATED, rho))
    if draft.released.form is Form.CHOICE and family is NoiseFamily.EXPONENTIAL:
        return _chosen(draft, intensity, exponential_only=True)
    return pure(draft, intensity)


def stated(draft: Draft, choice: Choice, delta: Fraction, *, roughly: bool = False) -> Choice:
    """The choice with the loss of Gaussian noise stated at this delta.

    ``roughly``: by its rho, which is quick, and some per cent more than it has to be. Nothing rests
    on it where the release as a whole is composed of events.
    """
    if choice.noise.family is not NoiseFamily.GAUSSIAN or choice.threshold is not None:
        return choice
    if roughly:
        rho = choice.loss.rho
        if rho is None:
            raise ValueError("Gaussian noise has a rho")
        loss = Loss(zcdp.epsilon_of(rho, delta), delta, rho)
    else:
        loss = gaussian.loss(choice.noise, draft.shift, delta)
    # a large delta may make up for everything; a claim of epsilon 0 could not be confirmed
    return dataclasses.replace(
        choice, loss=Loss(max(loss.epsilon, accounting.LEAST_EPSILON), loss.delta, loss.rho)
    )


def pure_for_rho(draft: Draft, rho: Fraction) -> Choice:
    """The same, of the largest epsilon whose zCDP loss is at most rho."""
    sensitivity = draft.sensitivity
    if draft.released.form is Form.QUANTILES:
        replace, stays = _replacement(draft)
        wanted = draft.query.quantiles
        return _searched(
            draft, quantiles.plan_levels_rho(wanted, rho, sensitivity.l1, replace, stays=stays)
        )
    if draft.released.form is Form.CHOICE:
        size, picks = sensitivity.choice_l1, draft.query.picks
        rate = exponential.calibrate_rho(rho / picks, size, sensitivity.monotone)
        loss = accounting.repeat(exponential.loss(rate, size, sensitivity.monotone), picks)
        return Choice(Noise(NoiseFamily.EXPONENTIAL, rate), loss, Form.CHOICE)
    noise = laplace.calibrate_rho(sensitivity.l1, rho)
    return Choice(noise, laplace.loss(noise, sensitivity.l1))


def normal(draft: Draft, epsilon: Fraction, delta: Fraction) -> Choice:
    """Discrete Gaussian noise, the least found for (epsilon, delta)."""
    noise = gaussian.calibrate(draft.shift, epsilon, delta)
    return Choice(noise, gaussian.loss(noise, draft.shift, delta, epsilon))


def normal_for_rho(draft: Draft, rho: Fraction, delta: Fraction) -> Choice:
    """Discrete Gaussian noise of zCDP loss rho; ``delta`` is what its epsilon is stated at."""
    noise = gaussian.calibrate_rho(draft.shift, rho)
    return stated(draft, Choice(noise, NOTHING.loss), delta)


def selecting(draft: Draft, epsilon: Fraction) -> Choice:
    """Noise and threshold of a count that selects its table's private keys.

    Of Laplace and Gaussian noise the one that shows keys of fewer units.
    """
    limits, delta = _counted(draft), selection_delta(draft.query)
    loss = Loss(epsilon, delta)
    noise = laplace.calibrate(draft.sensitivity.l1, epsilon)
    threshold = least_threshold_laplace(noise.parameter, limits, delta)
    first = Choice(noise, loss, threshold=threshold)
    wanted = draft.query.mechanism
    if wanted == "laplace":
        return first
    sigma2, threshold = calibrate_gaussian(limits, epsilon, delta, draft.neighbours.adjacency)
    second = Choice(Noise(NoiseFamily.GAUSSIAN, sigma2), loss, threshold=threshold)
    return second if wanted == "gaussian" or threshold < (first.threshold or 0) else first


def narrower(first: Choice, second: Choice) -> Choice:
    """Take the choice with the smaller variance, the first when equal."""
    return second if second.variance < first.variance else first


def _chosen(draft: Draft, epsilon: Fraction, *, exponential_only: bool = False) -> Choice:
    sensitivity, query = draft.sensitivity, draft.query
    exponential_only |= query.mechanism == "exponential"
    if query.picks > 1 and not exponential_only:
        choice_l1, l1 = sensitivity.choice_l1, sensitivity.l1
        if query.mechanism == "laplace" or one_shot_errs_less(
            query.picks, choice_l1, l1, epsilon, monotone=sensitivity.monotone
        ):
            noise = laplace.calibrate(l1, epsilon)
            return Choice(noise, laplace.loss(noise, l1))
    family = NoiseFamily.PERMUTE_AND_FLIP
    kind = permute_and_flip.loss
    if exponential_only:
        family, kind = NoiseFamily.EXPONENTIAL, exponential.loss
    rate = exponential.calibrate(epsilon / query.picks, sensitivity.choice_l1, sensitivity.monotone)
    loss = accounting.repeat(kind(rate, sensitivity.choice_l1, sensitivity.monotone), query.picks)
    return Choice(Noise(family, rate), loss, Form.CHOICE)


def _searched(draft: Draft, scheme: QuantileScheme) -> Choice:
    replace, stays = _replacement(draft)
    epsilon, rho = quantiles.loss(scheme, draft.sensitivity.l1, replace, stays=stays)
    noise = Noise(NoiseFamily.EXPONENTIAL, scheme.steps[0].rate)
    spans = quantiles.spans(scheme, draft.sensitivity.l1, replace, stays=stays)
    return Choice(noise, Loss(epsilon, Fraction(0), rho), Form.QUANTILES, scheme, None, spans)


def _replacement(draft: Draft) -> tuple[bool, bool]:
    """Whether rows are replaced, and whether a replaced row stays in its one cell for certain."""
    query = draft.query
    replace = draft.neighbours.adjacency is Adjacency.REPLACE_ONE
    never_null = query.column is not None and null_fill(query.column) is not None
    stays = (
        not draft.neighbours.people
        and never_null
        and not query.private
        and query.cells == 1
        and not may_be_outside(query, draft.neighbours)
    )
    return replace, replace and stays


def _counted(draft: Draft) -> Contribution:
    """What one unit adds to a selecting count: 1 to each of its keys."""
    limits = draft.neighbours.contribution
    keys = min(limits.groups, limits.rows)
    return Contribution(keys, keys, 1)
