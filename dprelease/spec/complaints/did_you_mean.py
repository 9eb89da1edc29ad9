"""Guess which of the known words a misspelt one stands for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_LONGEST = 64
_MOST = 500


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Give the known word closest to ``word``, or None when none is close.

    Case and the difference between ``-`` and ``_`` don't count. Ties go to the first in order;
    only the first 500 known words are tried.
    """
    # 60 of 100 letters in common, in order: enough to be a misspelling.
    if len(word) > _LONGEST:
        return None
    # Imported here for start-up: most specs hold no misspelling.
    from difflib import SequenceMatcher

    wanted = _fold(word)
    best, best_score = None, 60
    for each in islice(known, _MOST):
        score = round(100 * SequenceMatcher(None, wanted, _fold(each), autojunk=False).ratio())
        if score > best_score:
            best, best_score = each, score
    return best


def _fold(word: str) -> str:
    return word.casefold().replace("-", "_")
