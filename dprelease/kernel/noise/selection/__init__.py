"""Samplers that select: the exponential mechanism and its kin."""
