"""Declared columns: their bounds on a grid, their public values, and the files that list those."""
