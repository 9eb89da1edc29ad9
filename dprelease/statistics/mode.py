"""Most frequent value of a column by cell."""

from __future__ import annotations

from dprelease.statistics.shared.choices import AxisChoice


class Mode(AxisChoice):
    """The most frequent value in a cell, chosen among the column's public ones."""

    name = "mode"
    word = "spec_words.statistic.mode"
    definition = "statistics.mode.definition"
    what = "statistics.mode.what"
