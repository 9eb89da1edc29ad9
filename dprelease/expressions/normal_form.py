"""Unicode's normal form NFC, in which every text is read, compared and counted.

One text of accented letters can be spelt in several ways; in NFC it has one spelling. A text of
more than ``LONGEST_TEXT`` characters is taken as it stands, because putting many accents in order
takes the square of their number. So is a text that holds a NUL: DuckDB's function ends there.

Guarantee: the form is a function of the text alone, so of its own record alone.

The form is that of the Unicode version that the engine knows (15 in DuckDB 2.0). By the rules of
Unicode, two versions agree on all characters that the older of them assigns. Characters that only
one of them knows are left alone by the other: two spellings with such a character may be two texts.
"""

from __future__ import annotations

import unicodedata

from dprelease.expressions.sqltext import Sql, call, case

LONGEST_TEXT = 4000  # characters

# A text of nothing else is its own normal form, and has no controls: Latin, Greek, Cyrillic, Hebrew
# and Arabic letters, kana, the Chinese characters of Unicode 1.1, Hangul syllables. To see this is
# much quicker than to make the normal form.
SIMPLE = (
    "[ -~\u00a0-\u02ff\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u05d0-\u05ea"
    "\u0621-\u064a\u1e00-\u1eff\u2010-\u2027\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fa5\uac00-\ud7a3]*"
)


def normalize(text: str) -> str:
    """Normalize a text of the spec to NFC."""
    if text.isascii() or "\0" in text or len(text) > LONGEST_TEXT:
        return text
    return unicodedata.normalize("NFC", text)


def normalize_text(value: Sql) -> Sql:
    """Build SQL that normalizes a text to NFC."""
    # A text of ASCII alone costs two lengths: it has as many bytes as characters.
    ascii_ = call("STRLEN", value).equals(call("LENGTH", value))
    alone = call("CONTAINS", value, call("CHR", 0)) | is_longer(value, LONGEST_TEXT)
    return case(
        [(ascii_, value), (is_simple(value), value), (alone, value)], build_normal_form(value)
    )


def build_normal_form(value: Sql) -> Sql:
    """Build SQL that normalizes a text without NUL of at most ``LONGEST_TEXT`` characters."""
    # DuckDB normalizes every entry of a dictionary-encoded column, even rows that a CASE excluded.
    # That may take hours for a long text, so it is given the beginning only.
    return call("NFC_NORMALIZE", call("LEFT", value, LONGEST_TEXT))


def is_simple(value: Sql) -> Sql:
    """Build SQL that tells if the text has only characters of ``SIMPLE``."""
    return call("REGEXP_FULL_MATCH", value, SIMPLE)


def is_longer(value: Sql, limit: int) -> Sql:
    """Build SQL that tells if a text has more than ``limit`` characters."""
    # A text with no more bytes than the limit is not counted through.
    longer = [call(name, value) > limit for name in ("STRLEN", "LENGTH")]
    return longer[0] & longer[1]
