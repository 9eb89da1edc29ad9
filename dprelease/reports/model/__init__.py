"""The values of a report, which are what report.json holds."""
