"""DuckDB for a table in memory."""

from __future__ import annotations

from dprelease.engines.duckdb.duckdb_engine import DuckDB
from dprelease.sources.frame.frame_source import HandedOver


def build_engine(table: object) -> DuckDB:
    """DuckDB, for this table; raises Failure(DATA) for what is no table that can be read."""
    return DuckDB(HandedOver(table).lay_out)
