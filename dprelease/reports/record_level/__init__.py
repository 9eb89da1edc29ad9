"""Facts of record-level tables."""
