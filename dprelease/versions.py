"""The versions behind a release."""

from __future__ import annotations

import platform
from importlib.metadata import version

PACKAGES = ("dprelease", "duckdb", "numpy")


def versions() -> dict[str, str]:
    """Name the versions of the tool, of Python and of what counted and drew."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
