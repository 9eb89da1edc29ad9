"""Release of record-level tables: perturb, count, shuffle, write, store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from dprelease.errors import Failure
from dprelease.files.atomic import open_new_file
from dprelease.files.prefetch import read_ahead
from dprelease.files.system import sync_directory
from dprelease.kernel.chapters.record_tables.record_draws import perturb, prepare
from dprelease.kernel.core.engine_requests import record_request
from dprelease.kernel.core.entropy import read_bits
from dprelease.ledger.single_draw import NoiseDraw
from dprelease.local.store.answer_cells import describe_table
from dprelease.local.store.read_table import read_columns
from dprelease.local.store.shuffle import Shuffler
from dprelease.local.store.table_store import (
    Unsealed,
    find_whole_table,
    get_directory,
    remove_run_leftovers,
    set_path,
)
from dprelease.local.store.tally import Tallier, choose_pairs
from dprelease.local.store.write_table import write_records
from dprelease.model import (
    ExactRecords,
    Law,
    Plan,
    RecordRequest,
    RecordStep,
    Release,
    StoredTable,
    SubsetLaw,
    Tally,
    WindowLaw,
)
from dprelease.output.staging import copy_file, remove_leftovers, stage
from dprelease.output.table_files import name_table_file

if TYPE_CHECKING:
    import numpy.typing as npt

    Columns = tuple[npt.NDArray[Any], ...]

PREFIX = ".dprelease-records-"
_BYTE = 256


def record_all(  # noqa: PLR0913, PLR0917 - all that a run has
    plan: Plan,
    run_id: str,
    read: Callable[[RecordRequest], ExactRecords],
    draw: NoiseDraw,
    unsealed: Unsealed,
    tell: Callable[[str], None],
) -> dict[str, StoredTable]:
    """Draw the record-level tables of a plan one by one.

    Args:
        plan: The plan of a charged run.
        run_id: Identity of the run.
        read: Asks the engine for records.
        draw: The one draw of noise.
        unsealed: Keeps the tables until the run is sealed.
        tell: Is told of each step.

    Returns:
        The stored tables by name.

    Raises:
        DrawAborted: Code that has seen noise failed.
        Failure: The data can't be read; this does not void the charge.
        OSError: The disk refuses; this does not void the charge.
    """
    for step in plan.records:  # what fails here fails before there is a draw
        prepare(step)
    release = plan.release
    bounded = release.privacy.bounding is not None
    salt = read_bits(draw.entropy, 63) if bounded else 0  # no noise: it says nothing of the data
    tables = {}
    for step in plan.records:
        tell(f"perturb the records for {step.perturb.name}")
        exact = read(record_request(release, step, salt))
        # A full disk and files that can't be read come from outside: they don't void the charge.
        with draw.guard(OSError, Failure):
            tables[step.perturb.name] = record(step, exact, draw, unsealed, release, run_id)
    return tables


def record(  # noqa: PLR0913, PLR0917 - as above
    step: RecordStep,
    exact: ExactRecords,
    draw: NoiseDraw,
    unsealed: Unsealed,
    release: Release,
    run_id: str,
) -> StoredTable:
    """Draw a record-level table and keep it beside the ledger, durably, under its digest.

    Memory does not depend on the number of records.

    Args:
        step: The record-level table of the plan.
        exact: The codes of all records.
        draw: The one draw of noise.
        unsealed: Keeps the table until the run is sealed.
        release: The checked spec.
        run_id: Identity of the run.

    Raises:
        OSError: The disk refuses; nothing is kept.
        Failure: The data can't be read; nothing is kept.
    """
    directory, form = get_directory(release.ledger.path), release.output.format
    shuffler = Shuffler(draw, directory)
    tallier = Tallier(step, choose_pairs(step))
    for columns in read_ahead(perturb(exact, step, draw)):
        tallier.add(columns)
        shuffler.add(narrow(columns, step))
    remove_leftovers(directory, PREFIX)
    with stage(directory, PREFIX) as staging:
        path = os.path.join(staging.content, "table")
        with open_new_file(path) as sink:
            write_records(
                sink, step, describe_table(step, release.about), read_ahead(shuffler.drain()), form
            )
        stored = _measure_table(path, form, tallier.tally())
        stored = set_path(release.ledger.path, run_id, stored)
        unsealed.keep(path, stored.path)
        sync_directory(directory)
        return stored


def narrow(columns: Columns, step: RecordStep) -> Columns:
    """Store the codes of a column in one byte each if its law has at most 256 answers.

    Args:
        columns: Codes of perturbed records, one array for each column.
        step: Has the law of each column.
    """
    return tuple(
        column.astype(np.uint8) if _is_byte_sized(response.law) else column
        for column, response in zip(columns, step.responses, strict=True)
    )


def _is_byte_sized(law: Law) -> bool:
    if isinstance(law, SubsetLaw):
        return law.labels <= _BYTE
    if isinstance(law, WindowLaw):
        return law.first.levels + (law.second.levels if law.second else 0) <= _BYTE
    return False


def _measure_table(path: str, form: str, tally: Tally) -> StoredTable:
    with open(path, "rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    return StoredTable("", form, digest, os.path.getsize(path), tally)


def locate_tables(
    plan: Plan, sealed: Mapping[str, StoredTable], run_id: str
) -> dict[str, StoredTable]:
    """Find the stored tables of a sealed run, and convert them to the format asked for now.

    Args:
        plan: The plan of the run.
        sealed: The tables that were sealed, by name.
        run_id: Identity of the run.

    Returns:
        The tables with their paths, by name.

    Raises:
        Failure: A table is gone.
    """
    release, ledger = plan.release, plan.release.ledger.path
    # Killed processes, and those that lost the race to the seal, leave files behind.
    kept = {name: set_path(ledger, run_id, table) for name, table in sealed.items()}
    remove_run_leftovers(ledger, run_id, kept.values())
    return _convert_tables(plan, kept, release.output.format)


def _convert_tables(
    plan: Plan, sealed: Mapping[str, StoredTable], form: str
) -> dict[str, StoredTable]:
    release = plan.release
    tables = {}
    for step in plan.records:
        name = step.perturb.name
        published = os.path.join(release.output.path, name_table_file(name, sealed[name].format))
        stored = find_whole_table(sealed[name], published)
        if stored.path == published:
            stored = _restore_table(stored, sealed[name], release)
        tables[name] = (
            stored if stored.format == form else _convert_table(step, stored, release, form)
        )
    return tables


def _restore_table(stored: StoredTable, missing: StoredTable, release: Release) -> StoredTable:
    """Copy a published table back to where it was kept."""
    # The published table may be removed later, or be in another format.
    directory = get_directory(release.ledger.path)
    with stage(directory, PREFIX) as staging:
        path = os.path.join(staging.content, "table")
        copy_file(stored, path, 0o600)
        os.replace(path, missing.path)
    sync_directory(directory)
    return missing


def _convert_table(
    step: RecordStep, stored: StoredTable, release: Release, form: str
) -> StoredTable:
    """Write the same rows in the other format, beside the sealed ones."""
    directory = get_directory(release.ledger.path)
    path = f"{stored.path}.{form}"
    with stage(directory, PREFIX) as staging:
        new_path = os.path.join(staging.content, "table")
        with open(stored.path, "rb") as source, open_new_file(new_path) as sink:
            rows = read_columns(source, stored.path, stored.format, step)
            write_records(sink, step, describe_table(step, release.about), rows, form)
        converted = _measure_table(new_path, form, stored.tally)
        os.replace(new_path, path)
    return replace(converted, path=path)
