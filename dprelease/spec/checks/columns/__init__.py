"""Checks of declared columns: bounds, grids, domains and list files."""
