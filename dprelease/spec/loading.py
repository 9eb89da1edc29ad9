"""Loads a spec: from a file or a mapping to a validated release."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Release
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.resolve import resolve
from dprelease.spec.schema.structure import take_apart
from dprelease.spec.toml.tree import OddKey, TooDeep, plain_tree

MAPPING = "(mapping)"


def load_file(file: str, period: str | None, base: str | None, outside: bool) -> Release:
    """Load a TOML spec; relative paths start at its directory unless ``base`` is given."""
    # Imported here: a spec given as a mapping needs no TOML parser.
    from dprelease.spec.toml.syntax import read_document

    document = read_document(file)
    reporter = Reporter(document.file, document.marks)
    start = base if base is not None else os.path.dirname(os.path.abspath(file))
    return resolve(take_apart(document.tree, reporter), start, period, reporter, outside)


def load_mapping(
    spec: Mapping[str, object], period: str | None, base: str | None, outside: bool
) -> Release:
    """Load a spec given as a mapping; relative paths start at ``base`` or where we are."""
    try:
        tree = plain_tree(spec)
    except TooDeep:
        complaint = Complaint("E004", "the spec is nested too deep", "a spec needs four levels")
        raise Failure(ExitCode.SPEC, complaint) from None
    except OddKey:
        complaint = Complaint("E103", "a key of the spec is not a text", "write it as a text")
        raise Failure(ExitCode.SPEC, complaint) from None
    reporter = Reporter(MAPPING, None)
    start = base if base is not None else os.getcwd()
    content = tree if isinstance(tree, dict) else {}
    return resolve(take_apart(content, reporter), start, period, reporter, outside)
