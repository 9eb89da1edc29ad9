"""A run in two releases: first how the fields of the data read, then the rest if they read well.

Both are releases of their own, each with its charge, its seal and its files. Whether the second is
made is decided by published noisy figures of the first alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from msgspec.structs import replace

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.ledger.ledger_messages import QUALITY
from dprelease.ledger.reservation import (
    build_terms,
    derive_caps,
    find_current_run,
    read_stated_caps,
)
from dprelease.ledger.store import read_account
from dprelease.ledger.totals import sum_spent_rho
from dprelease.model import Column, OutputTable, Query, Release
from dprelease.release.plan import plan_and_certify
from dprelease.release.progress import Stage
from dprelease.release.result import Result
from dprelease.release.run import check_place, run
from dprelease.specfile.complaints.places import format_path
from dprelease.specfile.complaints.spec_paths import relocate

MOST_UNREADABLE = Fraction(1, 20)


def run_quality_first(  # noqa: PLR0913 - what `run` takes, and named
    release: Release,
    *,
    output: str | None = None,
    wait: float = 10.0,
    new_noise: bool = False,
    fresh_ledger: bool = False,
    replace_output: bool = False,
    watcher: Callable[[Stage], None] | None = None,
) -> tuple[Result, Result]:
    """Release the quality queries, then all others.

    The first release is charged and published even if the second is not made; repeating both is
    free as far as they are charged.

    Args:
        release: The checked spec.
        output: Folder of the second release, as for ``run``; the first one's has ``-quality`` at
            its end.
        wait: As for ``run``.
        new_noise: As for ``run``.
        fresh_ledger: As for ``run``.
        replace_output: As for ``run``.
        watcher: As for ``run``.

    Returns:
        The results of both releases; the second has the warnings of both.

    Raises:
        Failure: Exit code 1 if too many fields are unreadable; any other before the first charge if
            the second release could not be planned or paid for.
    """
    first, rest = split(relocate(release, None, output))
    _check_caps(first, rest, new_noise=new_noise)
    if not replace_output:
        check_place(rest)
    again = partial(
        run,
        wait=wait,
        new_noise=new_noise,
        fresh_ledger=fresh_ledger,
        replace_output=replace_output,
        watcher=watcher,
    )
    checked = again(first)
    complaints = list(_iter_complaints(checked))
    if complaints:
        raise Failure(ExitCode.FINDINGS, complaints)
    result = again(rest)
    # At the second release the dataset is no longer new in the ledger (W601).
    warnings = tuple(dict.fromkeys((*checked.warnings, *result.warnings)))
    return checked, replace(result, warnings=warnings)


def split(release: Release) -> tuple[Release, Release]:
    """Split a release into its quality queries and the others.

    Returns:
        The release of the quality queries, and that of the others with the rest of the total.

    Raises:
        Failure: Exit code 2 if there is nothing to split, or the budget can't be split.
    """
    looks = tuple(
        query for query in release.queries if _find_state_column(release, query) is not None
    )
    others = tuple(query for query in release.queries if query not in looks)
    if not looks or not (others or release.perturbs):
        problem = "the spec needs both quality queries and other queries"
        raise _build_refusal(release, problem, 'add a [[query]] with statistic = "quality"')
    epsilons = [query.epsilon for query in looks if query.epsilon is not None and not query.delta]
    privacy = release.privacy
    if len(epsilons) < len(looks) or any(query.mechanism == "gaussian" for query in looks):
        problem = "a quality query must state its own epsilon, and no other budget"
        raise _build_refusal(release, problem, "give it an epsilon, no delta, and Laplace noise")
    total = None if privacy.epsilon is None else privacy.epsilon - sum(epsilons)
    if privacy.rho is not None:
        problem = "the total is in rho, from which no epsilon can be subtracted"
        raise _build_refusal(release, problem, "state the total as epsilon and delta")
    if total is not None and total <= 0:
        problem = "the total leaves nothing for the other queries"
        raise _build_refusal(
            release, problem, "state a total epsilon above that of the quality queries"
        )
    about = replace(release.about, name=f"{release.about.name}{QUALITY}", previous=None)
    pure = replace(privacy, epsilon=None, delta=Fraction(0), accounting="auto")
    first = replace(release, about=about, queries=looks, perturbs=(), privacy=pure)
    rest = replace(release, queries=others, privacy=replace(privacy, epsilon=total))
    return relocate(first, None, f"{release.output.path}{QUALITY}"), rest


def _check_caps(first: Release, rest: Release, *, new_noise: bool) -> None:
    """Refuse (exit 3) the first release if the cap leaves too little for the second."""
    terms = {half.about.name: build_terms(plan_and_certify(half).plan) for half in (first, rest)}
    settings = rest.ledger
    spent = read_account(settings.path, settings.dataset, witness=settings.witness)
    runs = {run.run_id: run for run in spent.runs}
    ahead = [
        terms[half.about.name]
        for half in (first, rest)
        if find_current_run(half, runs, new_noise=new_noise) not in runs
    ]
    caps = derive_caps(spent, read_stated_caps(settings))
    rho = sum_spent_rho((*spent.terms, *ahead))
    is_within = spent.compute_total(caps, *ahead).is_within(caps) and (
        caps.rho is None or (rho is not None and rho <= caps.rho)
    )
    if len(ahead) > 1 and not is_within:
        name = settings.dataset
        message = (
            f'the cap of "{name}" does not leave enough for the quality queries and the others '
            "together"
        )
        complaint = Complaint("E872", message, place=rest.place("ledger.epsilon_cap"))
        raise Failure(ExitCode.BUDGET, complaint)


def _find_state_column(release: Release, query: Query) -> Column | None:
    """Find the column whose states a query counts; None for all other queries."""
    for group in query.groups:
        column = release.columns.get(group.column)
        if column is not None and column.observed_column is not None:
            return column.observed_column
    return None


def _iter_complaints(result: Result) -> Iterator[Complaint]:
    """Complain of columns with too many unreadable or undeclared fields, noise aside."""
    release = result.plan.release
    tables = {table.name: table for table in result.output_tables}
    for query in release.queries:
        column, share = _find_state_column(release, query), query.max_unreadable
        cap = MOST_UNREADABLE if share is None else share
        if column is None:
            continue
        counts = _read_figures(tables[query.table], query.column_name)
        noise = _read_figures(tables[query.table], f"{query.column_name}_noise_moe")
        total = sum(counts.values(), Fraction(0))
        # With a label for others, undeclared values are expected.
        states = ("unreadable",) if column.other is not None else ("unreadable", "undeclared")
        for state in states:
            # A share is only too large if it is so beyond the noise.
            if counts.get(state, 0) - noise.get(state, 0) > cap * total:
                key = format_path(("columns", column.name))
                yield Complaint(
                    "E870",
                    f'more than {float(cap):.3g} of the fields of "{column.name}" are {state}, by '
                    f"the noisy counts in {result.output}",
                    "correct the spec, or the data under a new snapshot, or raise max_unreadable; "
                    "only the quality tables were charged and released",
                    release.place(key),
                    key,
                )


def _read_figures(table: OutputTable, name: str) -> dict[str, Fraction]:
    """Read the published figures of a column by state, without hidden ones."""
    (column,) = (candidate for candidate in table.columns if candidate.name == name)
    scale: int = 10**column.decimals
    rows = zip(table.columns[0].values, column.values, strict=True)
    return {str(key): Fraction(value, scale) for key, value in rows if isinstance(value, int)}


def _build_refusal(release: Release, problem: str, hint: str) -> Failure:
    complaint = Complaint("E871", f"--quality-first: {problem}", hint, release.place("query"))
    return Failure(ExitCode.SPEC, complaint)
