"""A small table of visits, and the spec of its release on Spark: counts by region."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dprelease.ledger.store import Ledger

SPEC = """\
[release]
name = "visits"
[data]
path = "visits.csv"
engine = "spark"
[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 1
[ledger]
path = "ledger.sqlite"
epsilon_cap = 5
[columns.region]
type = "string"
keys = ["north", "south"]
[[query]]
name = "visits"
statistic = "count"
by = ["region"]
[output]
path = "out"
"""
OF_PEOPLE = """\
unit = "column"
unit_column = "person"
bounding = { max_rows_per_unit = 3, max_groups_per_unit = 2 }
"""


def write_visits(folder: Path, regions: Iterable[str], people: Iterable[str] = ()) -> Path:
    """Write the table and its spec, of people if there are any; returns the spec."""
    header, lines, text = "region", list(regions), SPEC
    people = list(people)
    if people:
        header, text = f"person,{header}", SPEC.replace('unit = "row"\n', OF_PEOPLE)
        lines = [f"{person},{region}" for person, region in zip(people, lines, strict=True)]
    (folder / "visits.csv").write_text("\n".join([header, *lines, ""]))
    spec = folder / "spec.toml"
    spec.write_text(text)
    return spec


def list_charges(spec: Path) -> int:
    """How many entries its ledger has, which is sound."""
    book = spec.parent / "ledger.sqlite"
    if not book.exists():
        return 0
    with Ledger.read(str(book)) as ledger:
        ledger.verify()
        return len(list(ledger.list_runs()))
