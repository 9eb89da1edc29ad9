"""A mechanism is one file and one line of the registry: the planner knows none by its name."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import pytest

import dprelease
from dprelease.mechanisms import Choice, Target, laplace
from dprelease.mechanisms.laplace import Laplace
from dprelease.mechanisms.mechanism_registry import MECHANISMS, list_options
from dprelease.model import Form, Noise, NoiseFamily
from dprelease.planning.shared_releases import build_drafts

PACKAGE = Path(dprelease.__file__).parent


class Dyadic(Laplace):
    """Laplace noise whose scale is a power of two: wider than it has to be, never narrower."""

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        least, scale = laplace.calibrate(target.sensitivity.l1, epsilon).parameter, Fraction(1)
        while scale < least:
            scale *= 2
        while scale >= 2 * least:
            scale /= 2
        return laplace.build_choice(target, Noise(self.family, scale))

    def build_event(self, target: Target, intensity: Fraction) -> None:
        """It has no event before it is rounded."""
        return

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """As if it erred less than all others, so that the planner takes it."""
        return Fraction(0)


def is_power_of_two(number: Fraction) -> bool:
    return (number.numerator * number.denominator).bit_count() == 1


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("v,g\n" + "1,a\n" * 40 + "2,b\n" * 15)
    return builders.spec(
        ledger={"path": "ledger.sqlite", "dataset": "toy", "epsilon_cap": 2},
        columns={
            "v": {"type": "integer", "lower": 0, "upper": 9},
            "g": {"type": "string", "keys": ["a", "b"]},
        },
        query=[
            {"name": "rows", "statistic": "count", "by": ["g"]},
            {"name": "total", "statistic": "sum", "column": "v"},
            {"name": "usual", "statistic": "mode", "column": "g"},
        ],
    )


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Dyadic:
    mechanism = Dyadic()
    monkeypatch.setattr(
        "dprelease.mechanisms.mechanism_registry.MECHANISMS", [*MECHANISMS, mechanism]
    )
    return mechanism


def numeric(plan: dprelease.Plan) -> list[dprelease.Step]:
    return [step for step in plan.steps if step.form is Form.NUMBERS]


def test_a_new_mechanism_is_planned_certified_run_and_reported(
    spec: dict[str, Any], registered: Dyadic
) -> None:
    """The certifier derives the loss from the noise: a wider one costs less than its share."""
    planned = dprelease.plan(spec)
    assert len(numeric(planned)) == 2
    for step in numeric(planned):
        assert is_power_of_two(step.noise.parameter)
        assert step.loss.epsilon == step.sensitivity.l1 / step.noise.parameter
    (choice,) = [step for step in planned.steps if step.form is Form.CHOICE]
    assert choice.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    assert planned.loss.epsilon <= 1
    dprelease.run(spec)
    report = json.loads(Path("out", "report.json").read_text())
    scales = {Fraction(str(query["scale"])) for query in report["queries"] if "scale" in query}
    assert {step.noise.parameter for step in numeric(planned)} <= scales


def test_without_its_line_nothing_of_it_is_left(spec: dict[str, Any]) -> None:
    assert not any(is_power_of_two(step.noise.parameter) for step in numeric(dprelease.plan(spec)))


def test_it_is_calibrated_for_a_budget_of_its_own(spec: dict[str, Any], registered: Dyadic) -> None:
    spec["query"][0]["epsilon"] = 0.3
    first = dprelease.plan(spec).steps[0]
    assert first.noise == Noise(NoiseFamily.LAPLACE, Fraction(4))


def test_of_several_the_one_that_errs_least_is_taken(
    spec: dict[str, Any], registered: Dyadic
) -> None:
    (first, *_) = build_drafts(dprelease.load(spec))
    pure, concentrated = list_options(first, "auto")
    assert pure is registered
    assert concentrated.needs_delta


def test_the_planner_names_no_family_of_noise() -> None:
    for path in sorted((PACKAGE / "planning").rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert "NoiseFamily" not in names, path
        assert not words & set(map(str, NoiseFamily)) - {"none"}, path
