"""A release: planned, charged, drawn once, sealed and published."""
