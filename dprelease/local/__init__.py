"""Record-level tables in the local model."""
