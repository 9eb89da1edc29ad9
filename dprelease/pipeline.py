"""A release, from spec to published files, on one screen.

Order is the guarantee: plan, certify, look at the structure of the data, charge (durable), only
then read values, add noise, seal, publish. Whatever stops it after the charge can be repeated at
no cost, and a repeated run gives the sealed numbers again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Thread
from typing import TYPE_CHECKING, Any

from dprelease.certify import CertifiedPlan, certify
from dprelease.engines import Engine, get
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.ledger import Ledger, Reservation, State, run_id
from dprelease.ledger.records import Caps
from dprelease.ledger.reservation import guarantee_of
from dprelease.model import ExactTable, NoisyTable, OutputTable, Plan, Release
from dprelease.noise.entropy import Entropy, SystemEntropy, read_bits
from dprelease.planning.planner import make_plan
from dprelease.privatize import prepare, privatize
from dprelease.publication import Publication, assemble, file_names
from dprelease.report.steps import step_detail, step_facts
from dprelease.requests import Job, all_inputs, jobs_of
from dprelease.sealed import Sealed, from_bytes, to_bytes
from dprelease.spec import load
from dprelease.spec.relocation import relocated
from dprelease.versions import versions
from dprelease.writers.publish import check_target, publish

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """What a run published. ``report`` is the dict of report.json."""

    plan: Plan
    report: dict[str, Any]
    output: str
    files: tuple[str, ...]
    already_released: bool
    charged: bool  # by this call: of several that run at once, one is
    released_at: str
    output_tables: tuple[OutputTable, ...]

    def __repr__(self) -> str:
        """Name the release and its tables; all else would fill a screen."""
        tables = ", ".join(table.name for table in self.output_tables)
        return f"<Result of {self.plan.release.about.name}: {tables} in {self.output}>"

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The published tables by name, as pyarrow tables."""
        from dprelease.writers.parquet_table import to_arrow

        return {table.name: to_arrow(table) for table in self.output_tables}


def run(  # noqa: PLR0913 - all but the spec are optional, and named
    spec: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    ledger: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    wait: float = 10.0,
    new_noise: bool = False,
    progress: Progress | None = None,
    entropy: Entropy | None = None,
) -> Result:
    """Release what the spec says, charging the ledger.

    The same spec, dataset, snapshot and period give the same files again at no cost, unless
    ``new_noise``. ``entropy`` is for tests: a real run draws from the operating system.
    Raises Failure with every complaint and an exit code.
    """
    tell = progress or (lambda _step: None)
    release = relocated(spec if isinstance(spec, Release) else load(spec), ledger, output)
    tell("plan")
    certified = certify(make_plan(release))
    check_target(release.output.path, file_names(certified.plan))
    with Ledger.open(release.ledger.path, wait) as book:
        name = _identity(book, release, new_noise)
        engine = get(release.data.engine)
        if name not in _sealed_runs(book):
            tell("check the structure of the data")
            engine.inspect(release.data.source, all_inputs(release))
        tell("charge the budget")
        reservation = _charge(book, certified, name)
        with _charged():
            payload = book.sealed(name) if reservation.state is State.SEALED else None
            if payload is None:
                noisy = _compute(certified, reservation, engine, entropy or SystemEntropy(), tell)
                tell("seal")
                kept = _seal(book, certified.plan, reservation, noisy)
            else:
                kept = from_bytes(certified.plan, payload)
            tell("write")
            return _publish(book, certified.plan, reservation, kept)


@contextmanager
def _charged() -> Iterator[None]:
    """Turn whatever goes wrong after the charge into exit code 5: repeating it is free.

    The exception is named by its class alone: its text could hold a value of the data.
    """
    try:
        yield
    except Failure:
        raise
    except Exception as problem:
        raise Failure(
            ExitCode.AFTER_CHARGE,
            Complaint(
                "E599",
                f"internal error ({type(problem).__name__}) after the budget was charged",
                "this is a bug in dprelease; running the same release again costs nothing",
            ),
        ) from None


