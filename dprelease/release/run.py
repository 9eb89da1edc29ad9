"""Pipeline of a release, from spec to published files, on one screen.

Order is the guarantee: plan, certify, look at the structure of the data, charge (durable), only
then read values, add noise, seal, publish. What stops it from outside after the charge can be
repeated at no cost, and a repeated run gives the sealed numbers again. ``single_draw`` says what
happens if it fails by itself while noise is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dprelease.engines import get, keep_parsed, open_for_table, open_in_session
from dprelease.engines.engine_interface import Engine
from dprelease.errors import REPORT, SYSTEM, Complaint, ExitCode, Failure, name_kind
from dprelease.kernel.core.certify import CertifiedPlan
from dprelease.kernel.core.engine_requests import Job, build_jobs, list_all_inputs
from dprelease.kernel.core.entropy import Entropy, SystemEntropy, read_bits
from dprelease.kernel.privatization import prepare, privatize
from dprelease.ledger.entries import Run, State
from dprelease.ledger.guarantee import describe_guarantee
from dprelease.ledger.ledger_messages import used_up, warn_about_new_dataset
from dprelease.ledger.published_charge import check_output_charge
from dprelease.ledger.reservation import (
    Reservation,
    build_terms,
    count_revision,
    find_current_run,
    read_stated_caps,
)
from dprelease.ledger.single_draw import DrawAborted, NoiseDraw, void_charge
from dprelease.ledger.store import Ledger
from dprelease.local.store.table_store import Unsealed, clear, make_directory
from dprelease.model import ExactTable, NoisyTable, Plan, Release, StoredTable
from dprelease.model.plan_json import build_charge_json
from dprelease.output.publish import check_not_anothers, check_target, publish
from dprelease.release.bundle import Publication, assemble, list_file_names
from dprelease.release.needed_modules import load_modules
from dprelease.release.payload import Sealed, from_bytes, is_of, list_versions, to_bytes
from dprelease.release.plan import build_release_plan, plan_and_certify, plan_as_charged
from dprelease.release.progress import Stage, Stages
from dprelease.release.result import Result
from dprelease.release.saved_plan import check_approved, check_decision
from dprelease.reports import report_formats
from dprelease.reports.facts.release_facts import HeldTo
from dprelease.specfile import load
from dprelease.specfile.complaints.spec_paths import fill_revision, relocate

if TYPE_CHECKING:
    from dprelease.reports.facts.change_facts import PreviousRelease


class ChargedRun(Struct, frozen=True):
    """A run that is paid for; its reservation is the permission to read the private table."""

    book: Ledger
    plan: Plan
    reservation: Reservation
    engine: Engine
    stages: Stages
    previous: PreviousRelease | None = None
    replace_output: bool = False
    held: HeldTo | None = None

    def check_open(self) -> None:
        """Raise ValueError unless the run is charged, and neither sealed nor burnt."""
        if self.reservation.state is not State.CHARGED:
            raise ValueError("a run reads data only between its charge and its seal")


def run(  # noqa: PLR0913 - all but the spec are optional, and named
    spec: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    ledger: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    wait: float = 10.0,
    new_noise: bool = False,
    fresh_ledger: bool = False,
    replace_output: bool = False,
    approved: str | os.PathLike[str] | None = None,
    allow_outside_lists: bool = False,
    progress: Callable[[str], None] | None = None,
    watcher: Callable[[Stage], None] | None = None,
    data: object = None,
    spark: object = None,
    entropy: Entropy | None = None,
) -> Result:
    """Do what the package's ``run`` says."""
    stages = Stages(progress, watcher)
    if not isinstance(spec, Release):
        spec = load(spec, allow_outside_lists=allow_outside_lists)
    release = relocate(spec, ledger, output)
    stages.begin("plan")
    certified = plan_and_certify(release)
    held = None
    if approved is not None:
        held = HeldTo(check_approved(certified.plan, os.fspath(approved), new_noise=new_noise))
    check_decision(release)
    name = release.data.engine
    if data is not None:
        engine = open_for_table(name, release.data.source.format, data)
    else:
        engine = get(name) if spark is None else open_in_session(name, spark)
    entropy = entropy or SystemEntropy()
    return release_plan(
        certified,
        engine,
        stages,
        wait=wait,
        new_noise=new_noise,
        fresh_ledger=fresh_ledger,
        replace_output=replace_output,
        entropy=entropy,
        held=held,
    )


