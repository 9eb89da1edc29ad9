"""Packed content of the tests."""

from __future__ import annotations

import gzip

import pyarrow as pa


def pack(content: bytes, how: str) -> bytes:
    """The content in three members of gzip or Zstandard, of which the last has nothing in it."""
    make = gzip.compress if how == "gz" else pa.Codec("zstd").compress
    return b"".join(bytes(make(part)) for part in (content[:50], content[50:], b""))
