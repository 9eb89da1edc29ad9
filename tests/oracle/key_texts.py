"""Keys of texts in plain Python: what ``key_normalization`` defines."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256

from dprelease.expressions.normal_form import LONGEST_TEXT
from dprelease.sources.shared.key_normalization import (
    BEGINNING,
    CONTROLS,
    ELLIPSIS,
    LONGEST_KEY,
    REPLACEMENT,
)

_CONTROLS = re.compile(CONTROLS)


def normal(text: str) -> str:
    """What a text is read as."""
    if text.isascii() or "\0" in text or len(text) > LONGEST_TEXT:
        return text
    return unicodedata.normalize("NFC", text)


def one_line(text: str) -> str:
    """The private key of a text, which is its label too."""
    found = normal(_CONTROLS.sub(REPLACEMENT, text))
    if len(found) <= LONGEST_KEY:
        return found
    digest = sha256(found.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{found[:BEGINNING]}{ELLIPSIS}{digest}"