@keep_parsed()
def release_plan(  # noqa: PLR0913 - what a run needs besides its plan
    certified: CertifiedPlan,
    engine: Engine,
    stages: Stages,
    *,
    wait: float,
    new_noise: bool,
    fresh_ledger: bool = False,
    replace_output: bool = False,
    entropy: Entropy,
    held: HeldTo | None = None,
) -> Result:
    """Release a certified plan: charge, read, add noise, seal, publish.

    Args:
        certified: The plan, with the loss confirmed.
        engine: Reads the data.
        stages: Reports progress.
        wait: Seconds to wait for other processes at the ledger.
        new_noise: Draw and charge again instead of publishing sealed numbers.
        fresh_ledger: Accept a ledger without the charge of the report in the output folder.
        replace_output: Replace the files of another release.
        entropy: Source of random bytes.
        held: The saved plan that the run is held to.

    Raises:
        Failure: It has every complaint and an exit code.
    """
    release = certified.plan.release
    check_target(release.output.path, list_file_names(certified.plan))
    report_formats.require(release.report_formats)
    list_versions()  # an installation that can't say them is found out before the charge
    load_modules(certified.plan)
    previous = _find_previous(release)
    # Record-level tables are kept beside the ledger; a folder that can't be made stops the run.
    if certified.plan.records:
        make_directory(release.ledger.path)
    with Ledger.open(release.ledger.path, wait, release.ledger.witness) as book:
        runs = {run.run_id: run for run in book.list_runs()}
        warnings = warn_about_new_dataset(book.read_account(release.ledger.dataset))
        name = find_current_run(release, runs, new_noise=new_noise)
        target = _choose_target(certified.plan, runs.values(), name, replace_output=replace_output)
        if previous is not None:
            # Imported here for start-up: most specs name none.
            from dprelease.reports.previous import check_other_run

            check_other_run(release, previous, name)
        sealed_before = name in runs and runs[name].seal is not None
        # A run that was charged keeps its plan, even if this version would plan otherwise.
        if name in runs:
            is_drawn = partial(is_of, payload=book.read_sealed(name))
            loss = runs[name].loss
            certified = plan_as_charged(certified, loss, is_drawn, is_sealed=sealed_before)
        elif not fresh_ledger:
            check_output_charge(target, release.ledger.path, runs.values())
        stages.expect(_count_steps(certified.plan, sealed=sealed_before))
        if not sealed_before:
            stages.begin("check the structure of the data")
            warnings += inspect(engine, release)
        stages.begin("charge the budget")
        reservation = _charge(book, certified, name)
        with _guard_charged():
            payload = book.read_sealed(name) if reservation.state is State.SEALED else None
            # Only now, as another process may have charged a revision in between.
            revision = count_revision(release, book.list_runs(), name)
            plan = replace(certified.plan, release=fill_revision(release, revision))
            charged = ChargedRun(
                book, plan, reservation, engine, stages, previous, replace_output, held
            )
            sealed = draw_once(charged, entropy) if payload is None else from_bytes(plan, payload)
            stages.begin("write")
            return replace(_publish(charged, sealed), warnings=warnings)


def _choose_target(plan: Plan, runs: Iterable[Run], name: str, *, replace_output: bool) -> str:
    """Choose the output folder of the run.

    Refuse a folder of another release unless ``replace_output``.
    """
    release = plan.release
    placed = fill_revision(release, count_revision(release, runs, name))
    target = placed.output.path
    # The path of the spec was checked before; with {revision} in it the folder is known only now.
    if target != release.output.path:
        check_target(target, list_file_names(plan))
    if not replace_output:
        check_place(placed)
    return target


