"""Texts and keys as TOML writes them."""

from __future__ import annotations

import json
import re

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def quote(text: str) -> str:
    """Write a text as a TOML string."""
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}"
        for char in json.dumps(text, ensure_ascii=False)
    )


def write_key(name: str) -> str:
    """Write a TOML key: bare where possible, else quoted."""
    return name if _BARE.fullmatch(name) else quote(name)
