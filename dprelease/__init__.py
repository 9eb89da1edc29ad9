"""dprelease: publish statistics of a private table under differential privacy.

``load`` reads a spec, ``plan`` says what a release would do and spend without opening any data,
``rehearse`` releases made-up records, ``run`` the data. ``diff`` compares two specs, ``budget``
reads a ledger; ``show``, ``report``, ``combine`` and ``estimate`` read what was published. All
raise ``Failure`` with every complaint and an exit code.

What each needs is imported when it is called: start-up stays quick.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

from dprelease.errors import Complaint, ExitCode, Failure, Place

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from dprelease.comparison.compared_specs import Comparison
    from dprelease.kernel.noise.entropy import Entropy
    from dprelease.model import Release
    from dprelease.release.budget_status import Budget, DatasetBudget
    from dprelease.release.plan import ReleasePlan
    from dprelease.release.progress import Stage
    from dprelease.release.published import Combination, ReleasedTable, RenderedReport
    from dprelease.release.result import Result
    from dprelease.release.table_estimates import TableEstimates

__all__ = [
    "Budget",
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
    "combine",
    "diff",
    "estimate",
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
    "Combination": "release.published",
    "Comparison": "comparison.compared_specs",
    "DatasetBudget": "release.budget_status",
    "Release": "model",
    "ReleasePlan": "release.plan",
    "ReleasedTable": "release.published",
    "RenderedReport": "release.published",
    "Result": "release.result",
    "Stage": "release.progress",
    "TableEstimates": "release.table_estimates",
}


class _Package(ModuleType):
    """The type of the package itself, which imports a class when it is first asked for.

    And no folder of the package takes the place of a function of its name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


def _import(name: str) -> property:
    def get(_package: ModuleType) -> Any:
        from importlib import import_module

        return getattr(import_module(f"dprelease.{CLASSES[name]}"), name)

    return property(get)


for _name in CLASSES:
    setattr(_Package, _name, _import(_name))
sys.modules[__name__].__class__ = _Package


def load(
    spec: str | os.PathLike[str] | IO[bytes] | Mapping[str, object],
    *,
    period: str | None = None,
    base: str | None = None,
    allow_outside_lists: bool = False,
) -> Release:
    """Read and check a spec completely, before any data is opened.

    ``spec`` is the path of a TOML file, an open one (in complaints it is ``<stdin>``), or the
    content as a mapping (then complaints have no places). ``period`` fills ``{period}`` in the
    paths and the snapshot. Relative paths start at ``base``; by default at the directory of the
    file, else at the current directory.
    Neither the data nor the ledger is opened. Each keys_file and candidates_file is read.
    A list is refused unread if it is a part of the data, another period or the ledger (told by
    names, devices and inodes). So is one outside of that directory, unless
    ``allow_outside_lists``.

    Raises ``Failure`` with exit code 2 and every complaint, in the order of the file.
    """
    from dprelease.specfile import load as made

    return made(spec, period=period, base=base, allow_outside_lists=allow_outside_lists)


