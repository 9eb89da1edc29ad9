"""The spec: one TOML file, or one mapping, that says all of a release.

From top to bottom: ``toml`` (the text becomes a tree, with the place of everything in it),
``schema`` (the tree becomes sections), ``checks`` (sections become values of the model),
``resolve`` (the values become a release) and ``loading`` (all of it in one call). ``complaints`` is
the vocabulary that each of them uses.
"""

from dprelease.spec.loading import load

__all__ = ["load"]
