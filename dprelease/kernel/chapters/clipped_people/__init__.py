"""People whose totals are scaled to a norm."""
