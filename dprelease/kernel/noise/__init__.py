"""Exact integer noise: the ideal discrete laws, drawn from the operating system's entropy.

``entropy`` is the only place that reads randomness. No float takes part in a draw. Importing this
package does not import NumPy.
"""

from dprelease.kernel.noise.additive.sample import sample
from dprelease.kernel.noise.entropy import Entropy, EntropyError, SystemEntropy

__all__ = ["Entropy", "EntropyError", "SystemEntropy", "sample"]
