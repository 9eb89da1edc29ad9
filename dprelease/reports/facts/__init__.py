"""What a report states, as values: built from the plan and the run, and as JSON."""
