"""The calls that open no data: ``load`` and ``plan``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from os import PathLike
from typing import Any

from dprelease.model import Plan, Release
from dprelease.spec import load

__all__ = ["load", "plan"]


@dataclass(frozen=True, slots=True)
class ReleasePlan(Plan):
    """A certified plan, with what callers ask of it."""

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the whole release, as it is charged."""
        return self.loss.epsilon

    @property
    def delta(self) -> Fraction:
        """The delta of the whole release, as it is charged."""
        return self.loss.delta

    def to_dict(self) -> dict[str, object]:
        """The plan in JSON values, as ``dprelease plan --json`` prints it."""
        from dprelease.report.plan_json import describe

        return describe(self)


def plan(
    spec: str | PathLike[str] | Mapping[str, Any] | Release,
    *,
    ledger: str | PathLike[str] | None = None,
    output: str | PathLike[str] | None = None,
    allow_outside_lists: bool = False,
) -> ReleasePlan:
    """Plan a release: every query's noise and the loss of all, certified. Opens no data.

    ``ledger`` and ``output`` are other places than the spec's, as ``run`` takes them.
    ``allow_outside_lists`` is for ``load``, if the spec is not loaded yet.
    Raises Failure with every complaint.
    """
    # Imported here for start-up: to load a spec needs no planner.
    from dprelease.release.confirmed import confirmed_plan
    from dprelease.spec.checks.paths import relocated

    if not isinstance(spec, Release):
        spec = load(spec, allow_outside_lists=allow_outside_lists)
    made = confirmed_plan(relocated(spec, ledger, output)).plan
    return ReleasePlan(**{each.name: getattr(made, each.name) for each in fields(made)})
