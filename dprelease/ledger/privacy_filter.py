"""Privacy filter over the runs of a dataset: the least total that holds under full adaptivity.

Every run may be chosen after seeing what the earlier ones published, and whoever chooses decides
as well when to stop. Sums survive that (Rogers, Roth, Ullman, Vadhan 2016 for epsilon and delta;
Feldman, Zrnic 2021 and Whitehouse, Ramdas, Rogers, Wu 2023 for rho). Numerical composition of loss
distributions does not, so it is used within one run alone, whose parameters are fixed before it
starts. Nor may one take the best of several ways afterwards as if it had been the only one: what
follows pays for the choice.

Caps are (E, D). A tenth of D, K, is kept for turning rho into epsilon; the rest covers the deltas
of runs. Ways to count, of which any one may be within the caps:

* plain: the sum of the runs' epsilons;
* for each order a > 1 of a fixed list, with weight w (the weights add up to at most 1): a pure run
  costs min(epsilon, a rho), any other one e + a rho for its zCDP part rho and its rest (e, d), and
  once, ``zcdp.surcharge(a, w K)`` is added.

Proof. Let L be the loss of all that is published, for two neighbours, and x+ = max(x, 0). To show:
the expectation of (1 - exp(E - L))+ is at most D. For numbers x, y >= 0 it holds that
(1 - xy)+ <= (1 - x)+ + (1 - y)+, and the same for more than two.

* A history that ends within the plain way: its (1 - exp(E - L))+ is at most the sum of
  u_i = (1 - exp(epsilon_i - L_i))+, whose expectation, given the past, is at most delta_i.
* One that ends within the way of order a: at most the sum of the same v_i for the rests (and pure
  runs, where it is 0), and (1 - exp(F - Z))+ for the loss Z of all that counts by rho and what the
  way leaves for it, F. That is at most exp((a-1)(Z - F)) (1 - 1/a)^(a-1) / a. And
  exp((a-1)(Z - a sum of rho)) is a supermartingale that begins with 1, as it is known before each
  run whether it counts by rho, and with what rho. By the definition of the surcharge the
  expectation is at most w K, over all orders together at most K.
* All u_i and v_i: while the plain way is within the caps each run is counted with ``Parts.either``,
  which bounds the expectation of max(u_i, v_i); afterwards the u_i don't matter any more, and it is
  counted with the delta of its rest. These counts add up to at most D - K.

Runs are in the order of their charges, at which their parameters are fixed: the noise of each is
drawn independently of everything before. Nothing is kept, and the plain way alone has all of D, as
long as no run has a zCDP part, and for ever if the deltas up to the first one that has are above
D - K; up to there the supermartingale is 1, so that this choice costs nothing. Without a delta cap
there is the plain way alone. Adding a run never makes a total smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from dprelease.model import Loss
from dprelease.model.plan_json import exact, read_exact
from dprelease.privacy.zcdp import bound_pure_rho, bound_surcharge, order_for

ZERO = Fraction(0)


class Parts(Struct, frozen=True):
    """A run taken apart: its steps with a zCDP bound cost ``rho`` together, the rest is a sum.

    Everything the run does is rho-zCDP together with (epsilon, delta)-DP. ``either`` bounds how
    often the run's own (epsilon, delta) or that of the rest fails: see the head of this file.
    """

    rho: Fraction
    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    either: Fraction = ZERO


_PARTS = Parts.__struct_fields__


def split_loss(loss: Loss, steps: Iterable[Loss], *, sums: bool) -> Parts:
    """Split a run's loss into a zCDP part and an (epsilon, delta) rest.

    Args:
        loss: Loss of the whole run.
        steps: Losses of the steps that the run is made of.
        sums: The epsilon and delta of ``loss`` are the sums over the steps.

    Returns:
        The parts: the run is rho-zCDP together with (epsilon, delta)-DP.
    """
    rho = epsilon = delta = ZERO
    for step in steps:
        if step.rho is not None:
            rho += step.rho
        elif step.delta == 0:  # a pure step has a rho even if nobody wrote it down
            rho += bound_pure_rho(step.epsilon)
        else:
            epsilon += step.epsilon
            delta += step.delta
    # If the loss is a sum, a failure of the run is a failure of a step, and is counted once.
    once = sums or rho == 0 or delta == 0
    return Parts(rho, epsilon, delta, max(loss.delta, delta) if once else loss.delta + delta)


def wrap_loss(loss: Loss) -> Parts:
    """Split the loss of a run whose steps are not known."""
    return split_loss(loss, [loss], sums=True)


def encode_parts(parts: Parts) -> dict[str, str]:
    """Encode parts as a charge's entry holds them."""
    return {name: exact(getattr(parts, name)) for name in _PARTS}


def read_parts(content: Mapping[str, object]) -> Parts:
    """Decode what ``encode_parts`` wrote.

    Raises:
        KeyError: A part is missing.
        ValueError: A part is not an exact amount.
    """
    return Parts(*(read_exact(content[name]) for name in _PARTS))


RESERVE = Fraction(1, 10)
"""The share of the delta cap that is kept for turning rho into epsilon."""

