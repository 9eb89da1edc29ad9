"""The vocabulary: every frozen value that flows through the pipeline.

Standard library only. ``Release`` is what the spec says, ``Plan`` what will be done,
``AggregateRequest`` what an engine is asked, ``ExactTable`` what it answers (never shown to
anyone), ``NoisyTable`` what may be published.

Two units run through everything: a *value* is what people read (euros, days), a *grid integer*
``k`` stands for the value ``k * grid.step``. Everything private is counted in grid integers.
"""

from __future__ import annotations

from dprelease.model.columns import (
    NUMERIC_TYPES,
    Column,
    ColumnType,
    Expression,
    Grid,
)
from dprelease.model.outputs import (
    OutputColumn,
    OutputTable,
)
from dprelease.model.plans import (
    Loss,
    Noise,
    NoiseFamily,
    NoisyTable,
    Plan,
    Sensitivity,
    Step,
)
from dprelease.model.queries import (
    Group,
    Query,
)
from dprelease.model.release import (
    Release,
)
from dprelease.model.requests import (
    AggregateRequest,
    ExactTable,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
)
from dprelease.model.settings import (
    About,
    Adjacency,
    Data,
    Dialect,
    LedgerSettings,
    Output,
    Privacy,
    Source,
)

__all__ = [
    "NUMERIC_TYPES",
    "About",
    "Adjacency",
    "AggregateRequest",
    "Column",
    "ColumnType",
    "Data",
    "Dialect",
    "ExactTable",
    "Expression",
    "Grid",
    "Group",
    "InputColumn",
    "LedgerSettings",
    "Loss",
    "Measure",
    "MeasureKind",
    "Noise",
    "NoiseFamily",
    "NoisyTable",
    "Output",
    "OutputColumn",
    "OutputTable",
    "Plan",
    "Privacy",
    "Quantity",
    "Query",
    "Release",
    "Sensitivity",
    "Source",
    "Step",
]
