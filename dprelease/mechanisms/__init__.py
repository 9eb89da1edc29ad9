"""Mechanisms: how much noise a loss asks for, and what loss a noise means.

One file for each, and one line of the registry. A mechanism whose noise follows a law that the
kernel does not draw yet takes that law's sampler and its verifier too, in ``kernel.noise`` and
``kernel.verify``: what is drawn and what is proved of it are not a mechanism's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dprelease.model import Loss, Noise, NoiseFamily, Sensitivity
from dprelease.model.privacy_events import Event
from dprelease.model.shift import Shift


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What a mechanism says of itself.

    ``family``: the law by which the kernel draws it; ``words``: what reports call it. ``event``
    says what one draw does to the privacy loss, from its noise and the loss of the draw;
    ``event_at`` the same for noise on integers at an intensity (sensitivity over scale).
    ``needs_delta``: no epsilon holds for it without a delta.
    """

    family: NoiseFamily
    words: str
    event: Callable[[Noise, Loss, Sensitivity, Shift], Event]
    event_at: Callable[[Fraction, Sensitivity, Shift], Event] | None = None
    needs_delta: bool = False
