"""Keys of ``[[query]]`` that only some statistics take; each says which, in ``SpecKeys``."""

from __future__ import annotations

# What can be given by another key instead.
INSTEAD = {"candidates": "candidates_file"}

# Keys that only some statistics take, with an example of each.
OWN_KEYS = {
    "q": "q = 0.5, or a list such as q = [0.25, 0.5, 0.75]",
    "k": "how many values to name, such as k = 3",
    "candidates": "the values to choose from: numbers or texts; or candidates_file",
    "candidates_file": "a file with one candidate a line",
    "score": 'score = "...": what a record adds to the score of `candidate`',
    "score_upper": "the most that one record can add to a score",
    "score_step": "leave it out",
    "numerator": 'numerator = { column = "..." } for a sum, or a condition for a count',
    "denominator": 'denominator = { column = "..." } for a sum, or a condition for a count',
}

LATER_STATISTICS = frozenset({"marginals", "density"})
