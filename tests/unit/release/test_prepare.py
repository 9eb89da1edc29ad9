"""What is prepared while the engine reads fails like all the rest: in words, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import dprelease
from dprelease.errors import ExitCode, Failure

SPEC = {
    "release": {"name": "r"},
    "data": {"path": "t.csv"},
    "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
    "ledger": {"epsilon_cap": 1},
    "columns": {"g": {"type": "string", "keys": ["a", "b"], "source": "p"}},
    "query": [{"name": "n", "statistic": "count", "by": ["g"]}],
}
RECORDS = {
    **{name: part for name, part in SPEC.items() if name != "query"},
    "privacy": {"unit": "row", "adjacency": "replace-one", "epsilon": 1},
    "perturb": [{"name": "n", "columns": ["g"]}],
}


@pytest.mark.parametrize("asked", [SPEC, RECORDS], ids=["queries", "records"])
def test_a_failure_while_preparing_stops_the_run_and_is_free_to_repeat(
    asked: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("g\na\nb\n")
    spec = {
        **asked,
        "data": {"path": str(table)},
        "ledger": {"path": str(tmp_path / "l.sqlite"), "epsilon_cap": 1},
        "output": {"path": str(tmp_path / "out")},
    }

    def broken(_steps: object) -> None:
        raise ArithmeticError("secret")

    with monkeypatch.context() as patch:
        patch.setattr("dprelease.release.run.prepare", broken)
        with pytest.raises(Failure) as failure:
            dprelease.run(spec)
    assert failure.value.exit_code is ExitCode.INTERNAL
    assert "secret" not in str(failure.value)
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out
    assert not dprelease.run(spec).already_released  # within the cap: charged once
