"""Mechanisms: how much noise a loss asks for, and what loss a noise means.

One file for each, and one line of the registry: the planner knows a mechanism by ``Mechanism``
alone. A mechanism whose noise follows a law that the kernel does not draw yet takes that law's
sampler and its verifier too, in ``kernel.noise`` and ``kernel.verify``: what is drawn and what is
proved of it are not a mechanism's to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Protocol

from msgspec import Struct

from dprelease.model import (
    Adjacency,
    Form,
    Loss,
    Noise,
    NoiseFamily,
    QuantileScheme,
    Query,
    Sensitivity,
)
from dprelease.model.privacy_events import Counted, Event
from dprelease.model.shift import Shift
from dprelease.privacy.sensitivity import Contribution

NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0))
NO_NOISE = Noise(NoiseFamily.NONE, Fraction(0))


class Target(Protocol):
    """What noise is calibrated for: integers or choices released at once, and who moves them."""

    @property
    def query(self) -> Query:
        """The query with its picks, its quantiles and the mechanism it asks for."""

    @property
    def form(self) -> Form:
        """Whether numbers, choices or quantiles are released."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far a neighbour moves them."""

    @property
    def shift(self) -> Shift:
        """The same for Gaussian noise."""

    @property
    def adjacency(self) -> Adjacency:
        """The neighbour relation."""

    @property
    def stays(self) -> bool:
        """Whether a replaced row stays in its one cell for certain."""

    @property
    def one_draw(self) -> bool:
        """Whether all that is read of it is the truth and one draw of noise, without a target."""


class Choice(Struct, frozen=True):
    """How a target is made private, the loss that this means for it alone, and its events."""

    noise: Noise
    loss: Loss
    events: tuple[Counted, ...] = ()
    form: Form = Form.NUMBERS
    scheme: QuantileScheme | None = None
    threshold: int | None = None


NOTHING = Choice(NO_NOISE, NO_LOSS)


class Mechanism(ABC):
    """What a mechanism says of itself.

    ``family``: the law by which the kernel draws it; ``words``: what reports call that law;
    ``form``: what it releases; ``keyword``: what ``mechanism`` in a spec asks for it.
    ``concentrated``: made for losses that compose by rho or by their distributions;
    ``needs_delta``: no epsilon holds for it without a delta. ``offered``: it is planned with; else
    it only refines what others have chosen.

    An *intensity* is sensitivity over scale, in L1 or for Gaussian noise in L2: of a pure mechanism
    it is epsilon. All noise is rounded upwards.
    """

    family: ClassVar[NoiseFamily]
    words: ClassVar[str]
    form: ClassVar[Form] = Form.NUMBERS
    keyword: ClassVar[str]
    concentrated: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False
    offered: ClassVar[bool] = True

    @abstractmethod
    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """The least noise of this loss; a delta that isn't needed is not spent."""

    @abstractmethod
    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """The least noise whose zCDP loss is at most rho; ``delta``: what to state epsilon at."""

    def scale_noise(self, target: Target, intensity: Fraction) -> Choice:
        """Noise of an intensity."""
        return self.calibrate(target, intensity, Fraction(0))

    def build_event(self, target: Target, intensity: Fraction) -> Event | None:
        """The event of noise on integers at an intensity, without the noise; None for choices."""
        return None

    def refine(self, target: Target, choice: Choice) -> Choice:
        """A choice of the same epsilon and rho that errs less, if this mechanism has one."""
        return choice

    def state_loss(
        self, target: Target, choice: Choice, delta: Fraction, *, roughly: bool
    ) -> Choice:
        """The choice with its loss stated at a delta, if it needs one.

        ``roughly``: by its rho, which is quick, and some per cent more than it has to be. Nothing
        rests on it where the release as a whole is composed of events.
        """
        return choice

    def select(
        self, target: Target, limits: Contribution, epsilon: Fraction, delta: Fraction
    ) -> tuple[Noise, int]:
        """Noise and threshold of a count that selects private keys. ValueError if it can't."""
        raise ValueError("private keys are selected by noise on a count")

    def compute_variance(self, noise: Noise) -> Fraction:
        """Variance of the continuous law of noise on integers, to compare: nothing rests on it."""
        raise ValueError("a choice has no variance")

    @abstractmethod
    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Variance in units of the target's L1 norm; of a choice the square of 1/intensity."""
