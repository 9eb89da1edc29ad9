"""Facts are values: complete when they are made, never changed, equal by what they hold."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from dprelease.reports.model.record_model import Asked, Fact


class Alike(Fact):
    epsilon: str | None
    delta: str
    truth: str | None


def asked() -> Asked:
    return Asked(epsilon="1", delta="0", truth=None)


def test_a_fact_is_never_changed() -> None:
    fact = asked()
    with pytest.raises(FrozenInstanceError):
        fact.epsilon = "2"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        fact.more = "2"  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        del fact.epsilon
    assert (fact.epsilon, fact.delta, fact.truth) == ("1", "0", None)


@pytest.mark.parametrize(
    "values", [{"epsilon": "1", "delta": "0"}, {"epsilon": "1", "delta": "0", "truth": "0", "x": 1}]
)
def test_a_fact_has_all_of_its_fields_and_no_other(values: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="epsilon, delta, truth"):
        Asked(**values)  # type: ignore[arg-type]


def test_facts_of_one_class_are_equal_by_their_values() -> None:
    assert asked() == asked()
    assert asked() != Asked(epsilon="1", delta="0", truth="0")
    assert asked() != Alike(epsilon="1", delta="0", truth=None)
