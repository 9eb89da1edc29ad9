"""Bounding of units: the rule, and the ways to follow it."""
