"""Loading of a spec: from a file or a mapping to a validated release."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Release
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.resolve import resolve
from dprelease.spec.schema.structure import read_sections
from dprelease.spec.toml.tree import OddKey, TooDeep, plain_tree


def load_release(
    spec: str | os.PathLike[str] | Mapping[str, object],
    period: str | None,
    base: str | None,
    allow_outside_lists: bool,
) -> Release:
    """Load a spec; see ``dprelease.spec.load``."""
    if isinstance(spec, Mapping):
        tree, reporter, folder = _tree_of(spec), Reporter("(mapping)", None), os.curdir
    else:
        # Imported here: a spec given as a mapping needs no TOML parser.
        from dprelease.spec.toml.syntax import read_document

        document = read_document(os.fsdecode(spec))
        tree, reporter = document.tree, Reporter(document.file, document.marks)
        folder = os.path.dirname(document.file)
    start = base if base is not None else os.path.abspath(folder)
    parts = read_sections(tree, reporter)
    return resolve(parts, start, period, reporter, allow_outside_lists)


def _tree_of(spec: Mapping[str, object]) -> Mapping[str, object]:
    try:
        tree = plain_tree(spec)
    except TooDeep:
        complaint = Complaint("E004", "the spec is nested too deep", "a spec needs four levels")
        raise Failure(ExitCode.SPEC, complaint) from None
    except OddKey:
        complaint = Complaint("E103", "a key of the spec is not a text", "write it as a text")
        raise Failure(ExitCode.SPEC, complaint) from None
    return tree if isinstance(tree, dict) else {}