def check_place(release: Release) -> None:
    """Refuse (exit 2) an output folder that holds another release."""
    try:
        check_not_anothers(release)
    except Failure as failure:
        raise release.place_failure(failure) from None


def _find_previous(release: Release) -> PreviousRelease | None:
    """Read and verify the last release, if the spec names one."""
    if release.about.previous is None:
        return None
    # Imported here for start-up: most specs name none.
    from dprelease.reports.previous import read_previous_release

    return read_previous_release(release, release.about.previous)


def _count_steps(plan: Plan, *, sealed: bool) -> int:
    """Count the steps of a run of the plan."""
    if sealed:  # reads and draws nothing more
        return len(("plan", "charge", "write"))
    readings = len(build_jobs(plan.release, plan.steps))
    return len(("plan", "check", "charge", "seal", "write")) + 2 * readings + len(plan.records)


def inspect(engine: Engine, release: Release) -> tuple[Complaint, ...]:
    """Check the structure of the data.

    Args:
        engine: Reads names and types.
        release: The checked spec.

    Returns:
        Warnings, with the place of the key in the spec.

    Raises:
        Failure: Exit code 4; complaints have the place of the key in the spec.
    """
    try:
        warnings = engine.inspect(release.data.source, list_all_inputs(release))
        return tuple(warning._replace(place=release.place(warning.key)) for warning in warnings)
    except Failure as failure:
        raise release.place_failure(failure) from None


@contextmanager
def _guard_charged() -> Iterator[None]:
    """Turn whatever fails after the charge into a Failure."""
    # The exception is named by its class alone: its text could hold a value of the data.
    try:
        yield
    except Failure:
        raise
    except (MemoryError, OSError, ImportError) as problem:  # a module is a file, too
        raise Failure(
            ExitCode.AFTER_CHARGE,
            Complaint(
                "E597",
                f"the system failed ({name_kind(problem)}) after the budget was charged",
                f"{SYSTEM}; running the same release again costs nothing",
            ),
        ) from None
    except Exception as problem:
        raise Failure(
            ExitCode.INTERNAL,
            Complaint(
                "E599",
                f"internal error ({name_kind(problem)}) after the budget was charged",
                f"running the same release again costs nothing; {REPORT}",
            ),
        ) from None


def _charge(book: Ledger, certified: CertifiedPlan, name: str) -> Reservation:
    plan = certified.plan
    release = plan.release
    terms, snapshot = build_terms(plan), release.data.snapshot
    of_data = {} if snapshot is None else {"snapshot": snapshot}
    try:
        return book.charge(
            name,
            release.ledger.dataset,
            release.about.name,
            plan.loss,
            read_stated_caps(release.ledger),
            {**describe_guarantee(release), **of_data, **build_charge_json(plan)},
            parts=terms.parts,
            period=terms.period,
            disjoint=terms.disjoint,
            data=terms.data,
            place=release.place("privacy.epsilon"),
        )
    except Failure as failure:
        raise release.place_failure(failure) from None


def draw_once(run: ChargedRun, entropy: Entropy) -> Sealed:
    """Read the data, add noise and seal: one draw for one charge, even if it fails.

    Args:
        run: A run that is charged and not sealed.
        entropy: Source of random bytes.

    Returns:
        The sealed integers: this draw's, or those that another process sealed first.

    Raises:
        Failure: Exit code 70 if the charge is void, by this process or another one; other codes for
            failures that leave the charge in force.
    """
    if run.reservation.state is not State.CHARGED:
        raise used_up(run.reservation.run.release)
    draw = NoiseDraw(entropy)
    try:
        with Unsealed() as unsealed:
            noisy = _release_queries(run, draw)
            tables = release_records(run, draw, unsealed)
            sealed = Sealed(noisy, list_versions(), tables)
            run.stages.begin("seal")
            unsealed.settle()
            return seal(run, sealed, draw)
    except DrawAborted as aborted:
        kind, advice = aborted.kind, aborted.advice
    return from_bytes(run.plan, void_charge(run.book, run.reservation, kind, advice))


