"""The spec: one TOML file, or one mapping, that says all of a release.

From top to bottom: ``toml`` (the text becomes a tree, with the place of everything in it),
``schema`` (the tree becomes sections), ``checks`` (sections become values of the model),
``resolve`` (the values become a release) and ``loading`` (all of it in one call). ``complaints`` is
the vocabulary that each of them uses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from dprelease.model import Release

__all__ = ["load"]


def load(
    spec: str | os.PathLike[str] | Mapping[str, object],
    *,
    period: str | None = None,
    base: str | None = None,
    allow_outside_lists: bool = False,
) -> Release:
    """Read and check a spec completely, before any data is opened.

    ``spec`` is the path of a TOML file, or its content as a mapping (then complaints have no
    places). ``period`` fills ``{period}`` in the paths and the snapshot. Relative paths start at
    ``base``; by default at the directory of the file, for a mapping at the current directory.
    Neither the data nor the ledger is opened. Each keys_file and candidates_file is read; unread is
    refused what is a part of the data, another period or the ledger (told by names, devices and
    inodes), and what lies outside of that directory, unless ``allow_outside_lists``.

    Raises ``Failure`` with exit code 2 and every complaint, in the order of the file.
    """
    # Imported here for start-up: the checks are the larger part of the package.
    from dprelease.spec.loading import load_release

    return load_release(spec, period, base, allow_outside_lists)