def _identity(book: Ledger, release: Release, new_noise: bool) -> str:
    """Find the run this is: the last one sealed, or with ``new_noise`` the next one."""
    sealed_runs = _sealed_runs(book)
    attempt, name = 0, run_id(release, 0)
    last = name
    while name in sealed_runs:
        attempt, last, name = attempt + 1, name, run_id(release, attempt + 1)
    return name if new_noise else last


def _sealed_runs(book: Ledger) -> set[str]:
    return {run.run_id for run in book.entries() if run.seal is not None}


def _charge(book: Ledger, certified: CertifiedPlan, name: str) -> Reservation:
    plan = certified.plan
    release = plan.release
    return book.charge(
        name,
        release.ledger.dataset,
        release.about.name,
        plan.loss,
        Caps(release.ledger.epsilon_cap, release.ledger.delta_cap),
        {
            **guarantee_of(release),
            "method": plan.method,
            "steps": [step_detail(step) for step in plan.steps],
        },
        place=release.place("privacy.epsilon"),
    )


def _compute(
    certified: CertifiedPlan,
    reservation: Reservation,
    engine: Engine,
    entropy: Entropy,
    tell: Progress,
) -> NoisyTable:
    """Read and add noise, table by table. The reservation is the permission to read."""
    values: dict[str, tuple[tuple[int, ...], ...]] = {}
    keys: dict[str, tuple[tuple[str, ...], ...]] = {}
    # what is needed afterwards is imported and tabulated while the engine reads
    failed: list[Exception] = []
    ahead = Thread(target=_prepare, args=(certified.plan, failed), daemon=True)
    ahead.start()
    bounded = certified.plan.release.privacy.bounding is not None
    salt = read_bits(entropy, 63) if bounded else 0
    for job in jobs_of(certified.plan.release, certified.plan.steps, salt):
        tell(f"read the data for {job.steps[0].query.table}")
        exact = _aggregate(reservation, engine, job)
        ahead.join()
        if failed:
            raise failed[0]
        tell(f"add noise to {job.steps[0].query.table}")
        drawn = privatize(exact, job, entropy, keys)
        values |= drawn.values
        keys |= drawn.keys
    return NoisyTable(values, keys)


def _prepare(plan: Plan, failed: list[Exception]) -> None:
    """Make what the plan alone determines of the noise and the files; sees no data.

    Runs in a thread, which would print a traceback: what goes wrong is for the caller to raise.
    """
    try:
        prepare(plan.steps)
        versions()
        for step in plan.steps:
            step_facts(step, plan.release.output.interval)
    except Exception as problem:  # handed on, whatever it is
        failed.append(problem)


def _aggregate(reservation: Reservation, engine: Engine, job: Job) -> ExactTable:
    """Read the private table. Only a charged run gets here."""
    if reservation.state is not State.CHARGED:
        raise ValueError("a run reads data only between its charge and its seal")
    return engine.aggregate(job.request)


def _seal(book: Ledger, plan: Plan, reservation: Reservation, noisy: NoisyTable) -> Sealed:
    """Fix the noisy numbers for good: ours, or those another process has sealed before us."""
    drawn = Sealed(noisy, versions())
    payload = to_bytes(plan, drawn)
    kept = book.seal(reservation, payload)
    return drawn if kept == payload else from_bytes(plan, kept)


def _publish(book: Ledger, plan: Plan, reservation: Reservation, kept: Sealed) -> Result:
    """Write the sealed numbers as files. Nothing here depends on the private data."""
    run = reservation.run
    # The time of the charge, which is before any value was read: the time of the seal would tell
    # how long reading took, and with it something of the data.
    made: Publication = assemble(plan, reservation, kept, run.charged_at)
    book.published(reservation, publish(plan.release.output.path, made.files))
    return Result(
        plan=plan,
        report=made.report,
        output=plan.release.output.path,
        files=tuple(made.files),
        already_released=reservation.state is State.SEALED,
        charged=reservation.fresh,
        released_at=run.charged_at,
        output_tables=made.tables,
    )
