"""How many operations some work takes: what grows too fast shows at small sizes, on any machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_operations(work: Callable[[], object]) -> int:
    """Count the calls and the lines that some work executes in Python, each turn of a loop too."""
    number = 0

    def note(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal number
        number += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return number
