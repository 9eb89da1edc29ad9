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
from dprelease.model.local_tables import (
    ExactRecords,
    LaplaceLaw,
    Law,
    Mechanism,
    Perturb,
    PerturbedColumn,
    RecordRequest,
    RecordStep,
    Response,
    StoredTable,
    SubsetLaw,
    Tally,
    Window,
    WindowLaw,
)
from dprelease.model.loss import (
    Loss,
    Noise,
    NoiseFamily,
    Sensitivity,
)
from dprelease.model.outputs import (
    OutputColumn,
    OutputTable,
)
from dprelease.model.plans import (
    Form,
    NoisyTable,
    Plan,
    QuantileScheme,
    QuantileStep,
    Read,
    Reading,
    Step,
)
from dprelease.model.queries import (
    Accuracy,
    Candidates,
    Group,
    KeySelection,
    Part,
    Query,
)
from dprelease.model.release import (
    About,
    Adjacency,
    Bounding,
    Data,
    LedgerSettings,
    ListFile,
    Output,
    Privacy,
    Release,
)
from dprelease.model.requests import (
    AggregateRequest,
    Bound,
    Dialect,
    ExactTable,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

__all__ = [
    "NUMERIC_TYPES",
    "About",
    "Accuracy",
    "Adjacency",
    "AggregateRequest",
    "Bound",
    "Bounding",
    "Candidates",
    "Column",
    "ColumnType",
    "Data",
    "Dialect",
    "ExactRecords",
    "ExactTable",
    "Expression",
    "Form",
    "Grid",
    "Group",
    "InputColumn",
    "KeySelection",
    "LaplaceLaw",
    "Law",
    "LedgerSettings",
    "ListFile",
    "Loss",
    "Measure",
    "MeasureKind",
    "Mechanism",
    "Noise",
    "NoiseFamily",
    "NoisyTable",
    "Output",
    "OutputColumn",
    "OutputTable",
    "Part",
    "Perturb",
    "PerturbedColumn",
    "Plan",
    "Privacy",
    "QuantileScheme",
    "QuantileStep",
    "Quantity",
    "Query",
    "Read",
    "Reading",
    "RecordRequest",
    "RecordStep",
    "Release",
    "Response",
    "Sensitivity",
    "Source",
    "Step",
    "StoredTable",
    "SubsetLaw",
    "Tally",
    "Window",
    "WindowLaw",
]
