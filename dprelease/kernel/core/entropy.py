"""Where random bytes come from: the operating system, and nowhere else.

Nothing is buffered in this process, so a forked child can't replay its parent's bytes, and there
is no seed. Tests inject their own ``Entropy``.
"""

from __future__ import annotations

import os
from typing import Protocol


class EntropyError(RuntimeError):
    """The source of random bytes gave fewer or more than asked; no noise is drawn from that."""


class Entropy(Protocol):
    """A source of independent uniform bytes."""

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` fresh bytes, never handed out before."""
        ...


class SystemEntropy:
    """The operating system's cryptographic generator (``getrandom`` on Linux).

    Stateless: every byte comes from the kernel at the moment it is asked for. Blocks at early boot
    until the kernel's pool is initialised; an ``OSError`` of the system passes through.
    """

    __slots__ = ()

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes from the kernel."""
        return os.urandom(size)  # noqa: TID251 - here alone


def read_exactly(entropy: Entropy, size: int) -> bytes:
    """Read ``size`` bytes, or raise EntropyError: a short read would skew the law."""
    data = entropy.read(size)
    if len(data) != size:
        raise EntropyError(f"the entropy source gave {len(data)} bytes instead of {size}")
    return data


def read_bits(entropy: Entropy, bits: int) -> int:
    """Read a uniform integer in [0, 2^bits)."""
    size = (bits + 7) // 8
    return int.from_bytes(read_exactly(entropy, size), "little") >> (8 * size - bits)
