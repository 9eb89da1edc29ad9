"""The DuckDB engine for a table in memory."""

from __future__ import annotations

from dprelease.engines.duckdb.duckdb_engine import DuckDB
from dprelease.sources.frame.frame_source import HandedOver


def build_engine(table: object) -> DuckDB:
    """Build the engine for a table; raises Failure(DATA) if it is no table that can be read."""
    return DuckDB(HandedOver(table).lay_out)
