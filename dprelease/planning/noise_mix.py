"""Which kind of noise each draft takes: the mixes that are worth comparing.

Alone, Laplace noise is least; many releases together lose less with Gaussian noise, and so do
releases of many integers at once. Drafts alike take the same kind. The mixes tried are all of one
kind, all of the other, and those in between that give Gaussian noise to the drafts that gain most
by it, in the order of how much their L1 norm exceeds their L2 norm, and of their weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dprelease.model import Form, NoiseFamily
from dprelease.planning.draft import Draft

Mix = Mapping[str, NoiseFamily]

LAPLACE, GAUSSIAN = NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN
FLIP, EXPONENTIAL = NoiseFamily.PERMUTE_AND_FLIP, NoiseFamily.EXPONENTIAL
_MOST = 6
"""So many kinds of drafts are told apart in mixes."""


def pure_mix(drafts: Sequence[Draft]) -> Mix | None:
    """No delta for any; None where a spec asks for Gaussian noise."""
    if any(draft.query.mechanism == "gaussian" for draft in drafts):
        return None
    return {draft.name: _pure(draft) for draft in drafts}


def mixes(drafts: Sequence[Draft]) -> Iterator[Mix]:
    """The mixes to compare where there is a delta: Gaussian noise for none, for all, for some."""
    fixed = {draft.name: _fixed(draft) for draft in drafts}
    open_ones = [draft for draft in drafts if fixed[draft.name] is None]
    kinds = sorted({_kind(draft) for draft in open_ones}, reverse=True)
    steps = [0, len(kinds), *range(1, len(kinds))][: _MOST + 1]
    for most in steps:
        chosen = set(kinds[:most])
        yield {
            draft.name: fixed[draft.name]
            or (_concentrated(draft) if _kind(draft) in chosen else _pure(draft))
            for draft in drafts
        }


def _kind(draft: Draft) -> tuple[float, float, bool]:
    """What a mix tells drafts apart by: gain in norm, weight, and what it is."""
    known = draft.sensitivity
    if not draft.additive:
        return 1.0, float(draft.demand.weight), False
    gain = known.l1**2 / known.l2_squared if known.l2_squared else 1.0
    return round(gain, 2), float(draft.demand.weight), True


def _fixed(draft: Draft) -> NoiseFamily | None:
    wanted = draft.query.mechanism
    if draft.released.form is Form.QUANTILES:
        return EXPONENTIAL
    if draft.released.form is Form.CHOICE:
        if wanted == "exponential":
            return EXPONENTIAL
        return FLIP if wanted == "laplace" else None
    if wanted in {"laplace", "gaussian"}:
        return LAPLACE if wanted == "laplace" else GAUSSIAN
    return None


def _pure(draft: Draft) -> NoiseFamily:
    if draft.additive:
        return LAPLACE
    return _fixed(draft) or FLIP


def _concentrated(draft: Draft) -> NoiseFamily:
    return GAUSSIAN if draft.additive else _fixed(draft) or EXPONENTIAL
