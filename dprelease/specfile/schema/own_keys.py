"""Keys of a query that statistics declare in their own files, as the section reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dprelease.specfile.keys.fields import (
    read_line,
    read_names,
    read_quantiles,
    read_scalars,
    read_sets,
    read_text,
    read_ways,
    read_weighed_alike,
)
from dprelease.specfile.keys.number_texts import (
    read_bandwidth,
    read_exact,
    read_picks,
    read_points,
    read_positive,
    read_whole_number,
)
from dprelease.specfile.keys.section_reader import Key
from dprelease.specfile.schema.query_tables import read_clip, read_half
from dprelease.statistics.shared import spec_keys as kinds
from dprelease.statistics.shared.spec_keys import Kind
from dprelease.statistics.statistic_registry import list_own_keys

READERS: Mapping[Kind[Any], Callable[[object], object]] = {
    kinds.WHOLE_NUMBER: read_whole_number,
    kinds.NUMBER_OF_VALUES: read_picks,
    kinds.NUMBER: read_exact,
    kinds.POSITIVE_NUMBER: read_positive,
    kinds.BANDWIDTHS: read_bandwidth,
    kinds.CURVE_POINTS: read_points,
    kinds.QUANTILES: read_quantiles,
    kinds.LINE: read_line,
    kinds.EXPRESSION: read_text,
    kinds.VALUES: read_scalars,
    kinds.COLUMNS: read_names,
    kinds.SETS_OF_COLUMNS: read_sets,
    kinds.WAYS: read_ways,
    kinds.WEIGHED_ALIKE: read_weighed_alike,
    kinds.PART_OF_RATIO: read_half,
    kinds.CLIP_OF_PEOPLE: read_clip,
}
"""How a value of each kind is read."""


def read_own_keys() -> dict[str, Key[Any]]:
    """Make the section's keys of those that statistics declare."""
    return {
        name: Key(READERS[own.kind], own.meaning, own.absent)
        for name, own in list_own_keys().items()
    }
