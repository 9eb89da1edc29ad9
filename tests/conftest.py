"""What many tests need: noise that is the same in every run of the tests."""

from __future__ import annotations

import hashlib
import os
import signal

import pytest
from hypothesis import settings

# The suite tries the same examples each time: what it says of a commit doesn't change. New ones
# are tried with DPRELEASE_RANDOM_EXAMPLES=1.
settings.register_profile("same", derandomize=True)
if not os.environ.get("DPRELEASE_RANDOM_EXAMPLES"):
    settings.load_profile("same")


class HashedEntropy:
    """Reproducible bytes that look random: SHAKE-256 of a label and a counter."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.reads = 0

    def read(self, size: int) -> bytes:
        self.reads += 1
        return hashlib.shake_256(f"{self.label}/{self.reads}".encode()).digest(size)


@pytest.fixture
def entropy(request: pytest.FixtureRequest) -> HashedEntropy:
    """Bytes of the test's own."""
    return HashedEntropy(request.node.name)


@pytest.fixture(autouse=True, scope="session")
def _interruptions_arrive() -> None:
    """Ctrl-C is heard here and by processes of tests, also in a job of the background.

    A shell starts those with the signal ignored, and who is started so inherits that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
