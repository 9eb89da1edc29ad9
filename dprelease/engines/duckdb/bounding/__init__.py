"""Bounding of units: the rule, and two ways to follow it."""
