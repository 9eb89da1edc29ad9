"""Exact integer noise: the ideal discrete laws, drawn from the operating system's entropy.

``entropy`` is the only place that reads randomness. No float takes part in a draw.
"""