ORDERS = tuple(1 + Fraction(2) ** power for power in range(-2, 14))
MAIN = Fraction(1, 2)
"""The weight of the order that gets most out of the caps; the others share the other half."""


class Caps(Struct, frozen=True):
    """The most that all runs of a dataset together may cost; None is no cap.

    Under a cap on ``rho`` every run must be zCDP as a whole, and their rhos add up.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    def lower(self, spec_caps: Caps) -> Caps:
        """Return the lower of both caps for each loss; a cap that is None does not count."""
        pairs = ((getattr(self, name), getattr(spec_caps, name)) for name in CAPS)
        return Caps(
            *(min((cap for cap in pair if cap is not None), default=None) for pair in pairs)
        )

    def list_exceeded(self, spec_caps: Caps) -> list[str]:
        """Name the losses that ``spec_caps`` caps higher than these caps."""
        pairs = ((name, getattr(spec_caps, name), getattr(self, name)) for name in CAPS)
        return [name for name, own, cap in pairs if None not in (own, cap) and own > cap]


CAPS = Caps.__struct_fields__


class Terms(Struct, frozen=True):
    """Cost of a run, also in parts, and the period of its data: the text of ``{period}``.

    ``disjoint``: it was declared that each protected unit has records in one period only. Then
    ``data`` is where they are, by ``data_places``; version 0.2 did not note it.
    """

    loss: Loss
    parts: Parts
    period: str | None = None
    disjoint: bool = False
    data: tuple[str, ...] | None = None


class Total(Struct, frozen=True):
    """Total cost of runs, by the way of counting that gives the least epsilon.

    ``counted`` is what the runs take of the delta cap and ``room`` the most that may be (None: no
    cap). ``reserve`` of the cap is for composing. ``composed``: the epsilon is not the plain sum.
    """

    epsilon: Fraction
    counted: Fraction
    room: Fraction | None
    reserve: Fraction
    composed: bool

    @property
    def delta(self) -> Fraction:
        """Delta at which the epsilon holds."""
        return self.counted + self.reserve if self.composed else self.counted

    @property
    def by(self) -> str:
        """Method of composition, as reports and JSON name it."""
        return "zCDP" if self.composed else "plain sums"

    def is_within(self, caps: Caps) -> bool:
        """Compare the total with the caps on epsilon and delta, exactly."""
        epsilon = caps.epsilon is None or self.epsilon <= caps.epsilon
        return epsilon and (self.room is None or self.counted <= self.room)


def compute_least_total(runs: Iterable[Terms], caps: Caps) -> Total:
    """Compute the total of runs under full adaptivity.

    Args:
        runs: All runs that count, in the order of their charges.
        caps: Caps on epsilon and delta; they decide how the runs may be composed.

    Returns:
        The least epsilon of the ways to count, with the delta that belongs to it; the proof is at
        the head of this module.
    """
    tally = Tally(caps)
    for run in runs:
        tally.add(run)
    return tally.compute_total()


class Tally:
    """Adds up runs one after the other, in the order of their charges."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._reserve = (caps.delta or ZERO) * RESERVE
        self._room = (caps.delta or ZERO) - self._reserve
        self._orders = _list_orders(caps.epsilon, self._reserve) if caps.delta else ()
        self._costs = [once for _, once in self._orders]
        self._epsilon = self._delta = self._either = self._counted = ZERO
        self._plain = True  # the plain way is still within the caps
        self._composes: bool | None = None  # None: no run has a zCDP part yet

    def add(self, run: Terms) -> None:
        """Add the next run."""
        loss, parts = run.loss, run.parts
        self._epsilon += loss.epsilon
        self._delta += loss.delta
        self._either += parts.either
        cap = self._caps.epsilon
        if self._either > self._room or (cap is not None and self._epsilon > cap):
            self._plain = False
        self._counted += parts.either if self._plain else parts.delta
        if self._composes is None and parts.rho:
            self._composes = self._either <= self._room
        for at, (order, _) in enumerate(self._orders):
            by_rho = parts.epsilon + order * parts.rho
            self._costs[at] += by_rho if loss.delta else min(loss.epsilon, by_rho)

    def compute_total(self) -> Total:
        """Compute the total of the runs added so far."""
        cap = self._caps.delta
        if not cap or not self._composes:
            return Total(self._epsilon, self._delta, cap, ZERO, composed=False)
        composed = max(ZERO, min(self._costs))
        room, reserve = self._room, self._reserve
        if self._either <= room and self._epsilon <= composed:
            return Total(self._epsilon, self._either, room, reserve, composed=False)
        if self._counted > room:  # refused in any case
            composed = max(composed, self._epsilon)
        return Total(composed, self._counted, room, reserve, composed=True)


@lru_cache(maxsize=64)
def _list_orders(cap: Fraction | None, reserve: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """List the orders of the filter, each with its surcharge."""
    weights = [(order, (1 - MAIN) / len(ORDERS)) for order in ORDERS]
    if cap is not None:
        weights.append((order_for(cap, MAIN * reserve), MAIN))
    return tuple((order, bound_surcharge(order, weight * reserve)) for order, weight in weights)
