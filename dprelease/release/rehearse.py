"""A rehearsal: the whole release of a spec on a made-up table. No data is opened, nothing charged.

Everything is as in a run, with the noise that it would have. The table, the ledger and the engine
that reads no other file are of the rehearsal alone, and what is written is marked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from dprelease.engines import get
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.language import say, use_language
from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Release,
    Source,
)
from dprelease.output.released_tables import is_rehearsal
from dprelease.release.made_up_table import DISTRIBUTIONS, make_up_table
from dprelease.release.plan import plan_and_certify
from dprelease.release.progress import Stage, Stages
from dprelease.release.result import REHEARSED, Result
from dprelease.release.run import release_plan
from dprelease.sources.shared.data_failures import Share
from dprelease.specfile import load
from dprelease.specfile.complaints.spec_paths import REVISION, is_same, relocate

ROWS = 10_000
MOST_ROWS = 10_000_000
SUFFIX = "-rehearsal"


class MadeUpEngine:
    """DuckDB over one made-up table; no request can name another file."""

    name = "rehearsal"

    def __init__(self, source: Source) -> None:
        self._source = source
        self._engine = get("duckdb")

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
        """Check names and types of the made-up table."""
        return self._engine.inspect(self._source, _remove_written_forms(inputs))

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """See ``Engine``; reads the made-up table."""
        inputs = _remove_written_forms(request.inputs)
        return self._engine.aggregate(replace(request, source=self._source, inputs=inputs), share)

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """See ``Engine``; reads the made-up table."""
        inputs = _remove_written_forms(request.inputs)
        return self._engine.records(replace(request, source=self._source, inputs=inputs), share)


def _remove_written_forms(inputs: Sequence[InputColumn]) -> tuple[InputColumn, ...]:
    """Remove the formats and zones of columns."""
    # The made-up table has dates, not texts, and its moments are on the clock of their zone.
    return tuple(replace(column, format=None, zone=None) for column in inputs)


def rehearse(  # noqa: PLR0913 - all but the spec are optional, and named
    spec: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    rows: int = ROWS,
    distribution: str = "uniform",
    output: str | os.PathLike[str] | None = None,
    replace_output: bool = False,
    allow_outside_lists: bool = False,
    watcher: Callable[[Stage], None] | None = None,
) -> Result:
    """Do what the package's ``rehearse`` says."""
    from pyarrow import parquet

    if distribution not in DISTRIBUTIONS or not 1 <= rows <= MOST_ROWS:
        raise ValueError(f"rows are 1 to {MOST_ROWS}, distributions {DISTRIBUTIONS}")
    stages = Stages(None, watcher)
    if not isinstance(spec, Release):
        spec = load(spec, allow_outside_lists=allow_outside_lists)
    output_path = os.path.abspath(output or f"{spec.output.path}{SUFFIX}")
    target = output_path.replace(REVISION, "1")  # a scratch ledger holds no other release
    _check_place(spec, target)
    with TemporaryDirectory(prefix="dprelease-rehearsal-") as scratch:
        release = _mark_rehearsal(relocate(spec, os.path.join(scratch, "ledger.sqlite"), target))
        stages.begin("plan")
        certified = plan_and_certify(release)
        path = os.path.join(scratch, "made-up.parquet")
        parquet.write_table(make_up_table(release, rows, distribution), path)
        # The engine names its own source: a request of the release can't lead it to the data.
        engine = MadeUpEngine(Source(path, "parquet"))
        entropy = SystemEntropy()
        result = release_plan(
            certified,
            engine,
            stages,
            wait=0,
            new_noise=False,
            fresh_ledger=True,
            replace_output=replace_output,
            entropy=entropy,
        )
    records = [  # what they were copied from is gone
        replace(table, stored=replace(table.stored, path=os.path.join(target, table.file)))
        for table in result.records
    ]
    return replace(result, records=tuple(records))


def _mark_rehearsal(release: Release) -> Release:
    """Mark titles, tables and files of a release as those of a rehearsal."""
    with use_language(release.report_language):

        def mark_title(title: str) -> str:
            return say("words.rehearsal_of", title=title)

        about = replace(release.about, title=mark_title(release.about.title or release.about.name))
        titles = {name: mark_title(title) for name, title in release.names.tables.items()}
    names = replace(release.names, tables={REHEARSED + name: titles[name] for name in titles})
    queries = [replace(query, table=REHEARSED + query.table) for query in release.queries]
    perturbs = [replace(perturb, name=REHEARSED + perturb.name) for perturb in release.perturbs]
    return replace(
        release,
        about=about,
        names=names,
        queries=tuple(queries),
        perturbs=tuple(perturbs),
        rehearsal=True,
    )


def _check_place(release: Release, target: str) -> None:
    """Raise Failure (exit 2) if the target is for a release, or holds one."""
    problem = None
    if is_same(target, release.output.path):
        problem = "is the output path of the release itself"
    elif is_rehearsal(target) is False:
        problem = "holds a release"
    if problem is not None:
        message = f"a rehearsal can't be written to {target}: it {problem}"
        raise Failure(ExitCode.SPEC, Complaint("E860", message, key="output.path"))
