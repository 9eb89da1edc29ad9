"""dprelease: publish statistics of a private table under differential privacy.

``init`` begins a spec, ``load`` reads one, ``check`` lists what is wrong with it, and ``plan``
computes what a release would do and spend without opening any data. ``rehearse`` releases made-up
records, ``run`` releases the data. ``diff`` compares two specs, ``budget`` reads a ledger;
``show``, ``report``, ``combine`` and ``estimate`` read published files; ``explain`` says what a
code means. All but ``check`` raise ``Failure`` with every complaint and an exit code.

Each function imports its dependencies when it is called, so that ``import dprelease`` is quick.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

from dprelease.errors import CodeMeaning, Complaint, ExitCode, Failure, Place

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from dprelease.comparison.compared_specs import Comparison
    from dprelease.kernel.core.entropy import Entropy
    from dprelease.local.estimation.table_estimates import TableEstimates
    from dprelease.model import Release
    from dprelease.release.budget_status import Budget, DatasetBudget
    from dprelease.release.plan import CheckedSpec, ReleasePlan
    from dprelease.release.progress import Stage
    from dprelease.release.published import Combination, ReleasedTable, RenderedReport
    from dprelease.release.result import Result

__all__ = [
    "Budget",
    "CheckedSpec",
    "CodeMeaning",
    "Combination",
    "Comparison",
    "Complaint",
    "DatasetBudget",
    "ExitCode",
    "Failure",
    "Place",
    "Release",
    "ReleasePlan",
    "ReleasedTable",
    "RenderedReport",
    "Result",
    "Stage",
    "TableEstimates",
    "__version__",
    "budget",
    "check",
    "combine",
    "diff",
    "estimate",
    "explain",
    "init",
    "load",
    "plan",
    "rehearse",
    "report",
    "run",
    "show",
]

__version__ = "0.2.0"


# class -> its module
CLASSES = {
    "Budget": "release.budget_status",
    "CheckedSpec": "release.plan",
    "Combination": "release.published",
    "Comparison": "comparison.compared_specs",
    "DatasetBudget": "release.budget_status",
    "Release": "model",
    "ReleasePlan": "release.plan",
    "ReleasedTable": "release.published",
    "RenderedReport": "release.published",
    "Result": "release.result",
    "Stage": "release.progress",
    "TableEstimates": "local.estimation.table_estimates",
}


class _Package(ModuleType):
    """The type of the package itself, which imports a class when it is first asked for.

    And no folder of the package takes the place of a function of its name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(__all__)


def _import(name: str) -> property:
    def get(_package: ModuleType) -> Any:
        from importlib import import_module

        return getattr(import_module(f"dprelease.{CLASSES[name]}"), name)

    return property(get)


for _name in CLASSES:
    setattr(_Package, _name, _import(_name))
sys.modules[__name__].__class__ = _Package


def init(  # noqa: PLR0913 - one parameter for each option of the command
    data: str | os.PathLike[str] | None = None,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    skip_rows: int = 0,
    driver: str | None = None,
    uri_env: str | None = None,
    table: str | None = None,
    codebook: str | os.PathLike[str] | None = None,
    **own: str | None,
) -> str:
    """Begin a spec for a table, with comments that say what to fill in.

    Reads the header of a CSV file or a sheet, the schema of a Parquet or Arrow file, the catalogue
    of a database. Reads no value: bounds, keys and budget are yours to write.

    Args:
        data: Path of a file; None for a table of a database.
        delimiter: Of a CSV file; by default a comma, or a tab for ``.tsv``.
        encoding: Of a CSV file: "utf-8", "latin-1" or "cp1252".
        header: False if the first line of a CSV file is a record; then the file is not opened.
        skip_rows: The number of lines before the header of a CSV file.
        driver: Of a database: "postgresql" or "sqlite".
        uri_env: The environment variable that holds the URI of the database.
        table: The table or view, or its schema and it with a dot between.
        codebook: Path of a public codebook, whose types, bounds, keys and labels are filled in.
        **own: Keys of ``[data]`` that one format alone takes, such as ``sheet``; None: not given.

    Returns:
        The text of the spec.

    Raises:
        Failure: Exit code 2, if names can't be read.
        ValueError: ``delimiter`` or ``encoding`` is not one, ``skip_rows`` is below 0, or neither a
            file nor a table is named, or both.
    """
    from dprelease.scaffold.new_spec import Options
    from dprelease.scaffold.new_spec import init as made

    named = {key: value for key, value in own.items() if value is not None}
    return made(
        data,
        Options(delimiter, encoding, header, skip_rows, driver, uri_env, table, named, codebook),
    )


