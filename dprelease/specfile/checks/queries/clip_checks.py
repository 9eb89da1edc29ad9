"""What the totals of a person are scaled to: ``bounding`` of a query."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from dprelease.model import MOST_CLIPPED, Clip, ClipNorm, Column
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import show, show_fraction
from dprelease.specfile.schema.query_keys import ClipSection
from dprelease.statistics.shared.spec_keys import BOUNDING


def read_clip(query: SpecQuery, column: Column | None) -> Clip | None:
    """Read the norm and its bound in grid steps, rounded down; complain of what can't go with them.

    ``column`` is summed; without one, records are counted.
    """
    section = query.part.value(BOUNDING)
    if not isinstance(section, ClipSection):
        return None
    _check_company(query, section)
    if section.clip is None or section.bound is None:
        return None
    step = Fraction(1)
    if query.model.column is not None:
        if column is None or column.grid is None:
            return None  # the column has had its complaints
        step = column.grid.step
    steps = floor(section.bound / step)
    if 1 <= steps <= MOST_CLIPPED:
        return Clip(ClipNorm(section.clip), steps)
    subject, unit = f"bound {show_fraction(section.bound)}", show_fraction(step)
    step_text = "one record" if column is None else f"one step of {show(column.name)}, {unit}"
    message, hint = f"{subject} is less than {step_text}", "write the largest norm, such as 500"
    if steps > MOST_CLIPPED:
        message = f"{subject} is more than 2^50 times {step_text}"
        hint = "write a smaller bound, or declare a larger step"
    query.part.complain("E236", message, BOUNDING.name, "bound", hint=hint)
    return None


def _check_company(query: SpecQuery, section: ClipSection) -> None:
    """Complain of a unit, of groups, of weights and of a mechanism that don't go with scaling."""
    part, model, key = query.part, query.model, BOUNDING.name
    privacy = query.context.parts.privacy
    if privacy.model.unit == "row":
        message = "bounding scales what a person adds, but the unit is a row"
        hint = 'leave it out: a row adds one value; or write unit = "column" in [privacy]'
        part.complain("E111", message, key, hint=hint, at="key")
    if model.partition_selection is not None:
        message = "bounding scales what a person adds to all groups, but here groups are private"
        hint = "leave it out: [privacy.bounding] limits the rows; or declare the groups' keys"
        part.complain("E111", message, key, hint=hint, at="key")
    if query.context.weight.stated and model.weight_by_survey is not False:
        message = "bounding scales unweighted totals, but records have a survey weight"
        hint = "write weight_by_survey = false, or leave bounding out"
        part.complain("E111", message, key, hint=hint, at="key")
    if section.clip == "l2" and model.mechanism == "laplace":
        message = "an L2 norm is for Gaussian noise, not for Laplace noise"
        hint = 'write clip = "l1", or leave mechanism out'
        part.complain("E235", message, "mechanism", hint=hint)
