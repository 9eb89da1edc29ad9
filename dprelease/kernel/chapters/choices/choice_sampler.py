"""Two ways to select one of many candidates, each with exactly its law.

``draw_exponential`` follows the exponential mechanism (McSherry and Talwar 2007): probability
proportional to exp(-rate distance), by exact rejection from the proposals of ``weights``.

``draw_permute_and_flip`` follows permute-and-flip (McKenna and Sheldon 2020): in a random order, a
coin for each candidate with p = exp(-rate distance), and the first head wins. A coin for each of
2^60 candidates can't be tossed. It needn't be, once time is made continuous:

1.  Let every candidate be visited at the times of its own Poisson process of rate 1, with a fresh
    coin at each visit. First visits are independent and alike, so they come in a uniformly random
    order, and the coins of the first visits are independent of it: the winner is the earliest of
    those first visits that show heads. That is also the earliest head of all whose candidate has
    had no tails before: an earlier head of another candidate is no first visit with heads, so
    there were tails before it.
2.  By the thinning of Poisson processes, heads of a candidate have rate p, its tails have rate
    1 - p, and all these processes are independent. Heads of all candidates together are a process
    of rate W, the sum of all p, and each head is of a candidate drawn as in ``choose``.
    ``propose`` gives a process of a higher rate V, whose points are heads when they are kept.
3.  So heads are drawn, and for each it is asked if its candidate had tails before, in
    the time that passed: a sum of gaps between proposals, each Exp(V). A clock of tails of rate a
    is silent during an Exp(v) piece of time with probability v/(v + a), which leaves the piece
    with the law Exp(v + a). If it rang, the piece falls apart into Exp(v + a) up to the ring and
    Exp(v) from it on. All pieces stay independent, so time itself is never drawn: a piece is the
    list of clocks that are known to have stopped with it.
4.  A candidate that had tails is out for good; its later heads tell nothing. The best candidate
    has p = 1 and no tails, so some candidate wins; as V < e W and W >= 1 a handful of proposals
    are expected, whatever the number of candidates.

Every decision compares random bits with certified enclosures of its probability and draws more
bits while they leave it open: nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.kernel.chapters.choices.weights import (
    FITS,
    STEP,
    Candidate,
    Integers,
    WeightBuckets,
    cast_to_integers,
)
from dprelease.kernel.chapters.many_draws.uniforms import keep_exactly
from dprelease.kernel.core.entropy import Entropy, read_bits
from dprelease.kernel.distributions.intervals import Interval, divide, enclose_exp_negative
from dprelease.model import NoiseFamily, Step

_GUARD = 64

Draw = Callable[[WeightBuckets, Entropy], Candidate]

Values = tuple[tuple[int, ...], ...]
"""What is released: ``[rank][cell]``."""


def choose(
    distances: Integers, rate: Fraction, entropy: Entropy, sizes: Integers | None = None
) -> Candidate:
    """Choose an (index, offset) with P proportional to exp(-rate * distances[index]), exactly.

    ``distances`` are integers >= 0 of any size, how far each score lies below the best, so at
    least one is 0. ``sizes[i]`` is how many equal candidates entry i stands for, each of which has
    an offset in 0, ..., sizes[i] - 1 of its own; 1 if not given, and then the offset is 0.
    Raises ValueError for a rate that isn't positive, distances without a 0 or with a negative
    number, and sizes that don't fit; TypeError for numbers that aren't integers.
    """
    buckets = WeightBuckets(distances, rate, sizes)
    if buckets.find_best() != 0:
        raise ValueError("the best candidate has distance 0")
    return draw_exponential(buckets, entropy)


def draw_exponential(buckets: WeightBuckets, entropy: Entropy) -> Candidate:
    """Draw a candidate by the exponential mechanism; it stays where it is."""
    while True:
        candidate = buckets.propose(entropy)
        if keep(buckets.rest(candidate[0]), entropy):
            return candidate


def draw_permute_and_flip(buckets: WeightBuckets, entropy: Entropy) -> Candidate:
    """Draw a candidate by permute-and-flip; it stays where it is. The module has the proof."""
    best = buckets.find_best()
    pieces: list[list[Fraction]] = []
    out: set[Candidate] = set()
    while True:
        pieces.append([])
        candidate = buckets.propose(entropy)
        if candidate in out or not keep(buckets.rest(candidate[0]), entropy):
            continue
        exponent = buckets.compute_exponent(candidate[0], best)
        if is_silent(exponent, pieces, lambda bits: buckets.sum_weights(best, bits), entropy):
            return candidate
        out.add(candidate)


def keep(exponent: Fraction, entropy: Entropy) -> bool:
    """Return True with probability exactly exp(-exponent), for an exponent >= 0."""
    return exponent == 0 or keep_exactly(read_bits(entropy, STEP), STEP, exponent, entropy)


def draw_event(chance: Callable[[int], Interval], entropy: Entropy) -> bool:
    """Draw True with exactly the probability that ``chance(bits)`` encloses."""
    prefix = bits = 0
    while True:
        prefix = prefix << STEP | read_bits(entropy, STEP)
        bits += STEP
        bound = chance(bits)
        if prefix + 1 <= bound.low:
            return True
        if prefix >= bound.high:
            return False


def is_silent(
    exponent: Fraction,
    pieces: list[list[Fraction]],
    proposals: Callable[[int], Interval],
    entropy: Entropy,
) -> bool:
    """Tell whether a candidate with p = exp(-exponent) had no tails in all the pieces of time.

    Writes what that tells of the pieces into them. ``proposals(bits)`` encloses V.
    """
    if exponent == 0:
        return True
    for place, clocks in enumerate(pieces):

        def enclose_silence(bits: int, clocks: list[Fraction] = clocks) -> Interval:
            work = bits + _GUARD
            rates = [proposals(work), *(_compute_tail_rate(clock, work) for clock in clocks)]
            without = Interval(sum(rate.low for rate in rates), sum(rate.high for rate in rates))
            tail_rate = _compute_tail_rate(exponent, work)
            with_it = Interval(without.low + tail_rate.low, without.high + tail_rate.high)
            return divide(without, with_it, work).shift(_GUARD)

        if not draw_event(enclose_silence, entropy):
            for earlier in range(place):
                pieces[earlier] = [*pieces[earlier], exponent]
            pieces[place : place + 1] = [[*clocks, exponent], clocks]
            return False
    return True


def _compute_tail_rate(exponent: Fraction, bits: int) -> Interval:
    """Compute the rate 1 - exp(-exponent) of the tails of a candidate."""
    heads = enclose_exp_negative(exponent, bits)
    return Interval(max((1 << bits) - heads.high, 0), (1 << bits) - heads.low)


# --- candidates for all cells --------------------------------------------------------------------


def choose_candidates(step: Step, scores: Sequence[int], width: int, entropy: Entropy) -> Values:
    """Choose candidates for each cell; return their positions, first pick first."""
    flips = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    if not flips and step.noise.family is not NoiseFamily.EXPONENTIAL:
        raise ValueError("a choice is made by a mechanism for choices")
    draw = draw_permute_and_flip if flips else draw_exponential
    picks, rate = step.query.picks, step.noise.parameter
    picked = [
        select_in_turn(scores[at : at + width], picks, rate, draw, entropy)
        for at in range(0, len(scores), width)
    ]
    return transpose_ranks(picked, min(picks, width))


def transpose_ranks(picked: Sequence[Sequence[int]], ranks: int) -> Values:
    """Turn ``[cell][rank]`` into ``[rank][cell]``, also where private keys left no cells."""
    return tuple(tuple(of_cell[rank] for of_cell in picked) for rank in range(ranks))


# --- several without replacement -----------------------------------------------------------------


def select_in_turn(
    scores: Integers, k: int, rate: Fraction, draw: Draw, entropy: Entropy
) -> list[int]:
    """Select ``k`` different candidates, in order: each by ``draw`` among those that are left.

    Every selection is at the whole ``rate``. All candidates are selected if there are no more than
    k. Raises ValueError for a k below 1, and what ``WeightBuckets`` raises.
    """
    if k < 1:
        raise ValueError("at least one candidate is selected")
    buckets = WeightBuckets(compute_distances(scores), rate)
    selected: list[int] = []
    for _ in range(min(k, buckets.remaining)):
        index, _ = draw(buckets, entropy)
        selected.append(index)
        buckets.take(index)
    return selected


def compute_distances(scores: Integers) -> npt.NDArray[Any]:
    """Compute how far each score lies below the best."""
    score_array = cast_to_integers(scores)
    if not score_array.size:
        raise ValueError("a selection needs a candidate")
    best, worst = int(score_array.max()), int(score_array.min())
    wide = score_array.astype(object) if best - worst >= FITS else score_array
    distances: npt.NDArray[Any] = np.subtract(best, wide)
    return distances
