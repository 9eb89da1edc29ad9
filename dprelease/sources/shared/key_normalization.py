"""Normalization of texts to keys: which texts share a key, and how a private key is written.

Texts are compared in their Unicode normal form NFC: see ``expressions.normal_form``.

A declared key has the label that the spec states; every text with the same normal form takes it.

A private key is its own label, so it becomes one printable line: each of ``CONTROLS`` becomes
U+FFFD, then the text is normalized. A result longer than ``LONGEST_KEY`` characters is replaced by
its beginning, an ellipsis and the SHA-256 of the whole, ``LONGEST_KEY`` characters together, so
that long texts with the same beginning stay apart.

Guarantee: a key is a function of the text alone, so of its own record alone. Which texts share a
key does not depend on the rest of the table: each record lies in one cell, adding or removing it
changes that cell alone, and sensitivities are those without normalization.
"""

from __future__ import annotations

# C0 and C1 controls, line and paragraph separators, the byte order mark, and what turns the
# direction of a line; a regular expression for Python and for DuckDB. None of them takes part in a
# normal form, so it doesn't matter which of the two steps comes first.
CONTROLS = "[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069]"
REPLACEMENT = "\ufffd"
ELLIPSIS = "\u2026"
LONGEST_KEY = 1000
BEGINNING = LONGEST_KEY - 64 - len(ELLIPSIS)
