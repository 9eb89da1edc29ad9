"""One charge, one look: what fails after noise is drawn is used up, what fails otherwise is free.

Exceptions are raised at each stage of a run. A charge that is used up shows in two ways: the second
run is charged again, and with a cap for one run it is refused.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracle.engine import get

import dprelease
from dprelease.errors import Complaint, ExitCode, Failure, InternalError
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.ledger.ledger_messages import build_disk_failure, busy
from dprelease.ledger.single_draw import DrawAborted, NoiseDraw
from dprelease.ledger.store import Ledger, read_account
from dprelease.release.payload import to_bytes
from dprelease.sources.shared.data_failures import build_lost_failure, build_memory_failure

SECRET = "canary-5d20"
Spec = dict[str, Any]
Break = Callable[[pytest.MonkeyPatch, Exception], None]


@pytest.fixture(autouse=True)
def plain_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine without a database: nothing here depends on which one it is."""
    monkeypatch.setattr("dprelease.release.run.get", lambda _name: get("reference"))


class Failing:
    """Bytes of the system, until so many readings have been made."""

    def __init__(self, readings: int, problem: Exception) -> None:
        self.readings, self.problem, self.made = readings, problem, 0

    def read(self, size: int) -> bytes:
        if self.made == self.readings:
            raise self.problem
        self.made += 1
        return SystemEntropy().read(size)


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    """Four requests: public cells, private keys, a choice and a quantile; one run costs 4."""
    table = tmp_path / "t.csv"
    table.write_text("g,k,x\n" + "a,p,1\nb,q,2\nb,q,3\n" * 30)
    return {
        "release": {"name": "r"},
        "data": {"path": str(table)},
        "privacy": {"unit": "row", "adjacency": "add-remove", "delta": 1e-6},
        "ledger": {"path": str(tmp_path / "l.sqlite"), "dataset": "d", "epsilon_cap": 8},
        "columns": {
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "k": {"type": "string"},
            "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        "query": [
            {"name": "n", "statistic": "count", "by": ["g"], "epsilon": 1},
            {
                "name": "s",
                "statistic": "count",
                "by": ["k"],
                "epsilon": 1,
                "partition_selection": {"delta": 1e-6},
            },
            {"name": "m", "statistic": "mode", "column": "g", "epsilon": 1},
            {"name": "q", "statistic": "median", "column": "x", "epsilon": 1},
        ],
        "output": {"path": str(tmp_path / "out")},
    }


def spent(spec: Spec) -> int:
    return int(read_account(spec["ledger"]["path"], "d").spent_loss.epsilon)


def catch_failure(spec: Spec) -> Failure:
    with pytest.raises(Failure) as caught:
        dprelease.run(spec)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown
    assert "During handling" not in shown
    return caught.value


def get_code(failure: Failure) -> str:
    return failure.complaints[0].code


def later(patch: pytest.MonkeyPatch, name: str, problem: Exception, call: int = 1) -> None:
    """Let a function do its work, and raise after it when it is called for the so-manyth time."""
    module, _, attribute = name.rpartition(".")
    honest, calls = getattr(sys.modules[module], attribute), []

    def broken(*given: Any, **named: Any) -> Any:
        made = honest(*given, **named)
        calls.append(1)
        if len(calls) >= call:
            raise problem
        return made

    patch.setattr(sys.modules[module], attribute, broken)


def check_ledger(patch: pytest.MonkeyPatch, problem: Exception) -> None:
    """Raise inside of the transaction that seals."""

    def broken(_payload: bytes) -> bytes:
        raise problem

    patch.setattr("dprelease.ledger.store.compress_payload", broken)


def after_sealing(patch: pytest.MonkeyPatch, problem: Exception) -> None:
    honest = Ledger.seal

    def broken(book: Ledger, *given: Any) -> bytes:
        honest(book, *given)
        raise problem

    patch.setattr(Ledger, "seal", broken)


def stage(name: str, call: int = 1) -> Break:
    return lambda patch, problem: later(patch, name, problem, call)


def reading(number: int) -> Break:
    """Raise where noise asks for random bytes, after so many readings."""

    def broken(patch: pytest.MonkeyPatch, problem: Exception) -> None:
        source = Failing(number, problem)
        patch.setattr("dprelease.release.run.SystemEntropy", lambda: source)

    return broken


BURNING: dict[str, Break] = {
    "after the first bytes": reading(1),
    "after some more bytes": reading(3),
    "while keys are selected": stage(
        "dprelease.kernel.chapters.private_keys.shown_keys.select_keys"
    ),
    "after the first request": stage("dprelease.release.run.privatize"),
    "after the last request": stage("dprelease.release.run.privatize", 4),
    "while bytes are made": stage("dprelease.release.run.to_bytes"),
    "within the ledger": check_ledger,
}

