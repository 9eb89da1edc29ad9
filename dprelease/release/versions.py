"""The versions behind a release."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

PACKAGES = ("dprelease", "duckdb", "numpy")


@cache
def versions() -> Mapping[str, str]:
    """Name the versions of the tool, of Python and of what counted and drew, in order of name."""
    import platform
    from importlib.metadata import version

    found = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    return MappingProxyType(dict(sorted(found.items())))
