"""Columns and cells of a record-level table: written, read back, counted, shuffled and kept."""
