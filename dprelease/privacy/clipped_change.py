"""Sensitivity where a person's totals are scaled to a norm, instead of limiting their rows.

A person adds a vector of norm at most C to the cells, and no other person's vector depends on it.

One person more or less: the norm is C. Another in their place: 2 C; in L2 where nothing is below 0
(or nothing above) the two vectors have an inner product of at least 0, so C times the root of 2;
and in a single cell then both lie in [0, C], so C. Attained by people with all in one cell.

An L1 norm of C bounds the L2 norm too. An L2 norm bounds the L1 norm by the root of the number of
cells times as much, which is why such vectors get Gaussian noise.
"""

from __future__ import annotations

from math import isqrt

from dprelease.model import Adjacency, Clip, ClipNorm, Sensitivity
from dprelease.model.sentences import Sentence, sentence
from dprelease.privacy.sensitivity import Scalar


def bound_clipped_change(clip: Clip, row: Scalar, cells: int, adjacency: Adjacency) -> Sensitivity:
    """Bound the change of all cells together by one person whose totals are scaled, in grid steps.

    Of ``row`` only the signs matter.
    """
    size, is_one_sided = clip.bound, row.lower >= 0 or row.upper <= 0
    replaced = adjacency is Adjacency.REPLACE_ONE
    if not replaced or (is_one_sided and cells == 1):
        l1, l2_squared = size, size**2
    else:
        l1, l2_squared = 2 * size, (2 if is_one_sided else 4) * size**2
    if clip.norm is ClipNorm.L2:
        l1 = isqrt(cells * l2_squared)
    coordinates = min(cells, l1)
    shapes = ((l1,),) if coordinates == 1 else ()
    return Sensitivity(l1, l2_squared, coordinates, shapes, _describe(clip, row, replaced))


def _describe(clip: Clip, row: Scalar, replaced: bool) -> Sentence:
    return sentence(
        "sensitivity.clipped.replaced" if replaced else "sensitivity.clipped.one_more_or_less",
        noun=sentence(row.noun),
        norm=clip.norm.upper(),
        size=clip.bound,
    )
