"""Normalization of texts as keys: which are one key, and how a private one is written.

A text is compared with others in its Unicode normal form NFC, in which one text of accented letters
has one spelling. A text beyond ``LONGEST_TEXT`` characters is taken as it stands, since putting
many accents in order takes the square of their number.

A declared key has the label that the spec wrote, and is met by every text of its normal form.

A private key is its own label, and becomes one line that can be shown: each of ``CONTROLS`` becomes
U+FFFD, then the normal form is taken. If that is longer than ``LONGEST_KEY`` characters, its
beginning, an ellipsis and the SHA-256 of all of it take its place, ``LONGEST_KEY`` characters
together, so that long texts with one beginning stay apart.

Guarantee: a key is a function of the text alone, so of its own record alone. Which texts share a
key is the same whatever the rest of the table holds: a record is in one cell as before, one more or
less of it changes that cell alone, and no sensitivity changes.

The normal form is that of the Unicode version that the engine knows (15 in DuckDB 2.0). By the
rules of Unicode, two versions agree on all characters that were assigned by the older of them.
Characters that only one of them knows are left alone by the other: two spellings with such a
character may be two keys.
"""

from __future__ import annotations

# C0 and C1 controls, line and paragraph separators, the byte order mark, and what turns the
# direction of a line; a regular expression for Python and for DuckDB. None of them takes part in a
# normal form, so it doesn't matter which of the two steps comes first.
CONTROLS = "[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069]"
REPLACEMENT = "\ufffd"

# A text of nothing else is its own normal form, and has no controls: Latin, Greek, Cyrillic, Hebrew
# and Arabic letters, kana, the Chinese characters of Unicode 1.1, Hangul syllables. To see this is
# much quicker than to make the normal form.
SIMPLE = (
    "[ -~\u00a0-\u02ff\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u05d0-\u05ea"
    "\u0621-\u064a\u1e00-\u1eff\u2010-\u2027\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fa5\uac00-\ud7a3]*"
)
ELLIPSIS = "\u2026"
LONGEST_KEY = 1000
LONGEST_TEXT = 4 * LONGEST_KEY  # no normal form of more is within LONGEST_KEY
BEGINNING = LONGEST_KEY - 64 - len(ELLIPSIS)
