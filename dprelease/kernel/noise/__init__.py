"""Exact integer noise: the ideal discrete laws, drawn from the operating system's entropy.

``entropy`` is the only place that reads randomness; ``scalar`` the reference samplers in plain
integers; ``lanes`` the same laws on NumPy lanes; ``responses`` the answers of single records;
``laws`` what can be said about noise without drawing. No float takes part in a draw. Importing
this package does not import NumPy.
"""

from dprelease.kernel.noise.additive.sample import sample
from dprelease.kernel.noise.entropy import Entropy, EntropyError, SystemEntropy

__all__ = ["Entropy", "EntropyError", "SystemEntropy", "sample"]
