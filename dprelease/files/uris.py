"""URIs: what names the place, and the options for its file system that follow."""

from __future__ import annotations

import os
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_uri(path: str) -> bool:
    """Tell if a path is a URI, such as ``s3://bucket/table.parquet``."""
    return _SCHEME.match(path) is not None


def split_options(path: str) -> tuple[str, str]:
    """Split a URI into place and options, such as a region; a path has no options."""
    if not is_uri(path):
        return path, ""
    place, mark, options = path.partition("?")
    return place, mark + options


def get_last_part(path: str) -> str:
    """Return the name of a file or folder without its options."""
    return os.path.basename(split_options(path)[0].rstrip("/"))
