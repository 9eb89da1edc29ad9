"""Mechanisms: how much noise a loss asks for, and what loss a noise means.

One file for each, and one line of the registry: the planner knows a mechanism by ``Mechanism``
alone. A mechanism whose noise follows a law that the kernel does not draw yet takes that law's
sampler and its verifier too, in ``kernel.core`` and ``kernel.chapters``: what is drawn and what is
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
from dprelease.privacy.partition_selection import find_hiding_threshold
from dprelease.privacy.sensitivity import COUNTED, Contribution, Summed

NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0))
NO_NOISE = Noise(NoiseFamily.NONE, Fraction(0))


class Target(Protocol):
    """The release that noise is calibrated for, and how far neighbours move it."""

    @property
    def query(self) -> Query:
        """Return the query with its picks, its quantiles and the mechanism that its spec names."""

    @property
    def form(self) -> Form:
        """Return the form of the release: numbers, choices or quantiles."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Return the bound on the change between neighbours, in steps of the released integers."""

    @property
    def shift(self) -> Shift:
        """Return the same bound as Gaussian calibration needs it."""

    @property
    def adjacency(self) -> Adjacency:
        """Return the neighbour relation."""

    @property
    def stays(self) -> bool:
        """Return True if a replaced row certainly stays in its one cell."""

    @property
    def integers(self) -> int:
        """Return how many integers of each cell are released."""

    @property
    def together(self) -> bool:
        """Return True if the noise of these is drawn together."""

    @property
    def one_draw(self) -> bool:
        """Return True if every figure is the truth plus one draw of noise and none has a target."""


class Choice(Struct, frozen=True):
    """The noise chosen for a target, the loss of that release alone, and its privacy events.

    ``failure`` is the chance but for which its rho holds: that of keys shown under a budget in rho.
    """

    noise: Noise
    loss: Loss
    events: tuple[Counted, ...] = ()
    form: Form = Form.NUMBERS
    scheme: QuantileScheme | None = None
    threshold: int | None = None
    failure: Fraction = Fraction(0)


NOTHING = Choice(NO_NOISE, NO_LOSS)


class Mechanism(ABC):
    """A mechanism: calibration, privacy loss, privacy event and error.

    An *intensity* is sensitivity over noise scale, in L1, or in L2 for Gaussian noise; for a pure
    mechanism it is epsilon. All noise is rounded up.

    Throughout, ``target`` is the release to protect; epsilon, rho and intensity are positive; and
    what is chosen is noise with its loss and its events.

    Attributes:
        family: The law by which the kernel draws the noise.
        words: Id of the sentence that names the law in reports.
        form: What the mechanism releases.
        keyword: The value of ``mechanism`` in a spec that asks for it.
        concentrated: True if made for losses that compose by rho or by their distributions.
        needs_delta: True if no epsilon holds without a delta.
        together: True if the integers of a cell have noise that is drawn together.
        offered: True if the planner chooses it; otherwise it only refines the choice of another.
    """

    family: ClassVar[NoiseFamily]
    words: ClassVar[str]
    form: ClassVar[Form] = Form.NUMBERS
    keyword: ClassVar[str]
    concentrated: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False
    together: ClassVar[bool] = False
    offered: ClassVar[bool] = True

    @abstractmethod
    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose the least noise that is (epsilon, delta)-DP.

        Args:
            target: The release to protect.
            epsilon: Positive.
            delta: At most this much is spent; a pure mechanism spends none.

        Returns:
            The noise, its loss and its events.
        """

    @abstractmethod
    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the least noise whose zCDP loss is at most rho.

        Args:
            target: The release to protect.
            rho: Positive.
            delta: The delta at which an epsilon may be stated.

        Returns:
            The noise, its loss and its events.
        """

    def scale_noise(self, target: Target, intensity: Fraction) -> Choice:
        """Choose the noise of an intensity, by default of a pure mechanism.

        Args:
            target: The release to protect.
            intensity: Sensitivity over noise scale, positive.

        Returns:
            The noise, its loss and its events.
        """
        return self.calibrate(target, intensity, Fraction(0))

    def build_event(self, target: Target, intensity: Fraction) -> Event | None:
        """Build the privacy event of an intensity without building the noise.

        Args:
            target: The release to protect.
            intensity: Sensitivity over noise scale, positive.

        Returns:
            The event of noise on integers; None for choices.
        """
        return None

    def refine(self, target: Target, choice: Choice) -> Choice:
        """Replace a choice by one of the same epsilon and rho that errs less, if there is one.

        Args:
            target: The release to protect.
            choice: What another mechanism has chosen.

        Returns:
            The better choice, or ``choice`` itself.
        """
        return choice

    def refine_selection(self, target: Target, keys: int, choice: Choice) -> Choice:
        """Replace noise and threshold of a count that selects private keys, if more are shown.

        Args:
            target: The count.
            keys: In how many keys a unit counts at most.
            choice: What another mechanism has chosen.

        Returns:
            A choice of the same loss and events that errs no more, or ``choice`` itself.
        """
        return choice

    def state_loss(
        self, target: Target, choice: Choice, delta: Fraction, *, roughly: bool
    ) -> Choice:
        """State the loss of a choice at a delta, if its loss depends on one.

        Args:
            target: The release to protect.
            choice: The choice whose loss is stated.
            delta: Between 0 and 1.
            roughly: Convert from rho, which is quick and some per cent too large. No guarantee
                rests on it where the loss of the whole release is composed of events.

        Returns:
            The choice with that loss.
        """
        return choice

    def select(
        self,
        target: Target,
        limits: Contribution,
        epsilon: Fraction,
        delta: Fraction,
        form: Summed = COUNTED,
    ) -> tuple[Noise, int]:
        """Choose noise and threshold of a count that selects private keys.

        Args:
            target: The count, or the two sums of a mean.
            limits: Limits on one unit's contribution to the keys.
            epsilon: Positive.
            delta: Pays for keys of one unit alone, and for noise that needs a delta.
            form: How many integers are added up, and what a row adds to them.

        Returns:
            The noise, and the least noisy count at which a key is shown.

        Raises:
            ValueError: The mechanism can't select keys.
        """
        raise ValueError("private keys are selected by noise on a count")

    def select_by_rho(
        self, target: Target, limits: Contribution, rho: Fraction, delta: Fraction
    ) -> tuple[Noise, int]:
        """Choose noise of this rho, and the threshold at which new keys are shown with ``delta``.

        Args:
            target: The count.
            limits: Limits on one unit's contribution to the keys.
            rho: Positive; pays for the noise.
            delta: Pays for keys of one unit alone.

        Returns:
            The noise, and the least noisy count at which a key is shown.
        """
        noise = self.calibrate_rho(target, rho, delta).noise
        return noise, find_hiding_threshold(noise, limits, delta)

    def compute_variance(self, noise: Noise) -> Fraction:
        """Compute the variance of the continuous law of noise on integers, to compare mechanisms.

        Args:
            noise: Noise of this mechanism's family.

        Returns:
            The variance, in squared steps of the released integers. No guarantee rests on it.

        Raises:
            ValueError: The mechanism makes choices.
        """
        raise ValueError("a choice has no variance")

    @abstractmethod
    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Estimate the error at an intensity, to compare mechanisms.

        Args:
            target: The release to protect.
            intensity: Sensitivity over noise scale, positive.

        Returns:
            The variance over the square of the target's L1 sensitivity; of choices a comparable
            multiple of 1/intensity^2.
        """