def load(
    spec: str | os.PathLike[str] | IO[bytes] | Mapping[str, object],
    *,
    period: str | None = None,
    base: str | None = None,
    allow_outside_lists: bool = False,
) -> Release:
    """Read and check a spec completely, before any data is opened.

    Opens neither the data nor the ledger. Reads each keys_file and candidates_file. One that is a
    part of the data, of another period or of the ledger (by names, devices and inodes) is refused
    unread.

    Args:
        spec: Path of a TOML file, an open one (complaints call it ``<stdin>``), or the content as
            a mapping (complaints then have no places).
        period: Text that replaces ``{period}`` in the paths and the snapshot.
        base: Directory where relative paths start; by default that of the file, else the current
            one.
        allow_outside_lists: Also read lists outside of that directory: their lines are published.

    Returns:
        The checked release, for ``plan``, ``rehearse`` and ``run``.

    Raises:
        Failure: Exit code 2, with every complaint in the order of the file.
    """
    from dprelease.specfile import load as made

    return made(spec, period=period, base=base, allow_outside_lists=allow_outside_lists)


def check(
    spec: str | os.PathLike[str] | IO[bytes] | Mapping[str, object],
    *,
    period: str | None = None,
    base: str | None = None,
    allow_outside_lists: bool = False,
) -> CheckedSpec:
    """Check a spec and plan it. Opens no data, and raises no ``Failure``.

    Args:
        spec: As for ``load``.
        period: As for ``load``.
        base: As for ``load``.
        allow_outside_lists: As for ``load``.

    Returns:
        All errors and warnings, each with its place and what to do, and the plan if there is no
        error.
    """
    from dprelease.release.plan import check as made

    return made(spec, period=period, base=base, allow_outside_lists=allow_outside_lists)


def plan(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    ledger: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    allow_outside_lists: bool = False,
) -> ReleasePlan:
    """Plan a release: the noise of every query and the total loss, certified. Opens no data.

    Args:
        spec: A spec as ``load`` takes it, or a loaded release.
        ledger: Path of a ledger in place of the spec's.
        output: Output folder in place of the spec's.
        allow_outside_lists: As for ``load``, if the spec is not loaded yet.

    Returns:
        The plan, with its steps, noise scales, expected errors and total loss.

    Raises:
        Failure: The spec is not sound or no plan is possible; holds every complaint.
    """
    from dprelease.release.plan import plan as made

    return made(spec, ledger=ledger, output=output, allow_outside_lists=allow_outside_lists)


def rehearse(  # noqa: PLR0913 - all but the spec are optional, and named
    spec: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    rows: int = 10_000,
    distribution: str = "uniform",
    output: str | os.PathLike[str] | None = None,
    replace_output: bool = False,
    allow_outside_lists: bool = False,
    watcher: Callable[[Stage], None] | None = None,
) -> Result:
    """Run a release on a made-up table. Opens no data and charges nothing.

    The table holds values that the spec declares in public, never data. The noise is drawn as in
    a run. All files are marked as a rehearsal, and never replace a release.

    Args:
        spec: A spec as ``load`` takes it, or a loaded release.
        rows: Number of made-up records.
        distribution: "uniform", or "skewed" towards the first keys and the lowest values.
        output: Output folder; by default the spec's with ``-rehearsal`` appended.
        replace_output: Replace a rehearsal of another release in that folder.
        allow_outside_lists: As for ``load``, if the spec is not loaded yet.
        watcher: As for ``run``.

    Returns:
        The result, as of a run.

    Raises:
        Failure: With every complaint and an exit code.
        ValueError: ``rows`` or ``distribution`` is not valid.
    """
    from dprelease.release.rehearse import rehearse as made

    return made(
        spec,
        rows=rows,
        distribution=distribution,
        output=output,
        replace_output=replace_output,
        allow_outside_lists=allow_outside_lists,
        watcher=watcher,
    )


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
    """Release the statistics of a spec and charge the ledger.

    The same spec, dataset, snapshot and period give the same files again at no cost, unless
    ``new_noise``.

    Args:
        spec: A spec as ``load`` takes it, or a loaded release. ``load`` takes the period.
        ledger: Path of a ledger in place of the spec's.
        output: Output folder in place of the spec's.
        wait: Seconds to wait for a ledger that another run holds.
        new_noise: Draw new noise for a release that was made already, and charge it again.
        fresh_ledger: Charge a ledger that lacks the charge named by the report in the output
            folder. Without it such a charge is refused.
        replace_output: Write into a folder of another release, or inside of one.
        approved: File with a saved plan. Any other plan is refused; so are another ledger or
            output than that of the plan, and ``new_noise``.
        allow_outside_lists: As for ``load``, if the spec is not loaded yet.
        progress: Called with the name of each step.
        watcher: Called with the ``Stage`` of each step and, while data is read, with the share
            that was read, from any thread. It should be quick; one that raises is not called again.
        data: Table in memory (pyarrow, pandas or polars) for a spec with the format "frame". It is
            charged as a file is.
        spark: Spark session to use, for a spec with that engine.
        entropy: For tests only: a real run draws from the operating system.

    Returns:
        The files that were published, and what was charged.

    Raises:
        Failure: With every complaint and an exit code.
    """
    from dprelease.release.run import run as made

    return made(
        spec,
        ledger=ledger,
        output=output,
        wait=wait,
        new_noise=new_noise,
        fresh_ledger=fresh_ledger,
        replace_output=replace_output,
        approved=approved,
        allow_outside_lists=allow_outside_lists,
        progress=progress,
        watcher=watcher,
        data=data,
        spark=spark,
        entropy=entropy,
    )


