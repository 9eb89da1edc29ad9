"""Parquet files: the types that are read, and records from them."""
