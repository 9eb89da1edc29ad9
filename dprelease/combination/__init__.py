"""Published figures combined to one, with the right noise interval."""
