"""Choice of the local randomizer for each column of a record-level table: the least error.

Labels: sets of the size with the least mean variance of the labels' shares; of size 1 that is
randomised response. Numbers: what has the least worst-case variance, of discrete Laplace noise and
of windows of levels. All laws are calibrated exactly, whatever chose among them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.local.randomizers import local_laplace, subset_response, window_response
from dprelease.model.loss import Loss
from dprelease.model.record_tables import (
    LaplaceLaw,
    Mechanism,
    PerturbedColumn,
    Response,
    SubsetLaw,
    WindowLaw,
)
from dprelease.privacy.zcdp import bound_pure_rho

_ZERO = Fraction(0)
_OF_LABELS = (Mechanism.AUTO, Mechanism.RANDOMIZED_RESPONSE, Mechanism.SUBSET_SELECTION)
_OF_NUMBERS = (Mechanism.AUTO, Mechanism.LAPLACE, Mechanism.PIECEWISE)
NOTHING = Loss(_ZERO, _ZERO, _ZERO)


def calibrate_response(
    column: PerturbedColumn, epsilon: Fraction, delta: Fraction, truth: Fraction | None = None
) -> Response:
    """Choose and calibrate the randomizer of one cell of a column.

    The law is (epsilon, delta)-DP for one cell in the local model, by exact bounds. Randomized
    response: Warner 1965, Kairouz et al. 2016; subset selection: Ye and Barg 2018; windows: Duchi
    et al. 2018, Wang et al. 2019.

    Args:
        column: The column, with its labels or grid and the mechanism asked for.
        epsilon: Loss that the cell may have, above 0.
        delta: At least 0 and below 1.
        truth: Chance of the true answer. Then epsilon and delta are not used: the loss is what
            such answers cost.

    Returns:
        The law with the least variance, and its loss. A column with one label costs nothing.

    Raises:
        ValueError: The column can't be perturbed in this way; the message is for users.
    """
    if truth is None:
        _check_budget(epsilon, delta)
    if column.group is not None:
        labels = len(column.group.labels)
        _check(column, _OF_LABELS, "a column with labels")
        if labels == 1:
            law = SubsetLaw(1, 1, Fraction(1))
            return Response(column, Mechanism.RANDOMIZED_RESPONSE, law, NOTHING)
        if truth is not None:
            return _calibrate_truth(column, labels, truth)
        return _calibrate_labels(column, labels, epsilon, delta)
    if column.quantity is None:
        raise ValueError("a perturbed column has labels or a grid")
    _check(column, _OF_NUMBERS, "a numeric column")
    if truth is not None:
        raise ValueError("the chance of a true answer is for columns with labels only")
    return _calibrate_numbers(column, column.quantity.grid.width, epsilon, delta)


def _check_budget(epsilon: Fraction, delta: Fraction) -> None:
    if epsilon <= 0 or not 0 <= delta < 1:
        raise ValueError("needs an epsilon above 0 and a delta of at least 0 and below 1")


def _check(column: PerturbedColumn, usable: tuple[Mechanism, ...], kind: str) -> None:
    if column.mechanism not in usable:
        fitting = " or ".join(mechanism.value for mechanism in usable[1:])
        raise ValueError(f"{kind} is perturbed by {fitting}, not by {column.mechanism.value}")


def _build_loss(epsilon: Fraction, delta: Fraction) -> Loss:
    return Loss(epsilon, delta, None if delta else bound_pure_rho(epsilon))


def _calibrate_truth(column: PerturbedColumn, labels: int, truth: Fraction) -> Response:
    """Calibrate randomized response with this chance of the truth, rounded to the private side."""
    if column.mechanism is Mechanism.SUBSET_SELECTION:
        raise ValueError("the chance of a true answer is for randomized-response only")
    if not 0 < truth < 1:
        raise ValueError("the chance of a true answer must be above 0 and below 1")
    even = Fraction(1, labels)
    units = truth * subset_response.UNIT  # rounded towards 1/k, where an answer says nothing
    chance = Fraction(math.floor(units) if truth > even else math.ceil(units), subset_response.UNIT)
    if truth == even or (chance > even) != (truth > even) or chance == even:
        raise ValueError(
            f"a true answer that is as likely as any other of {labels} carries no information"
        )
    epsilon = subset_response.compute_truth_epsilon(labels, truth)
    law = SubsetLaw(labels, 1, chance)
    return Response(column, Mechanism.RANDOMIZED_RESPONSE, law, _build_loss(epsilon, _ZERO))


def _calibrate_labels(
    column: PerturbedColumn, labels: int, epsilon: Fraction, delta: Fraction
) -> Response:
    plain = column.mechanism is Mechanism.RANDOMIZED_RESPONSE
    as_sets = column.mechanism is Mechanism.SUBSET_SELECTION
    size_limit = subset_response.MOST_WHEN_ASKED if as_sets else subset_response.MOST_IN_A_SET
    size = 1 if plain else subset_response.choose_size(labels, epsilon, delta, size_limit)
    law = SubsetLaw(labels, size, subset_response.keep(labels, size, epsilon, delta))
    mechanism = Mechanism.RANDOMIZED_RESPONSE if size == 1 else Mechanism.SUBSET_SELECTION
    return Response(column, mechanism, law, _build_loss(epsilon, delta))


def _calibrate_numbers(
    column: PerturbedColumn, width: int, epsilon: Fraction, delta: Fraction
) -> Response:
    if width < 1:
        raise ValueError("its bounds allow only one value, so there is nothing to answer")
    windows: WindowLaw | None = None
    if column.mechanism is not Mechanism.LAPLACE:
        windows = window_response.find_best(width, epsilon, delta)
    if column.mechanism is Mechanism.PIECEWISE:
        if windows is None:
            raise ValueError(
                "piecewise can't be used with this grid, epsilon and delta; use laplace"
            )
        return Response(column, Mechanism.PIECEWISE, windows, _build_loss(epsilon, delta))
    scale = local_laplace.find_least_scale(width, epsilon, delta)
    noise = local_laplace.compute_variance(scale) * (2 / width) ** 2  # in squared half ranges
    if windows is not None and window_response.find_worst_variance(windows, width) < noise:
        return Response(column, Mechanism.PIECEWISE, windows, _build_loss(epsilon, delta))
    return Response(column, Mechanism.LAPLACE, LaplaceLaw(scale), _build_loss(epsilon, delta))
