"""Counts planned together, and figures made of several steps."""
