"""The witness: shares no code, accepts what is true, refuses what is too good."""

import ast
from fractions import Fraction as F
from pathlib import Path

import pytest

import dprelease.privacy.witness as module
from dprelease.mechanisms import gaussian, laplace
from dprelease.privacy import discrete_gaussian, witness, zcdp
from dprelease.privacy import shift as shifts

SHIFTS = [
    shifts.single(1),
    shifts.single(30),
    shifts.single(120_000),
    shifts.pair(1, 1),
    shifts.split(4),
    shifts.split(10**6),
    shifts.replaced_split(50, 9),
    shifts.general(12, 12),
]


@pytest.mark.parametrize("name", ["witness", "witness_numbers"])
def test_it_imports_nothing_of_the_calibration(name: str) -> None:
    source = Path(module.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    ours = {each for each in imported if each.startswith("dprelease")}
    assert ours <= {"dprelease.privacy.witness_numbers", "dprelease.privacy.shift.Shift"}


@pytest.mark.parametrize("shift", SHIFTS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("3", "1e-3")])
def test_it_accepts_calibrations_and_refuses_less_noise(
    shift: shifts.Shift, epsilon: str, delta: str
) -> None:
    noise = gaussian.calibrate(shift, F(epsilon), F(delta))
    assert witness.gaussian_delta_upper(noise.parameter, shift, F(epsilon)) <= F(delta)
    less = noise.parameter * F("0.95")
    assert witness.gaussian_delta_upper(less, shift, F(epsilon)) > F(delta)


@pytest.mark.parametrize("sigma2", ["0.3", "2.5", "40", "9000"])
@pytest.mark.parametrize("epsilon", ["0", "0.2", "2", "20"])
def test_two_routes_meet(sigma2: str, epsilon: str) -> None:
    """Term by term and by thresholds: the same sum."""
    for shift in (shifts.single(3), shifts.pair(2, 3)):
        if F(sigma2) > 128 and shift.coordinates == 2:
            continue
        first = discrete_gaussian.delta_of(F(sigma2), shift, F(epsilon))
        second = witness.gaussian_delta_upper(F(sigma2), shift, F(epsilon))
        assert abs(first - second) <= F("1e-20") * max(first, F("1e-10"))


def test_laplace_claims() -> None:
    noise = laplace.calibrate(7, F("0.3"))
    assert witness.laplace_epsilon(noise.parameter, 7) == F("0.3")
    assert witness.laplace_epsilon(noise.parameter * F("0.99"), 7) > F("0.3")
    assert witness.laplace_epsilon(F(0), 0) == 0
    with pytest.raises(ValueError, match="positive scale"):
        witness.laplace_epsilon(F(0), 1)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "1", "17", "1e5"])
def test_pure_rho_claims(epsilon: str) -> None:
    claim = zcdp.rho_of_pure(F(epsilon))
    assert witness.pure_rho(F(epsilon)) <= claim
    assert witness.pure_rho(F(epsilon)) > claim * F("0.99")


@pytest.mark.parametrize("rho", ["1e-6", "0.024", "0.5", "30"])
def test_zcdp_claims(rho: str) -> None:
    delta = F("1e-6")
    claim = zcdp.epsilon_of(F(rho), delta)
    assert witness.zcdp_delta_upper(F(rho), claim) <= delta
    assert witness.zcdp_delta_upper(F(rho), claim * F("0.99")) > delta
    assert witness.gaussian_rho(1 / (2 * F(rho)), 1) == F(rho)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="sigma"):
        witness.gaussian_delta_upper(F(0), shifts.single(1), F(1))
    assert witness.gaussian_delta_upper(F(0), shifts.zero(), F(1)) == 0
    assert witness.zcdp_delta_upper(F(2), F(1)) == 1
    assert witness.zcdp_delta_upper(F(0), F(1)) == 0


@pytest.mark.parametrize("sigma2", ["0.7", "6", "40", "1e5"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("entries", [1, 4, 9])
def test_two_arithmetics_meet(sigma2: str, epsilon: str, entries: int) -> None:
    """The smoothing bound in either arithmetic, its toll included."""
    shift = shifts.general(9, entries)
    first = discrete_gaussian.delta_of(F(sigma2), shift, F(epsilon))
    second = witness.gaussian_delta_upper(F(sigma2), shift, F(epsilon))
    assert abs(first - second) <= F("1e-9") * first + F("1e-60")
