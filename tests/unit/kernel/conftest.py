"""Entropy for tests: deterministic bytes, or the very bytes that a test wants to see used."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hashed_bytes import HashedEntropy


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
