"""Distributions of noise: exact probabilities and tails."""
