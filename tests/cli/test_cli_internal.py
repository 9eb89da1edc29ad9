"""Bugs of ours as a user meets them: exit code 70, one line, no value, and what it cost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Command = Callable[..., Any]
SECRET = "canary-2c4d"
REPORT = "this is a bug in dprelease: please report it, with this line"


def raising(error: type[Exception]) -> Callable[..., None]:
    """A function that raises the error, with a secret in it."""

    def broken(*_: object) -> None:
        raise error(SECRET)

    return broken


@pytest.mark.parametrize("error", [duckdb.BinderException, duckdb.InternalException])
def test_a_statement_that_is_wrong_is_no_damaged_disk(
    probe: Command, cli: Command, error: type[Exception]
) -> None:
    broken = "dprelease.engines.duckdb.execute.compute_exact_answer", raising(error)
    answer = probe(*broken, "run", "small.toml")
    assert answer.code == 70
    assert answer.out == ""
    assert answer.err == (
        f"E599 internal error ({error.__name__}) after the budget was charged   "
        f"hint: running the same release again costs nothing; {REPORT}\n"
    )
    assert "epsilon 1 spent" in cli("plan", "small.toml").out
    assert cli("run", "small.toml").code == 0
    assert "epsilon 1 spent" in cli("plan", "small.toml").out


def test_a_wrong_statement_about_structure_charges_nothing(
    probe: Command, cli: Command, spec: Callable[..., str], folder: Path
) -> None:
    pq.write_table(pa.table({"region": ["north"], "days": [3]}), folder / "small.parquet")
    spec(("small.csv", "small.parquet"))
    broken = "dprelease.sources.shared.arrow_types.read_type", raising(TypeError)
    answer = probe(*broken, "run", "small.toml")
    assert answer.code == 70
    assert answer.err == (
        f"E701 internal error (TypeError); nothing was released   hint: {REPORT}\n"
    )
    assert "epsilon 0 spent" in cli("plan", "small.toml").out


def test_no_thread_to_be_had_after_the_charge_is_no_interruption(
    probe: Command, cli: Command
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    answer = probe("threading.Thread.start", refuse, "run", "small.toml")
    assert (answer.code, answer.out) == (5, "")
    assert answer.err == (
        "E597 the system failed (NoMoreThreads) after the budget was charged   hint: check "
        "memory, disk, open files and threads; running the same release again costs nothing\n"
    )
    assert cli("run", "small.toml").code == 0
    assert "epsilon 1 spent" in cli("plan", "small.toml").out


def test_a_bug_after_noise_was_drawn_uses_the_charge_up(
    probe: Command, cli: Command, folder: Path
) -> None:
    broken = "dprelease.release.run.to_bytes", raising(ValueError)
    answer = probe(*broken, "run", "small.toml")
    assert answer.code == 70
    assert answer.out == ""
    assert answer.err == (
        "E598 internal error (ValueError) after noise was drawn; nothing was released   "
        f"hint: its charge is void, and running again is charged again; {REPORT}\n"
    )
    assert not (folder / "out").exists()
    planned = cli("plan", "small.toml").out
    assert "epsilon 1 spent, 2 after a run" in planned
    answer = cli("run", "small.toml")
    assert answer.code == 0
    assert "epsilon 0.5 of 2.5" in answer.out
    assert "already released" in cli("run", "small.toml").out
    answer = probe(*broken, "run", "--new-noise", "small.toml")
    assert answer.code == 3  # 0.5 is left: refused before anything is drawn
    assert "E301" in answer.err


def test_a_bug_after_the_release_does_not_deny_it(probe: Command, folder: Path) -> None:
    broken = "dprelease.cli.views.run_view.tell_text", raising(KeyError)
    answer = probe(*broken, "run", "small.toml")
    assert answer.code == 5
    assert answer.err.startswith(f"E591 the release is complete in {folder / 'out'}, but")
    assert "internal error (KeyError)" in answer.err
    assert SECRET not in answer.err
    assert (folder / "out" / "report.md").exists()


def test_what_plan_and_bounds_deserve_is_said_by_every_command(
    cli: Command, spec: Callable[..., str], folder: Path
) -> None:
    (folder / "small.csv").write_text("region,days,who\nnorth,3,a\n", encoding="utf-8")
    bounds = "[privacy.bounding]\nmax_rows_per_unit = 3\nmax_groups_per_unit = 9\n\n[ledger]"
    spec(
        ('unit = "row"', 'unit = "column"\nunit_column = "who"'),
        ("[ledger]", bounds),
        ('statistic = "mean"', 'statistic = "min"'),
        ("epsilon = 0.5", "epsilon = 0.01"),
    )
    said = [
        "small.toml:18:23  W212 max_groups_per_unit = 9 can't be reached",
        "small.toml:42:13  W301 in a group of fewer than",
    ]
    for command in (("check",), ("plan",), ("run",)):
        answer = cli(*command, "small.toml")
        assert answer.code == 0
        assert all(each in answer.err for each in said), answer.err
    assert cli("plan", "-q", "small.toml").err == ""
    assert cli("check", "--strict", "small.toml").code == 1
    report = (folder / "out" / "report.md").read_text()
    assert "says nothing of the minimum" in report
    assert "can't be reached" in report