def diff(
    old: str | os.PathLike[str] | Mapping[str, Any] | Release,
    new: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    period: str | None = None,
    allow_outside_lists: bool = False,
) -> Comparison:
    """Compare two specs: how a change affects the guarantee. Opens no data.

    Args:
        old: The spec before the change, as ``load`` takes it, or a loaded release.
        new: The spec after the change.
        period: As for ``load``, for specs that are not loaded yet.
        allow_outside_lists: As for ``load``, for specs that are not loaded yet.

    Returns:
        The changes, those that weaken the guarantee first.

    Raises:
        Failure: With every complaint of the first spec that is not sound.
    """
    from dprelease.comparison.compared_specs import diff as made

    return made(old, new, period=period, allow_outside_lists=allow_outside_lists)


def explain(code: str) -> CodeMeaning:
    """Explain the code of an error or a warning.

    Args:
        code: Such as "E201".

    Returns:
        What it means, and what to do.

    Raises:
        ValueError: There is no such code.
    """
    from dprelease.errors import explain_code

    meaning = explain_code(code)
    if meaning is None:
        raise ValueError(f'no code "{code}"')
    return meaning


def budget(  # noqa: PLR0913 - all but the ledger are optional, and named
    ledger: str | os.PathLike[str] | Mapping[str, Any] | Release = "dprelease-ledger.sqlite",
    *,
    dataset: str | None = None,
    by: str | None = None,
    last: int | None = None,
    period: str | None = None,
    witness: str | os.PathLike[str] | None = None,
) -> Budget:
    """Read from a ledger what was spent on each dataset and what is left.

    Args:
        ledger: Path of the ledger; or a spec, for its ledger, dataset and caps.
        dataset: Report this dataset alone.
        by: "year", "period" or "snapshot": also add runs up by it, in ``to_dict()``.
        last: List only the last runs and groups, so many of each.
        period: For a spec: report what is left for a run over this period.
        witness: Path of the ledger's witness, if it is not beside the ledger.

    Returns:
        The budget of each dataset.

    Raises:
        Failure: Exit code 6, if the ledger can't be read.
        ValueError: ``by`` is not valid.
    """
    from dprelease.release.budget_status import budget as made

    return made(ledger, dataset=dataset, by=by, last=last, period=period, witness=witness)


def show(
    directory: str | os.PathLike[str],
    *,
    tables: Sequence[str] = (),
    rows: int | None = None,
) -> dict[str, ReleasedTable]:
    """Read the tables of a published release, as they are in its folder.

    Args:
        directory: The output folder of a run.
        tables: Names of the tables to read; by default all.
        rows: Number of rows to read of each table; by default all.

    Returns:
        The tables by name.

    Raises:
        Failure: Exit code 2, if the folder holds no release or not that table.
    """
    from dprelease.release.published import show as made

    return made(directory, tables=tables, rows=rows)


def report(directory: str | os.PathLike[str], *, format: str = "md") -> RenderedReport:
    """Render the report of a published release again, from its files alone.

    Args:
        directory: The output folder of a run.
        format: One of the formats of ``[report] formats``.

    Returns:
        The report: the same bytes as the run wrote.

    Raises:
        Failure: Exit code 2, if a file is missing or not as it was released.
        ValueError: ``format`` is not valid.
    """
    from dprelease.release.published import report as made

    return made(directory, format=format)


def combine(
    directory: str | os.PathLike[str], expression: str, *, interval: str | Fraction | None = None
) -> Combination:
    """Combine published figures into one, with its noise interval. Spends nothing.

    Args:
        directory: The output folder of a run.
        expression: An expression as of ``dprelease combine``.
        interval: Level of the interval, such as "0.9"; by default that of the report.

    Returns:
        The value and its interval.

    Raises:
        Failure: Exit code 2, if a file is not as it was released, or if the expression can't be
            evaluated or would mislead.
    """
    from dprelease.release.published import combine as made

    return made(directory, expression, interval=interval)


def estimate(
    table: str | os.PathLike[str],
    *,
    crosses: Sequence[str | tuple[str, str]] = (),
    report: str | os.PathLike[str] | None = None,
) -> TableEstimates:
    """Estimate frequencies and means from a published table of perturbed records.

    Args:
        table: Path of the table.
        crosses: Pairs of columns to cross-tabulate; by default those with small cross tables.
        report: Path of the release's report.json; by default the one beside the table.

    Returns:
        Unbiased estimates, each with its noise interval.

    Raises:
        Failure: Exit code 2, if a file is missing or not as it was released.
    """
    from dprelease.local.estimation.table_estimates import estimate as made

    return made(table, crosses=crosses, report=report)
