"""Which law a column gets, and that it is as private as was asked."""

import math
from fractions import Fraction as F

import pytest

from dprelease.kernel.chapters.record_tables.response_loss import is_law_confirmed
from dprelease.local.randomizers import window_response
from dprelease.local.randomizers.calibrate import calibrate_response
from dprelease.model import Grid
from dprelease.model.columns import ColumnType
from dprelease.model.plans import Loss
from dprelease.model.queries import Group
from dprelease.model.record_tables import (
    LaplaceLaw,
    Mechanism,
    PerturbedColumn,
    Response,
    SubsetLaw,
    WindowLaw,
)
from dprelease.model.requests import Quantity
from dprelease.privacy.zcdp import bound_pure_rho


def labelled(count: int, mechanism: Mechanism = Mechanism.AUTO) -> PerturbedColumn:
    labels = tuple(f"label {i}" for i in range(count))
    group = Group("region", ColumnType.STRING, labels, keys=labels)
    return PerturbedColumn("region", group=group, mechanism=mechanism)


def numeric(width: int, mechanism: Mechanism = Mechanism.AUTO) -> PerturbedColumn:
    quantity = Quantity("age", Grid(F(1, 2), -3, width - 3), 0)
    return PerturbedColumn("age", quantity=quantity, mechanism=mechanism)


def holds(response: Response) -> bool:
    quantity = response.column.quantity
    return is_law_confirmed(response.law, quantity and quantity.grid.width, response.loss)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("epsilon", ["0.001", "1", "5", "20", "6000"])
@pytest.mark.parametrize("delta", ["0", "1e-12", "1e-6", "0.5"])
def test_every_response_is_as_private_as_asked(epsilon: str, delta: str) -> None:
    budget = F(epsilon), F(delta)
    responses = [
        *(calibrate_response(labelled(count), *budget) for count in (2, 3, 10, 1000)),
        *(
            calibrate_response(labelled(9, kind), *budget)
            for kind in Mechanism
            if "s" in kind.value[:2]
        ),
        calibrate_response(labelled(9, Mechanism.RANDOMIZED_RESPONSE), *budget),
        *(
            calibrate_response(numeric(width), *budget)
            for width in (1, 2, 100, 2**53 - 1, 2**61, 2**63)
        ),
        calibrate_response(numeric(100, Mechanism.LAPLACE), *budget),
    ]
    for response in responses:
        assert (response.loss.epsilon, response.loss.delta) == budget
        assert response.loss.rho == (None if F(delta) else bound_pure_rho(F(epsilon)))
        assert holds(response)


def test_labels_get_sets_where_these_are_better_and_it_is_said() -> None:
    few, many = (
        calibrate_response(labelled(10), F(6), F(0)),
        calibrate_response(labelled(10), F(1), F(0)),
    )
    assert (few.mechanism, few.law.size) == (Mechanism.RANDOMIZED_RESPONSE, 1)
    assert (many.mechanism, many.law.size) == (Mechanism.SUBSET_SELECTION, 3)
    plain = calibrate_response(labelled(10, Mechanism.RANDOMIZED_RESPONSE), F(1), F(0))
    assert (plain.mechanism, plain.law.size) == (Mechanism.RANDOMIZED_RESPONSE, 1)
    assert plain.column.mechanism is Mechanism.RANDOMIZED_RESPONSE


def test_large_sets_are_for_those_who_ask() -> None:
    usual = calibrate_response(labelled(400), F(1), F(0))
    asked = calibrate_response(labelled(400, Mechanism.SUBSET_SELECTION), F(1), F(0))
    assert (usual.law.size, asked.law.size) == (32, 108)
    assert holds(usual)
    assert holds(asked)
    assert (
        calibrate_response(labelled(5000, Mechanism.SUBSET_SELECTION), F(1), F(0)).law.size == 256
    )


def test_numbers_get_the_law_with_the_least_variance() -> None:
    assert isinstance(calibrate_response(numeric(1000), F(1), F(0)).law, WindowLaw)
    assert isinstance(
        calibrate_response(numeric(1000, Mechanism.LAPLACE), F(1), F(0)).law, LaplaceLaw
    )
    fine = calibrate_response(numeric(2**62), F(1), F(0))  # no window has places of 62 bits there
    assert (fine.mechanism, fine.law) == (Mechanism.LAPLACE, LaplaceLaw(F(2**62)))
    # So much epsilon that noise is hardly ever there, and levels are far apart.
    assert calibrate_response(numeric(100), F(600), F(0)).mechanism is Mechanism.LAPLACE
    told = calibrate_response(numeric(100, Mechanism.PIECEWISE), F(600), F(0))
    assert told.mechanism is Mechanism.PIECEWISE
    assert told.law == window_response.find_best(100, F(600))


def test_one_label_costs_nothing() -> None:
    for truth in (None, F(1, 2)):
        response = calibrate_response(labelled(1), F(1), F(0), truth)
        assert response.law == SubsetLaw(1, 1, F(1))
        assert response.loss == Loss(F(0), F(0), F(0))
        assert holds(response)


@pytest.mark.parametrize("truth", ["0.75", "0.3", "0.9999", "0.1"])
@pytest.mark.parametrize("labels", [2, 3, 4])
def test_a_chance_of_the_truth_is_kept_and_paid_for(labels: int, truth: str) -> None:
    g = F(truth)
    response = calibrate_response(labelled(labels), F(1), F(0), g)
    assert response.mechanism is Mechanism.RANDOMIZED_RESPONSE
    assert isinstance(response.law, SubsetLaw)
    assert response.law.size == 1
    assert abs(response.law.keep - g) < F(1, 2**64)
    assert abs(response.law.keep - F(1, labels)) <= abs(g - F(1, labels))
    cost = abs(math.log(g * (labels - 1) / (1 - g)))
    assert float(response.loss.epsilon) == pytest.approx(cost, rel=1e-12)
    assert response.loss.delta == 0
    assert holds(response)


TRUTH = F(3, 4)


@pytest.mark.parametrize(
    ("column", "epsilon", "delta", "truth", "complaint"),
    [
        (labelled(4), F(1), F(0), F(1, 4), "carries no information"),
        (labelled(3), F(1), F(0), F(1, 3) + F(1, 2**70), "carries no information"),
        (labelled(4), F(1), F(0), F(1), "above 0 and below 1"),
        (labelled(4), F(1), F(0), F(0), "above 0 and below 1"),
        (labelled(4, Mechanism.SUBSET_SELECTION), F(1), F(0), TRUTH, "randomized-response only"),
        (numeric(4), F(1), F(0), TRUTH, "with labels only"),
        (labelled(4, Mechanism.LAPLACE), F(1), F(0), None, "not by laplace"),
        (labelled(1, Mechanism.PIECEWISE), F(1), F(0), None, "not by piecewise"),
        (numeric(4, Mechanism.SUBSET_SELECTION), F(1), F(0), None, "not by subset-selection"),
        (numeric(2**62, Mechanism.PIECEWISE), F(1), F(0), None, "use laplace"),
        (numeric(0), F(1), F(0), None, "one value"),
        (labelled(4), F(0), F(0), None, "epsilon above 0"),
        (labelled(4), F(1), F(1), None, "below 1"),
        (labelled(4), F(1, 10**30), F(0), None, "no answer"),
        (PerturbedColumn("x"), F(1), F(0), None, "labels or a grid"),
    ],
)
def test_what_can_not_be_had_is_said(
    column: PerturbedColumn, epsilon: F, delta: F, truth: F | None, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        calibrate_response(column, epsilon, delta, truth)
