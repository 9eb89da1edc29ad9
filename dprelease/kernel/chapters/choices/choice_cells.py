"""Candidates and grid integers drawn by exactly the law of a step, cell by cell."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from dprelease.kernel.chapters.choices.choice_sampler import (
    draw_exponential,
    draw_permute_and_flip,
    select_in_turn,
)
from dprelease.kernel.chapters.choices.quantile_sampler import move_to_nearest, release
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import NoiseFamily, Step

Integers = Sequence[int]
Values = tuple[tuple[int, ...], ...]


def choose_candidates(step: Step, scores: Integers, width: int, entropy: Entropy) -> Values:
    """Choose candidates for each cell; return their positions, first pick first."""
    flips = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    if not flips and step.noise.family is not NoiseFamily.EXPONENTIAL:
        raise ValueError("a choice is made by a mechanism for choices")
    draw = draw_permute_and_flip if flips else draw_exponential
    picks, rate = step.query.picks, step.noise.parameter
    picked = [
        [place for place, _ in select_in_turn(scores[at : at + width], picks, rate, draw, entropy)]
        for at in range(0, len(scores), width)
    ]
    return _transpose_ranks(picked, min(picks, width))


def choose_quantiles(
    step: Step, measures: Sequence[Integers], cells: Sequence[int], entropy: Entropy
) -> Values:
    """Choose a grid integer by cell and quantile; ``measures`` are cells, points and counts."""
    if step.scheme is None or step.points is None:
        raise ValueError("quantiles need a scheme and a quantity")
    places, points, counts = measures
    grid, public = step.points.grid, step.query.points
    picked = []
    for cell in cells:
        start, end = bisect_left(places, cell), bisect_left(places, cell + 1)
        inside = points[start:end], counts[start:end]
        if public is not None:
            inside = move_to_nearest(*inside, public)
        picked.append(release(*inside, grid.lower, grid.upper, step.scheme, entropy, public))
    return _transpose_ranks(picked, len(step.scheme.quantiles))


def _transpose_ranks(picked: Sequence[Sequence[int]], ranks: int) -> Values:
    """Turn ``[cell][rank]`` into ``[rank][cell]``, also where private keys left no cells."""
    return tuple(tuple(of_cell[rank] for of_cell in picked) for rank in range(ranks))
