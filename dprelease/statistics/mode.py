"""Most frequent value of a column by cell."""

from __future__ import annotations

from dprelease.statistics.shared.choices import AxisChoice


class Mode(AxisChoice):
    """The value that most of a cell's records have, chosen among the column's public ones."""

    name = "mode"
    what = "statistics.mode.what"
