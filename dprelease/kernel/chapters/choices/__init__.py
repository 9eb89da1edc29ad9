"""Samplers that select: the exponential mechanism and permute-and-flip."""
