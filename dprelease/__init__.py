"""dprelease: publish statistics of a private table under differential privacy.

``load`` reads a spec, ``plan`` says what a release would do and spend without opening any data,
``rehearse`` releases made-up records, ``run`` the data. All raise ``Failure`` with every complaint
and an exit code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprelease.errors import Complaint, ExitCode, Failure, Place

if TYPE_CHECKING:
    from dprelease.release.plan import load, plan
    from dprelease.release.progress import Stage
    from dprelease.release.rehearse import rehearse
    from dprelease.release.result import Result
    from dprelease.release.run import run

__all__ = [
    "Complaint",
    "ExitCode",
    "Failure",
    "Place",
    "Result",
    "Stage",
    "load",
    "plan",
    "rehearse",
    "run",
]

HOMES = {
    "load": "release.plan",
    "plan": "release.plan",
    "rehearse": "release.rehearse",
    "run": "release.run",
    "Result": "release.result",
    "Stage": "release.progress",
}


def __dir__() -> list[str]:
    """List the public names, those not imported yet too."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import the heavier parts when they are first asked for: start-up stays quick."""
    if name not in HOMES:
        raise AttributeError(f"module 'dprelease' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dprelease.{HOMES[name]}"), name)
