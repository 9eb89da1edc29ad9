"""The DuckDB engine: exact aggregates and records of one machine."""
