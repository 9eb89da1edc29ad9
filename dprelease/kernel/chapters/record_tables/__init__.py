"""Samplers of the local model: one answer for each record."""
