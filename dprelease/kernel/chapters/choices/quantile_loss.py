"""A second opinion on what recursive quantiles lose, from the selections that are executed.

Takes each selection as it is drawn: the ends ``left`` and ``right`` of its part, the quantile
``index`` it selects, target a/b and ``rate``. Shares no code with the planner, and adds up
differently: not along the tree, but over *atoms* and selections, as a table.

The selected quantiles cut the line into k + 1 atoms; atom j lies between quantiles j and j + 1.
Selection i compares candidates by D = max(0, x, -y), where x = b below - a M and y = b upto - a M
are sums over the records of its part: each adds -a to x if it isn't below the candidate and b - a
if it is, and so for y. So any single record in an atom of the part moves D by at most
max(a, b - a), a record moved from one atom of the part to another by at most b, and records of
other parts by nothing. A law proportional to exp(-rate D) then moves by a factor of at most e^(2
rate times that).

A record that is spread over its value has shares of several atoms, and moves D by its share times
as much: its loss is a mean of losses of single atoms. So with a replaced record's two places, drawn
independently: shares v <= w of a part weigh b v + (w - v) max(a, b - a) in truth, and
b v w + (v + w - 2 v w) max(a, b - a) in that mean, which is no less since b <= 2 max(a, b - a).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from dprelease.kernel.core.additive_loss import bound_range_rho
from dprelease.model.plans import QuantileStep


def bound_epsilon(
    selections: Iterable[QuantileStep], rows: int, replace: bool, *, stays: bool = False
) -> Fraction:
    """Bound the loss for a person of at most ``rows`` rows, over all cells that these rows are in.

    ``replace``: rows are replaced, and unless each one ``stays`` in its cell that is a removal in
    one and an addition in another. ValueError unless the selections are in an order in which
    each part's ends are known and every quantile is selected once.
    """
    return _find_worst(selections, rows, replace and stays, _build_price(rows, replace, stays))


def bound_rho(
    selections: Iterable[QuantileStep], rows: int, replace: bool, *, stays: bool = False
) -> Fraction:
    """Bound the same for zCDP: rhos add up over selections.

    A selection's rho is at most a convex function of its loss that is 0 at 0
    (``additive.bound_range_rho``). Its loss is a mean of losses of as many alike rows as there are,
    each at single atoms; so its rho is at most the mean of theirs, and one of those is the worst.
    """
    times = _build_price(rows, replace, stays)
    return _find_worst(
        selections, rows, replace and stays, lambda loss: bound_range_rho(times(loss))
    )


def bound_spans(
    selections: Iterable[QuantileStep], rows: int, replace: bool, *, stays: bool = False
) -> list[Fraction]:
    """Bound log-ratios of rounds of selections that don't look at one another's outputs.

    A selection's round is the number of selections whose parts strictly hold its own. Given the
    rounds before, those of one round are independent, also over cells, and a product of
    laws has the sum of their ranges: for shares of a record that sum to 1, at most the largest.
    """
    selection_list = list(selections)
    _check_nesting(selection_list, rows)
    rounds: dict[int, Fraction] = {}
    for one in selection_list:
        above = sum(
            selection.lower <= one.lower and one.upper <= selection.upper and selection is not one
            for selection in selection_list
        )
        alone = 2 * one.rate * max(one.target.numerator, _rest(one))
        if replace:
            # both of its places are in the one part that holds everything
            whole = stays and above == 0
            alone = 2 * one.rate * one.target.denominator if whole else 2 * alone
        rounds[above] = max(rounds.get(above, Fraction(0)), rows * alone)
    return [rounds[above] for above in sorted(rounds)]


Price = Callable[[Fraction], Fraction]
"""What a selection adds to the total, by what it loses for one record."""


def _build_price(rows: int, replace: bool, stays: bool) -> Price:
    number = rows * (2 if replace and not stays else 1)
    return lambda loss: number * loss


def _find_worst(
    selections: Iterable[QuantileStep], rows: int, pairs: bool, price: Price
) -> Fraction:
    selection_list = list(selections)
    _check_nesting(selection_list, rows)
    # Which selections a record at each atom takes part in.
    within = [
        frozenset(
            i
            for i, selection in enumerate(selection_list)
            if selection.lower <= atom < selection.upper
        )
        for atom in range(len(selection_list) + 1)
    ]
    moved = [
        _compute_price(selection, max(selection.target.numerator, _rest(selection)), price)
        for selection in selection_list
    ]
    if not pairs:
        # Atom by atom: what one record there moves.
        return max(_sum(moved, touched) for touched in within)
    swapped = [
        _compute_price(selection, selection.target.denominator, price)
        for selection in selection_list
    ]
    places = ((first, second) for at, first in enumerate(within) for second in within[at:])
    return max(
        _sum(moved, first ^ second) + _sum(swapped, first & second) for first, second in places
    )


def _rest(selection: QuantileStep) -> int:
    """B - a, of the target a/b."""
    return selection.target.denominator - selection.target.numerator


def _compute_price(selection: QuantileStep, reach: int, price: Price) -> Fraction:
    """Compute the price of moving D by so much."""
    return price(2 * selection.rate * reach)


def _sum(prices: Sequence[Fraction], chosen: Iterable[int]) -> Fraction:
    return sum((prices[i] for i in chosen), Fraction(0))


def _check_nesting(selections: Sequence[QuantileStep], rows: int) -> None:
    """ValueError unless parts nest as they are executed: each one's ends are neighbours so far."""
    if rows < 1:
        raise ValueError("a person has at least one row")
    ends = [0, len(selections) + 1]
    for selection in selections:
        if not 0 < selection.target < 1 or selection.rate <= 0:
            raise ValueError("targets lie between 0 and 1, and rates are positive")
        if selection.lower not in ends or selection.upper not in ends:
            raise ValueError("a part ends at quantiles that are selected already")
        place = ends.index(selection.lower)
        if ends[place + 1 : place + 2] != [selection.upper]:
            raise ValueError("parts of one level don't overlap")
        if not selection.lower < selection.index < selection.upper:
            raise ValueError("a quantile lies within its part")
        ends.insert(place + 1, selection.index)
    if ends != list(range(len(selections) + 2)):
        raise ValueError("every quantile is selected once")
