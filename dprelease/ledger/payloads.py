"""Sealed bytes, compressed for the file and checked on the way back."""

from __future__ import annotations

import hashlib
import zlib


def packed(payload: bytes) -> bytes:
    """The payload, compressed."""
    return zlib.compress(payload, level=1)


def unpacked(stored: bytes, sha256: str, size: int) -> bytes:
    """The payload again. Raises ValueError unless it has the given SHA-256 and size.

    Never expands to more than ``size`` bytes, whatever the stored bytes claim.
    """
    reader = zlib.decompressobj()
    try:
        payload = reader.decompress(stored, size + 1)
    except zlib.error:
        raise ValueError("not a compressed payload") from None
    if len(payload) != size or fingerprint(payload) != sha256:
        raise ValueError("not the payload that was sealed")
    return payload


def fingerprint(payload: bytes) -> str:
    """SHA-256 as hex."""
    return hashlib.sha256(payload).hexdigest()
