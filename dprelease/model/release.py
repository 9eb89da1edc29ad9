"""A whole validated spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dprelease.errors import Complaint, Place
from dprelease.model.columns import Column
from dprelease.model.perturbs import Perturb
from dprelease.model.queries import Query
from dprelease.model.settings import About, Data, LedgerSettings, Output, Privacy


@dataclass(frozen=True, slots=True)
class ListFile:
    """A file of public values: what ``key`` of the column or query ``name`` says, and its digest.

    The key is ``keys_file`` or ``candidates_file``; ``file`` is the path as the spec writes it.
    """

    key: str
    name: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Release:
    """A whole validated spec. ``places`` maps dotted key paths to where they stand."""

    file: str
    about: About
    data: Data
    privacy: Privacy
    ledger: LedgerSettings
    columns: Mapping[str, Column]
    queries: tuple[Query, ...]
    output: Output
    report_formats: tuple[str, ...] = ("html", "md", "json")
    period: str | None = None
    warnings: tuple[Complaint, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict, repr=False, compare=False)
    perturbs: tuple[Perturb, ...] = ()
    lists: tuple[ListFile, ...] = ()

    def place(self, key: str) -> Place | None:
        """Where the dotted key path stands, or its nearest enclosing table."""
        while key:
            if key in self.places:
                return self.places[key]
            cut = max(key.rfind("."), key.rfind("["))
            key = key[:cut] if cut > 0 else ""
        return Place(self.file, 1, 1) if self.places else None
