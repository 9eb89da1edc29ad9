"""Record-level tables made by hand, their laws by enumeration, and a slow sampler."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dprelease.local.store.answer_cells import describe_table
from dprelease.local.store.read_table import read_columns
from dprelease.local.store.tally import Tallier, choose_pairs
from dprelease.local.store.write_table import write_records
from dprelease.model import (
    About,
    ColumnType,
    Grid,
    Group,
    LaplaceLaw,
    Loss,
    Mechanism,
    Perturb,
    PerturbedColumn,
    Quantity,
    RecordStep,
    Response,
    SubsetLaw,
    Tally,
    Window,
    WindowLaw,
)

LOSS = Loss(Fraction(1))
ENDS = Fraction(19, 20)


def build_labels_response(
    name: str,
    labels: Sequence[str],
    keep: Fraction,
    size: int = 1,
    kind: ColumnType = ColumnType.STRING,
    other: str | None = None,
    null: str | None = None,
    loss: Loss = LOSS,
) -> Response:
    keys = tuple(each for each in labels if each != other)
    group = Group(name, kind, tuple(labels), keys, None, other, null)
    mechanism = Mechanism.RANDOMIZED_RESPONSE if size == 1 else Mechanism.SUBSET_SELECTION
    return Response(
        PerturbedColumn(name, group), mechanism, SubsetLaw(len(labels), size, keep), loss
    )


def numeric(name: str, grid: Grid, law: LaplaceLaw | WindowLaw, loss: Loss = LOSS) -> Response:
    mechanism = Mechanism.LAPLACE if isinstance(law, LaplaceLaw) else Mechanism.PIECEWISE
    middle = (grid.lower + grid.upper) // 2
    return Response(PerturbedColumn(name, None, Quantity(name, grid, middle)), mechanism, law, loss)


def build_step(*responses: Response, name: str = "people") -> RecordStep:
    columns = tuple(each.column for each in responses)
    return RecordStep(Perturb(name, columns, Fraction(5)), responses, 1, Loss(Fraction(5)))


def window(levels: int, width: int, gap: Fraction) -> Window:
    """The window with that gap, without bias: beta = 2/(gap (levels - width)), solved for ratio."""
    beta = 2 / (gap * (levels - width))
    ratio = (beta * (levels - width) + width) / (width * (1 - beta))
    return Window(levels, width, ratio, gap)


def window_of_ratio(levels: int, width: int, ratio: Fraction) -> Window:
    """The window with that ratio, without bias."""
    beta = (ratio - 1) * width / (levels - width + ratio * width)
    return Window(levels, width, ratio, 2 / (beta * (levels - width)))


# --- laws by enumeration -------------------------------------------------------------------------


def answers(response: Response, code: int) -> dict[Any, Fraction]:
    """The chance of each answer to a code: sets of labels, or numbers of levels."""
    law = response.law
    if isinstance(law, SubsetLaw):
        if code >= 0:
            return _sets(law, code)
        found: dict[Any, Fraction] = {}
        for label in range(law.labels):
            for answer, chance in _sets(law, label).items():
                found[answer] = found.get(answer, Fraction(0)) + chance / law.labels
        return found
    assert isinstance(law, WindowLaw)
    assert response.column.quantity is not None
    grid = response.column.quantity.grid
    found = {}
    start = 0
    parts = [(law.share, law.first), (1 - law.share, law.second)]
    for share, each in parts:
        if each is None:
            continue
        place = Fraction((code - grid.lower) * (each.levels - each.width), grid.width)
        low = math.floor(place)
        total = each.levels - each.width + each.ratio * each.width
        for level in range(each.levels):
            chance = Fraction(0)
            for begin, weight in ((low, 1 - (place - low)), (low + 1, place - low)):
                inside = begin <= level < begin + each.width
                chance += weight * (each.ratio if inside else 1) / total
            found[start + level] = share * chance
        start += each.levels
    return found


def _sets(law: SubsetLaw, code: int) -> dict[Any, Fraction]:
    having = math.comb(law.labels - 1, law.size - 1)
    lacking = math.comb(law.labels - 1, law.size)
    return {
        each: law.keep / having if code in each else (1 - law.keep) / lacking
        for each in combinations(range(law.labels), law.size)
    }


def sample(response: Response, codes: Sequence[int], rng: random.Random) -> Any:
    """Noisy answers, slowly and not for keeping secrets."""
    law = response.law
    if isinstance(law, LaplaceLaw):
        rate = 1 / float(law.scale)
        found = [
            code + round(rng.expovariate(rate)) - round(rng.expovariate(rate)) for code in codes
        ]
        return np.array(found, dtype=np.int64)
    laws = {code: answers(response, code) for code in set(codes)}
    drawn = [
        rng.choices(list(laws[code]), [float(each) for each in laws[code].values()])[0]
        for code in codes
    ]
    if isinstance(law, SubsetLaw):
        return np.array(drawn, dtype=np.uint16).reshape(-1, law.size)
    return np.array(drawn, dtype=np.int16)


# --- files ---------------------------------------------------------------------------------------


def write_answers(step: RecordStep, columns: Sequence[Any], form: str) -> bytes:
    sink = io.BytesIO()
    write_records(sink, step, describe_table(step, About("a")), [tuple(columns)], form)
    return sink.getvalue()


def read(step: RecordStep, content: bytes, form: str) -> Iterator[tuple[Any, ...]]:
    return read_columns(io.BytesIO(content), "t", form, step)


def tally_answers(
    step: RecordStep,
    batches: Iterator[tuple[Any, ...]] | Sequence[Sequence[Any]],
    pairs: Sequence[tuple[str, str]] | None = None,
) -> Tally:
    counted = Tallier(step, choose_pairs(step) if pairs is None else pairs)
    for each in batches:
        counted.add(each)
    return counted.tally()
