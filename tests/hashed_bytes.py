"""Bytes that look random and are the same in every run of the tests."""

from __future__ import annotations

import hashlib


class HashedEntropy:
    """SHAKE-256 of a label and a counter."""

    shake = staticmethod(hashlib.shake_256)

    def __init__(self, label: str) -> None:
        self.label = label
        self.reads = 0

    def read(self, size: int) -> bytes:
        self.reads += 1
        return self.shake(f"{self.label}/{self.reads}".encode()).digest(size)


class Hashed(HashedEntropy):
    """SHAKE-128 of a label and a counter, which takes less time."""

    shake = staticmethod(hashlib.shake_128)
