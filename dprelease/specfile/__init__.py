"""The spec: one TOML file, or one mapping, that says all of a release.

From top to bottom: ``toml`` (the text becomes a tree, with the place of everything in it),
``schema`` (the tree becomes sections), ``checks`` (sections become values of the model), and
``resolve`` (the values become a release). ``complaints`` is the vocabulary that each of them uses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Release


def load(
    spec: str | os.PathLike[str] | IO[bytes] | Mapping[str, object],
    *,
    period: str | None = None,
    base: str | None = None,
    allow_outside_lists: bool = False,
) -> Release:
    """Read and check a spec; see ``dprelease.load``, which takes the same arguments."""
    # Imported here for start-up: the checks are the larger part of the package.
    from dprelease.specfile.complaints.reporter import Reporter
    from dprelease.specfile.resolve import resolve
    from dprelease.specfile.schema.structure import read_sections

    if isinstance(spec, Mapping):
        tree, reporter, folder = _parse_tree(spec), Reporter("(mapping)", None), os.curdir
    else:
        from dprelease.specfile.toml.syntax import read_document

        if isinstance(spec, str | os.PathLike):
            document = read_document(os.fsdecode(spec))
        else:
            document = read_document("<stdin>", spec)
        tree, reporter = document.tree, Reporter(document.file, document.marks)
        folder = os.path.dirname(document.file)
    start = base if base is not None else os.path.abspath(folder)
    parts = read_sections(tree, reporter)
    return resolve(parts, start, period, allow_outside_lists)


def _parse_tree(spec: Mapping[str, object]) -> Mapping[str, object]:
    from dprelease.specfile.complaints.reporter import Refused
    from dprelease.specfile.toml.tree import copy_tree

    try:
        tree = copy_tree(spec)
    except Refused as refused:
        complaint = Complaint(refused.code, refused.message, refused.hint)
        raise Failure(ExitCode.SPEC, complaint) from None
    return tree if isinstance(tree, dict) else {}
