"""One aggregate request as one SQL statement.

From the inside out, each a subquery with names of its own making (no name of the data is SQL):
fields ``f0..``, their text ``t0..``, typed values ``v0..`` with numbers ``n0..``, then per record
the group keys ``g0..`` and grid integers ``k0..`` and conditions ``w0..``, then counts and sums,
then cells. Keys are looked up in tables ``keys0..`` (columns ``v`` and ``i``), bins in ``edges0..``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dprelease.engines import duckdb_values as values
from dprelease.engines.base import columns_derived, columns_read
from dprelease.expressions import tree
from dprelease.expressions.sql import SQL_TYPES, call, cast, compile_sql, double, number, paren
from dprelease.model import (
    NUMERIC_TYPES,
    AggregateRequest,
    ColumnType,
    Dialect,
    Expression,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
)
"""(continued below)"""
