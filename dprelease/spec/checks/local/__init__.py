"""Checks of record-level tables."""
