"""Totals of a dataset's runs, disjoint periods in parallel.

Runs over periods that were declared disjoint compose in parallel (McSherry 2009): a unit has
records in one of them, and all other runs are the same in both of two neighbouring tables. A unit
whose records lie at one point in time is in the runs whose span holds that point, and in those
that declared nothing. Under replace-one that protects what the unit's records say within its
period, not which period it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from msgspec.structs import replace

from dprelease.ledger.privacy_filter import Caps, Tally, Terms, Total, compute_least_total
from dprelease.model import Loss
from dprelease.model.periods import Span, parse_period


def is_meeting(left: Terms, right: Terms) -> bool:
    """Tell if a unit can be in both runs."""
    if not left.disjoint or not right.disjoint or left.period is None or right.period is None:
        return True
    span, late = parse_period(left.period), parse_period(right.period)
    if span is None or late is None:
        return left.period.casefold() == right.period.casefold()
    return span.first <= late.last and late.first <= span.last


def list_concurrent_runs(runs: Sequence[Terms]) -> list[list[Terms]]:
    """List the sets of runs that one unit can be in.

    Args:
        runs: Terms of runs in the order of their charges.

    Returns:
        At least one set, each in the order given; sets within another one may be left out.
    """
    # Every largest set of runs that meet is reached at the first day of some span.
    spans: dict[str, Span] = {}
    others: list[str] = []
    for run in runs:
        if run.disjoint and run.period is not None:
            name = run.period.casefold()
            span = parse_period(name)
            if span is not None:
                spans[name] = span
            elif name not in others:
                others.append(name)
    name_sets = {frozenset([name]) for name in others}
    for day in {span.first for span in spans.values()}:
        name_sets.add(
            frozenset(name for name, span in spans.items() if span.first <= day <= span.last)
        )
    # A set within another one costs no more. To find those takes the square of their number.
    names = (
        [name_set for name_set in name_sets if not any(name_set < other for other in name_sets)]
        if len(name_sets) < 50
        else name_sets
    )
    return [
        [
            run
            for run in runs
            if not run.disjoint or run.period is None or run.period.casefold() in meeting
        ]
        for meeting in sorted(names, key=sorted)
    ] or [list(runs)]


def sum_spent(terms: Sequence[Terms]) -> Loss:
    """Sum epsilon, delta and rho over the runs that a unit can be in; take the largest of each.

    The sums hold however adaptively the runs were chosen.

    Returns:
        The sums; rho is None as soon as a run has none.
    """
    return _find_largest(
        [add_losses(run.loss for run in run_set) for run_set in list_concurrent_runs(terms)]
    )


def compute_total(terms: Sequence[Terms], caps: Caps) -> Total:
    """Compute the largest total of the runs that a unit can be in.

    Args:
        terms: Terms of runs in the order of their charges.
        caps: Caps under which the runs are composed; see ``privacy_filter``.
    """
    return _find_worst(
        [compute_least_total(run_set, caps) for run_set in list_concurrent_runs(terms)]
    )


def sum_spent_rho(terms: Sequence[Terms]) -> Fraction | None:
    """Sum rho over the runs that a unit can be in; None if a run has no bound in rho."""
    if any(run.parts.epsilon or run.parts.delta for run in terms):
        return None
    return max(
        sum((run.parts.rho for run in run_set), Fraction(0))
        for run_set in list_concurrent_runs(terms)
    )


def compute_remaining(terms: Sequence[Terms], caps: Caps) -> Caps:
    """Compute what the runs leave of each cap.

    Args:
        terms: Terms of runs in the order of their charges.
        caps: Caps under which the runs are composed.

    Returns:
        Amounts of at least 0; None where there is no cap. Nothing is left of a cap on rho if a run
        has no bound in rho.
    """
    total, rho = compute_total(terms, caps), sum_spent_rho(terms)
    if rho is None:  # no bound is known: nothing is left
        rho = caps.rho
    pairs = (caps.epsilon, total.epsilon), (total.room, total.counted), (caps.rho, rho)
    return Caps(
        *(
            None if cap is None or taken is None else max(cap - taken, Fraction(0))
            for cap, taken in pairs
        )
    )


def iter_running_totals(terms: Sequence[Terms], caps: Caps) -> Iterator[tuple[Loss, Total]]:
    """Compute plain sums and totals after each run.

    Args:
        terms: Terms of runs in the order of their charges.
        caps: Caps under which the runs are composed.

    Yields:
        For each run, the values of ``sum_spent`` and ``compute_total`` up to it.
    """
    if not any(run.disjoint for run in terms):
        tally, plain = Tally(caps), add_losses(())
        for run in terms:
            tally.add(run)
            plain = add_losses((plain, run.loss))
            yield plain, tally.compute_total()
        return
    plain, largest = add_losses(()), compute_total((), caps)
    for at, last in enumerate(terms):
        # Only sets of runs that the last one is in have changed, and none has become cheaper.
        near = [earlier for earlier in terms[:at] if is_meeting(earlier, last)]
        sets = [run_set for run_set in list_concurrent_runs([*near, last]) if run_set[-1] is last]
        plain = _find_largest(
            [plain, *(add_losses(run.loss for run in run_set) for run_set in sets)]
        )
        largest = _find_worst([largest, *(compute_least_total(run_set, caps) for run_set in sets)])
        yield plain, largest


def _find_largest(sums: Sequence[Loss]) -> Loss:
    rhos = [loss.rho for loss in sums if loss.rho is not None]
    return Loss(
        max(loss.epsilon for loss in sums),
        max(loss.delta for loss in sums),
        max(rhos) if len(rhos) == len(sums) else None,
    )


def _find_worst(totals: Sequence[Total]) -> Total:
    # Each bound by itself: the largest epsilon, and the delta that leaves least of its cap.
    largest = max(totals, key=lambda candidate: (candidate.epsilon, candidate.counted))
    tight = min(totals, key=lambda candidate: (candidate.room or Fraction(0)) - candidate.counted)
    return replace(largest, counted=tight.counted, room=tight.room)


def add_losses(losses: Iterable[Loss]) -> Loss:
    """Add epsilons, deltas and rhos: basic composition, valid under full adaptivity."""
    summands = tuple(losses)
    rhos = [loss.rho for loss in summands if loss.rho is not None]
    return Loss(
        sum((loss.epsilon for loss in summands), Fraction(0)),
        sum((loss.delta for loss in summands), Fraction(0)),
        sum(rhos, Fraction(0)) if len(rhos) == len(summands) else None,
    )
