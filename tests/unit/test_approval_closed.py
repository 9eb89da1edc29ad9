"""Everything of a spec belongs to an approval, but for what is named here: new keys do too.

A run's identity leaves out what does not change its numbers. An approval is also about where
they are charged and what is published of them, so each field that the identity leaves out has to
change the digest of a plan, or to be one of those that an approval leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from dprelease import load, plan
from dprelease.errors import Complaint, Place
from dprelease.ledger.identity import LEFT_OUT
from dprelease.model import (
    About,
    Column,
    CurveAxis,
    Data,
    Database,
    Expression,
    Finish,
    LedgerSettings,
    ListFile,
    Names,
    Output,
    Perturb,
    PerturbedColumn,
    Plan,
    Privacy,
    Query,
    Release,
    Review,
    Source,
)
from dprelease.release.saved_plan import compute_plan_digest

Change = Callable[[Release], Release]
OTHER = Database("sqlite", "URI", ("t",))
SHOWN = Expression("value > 1", ())


def part(name: str, **changes: Any) -> Change:
    return lambda release: replace(release, **{name: replace(getattr(release, name), **changes)})


def whole(**changes: Any) -> Change:
    return lambda release: replace(release, **changes)


def column(**changes: Any) -> Change:
    def change(release: Release) -> Release:
        days = replace(release.columns["days"], **changes)
        return replace(release, columns={**release.columns, "days": days})

    return change


HELD: dict[tuple[type, str], Change] = {
    (Release, "report_formats"): whole(report_formats=("md",)),
    (Release, "report_language"): whole(report_language="de"),
    (Release, "lists"): whole(lists=(ListFile("keys_file", "days", "days.txt", "0" * 64),)),
    **{
        (Review, name): part("review", **{name: "else"})
        for name in ("reviewer", "role", "legal_basis", "necessity")
    },
    (Review, "attestations"): part("review", attestations={"side_channels": "a quiet room"}),
    **{
        (About, name): part("about", **{name: "else"})
        for name in (
            "title",
            "curator",
            "contact",
            "purpose",
            "region",
            "sector",
            "licence",
            "previous",
        )
    },
    (Release, "names"): whole(names=Names(tables={"overall": "All"})),
    (Data, "design_effect"): part("data", design_effect=Fraction(3, 2)),
    (Data, "engine"): part("data", engine="reference"),
    (Privacy, "unit_description"): part("privacy", unit_description="one household"),
    (Privacy, "population"): part("privacy", population=3_000_000),
    (Column, "source"): column(source="a law"),
    (Query, "finish"): lambda release: replace(
        release,
        queries=tuple(
            replace(each, finish=Finish(integer=True, round_to=Fraction(5), publish_if=SHOWN))
            for each in release.queries
        ),
    ),
    (Query, "max_unreadable"): lambda release: replace(
        release,
        queries=tuple(replace(each, max_unreadable=Fraction(1, 9)) for each in release.queries),
    ),
    (LedgerSettings, "dataset"): part("ledger", dataset="other"),
    (LedgerSettings, "epsilon_cap"): part("ledger", epsilon_cap=Fraction(7)),
    (LedgerSettings, "delta_cap"): part("ledger", delta_cap=Fraction(1, 7)),
    (LedgerSettings, "rho_cap"): part("ledger", rho_cap=Fraction(7)),
    (LedgerSettings, "disjoint_periods"): part("ledger", disjoint_periods=True),
    (LedgerSettings, "written_path"): part("ledger", written_path="other"),
    (LedgerSettings, "written_witness"): part("ledger", written_witness="other"),
    **{  # a database for a file; of two databases see test_spec_databases.py
        (Database, name): lambda release: replace(
            release, data=replace(release.data, source=replace(release.data.source, database=OTHER))
        )
        for name in ("uri_env", "table")
    },
    (Output, "format"): part("output", format="parquet"),
    (Output, "interval"): part("output", interval=Fraction(1, 2)),
    (Output, "written_path"): part("output", written_path="other"),
}

OPEN: dict[tuple[type, str], Change | None] = {
    # Where the spec lies, what it says of itself, and where its lines are.
    (Release, "file"): whole(file="/b/spec.toml"),
    (Release, "warnings"): whole(warnings=(Complaint("W1", "a warning"),)),
    (Release, "places"): whole(places={"release": Place("/b/spec.toml", 1, 1)}),
    # What comes with the signature.
    **{
        (Review, name): part("review", **{name: "else"})
        for name in ("decision", "date", "reference")
    },
    (About, "approved_by"): part("about", approved_by="the board"),
    # The machine's own paths, of what the spec writes from its own folder on.
    (Source, "pattern"): lambda release: replace(
        release, data=replace(release.data, source=replace(release.data.source, pattern="/b"))
    ),
    (LedgerSettings, "path"): part("ledger", path="/b/l.sqlite"),
    (LedgerSettings, "witness"): part("ledger", witness="/b/w"),
    (Output, "path"): part("output", path="/b/out"),
    # Who chose what is chosen, the order of tables in the spec, and what follows from a text.
    (Column, "step_chosen"): column(step_chosen=True),
    (PerturbedColumn, "null_chosen"): None,
    (Query, "number"): lambda release: replace(
        release, queries=tuple(replace(each, number=each.number + 5) for each in release.queries)
    ),
    (Perturb, "number"): None,
    (Expression, "columns"): None,
    # What follows from the data's format, the neighbours, and a share's condition; and how a
    # density was read by earlier versions.
    (Privacy, "has_fixed_records"): None,
    (Source, "must_end"): None,
    (Query, "among"): None,
    (CurveAxis, "smooth"): None,
}


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(
        load(
            {
                "release": {"name": "r"},
                "data": {"path": "t.csv"},
                "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
                "ledger": {"epsilon_cap": 9, "witness": "w"},
                "columns": {"days": {"type": "integer", "lower": 0, "upper": 9, "source": "p"}},
                "query": [{"name": "n", "statistic": "sum", "column": "days"}],
                "output": {"path": "out"},
            }
        )
    )


def name_of(field: tuple[type, str]) -> str:
    return f"{field[0].__name__}.{field[1]}"


def test_nothing_that_the_identity_leaves_out_is_forgotten() -> None:
    left_out = {(kind, name) for kind, names in LEFT_OUT.items() for name in names}
    wholes = {"ledger": LedgerSettings, "output": Output, "review": Review}
    left_out -= {(Release, name) for name in wholes}
    left_out |= {(kind, name) for kind in wholes.values() for name in kind.__struct_fields__}
    assert left_out == HELD.keys() | OPEN.keys()
    assert not HELD.keys() & OPEN.keys()


@pytest.mark.parametrize("field", HELD, ids=name_of)
def test_what_is_held_changes_the_digest(made: Plan, field: tuple[type, str]) -> None:
    changed = HELD[field](made.release)
    assert compute_plan_digest(replace(made, release=changed)) != compute_plan_digest(made)


@pytest.mark.parametrize("field", [each for each in OPEN if OPEN[each]], ids=name_of)
def test_what_is_left_open_does_not(made: Plan, field: tuple[type, str]) -> None:
    change = OPEN[field]
    assert change is not None
    assert compute_plan_digest(replace(made, release=change(made.release))) == compute_plan_digest(
        made
    )


def test_places_that_no_spec_has_written_are_held_as_they_are(made: Plan) -> None:
    release = part("ledger", written_path=None, written_witness=None)(made.release)
    release = part("output", written_path=None)(release)
    bare = replace(made, release=release)
    for name in ("ledger", "output"):
        moved = part(name, path="/somewhere/else")(release)
        assert compute_plan_digest(replace(bare, release=moved)) != compute_plan_digest(bare)
    moved = part("ledger", witness="/somewhere/else")(release)
    assert compute_plan_digest(replace(bare, release=moved)) != compute_plan_digest(bare)