PROBLEMS = [
    ValueError(SECRET),
    OSError(5, SECRET),
    MemoryError(SECRET),
    InternalError("OverflowError"),
    Failure(ExitCode.AFTER_CHARGE, Complaint("E504", SECRET)),
]


# A Failure of the ledger comes from outside: see below.
CASES = [
    (where, problem)
    for where in BURNING
    for problem in PROBLEMS
    if where != "within the ledger" or not isinstance(problem, Failure)
]


@pytest.mark.one_in(17)
@pytest.mark.parametrize(
    ("where", "problem"), CASES, ids=[f"{where}-{type(each).__name__}" for where, each in CASES]
)
def test_what_has_seen_noise_and_fails_is_used_up(
    where: str, problem: Exception, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        BURNING[where](patch, problem)
        failure = catch_failure(spec)
    assert (failure.exit_code, get_code(failure)) == (ExitCode.INTERNAL, "E598")
    kind = problem.kind if isinstance(problem, InternalError) else type(problem).__name__
    assert f"({kind}) after noise was drawn" in str(failure)
    assert "charged again" in str(failure)
    assert spent(spec) == 4
    assert not Path(spec["output"]["path"]).exists()
    capped = {**spec, "ledger": {**spec["ledger"], "epsilon_cap": 4}}
    assert catch_failure(capped).exit_code is ExitCode.BUDGET
    again = dprelease.run(spec)
    assert again.charged
    assert spent(spec) == 8
    assert dprelease.run(spec).already_released


def engine_fails(call: int) -> Break:
    def broken(patch: pytest.MonkeyPatch, problem: Exception) -> None:
        later(patch, "dprelease.release.run.read_aggregates", problem, call)

    return broken


def seal_fails(patch: pytest.MonkeyPatch, problem: Exception) -> None:
    def broken(*_: object) -> bytes:
        raise problem

    patch.setattr(Ledger, "seal", broken)


def full_disk(patch: pytest.MonkeyPatch, _problem: Exception) -> None:
    full = sqlite3.OperationalError(SECRET)
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    check_ledger(patch, full)


def before_a_byte(patch: pytest.MonkeyPatch, problem: Exception) -> None:
    def broken(*_: object) -> None:
        raise problem

    patch.setattr("dprelease.release.run.privatize", broken)


NOTHING = ValueError(SECRET)
LOCKED = busy("l.sqlite", 1)
FULL = build_disk_failure("l.sqlite", charged=True)
AFTER, INTERNAL = ExitCode.AFTER_CHARGE, ExitCode.INTERNAL
FREE: dict[str, tuple[Break, Exception, ExitCode, str]] = {
    "files at the first table": (engine_fails(1), build_lost_failure(), AFTER, "E501"),
    "files at the last table": (engine_fails(4), build_lost_failure(), AFTER, "E501"),
    "memory at the last table": (engine_fails(4), build_memory_failure(), AFTER, "E510"),
    "a bug of the engine at the last table": (
        engine_fails(4),
        InternalError("BinderException"),
        INTERNAL,
        "E599",
    ),
    "what is prepared": (stage("dprelease.release.run.prepare"), NOTHING, INTERNAL, "E599"),
    "before the first byte": (before_a_byte, NOTHING, INTERNAL, "E599"),
    "no memory before the first byte": (before_a_byte, MemoryError(SECRET), AFTER, "E597"),
    "a full disk": (full_disk, NOTHING, AFTER, "E606"),
    "a locked ledger": (seal_fails, LOCKED, ExitCode.LEDGER, "E601"),
    "finishing": (stage("dprelease.release.run.assemble"), NOTHING, INTERNAL, "E599"),
    "no memory for finishing": (
        stage("dprelease.release.run.assemble"),
        MemoryError(SECRET),
        AFTER,
        "E597",
    ),
    "writing": (stage("dprelease.release.run.publish"), FULL, AFTER, "E606"),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("where", FREE)
def test_what_fails_otherwise_is_free_to_repeat(
    where: str, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, problem, exit_code, code = FREE[where]
    with monkeypatch.context() as patch:
        broken(patch, problem)
        failure = catch_failure(spec)
    assert (failure.exit_code, get_code(failure)) == (exit_code, code)
    assert spent(spec) == 4
    capped = {**spec, "ledger": {**spec["ledger"], "epsilon_cap": 4}}
    assert not dprelease.run(capped).charged
    assert spent(spec) == 4


def test_what_fails_after_the_seal_gives_the_same_numbers_again(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = []
    honest = Ledger.seal

    def seal(book: Ledger, made: Any, payload: bytes) -> bytes:
        sealed.append(payload)
        return honest(book, made, payload)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "seal", seal)
        later(patch, "dprelease.release.run.assemble", NOTHING)
        catch_failure(spec)
        assert len(sealed) == 1
        patch.undo()
        patch.setattr("dprelease.release.run.privatize", before_a_byte)  # not called any more
        result = dprelease.run(spec)
    with Ledger.read(spec["ledger"]["path"]) as book:
        assert book.read_sealed(result.report["provenance"]["run_id"]) == sealed[0]


def test_a_seal_that_fails_when_it_is_done_is_done(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        after_sealing(patch, NOTHING)
        assert dprelease.run(spec).charged
    assert dprelease.run(spec).already_released
    assert spent(spec) == 4


@pytest.mark.parametrize(
    "where", ["dprelease.release.run.privatize", "dprelease.release.run.to_bytes"]
)
def test_an_interruption_is_free(where: str, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        later(patch, where, KeyboardInterrupt())  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            dprelease.run(spec)
    assert not dprelease.run(spec).charged
    assert spent(spec) == 4


def test_a_kill_between_draw_and_seal_is_free(spec: Spec) -> None:
    program = (
        "import os, signal, dprelease, dprelease.release.run\n"
        "dprelease.release.run.seal = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"dprelease.run({spec!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert spent(spec) == 4
    assert not dprelease.run(spec).charged
    assert spent(spec) == 4


def test_numbers_that_another_process_has_sealed_are_published_instead(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: list[dprelease.Result] = []

    with monkeypatch.context() as patch:
        honest = to_bytes

        def broken(*given: Any) -> bytes:
            patch.setattr("dprelease.release.run.to_bytes", honest)
            other.append(dprelease.run({**spec, "output": {"path": spec["output"]["path"] + "2"}}))
            raise NOTHING

        patch.setattr("dprelease.release.run.to_bytes", broken)
        result = dprelease.run(spec)
    reports = [result.report, other[0].report]
    plans = {report["provenance"].pop("plan") for report in reports}
    assert {report["privacy_facts"].pop("plan") for report in reports} == plans
    assert len(plans) == 2  # each publishes elsewhere
    assert reports[0] == reports[1]
    assert spent(spec) == 4


@pytest.mark.parametrize("spoilt", [True, False])
def test_a_run_that_another_process_has_burnt_ends_the_same_whether_it_was_spoilt_or_not(
    spoilt: bool, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        honest = to_bytes

        def broken(*_: Any) -> bytes:
            raise NOTHING

        def outer(*given: Any) -> bytes:
            patch.setattr("dprelease.release.run.to_bytes", broken)
            assert get_code(catch_failure(spec)) == "E598"
            if spoilt:
                raise NOTHING
            return honest(*given)

        patch.setattr("dprelease.release.run.to_bytes", outer)
        failure = catch_failure(spec)
    assert (failure.exit_code, get_code(failure)) == (ExitCode.INTERNAL, "E611")
    assert spent(spec) == 4
    assert dprelease.run(spec).charged
    assert spent(spec) == 8


def test_a_run_that_is_burnt_before_it_is_charged_reads_nothing(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may burn it between the choice of the run and its charge."""
    with monkeypatch.context() as patch:
        honest = Ledger.charge

        def charge(book: Ledger, *given: Any, **named: Any) -> Any:
            book.burn(honest(book, *given, **named))
            return honest(book, *given, **named)

        patch.setattr(Ledger, "charge", charge)
        patch.setattr("dprelease.release.run.read_aggregates", before_a_byte)
        assert get_code(catch_failure(spec)) == "E611"


@pytest.mark.parametrize("trouble", [LOCKED, FULL, TypeError(SECRET)])
def test_a_ledger_that_cannot_be_told_is_said_to_know_nothing(
    trouble: Exception, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise trouble

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "burn", broken)
        later(patch, "dprelease.release.run.to_bytes", NOTHING)
        failure = catch_failure(spec)
    assert (failure.exit_code, get_code(failure)) == (ExitCode.INTERNAL, "E596")
    assert "costs nothing" not in str(failure)
    assert "counted once more" in str(failure)


class Zeros:
    """A source that is told apart from the system's."""

    def read(self, size: int) -> bytes:
        return bytes(size)


def test_a_look_begins_with_the_first_byte() -> None:
    draw = NoiseDraw(Zeros())
    with pytest.raises(ValueError, match=SECRET), draw.guard():
        raise ValueError(SECRET)
    assert draw.read(3) == b"\0\0\0"
    with pytest.raises(DrawAborted, match="ValueError") as caught, draw.guard(Failure):
        raise ValueError(SECRET)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(Failure), draw.guard(Failure):
        raise LOCKED


def test_a_source_that_gives_nothing_takes_no_look() -> None:
    class Dry:
        def read(self, size: int) -> bytes:
            raise OSError(SECRET)

    draw = NoiseDraw(Dry())
    with pytest.raises(OSError, match=SECRET), draw.guard():
        draw.read(1)
    assert not draw.taken
