"""Noise that the integers of a cell have together."""
