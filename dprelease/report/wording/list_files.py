"""The files of public values that a release names: what their lines become, and their digests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dprelease.model import Release

HEAD = ("file", "named by", "its lines", "SHA-256")
_LINES = {
    "keys_file": "each is published, as a label",
    "candidates_file": "each may be published, as what the query chooses",
}


def list_facts(release: Release) -> dict[str, list[dict[str, str]]]:
    """State each list file; nothing where there are none."""
    facts = [
        {
            "key": each.key,
            "name": each.name,
            "file": each.file,
            "lines": _LINES[each.key],
            "sha256": each.sha256,
        }
        for each in release.lists
    ]
    return {"lists": facts} if facts else {}


def list_rows(report: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Give one row of ``HEAD`` for each list file of a report or plan."""
    return [
        (each["file"], f"{each['key']} of {each['name']}", each["lines"], each["sha256"])
        for each in report.get("lists", ())
    ]
