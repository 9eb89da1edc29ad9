"""Entropy for tests: deterministic bytes, or the very bytes that a test wants to see used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest


class HashedEntropy:
    """SHAKE-256 of a label and a counter: deterministic, and as good as uniform."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.reads = 0

    def read(self, size: int) -> bytes:
        self.reads += 1
        return hashlib.shake_256(f"{self.label}/{self.reads}".encode()).digest(size)


class ScriptedEntropy:
    """Gives the listed answers in turn, checks their sizes, and fails when they run out."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)

    def read(self, size: int) -> bytes:
        answer = self.answers.pop(0)
        assert len(answer) == size
        return answer


@pytest.fixture
def hashed() -> Callable[[str], HashedEntropy]:
    return HashedEntropy


@pytest.fixture
def scripted() -> Callable[..., ScriptedEntropy]:
    return ScriptedEntropy
