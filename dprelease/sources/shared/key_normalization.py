"""Normalization of texts as keys: which are one key, and how a private one is written.

Texts are compared in their Unicode normal form NFC: see ``expressions.normal_form``.

A declared key has the label that the spec wrote, and is met by every text of its normal form.

A private key is its own label, and becomes one line that can be shown: each of ``CONTROLS`` becomes
U+FFFD, then the normal form is taken. If that is longer than ``LONGEST_KEY`` characters, its
beginning, an ellipsis and the SHA-256 of all of it take its place, ``LONGEST_KEY`` characters
together, so that long texts with one beginning stay apart.

Guarantee: a key is a function of the text alone, so of its own record alone. Which texts share a
key is the same whatever the rest of the table holds: a record is in one cell as before, one more or
less of it changes that cell alone, and no sensitivity changes.
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
