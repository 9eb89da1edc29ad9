"""What a public renderer takes: facts of the report and released tables, and nothing else.

Neither has a field for an exact figure or a record: a renderer can't show what it isn't given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dprelease.model import OutputTable


@dataclass(frozen=True, slots=True)
class PublicReport:
    """The dict of report.json, and the released tables by file name."""

    facts: Mapping[str, Any]
    tables: Mapping[str, OutputTable]