def plan(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    ledger: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    allow_outside_lists: bool = False,
) -> ReleasePlan:
    """Plan a release: every query's noise and the loss of all, certified. Opens no data.

    ``ledger`` and ``output`` are other places than the spec's, as ``run`` takes them.
    ``allow_outside_lists`` is for ``load``, if the spec is not loaded yet.
    Raises Failure with every complaint.
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
    """Run a release on a made-up table of so many ``rows``: no data is opened, nothing charged.

    The table has the values that the spec declares in public, by a ``distribution``: "uniform", or
    "skewed" to the first keys and the lowest values. The noise is drawn as in a run. What is
    written is marked as a rehearsal, to ``output`` or beside the spec's with ``-rehearsal`` at its
    end: never where the spec's release goes, nor where a release is. Where a rehearsal of another
    release is, it is only written with ``replace_output``.
    ``allow_outside_lists`` is for ``load``, if the spec is not loaded yet. ``watcher`` is that of
    ``run``.
    Raises Failure with every complaint and an exit code; ValueError for other rows or
    distributions.
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
    """Release what the spec says, charging the ledger.

    ``ledger`` and ``output`` are other places than the spec's. ``wait`` is in seconds, for a ledger
    that another run holds. ``progress`` is called with the name of each step. ``watcher`` is called
    with the ``Stage`` of each, and while data is read with the share that was, from any thread; it
    should be quick, and one that raises is not called again. A period is given to ``load``.
    The same spec, dataset, snapshot and period give the same files again at no cost, unless
    ``new_noise``. A charge is refused where the report in the output folder names a charge that
    the ledger does not hold, unless ``fresh_ledger``. A folder of another release, or inside of
    one, is refused, unless ``replace_output``. ``approved`` is a file with a saved plan: any
    other than that is refused, also another ledger or output, and ``new_noise``.
    ``allow_outside_lists`` is for ``load``, if the spec is not loaded yet. ``data`` is a table in
    memory, of pyarrow, pandas or polars, for a spec whose ``[data]`` has the format "frame". It is
    charged as a file is. ``spark`` is a session of Spark, in place of the machine's, for a spec
    with that engine. ``entropy`` is for tests: a real run draws from the operating system.
    Raises Failure with every complaint and an exit code.
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
    """Compare two specs: what a change of one does to the guarantee. Opens no data.

    ``period`` and ``allow_outside_lists`` are for ``load``, if they are not loaded yet.
    Raises Failure with every complaint of the first that is not sound.
    """
    from dprelease.comparison.compared_specs import diff as made

    return made(old, new, period=period, allow_outside_lists=allow_outside_lists)


def budget(  # noqa: PLR0913 - all but the ledger are optional, and named
    ledger: str | os.PathLike[str] | Mapping[str, Any] | Release = "dprelease-ledger.sqlite",
    *,
    dataset: str | None = None,
    by: str | None = None,
    last: int | None = None,
    period: str | None = None,
    witness: str | os.PathLike[str] | None = None,
) -> Budget:
    """Tell what was spent on each dataset of a ledger, and what is left.

    ``ledger`` is its path; or a spec, for the spec's ledger, dataset and caps. ``dataset`` is the
    only one that is told of. ``by``, one of "year", "period" and "snapshot", adds runs up in
    groups besides, in ``to_dict()``. ``last`` leaves out all but so many runs and groups. With a
    ``period``, what is left is that of a run of the spec's over it.
    ``witness`` is where the ledger's witness is, if not beside it.
    Raises Failure (exit code 6) where the ledger can't be read; ValueError for another ``by``.
    """
    from dprelease.release.budget_status import budget as made

    return made(ledger, dataset=dataset, by=by, last=last, period=period, witness=witness)


def show(
    directory: str | os.PathLike[str],
    *,
    tables: Sequence[str] = (),
    rows: int | None = None,
) -> dict[str, ReleasedTable]:
    """Give the tables of a published release by name, as they are in its folder.

    All of them, or those that ``tables`` names; the first ``rows`` of each, or all.
    Raises Failure (exit code 2) where the folder holds no release, or a table is not there.
    """
    from dprelease.release.published import show as made

    return made(directory, tables=tables, rows=rows)


def report(directory: str | os.PathLike[str], *, format: str = "md") -> RenderedReport:
    """Render the report of a published release again, from its files alone, in any format.

    The formats are those of ``[report] formats``. It is the same bytes that the run wrote.
    Raises Failure (exit code 2) where a file is missing or not as it was released; ValueError for
    another format.
    """
    from dprelease.release.published import report as made

    return made(directory, format=format)


def combine(
    directory: str | os.PathLike[str], expression: str, *, interval: str | Fraction | None = None
) -> Combination:
    """Combine published figures to one, with the right noise interval.

    The ``expression`` is that of ``dprelease combine``. ``interval`` is the level of the interval,
    such as "0.9"; by default the report's.
    Raises Failure (exit code 2) where a file is not as it was released, or the expression can't be
    evaluated, or would mislead.
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

    ``crosses`` are pairs of columns whose cross tables are wanted; by default those of small ones.
    ``report`` is the release's report.json; by default the one beside the table.
    Raises Failure (exit code 2) where a file is missing or not as it was released.
    """
    from dprelease.release.table_estimates import estimate as made

    return made(table, crosses=crosses, report=report)
