"""What a privacy loss means, as values: beliefs, several units together, all releases so far.

As in ``model.report_model``, fields have the names and the order of the keys of report.json.
"""

from __future__ import annotations

from typing import Annotated

from dprelease.reports.model.record_model import Fact, Number, extend_schema


class Belief(Fact, frozen=True, kw_only=True):
    """What somebody may believe afterwards who believed ``prior`` before."""

    prior: Number
    posterior_low: Number
    posterior_high: Number


class Beliefs(Fact, frozen=True, kw_only=True):
    """Beliefs about one thing, before and after."""

    about: str
    epsilon: Number
    delta: Number
    rows: tuple[Belief, ...]


class GroupLoss(Fact, frozen=True, kw_only=True):
    """The loss of so many units together, and the belief that 50% before may become."""

    units: int
    epsilon: Number
    delta: Number
    posterior_high: Annotated[
        Number | None, extend_schema("the most that a belief of one half may become, but for delta")
    ] = None
    protected: Annotated[
        bool | None, extend_schema("false where that belief is above 0.999, or delta 0.01 or more")
    ] = None


class TotalLoss(Fact, frozen=True, kw_only=True):
    """The loss of all releases of the dataset: "so far", or of its "cap" if that is used up.

    ``delta`` None: no cap.
    """

    of: Annotated[str, extend_schema(enum=["so far", "cap"])]
    epsilon: Number
    delta: Number | None
    beliefs: tuple[Beliefs, ...]


class Meaning(Fact, frozen=True, kw_only=True):
    """What the loss means; ``of`` is "row" or "person"."""

    beliefs: tuple[Beliefs, ...]
    of: Annotated[str, extend_schema(enum=["row", "person"])]
    groups: tuple[GroupLoss, ...]
    totals: Annotated[
        tuple[TotalLoss, ...],
        extend_schema(
            "the loss of all releases of the dataset so far, and of its cap if that is used up"
        ),
    ] = ()
