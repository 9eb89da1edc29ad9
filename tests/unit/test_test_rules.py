"""Rules that hold for the tests: which cases run by default."""

from __future__ import annotations

import pytest
from thorough import in_diagonal

INNER = [1, 2, 3, 5, 7, 8, 10, 24]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 8, 24])
@pytest.mark.parametrize("inner", INNER)
def test_one_case_in_n_runs_with_every_value_of_both_parameters(step: int, inner: int) -> None:
    outer = step * step
    chosen = [position for position in range(outer * inner) if in_diagonal(position, step)]
    assert len(chosen) == outer * inner // step
    assert chosen[0] == 0  # a single case runs
    assert {position % inner for position in chosen} == set(range(inner))
