"""What a dataset's runs cost together, disjoint periods in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dprelease.ledger.filters import Caps, Tally, Total, least
from dprelease.ledger.parts import Parts
from dprelease.ledger.periods import meets, together
from dprelease.model import Loss


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run costs, and when its data are from.

    ``disjoint``: it was declared that each protected unit has records in one period only.
    """

    loss: Loss
    parts: Parts
    period: str | None = None
    disjoint: bool = False


def spent(terms: Sequence[Terms]) -> Loss:
    """Plain sums of epsilon, delta and rho of the runs that a unit can be in, the largest of each.

    Valid however the runs were chosen. The rho is None as soon as one run has none.
    """
    return _largest([total(each.loss for each in met) for met in together(terms)])


def total_of(terms: Sequence[Terms], caps: Caps) -> Total:
    """The total of the runs that a unit can be in, the largest; see ``filters`` and ``periods``."""
    return _worst([least(met, caps) for met in together(terms)])


def running(terms: Sequence[Terms], caps: Caps) -> Iterator[tuple[Loss, Total]]:
    """Plain sums and totals after each run, as ``spent`` and ``total_of`` have them."""
    if not any(each.disjoint for each in terms):
        tally, plain = Tally(caps), total(())
        for each in terms:
            tally.add(each)
            plain = total((plain, each.loss))
            yield plain, tally.total()
        return
    plain, most = total(()), total_of((), caps)
    for at, last in enumerate(terms):
        # Only sets of runs that the last one is in have changed, and none has become cheaper.
        near = [each for each in terms[:at] if meets(each, last)]
        sets = [met for met in together([*near, last]) if met[-1] is last]
        plain = _largest([plain, *(total(each.loss for each in met) for met in sets)])
        most = _worst([most, *(least(met, caps) for met in sets)])
        yield plain, most


def _largest(sums: Sequence[Loss]) -> Loss:
    rhos = [each.rho for each in sums if each.rho is not None]
    return Loss(
        max(each.epsilon for each in sums),
        max(each.delta for each in sums),
        max(rhos) if len(rhos) == len(sums) else None,
    )


def _worst(totals: Sequence[Total]) -> Total:
    most = max(totals, key=lambda each: (each.epsilon, each.counted))
    tight = min(totals, key=lambda each: (each.room or Fraction(0)) - each.counted)
    return replace(most, counted=tight.counted, room=tight.room)


def total(losses: Iterable[Loss]) -> Loss:
    """Sum of epsilons, of deltas and of rhos: basic composition, valid under full adaptivity."""
    found = tuple(losses)
    rhos = [each.rho for each in found if each.rho is not None]
    return Loss(
        sum((each.epsilon for each in found), Fraction(0)),
        sum((each.delta for each in found), Fraction(0)),
        sum(rhos, Fraction(0)) if len(rhos) == len(found) else None,
    )
