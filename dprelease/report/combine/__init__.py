"""Sums, differences, weighted means and shares of published figures, from a report alone."""
