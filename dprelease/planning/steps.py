"""Steps before they have noise: what is released at once, and how far a neighbour moves it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dprelease.mechanisms.registry import MECHANISMS, Families, families_of
from dprelease.model import (
    Form,
    Loss,
    Noise,
    NoiseFamily,
    QuantileScheme,
    Query,
    Read,
    Sensitivity,
    Step,
)
from dprelease.model.privacy_events import Approximate, Counted, Range
from dprelease.model.shift import Shift
from dprelease.planning.budget_request import Demand
from dprelease.statistics.base import Neighbours, Released


@dataclass(frozen=True, slots=True)
class Choice:
    """How a draft is made private, and the loss that this means for it alone.

    ``spans`` are the ranges of a scheme's levels.
    """

    noise: Noise
    loss: Loss
    form: Form = Form.NUMBERS
    scheme: QuantileScheme | None = None
    threshold: int | None = None
    spans: tuple[Fraction, ...] = ()

    @property
    def variance(self) -> float:
        """Variance of the continuous law, to compare choices with: nothing rests on it."""
        parameter = float(self.noise.parameter)
        if self.form is not Form.NUMBERS:
            return parameter**-2 if parameter else 0.0
        return 2 * parameter**2 if self.noise.family == "laplace" else parameter


ALONE = Demand()


@dataclass(frozen=True, slots=True, eq=False)  # each is itself: thousands are looked up
class Draft:
    """A release of some integers or choices, with all queries that are ``reads`` of it.

    ``query`` is the one that lends it name, groups and filter. ``selects``: its noisy count decides
    which private keys of its table are shown.
    """

    query: Query
    released: Released
    sensitivity: Sensitivity
    neighbours: Neighbours
    reads: tuple[Read, ...] = ()
    demand: Demand = ALONE
    selects: bool = False

    @property
    def name(self) -> str:
        """The name of the step."""
        return self.query.name

    @property
    def shift(self) -> Shift:
        """The changes between neighbours, as the Gaussian calibration wants them."""
        sensitivity = self.sensitivity
        return Shift(sensitivity.l2_squared, sensitivity.coordinates, sensitivity.shapes)

    @property
    def free(self) -> bool:
        """True when no neighbour changes anything, so that no noise is needed."""
        return self.sensitivity.l1 == 0 and not self.selects

    @property
    def additive(self) -> bool:
        """True when it is noise on integers, so that Gaussian noise is possible."""
        return self.released.form is Form.NUMBERS

    @property
    def families(self) -> Families:
        """The noise families that the spec leaves to choose from."""
        return families_of(self.released.form, self.query.mechanism)

    def events_at(self, intensity: Fraction, family: NoiseFamily) -> tuple[Counted, ...] | None:
        """The same for noise of a family by its intensity, without the noise; None for choices."""
        event_at = MECHANISMS[family].event_at
        if event_at is None or not self.additive:
            return None
        return ((event_at(intensity, self.sensitivity, self.shift), 1),)

    def events(self, choice: Choice) -> tuple[Counted, ...]:
        """What the choice does to the privacy loss, for tight composition."""
        noise, loss = choice.noise, choice.loss
        if noise.family is NoiseFamily.NONE:
            return ()
        if choice.scheme is not None:
            return tuple((Range(span), 1) for span in choice.spans)
        if choice.threshold is not None:
            return ((Approximate(loss.epsilon, loss.delta), 1),)
        times = self.query.picks if choice.form is Form.CHOICE else 1
        one = Loss(loss.epsilon / times, loss.delta)
        event = MECHANISMS[noise.family].event(noise, one, self.sensitivity, self.shift)
        return ((event, times),)

    def step(self, choice: Choice) -> Step:
        """Complete the draft."""
        return Step(
            query=self.query,
            measures=self.released.measures,
            transform=self.released.transform,
            unit=self.released.unit,
            sensitivity=self.sensitivity,
            noise=choice.noise,
            loss=choice.loss,
            form=choice.form,
            threshold=choice.threshold,
            scheme=choice.scheme,
            points=self.released.points,
        )
