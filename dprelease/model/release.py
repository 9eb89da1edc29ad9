"""A release as its spec states it: the sections of the spec, and all of them together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from urllib.parse import quote

from msgspec import Struct, field

from dprelease.errors import Complaint, Failure, Place
from dprelease.model.columns import Column
from dprelease.model.outputs import NO_NAMES, Names
from dprelease.model.queries import Query
from dprelease.model.record_tables import Perturb
from dprelease.model.requests import Source

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
"""The words for a sector that the registry of deployments has."""


class Adjacency(StrEnum):
    """Relation that makes two tables neighbours."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


class Data(Struct, frozen=True):
    """The ``[data]`` section."""

    source: Source
    written_path: str  # as the spec writes it, {period} filled in; part of the identity
    engine: str = "duckdb"
    snapshot: str | None = None
    design_effect: Fraction | None = None  # of a survey, as its producer says


class About(Struct, frozen=True):
    """The ``[release]`` section."""

    name: str
    title: str | None = None
    curator: str | None = None
    contact: str | None = None
    purpose: str | None = None
    region: str | None = None
    sector: str | None = None
    approved_by: str | None = None
    licence: str | None = None  # an identifier of SPDX, or a URL
    previous: str | None = None  # report.json of the last release, as the spec writes it


_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+\.[^@\s<>]+")
_WEB = ("https://", "http://")


def find_contact_address(contact: str) -> str | None:
    """Build the URL of a contact, a page or an e-mail address; None for other texts."""
    contact = contact.removeprefix("mailto:")
    if contact.startswith(_WEB):
        return contact
    return f"mailto:{quote(contact, safe='@')}" if _EMAIL.fullmatch(contact) else None


def find_licence_address(licence: str) -> str:
    """Build the URL of a licence; SPDX's page for an identifier."""
    if licence.startswith(_WEB):
        return licence
    return f"https://spdx.org/licenses/{quote(licence, safe='')}"


class Review(Struct, frozen=True):
    """The ``[review]`` section: who looked at the release and agreed to it, in their words.

    ``attestations`` are what the reviewer states of hazards that the tool can't check, by the key
    of each.
    """

    reviewer: str | None = None
    role: str | None = None
    decision: str | None = None
    date: str | None = None
    reference: str | None = None
    legal_basis: str | None = None
    necessity: str | None = None
    attestations: Mapping[str, str] = field(default_factory=dict)


class Bounding(Struct, frozen=True):
    """``[privacy.bounding]``: what is kept of the rows of one unit, for each table.

    At most ``rows`` rows in all, in at most ``groups`` cells, at most ``per_group`` in one cell.
    """

    rows: int
    groups: int
    per_group: int

    def count_rows_in(self, cells: int) -> int:
        """Compute how many rows of a unit can count in so many cells."""
        return min(self.rows, min(self.groups, cells) * self.per_group)


class Privacy(Struct, frozen=True):
    """The ``[privacy]`` section. ``epsilon`` None and ``rho`` None: the queries state their own.

    With unit "column", all rows of one value of ``unit_column`` are one unit, within ``bounding``.
    ``has_fixed_records`` is that of the source: otherwise a record that is replaced may be missing.
    """

    unit: str  # "row" | "column"
    adjacency: Adjacency
    unit_description: str | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    accounting: str = "auto"  # "auto" | "pure" | "zcdp"
    unit_column: str | None = None
    bounding: Bounding | None = None
    population: int | None = None  # how many units there are in public, in or out of the data
    has_fixed_records: bool = True


ON_SERVER = "env:"
"""Before the name of the environment variable that says where a ledger's server is."""


def is_server(path: str) -> bool:
    """Tell if a ledger's place names a server."""
    return path.startswith(ON_SERVER)


class LedgerSettings(Struct, frozen=True):
    """The ``[ledger]`` section, defaults filled in; ``path`` and ``witness`` are absolute.

    The path of a ledger on a server is ``env:`` and the name of the variable with its URL.

    ``witness`` None: beside the ledger. ``disjoint_periods``: each protected unit has records in
    one period only. ``written_path`` and ``written_witness`` are as the spec writes them, and so
    the same on every machine; None: not written by a spec.
    """

    path: str
    dataset: str
    epsilon_cap: Fraction | None = None
    delta_cap: Fraction | None = None
    witness: str | None = None
    disjoint_periods: bool = False
    written_path: str | None = None
    written_witness: str | None = None
    rho_cap: Fraction | None = None


class Output(Struct, frozen=True):
    """The ``[output]`` section; ``path`` is absolute, ``written_path`` as the spec writes it."""

    path: str
    format: str = "csv"  # "csv" | "parquet"
    interval: Fraction = Fraction(95, 100)
    written_path: str | None = None


class ListFile(Struct, frozen=True):
    """A file of public values: what ``key`` of the column or query ``name`` says, and its digest.

    The key is ``keys_file`` or ``candidates_file``; ``file`` is the path as the spec writes it.
    """

    key: str
    name: str
    file: str
    sha256: str


class Release(Struct, frozen=True):
    """A whole validated spec. ``places`` maps dotted key paths to where they stand."""

    file: str
    about: About
    data: Data
    privacy: Privacy
    ledger: LedgerSettings
    columns: Mapping[str, Column]
    queries: tuple[Query, ...]
    output: Output
    report_formats: tuple[str, ...] = ()
    report_language: str = "en"
    period: str | None = None
    warnings: tuple[Complaint, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    perturbs: tuple[Perturb, ...] = ()
    lists: tuple[ListFile, ...] = ()
    names: Names = NO_NAMES
    review: Review = field(default_factory=Review)
    rehearsal: bool = False  # on made-up records: what is written says so

    def place_failure(self, failure: Failure) -> Failure:
        """Add to a failure the places of the keys that its complaints name."""
        complaints = [
            complaint._replace(place=self.place(complaint.key)) if complaint.key else complaint
            for complaint in failure.complaints
        ]
        return Failure(failure.exit_code, complaints)

    def place(self, key: str) -> Place | None:
        """Find where a dotted key path stands, or its nearest enclosing table."""
        while key:
            if key in self.places:
                return self.places[key]
            cut = max(key.rfind("."), key.rfind("["))
            key = key[:cut] if cut > 0 else ""
        return Place(self.file, 1, 1) if self.places else None
