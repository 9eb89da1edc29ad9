"""Record-level tables in a report."""
