"""What only one kind of statistic has: quantiles, candidates, parts of a ratio."""

from __future__ import annotations

from typing import NamedTuple

from dprelease.model import Candidates, Column, Group
from dprelease.model import Part as RatioPart
from dprelease.spec.checks.queries.query_context import Asked
from dprelease.spec.schema.quantiles import Quantiles
from dprelease.statistics.registry import STATISTICS


class Details(NamedTuple):
    """The parts of a query that most statistics have none of; see ``Query``."""

    quantiles: Quantiles = ()
    points: tuple[int, ...] | None = None
    picks: int = 1
    axis: Group | None = None
    candidates: Candidates | None = None
    numerator: RatioPart | None = None
    denominator: RatioPart | None = None


def read_details(asked: Asked, column: Column | None) -> Details | None:
    """Read what the statistic of a query takes besides a column; None when it is not usable.

    Missing keys have had their complaints.
    """
    model, statistic = asked.model, STATISTICS.get(asked.model.statistic or "")
    found: Details | None = Details()
    if statistic is None:
        return found
    needs = statistic.keys.needs
    if "denominator" in needs:
        found = _ratio(asked)
    elif statistic.keys.where_is_numerator:
        found = _proportion(asked)
    elif "score" in needs:
        found = _best(asked)
    elif "k" in needs:
        found = Details(picks=model.k) if model.k is not None else None
    elif "q" in needs:
        found = _quantiles(asked, column, model.q)
    elif statistic.fixed_quantile is not None:
        found = _quantiles(asked, column, (statistic.fixed_quantile,))
    return found


# Imported where they are needed: most specs ask for none of these.


def _ratio(asked: Asked) -> Details | None:
    from dprelease.spec.checks.queries.ratio_parts import read_part

    numerator, denominator = read_part(asked, "numerator"), read_part(asked, "denominator")
    if numerator is None or denominator is None:
        return None
    return Details(numerator=numerator, denominator=denominator)


def _proportion(asked: Asked) -> Details | None:
    from dprelease.spec.checks.queries.ratio_parts import read_proportion

    parts = read_proportion(asked)
    return Details(numerator=parts[0], denominator=parts[1]) if parts else None


def _best(asked: Asked) -> Details | None:
    from dprelease.spec.checks.queries.best import read_best

    candidates = read_best(asked)
    return Details(candidates=candidates) if candidates else None


def _quantiles(asked: Asked, column: Column | None, wanted: Quantiles | None) -> Details | None:
    model, points = asked.model, None
    given = model.candidates is not None or model.candidates_file is not None
    if column is not None and column.grid is not None and given:
        from dprelease.spec.checks.queries.candidates import read_points

        points = read_points(asked, column, column.grid)
        if points is None:
            return None
    return Details(wanted, points) if wanted is not None else None
