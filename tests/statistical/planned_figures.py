"""A planned query of every statistic, and how often its published intervals miss the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.mechanisms import Choice, gaussian
from dprelease.model import (
    Adjacency,
    Candidates,
    Column,
    ColumnType,
    Expression,
    Grid,
    Group,
    Loss,
    Noise,
    NoiseFamily,
    OutputColumn,
    Part,
    Query,
    Step,
)
from dprelease.planning.steps import Draft
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

Floats = npt.NDArray[np.float64]

LEVELS = (Fraction(1, 2), Fraction(95, 100), Fraction(99, 100))
ALARM = 1e-8  # of one comparison with draws; there are fewer than a hundred
FAMILIES = (NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN)
NEIGHBOURS = tuple(
    Neighbours(adjacency, limits, people)
    for adjacency in Adjacency
    for limits, people in ((Contribution(1, 1, 1), False), (Contribution(4, 2, 3), True))
)
SINGLE = ("count", "count_units", "count_distinct", "histogram", "sum")
TWO = ("mean", "proportion", "ratio")
THREE = ("variance", "stddev")
RUNNING = ("cumulative",)
CURVES = ("density",)
NAMES = ("mode", "top_k", "best")
HIT = Expression("x > 1", ("x",))
LABELS = ("a", "b", "c", "d", "e")
QUANTILES = {
    "median": (Fraction(1, 2),),
    "min": (Fraction(1, 100),),
    "max": (Fraction(99, 100),),
    "quantile": tuple(Fraction(k, 4) for k in (1, 2, 3)),
}


def neighbours_name(known: Neighbours) -> str:
    return f"{known.adjacency.value}, {'people' if known.people else 'rows'}"


def build_query(name: str, width: int = 12) -> Query:
    """A query in a table of three groups; quantities lie between -3 and width - 3."""
    groups = (Group("g", ColumnType.STRING, LABELS[:3], keys=LABELS[:3]),)
    column = Column("x", ColumnType.INTEGER, Grid(Fraction(1), -3, width - 3))
    given: dict[str, Any] = {}
    if name not in {"count", "count_units", "histogram", "proportion", "ratio", "mode", "top_k",
                    "best"}:  # fmt: skip
        given["column"] = column
    if name == "proportion":
        given |= {"numerator": Part(None, HIT), "denominator": Part()}
    if name == "ratio":
        given |= {"numerator": Part(column), "denominator": Part(None, HIT)}
    if name in {"mode", "top_k"}:
        given["axis"] = Group("v", ColumnType.STRING, LABELS, keys=LABELS)
    if name == "top_k":
        given["picks"] = 2
    if name == "best":
        score = Expression("x * candidate", ("x", "candidate"))
        grid = Grid(Fraction(1, 10), 0, 30)
        given["candidates"] = Candidates(LABELS, ColumnType.STRING, score, grid)
    if name in QUANTILES:
        given["quantiles"] = QUANTILES[name]
    return Query("q", name, "t", groups, **given)


def draft_values(query: Query, known: Neighbours) -> Draft:
    statistic = get_statistic(query.statistic)
    return Draft(
        query, statistic.define_release(query), statistic.bound_sensitivity(query, known), known
    )


@cache
def build_step(query: Query, known: Neighbours, family: NoiseFamily, epsilon: Fraction) -> Step:
    """As it is planned: at this epsilon, or with Gaussian noise at the rho that is like it."""
    draft = draft_values(query, known)
    if family is NoiseFamily.GAUSSIAN:
        noise = gaussian.calibrate_rho(draft.shift, epsilon**2 / 2)
        return draft.step(Choice(noise, Loss(epsilon)))
    return draft.step(draft.mechanisms.pure.calibrate(draft, epsilon, Fraction(0)))


def with_noise(query: Query, noise: Noise) -> Step:
    """With any noise."""
    return draft_values(query, NEIGHBOURS[0]).step(Choice(noise, Loss(Fraction(1))))


# --- laws, by themselves ------------------------------------------------------------------------


@cache
def get_law(noise: Noise, left_out: float = 1e-13) -> tuple[npt.NDArray[np.int64], Floats]:
    """Integers and their chances, all but a small part; by the formulas of the laws."""
    if noise.family is NoiseFamily.NONE:
        return np.array([0]), np.array([1.0])
    parameter = float(noise.parameter)
    if noise.family is NoiseFamily.LAPLACE:
        reach = math.ceil(parameter * math.log(2 / left_out)) + 1
        weight = np.exp(-np.arange(-reach, reach + 1.0).__abs__() / parameter)
        return np.arange(-reach, reach + 1), weight * math.tanh(0.5 / parameter)
    if noise.family is NoiseFamily.CUT_LAPLACE:
        values = np.arange(-noise.reach, noise.reach + 1)
        weight = np.exp(-np.abs(values) / parameter)
        return values, weight / weight.sum()
    reach = math.ceil(math.sqrt(2 * parameter * math.log(2 / left_out))) + 1
    weight = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * parameter))
    return np.arange(-reach, reach + 1), weight / weight.sum()


def all_draws(noise: Noise, number: int, left_out: float) -> tuple[list[Any], Floats]:
    """Every combination of so many draws, and its chance."""
    values, chances = get_law(noise, left_out)
    grids = [each.ravel() for each in np.meshgrid(*[values] * number, indexing="ij")]
    weight = chances
    for _ in range(number - 1):
        weight = np.multiply.outer(weight, chances)
    return grids, weight.ravel()


# --- what is published --------------------------------------------------------------------------


def publish(
    step: Step, exact: Sequence[int], draws: Sequence[Any], level: Fraction
) -> dict[str, OutputColumn]:
    noisy = [(draw + value).tolist() for draw, value in zip(draws, exact, strict=True)]
    columns = get_statistic(step.query.statistic).build_columns(step, noisy, level)
    return {column.name: column for column in columns}


def draw_all(step: Step, cells: int, entropy: Any) -> list[Any]:
    return [sample(step.noise, cells, entropy) for _ in step.transform]


def read_numbers(column: OutputColumn) -> Floats:
    """The values of a column, missing ones as not a number."""
    return np.array(column.values, dtype=float) / 10.0**column.decimals


def find_missed(
    columns: dict[str, OutputColumn],
    name: str,
    truth: float,
    narrowed: float = 1.0,
    *,
    is_possible: bool = True,
) -> npt.NDArray[np.bool_]:
    """In which cells the interval, times a factor, misses; where none is given nothing is missed.

    The ends that are published hold the truth, too, if it ``is_possible``. Doubles are compared
    with room for their own rounding, and for that of the truth.
    """
    value, half = (read_numbers(columns[key]) for key in (name, f"{name}_noise_moe"))
    assert (np.isnan(value) == np.isnan(half)).all()
    room = 1e-12 * (1 + abs(truth))
    result: npt.NDArray[np.bool_] = np.abs(value - truth) > half * narrowed * (1 + 1e-12) + room
    if f"{name}_low" in columns and is_possible and narrowed == 1:
        low, high = (read_numbers(columns[f"{name}_{end}"]) for end in ("low", "high"))
        result |= (truth < low - room) | (truth > high + room)
    return result


def is_plausible(missing: npt.NDArray[np.bool_], level: Fraction, alarm: float = ALARM) -> bool:
    """Whether so many misses, or more, are not out of the question if ``level`` are covered."""
    wrong = int(missing.sum())
    return float(binom.sf(wrong - 1, missing.size, float(1 - level))) > alarm


SHAPES: dict[str, Callable[[int], npt.NDArray[Any]]] = {
    "even": lambda n: np.linspace(0, 1, n),
    "at the bound": np.zeros,
    "in the middle": lambda n: np.full(n, 0.5),
    "at both bounds": lambda n: np.arange(n) % 2 * 1.0,
    "skew": lambda n: np.linspace(0, 1, n) ** 6,
}


def find_cell(
    name: str, shape: str, records: int, width: int
) -> tuple[list[int], dict[str, float]]:
    """The integers of a cell before noise, and the figures that are read off them."""
    above = np.rint(SHAPES[shape](records) * width)
    below = width - above
    truth = {"q": float(above.mean()) - 3, "q_count": float(records)}
    if name in {"variance", "stddev"}:
        truth["q_mean"] = truth["q"]
        truth["q"] = float(above.var() if name == "variance" else above.std())
        return [int((below**2).sum()), int((2 * above * below).sum()), int((above**2).sum())], truth
    if name == "proportion":
        hits = int((above > width / 2).sum())
        truth["q"] = hits / records
        return [hits, records - hits], truth
    if name == "ratio":
        top, bottom = int(above.sum()) - 3 * records, records
        factors = [row[place] for place, row in enumerate(_transform(width))]
        return [top * factors[0], bottom * factors[1]], {"q": top / bottom}
    return [int(above.sum()), int(below.sum())], truth


def _transform(width: int) -> tuple[tuple[int, ...], ...]:
    return get_statistic("ratio").define_release(build_query("ratio", width)).transform
