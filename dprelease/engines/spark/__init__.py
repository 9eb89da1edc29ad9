"""The Spark engine: it schedules, shuffles and retries; DuckDB counts in every task."""
