"""Samplers of integer noise that is added: discrete Laplace and discrete Gaussian."""