def _release_queries(run: ChargedRun, draw: NoiseDraw) -> NoisyTable:
    """Read the data and add noise, job by job."""
    values: dict[str, tuple[tuple[int, ...], ...]] = {}
    keys: dict[str, tuple[tuple[str, ...], ...]] = {}
    # What the plan alone determines is made first: if it fails, no noise was drawn yet.
    prepare(run.plan.steps)
    report_formats.prepare(run.plan.release.report_formats)
    release = run.plan.release
    bounded = release.privacy.bounding is not None
    salt = read_bits(draw.entropy, 63) if bounded else 0  # no noise: it says nothing of the data
    for job in build_jobs(release, run.plan.steps, salt):
        first, *others = dict.fromkeys(step.query.table for step in job.steps)
        tables = f"{first} and {len(others)} more" if others else first
        run.stages.begin(f"read the data for {tables}")
        exact = read_aggregates(run, job)
        run.stages.begin(f"add noise to {tables}")
        with draw.guard():
            noisy = privatize(exact, job, draw, keys)
            values |= noisy.values
            keys |= noisy.keys
    return NoisyTable(values, keys)


def read_aggregates(run: ChargedRun, job: Job) -> ExactTable:
    """Read the private table for one job; raises ValueError unless the run is charged."""
    run.check_open()
    return run.engine.aggregate(job.request, run.stages.share)


def release_records(
    run: ChargedRun, draw: NoiseDraw, unsealed: Unsealed
) -> Mapping[str, StoredTable]:
    """Perturb the records and keep them beside the ledger.

    Args:
        run: A charged run.
        draw: The one draw of noise.
        unsealed: Keeps the tables until the run is sealed.

    Returns:
        The stored tables by name.

    Raises:
        ValueError: The plan has record-level tables and the run is not charged.
    """
    plan, name = run.plan, run.reservation.run_id
    if not plan.records:
        return {}
    run.check_open()
    # Imported here for start-up: most releases have no table of records.
    from dprelease.local.record_release import record_all

    clear(plan.release.ledger.path, name, lambda: run.book.read_sealed(name) is not None)
    read = partial(run.engine.records, share=run.stages.share)
    return record_all(plan, name, read, draw, unsealed, run.stages.begin)


def seal(run: ChargedRun, sealed: Sealed, draw: NoiseDraw) -> Sealed:
    """Fix the noisy numbers for good.

    Args:
        run: A charged run.
        sealed: The numbers of this draw.
        draw: The one draw of noise.

    Returns:
        The numbers to publish: these, or those that another process sealed first.
    """
    with draw.guard():
        payload = to_bytes(run.plan, sealed)
    with draw.guard(Failure):  # the disk, or another process
        first_sealed = run.book.seal(run.reservation, payload)
    return sealed if first_sealed == payload else from_bytes(run.plan, first_sealed)


def _publish(run: ChargedRun, sealed: Sealed) -> Result:
    """Write the sealed numbers as files. Nothing here depends on the private data."""
    plan, reservation = run.plan, run.reservation
    if plan.records:
        from dprelease.local.record_release import locate_tables

        located = locate_tables(plan, sealed.records, reservation.run_id)
        sealed = replace(sealed, records=located)
    # The time of the charge, which is before any value was read: the time of the seal would tell
    # how long reading took, and with it something of the data.
    released_at = reservation.run.charged_at
    runs = run.book.list_runs()
    publication: Publication = assemble(
        plan, reservation, sealed, released_at, runs, run.previous, run.held
    )
    digests = publish(
        plan.release.output.path,
        publication.files,
        replace_other=run.replace_output,
        charged=not plan.release.rehearsal,
    )
    run.book.record_published(reservation, digests)
    return Result(
        plan=build_release_plan(plan),
        report=publication.report,
        output=plan.release.output.path,
        files=tuple(publication.files),
        already_released=reservation.state is State.SEALED,
        charged=reservation.fresh,
        released_at=released_at,
        output_tables=publication.tables,
        records=publication.records,
    )
