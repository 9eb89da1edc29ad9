"""One account is about one unit: the same rows, and not only a column of the same name."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dprelease import Failure, load
from dprelease.ledger.guarantee import guarantee_of
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss, Release

Change = dict[str, Any]

NAMED = {"header": False, "names": ["uid", "house", "door", "days"]}
SWAPPED = {"header": False, "names": ["house", "uid", "door", "days"]}
FURTHER = {"header": False, "names": ["uid", "house", "door", "days", "more"]}
BY_HOUSE = {"columns": {"uid": {"type": "string", "expression": "house || '-'"}}}
BY_NAME = {"columns": {"uid": {"type": "string", "expression": "UPPER(house)"}}}
REPLACED = {"privacy": {"adjacency": "replace-one"}}
ONE_UNIT = {"columns": {"uid": {"type": "string", "nulls": "nobody"}}}
MISSING = {"data": {"null_values": ["", "n/a"]}}
WIDE = {"max_rows_per_unit": 9, "max_groups_per_unit": 3}
FILTERED = {"query": [{"name": "n", "statistic": "count", "where": "days > 1"}]}
AS_NUMBER = {"columns": {"uid": {"type": "integer", "expression": "door + 1"}}}


def release(*changes: Change) -> Release:
    """A release about the people of a file, with some sections changed."""
    spec: dict[str, Any] = {
        "release": {"name": "r"},
        "data": {"path": "t.csv"},
        "privacy": {
            "unit": "column",
            "unit_column": "uid",
            "adjacency": "add-remove",
            "epsilon": 1,
            "bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 1},
        },
        "ledger": {"dataset": "d", "epsilon_cap": 9},
        "columns": {
            "house": {"type": "string"},
            "door": {"type": "integer"},
            "days": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        "query": [{"name": "n", "statistic": "count"}],
        "output": {"path": "out"},
    }
    for change in changes:
        for section, keys in deepcopy(change).items():
            spec[section] = {**spec[section], **keys} if isinstance(keys, dict) else keys
    return load(spec)


def refusal(tmp_path: Path, first: object, second: object) -> str:
    """What the ledger says to a second charge; nothing if it adds both up. All take details."""
    said = ""
    with Ledger.open(str(tmp_path / "l.sqlite")) as ledger:
        ledger.charge("a" * 64, "d", "r", Loss(Fraction(1)), Caps(), detail_of(first))
        try:
            ledger.charge("b" * 64, "d", "s", Loss(Fraction(1)), Caps(), detail_of(second))
        except Failure as failure:
            said = f"exit {failure.exit_code}: {failure}"
        assert ledger.status("d").spent.epsilon == (1 if said else 2)
    return said


def detail_of(what: Any) -> dict[str, object]:
    return guarantee_of(what) if isinstance(what, Release) else what


OTHERS: dict[str, tuple[str, tuple[Change, ...], tuple[Change, ...]]] = {
    "computed, or of the file": ("expression", (), (BY_HOUSE,)),
    "another expression": ("expression", (BY_NAME,), (BY_HOUSE,)),
    "another text in it": (
        "expression",
        (BY_HOUSE,),
        ({"columns": {"uid": {"type": "string", "expression": "house || '+'"}}},),
    ),
    "another type": ("type", (), ({"columns": {"uid": {"type": "integer"}}},)),
    "another type of what is computed": (
        "type",
        (AS_NUMBER,),
        ({"columns": {"uid": {"type": "decimal", "expression": "door + 1"}}},),
    ),
    "another type of what it reads": (
        "reads",
        (AS_NUMBER,),
        (AS_NUMBER, {"columns": {"door": {"type": "decimal"}}}),
    ),
    "nulls as a unit": ("nulls", (), (ONE_UNIT,)),
    "other nulls as a unit": ("null_values", (ONE_UNIT,), (ONE_UNIT, MISSING)),
    "other nulls in an expression": ("null_values", (BY_HOUSE,), (BY_HOUSE, MISSING)),
    "other nulls where the number of units is public": (
        "null_values",
        (REPLACED,),
        (REPLACED, MISSING),
    ),
    "blanks": ("strip", (), ({"data": {"strip": True}},)),
    "encoding": ("encoding", (), ({"data": {"encoding": "latin-1"}},)),
    "quotes": ("quote", (), ({"data": {"quote": ""}},)),
    "delimiter": ("delimiter", (), ({"data": {"delimiter": ";"}},)),
    "format": ("format", (), ({"data": {"path": "t.parquet"}},)),
    "a header that is no header": ("header", (), ({"data": NAMED},)),
    "another field by that name": ("names", ({"data": NAMED},), ({"data": SWAPPED},)),
    "another field in the expression": (
        "names",
        ({"data": NAMED}, BY_HOUSE),
        ({"data": {**NAMED, "names": ["x", "door", "house", "days"]}}, BY_HOUSE),
    ),
    "a further field, without which all lines are nulls": (
        "fields",
        ({"data": NAMED}, ONE_UNIT),
        ({"data": FURTHER}, ONE_UNIT),
    ),
    "a further field, without which an expression reads nulls": (
        "fields",
        ({"data": NAMED}, BY_HOUSE),
        ({"data": FURTHER}, BY_HOUSE),
    ),
    "another column": ("another unit", (), ({"privacy": {"unit_column": "house"}},)),
    "other neighbours": ("another adjacency", (), (REPLACED,)),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", OTHERS)
def test_losses_of_other_units_do_not_add_up(tmp_path: Path, what: str) -> None:
    named, first, second = OTHERS[what]
    for pair in ((first, second), (second, first)):
        place = tmp_path / str(pair[0] is first)
        place.mkdir()
        said = refusal(place, *(release(*changes) for changes in pair))
        assert said.startswith("exit 3: E304 ")
        assert named in said
        assert "do not add up" in said


ALIKE: dict[str, tuple[tuple[Change, ...], tuple[Change, ...]]] = {
    "the same": ((BY_HOUSE,), (BY_HOUSE,)),
    "written otherwise": (
        ({"columns": {"uid": {"type": "string", "expression": "lower(house)||'-'"}}},),
        ({"columns": {"uid": {"type": "string", "expression": "(LOWER( house )) || '-'"}}},),
    ),
    "declared as it is read": ((), ({"columns": {"uid": {"type": "string"}}},)),
    "bounds": ((), ({"privacy": {"bounding": WIDE}},)),
    "a description": ((), ({"privacy": {"unit_description": "one patient"}},)),
    "bounds of what it reads": (
        (AS_NUMBER,),
        (AS_NUMBER, {"columns": {"door": {"type": "integer", "lower": 0, "upper": 9}}}),
    ),
    "whose rows are dropped": ((), (MISSING,)),
    "nulls in another order": (
        ({"data": {"null_values": ["", "?"]}}, BY_HOUSE),
        ({"data": {"null_values": ["?", ""]}}, BY_HOUSE),
    ),
    "a further field": (({"data": NAMED},), ({"data": FURTHER},)),
    "another file": ((), ({"data": {"path": "u.csv", "snapshot": "2"}},)),
    "another filter": ((), (FILTERED,)),
}  # fmt: skip


@pytest.mark.parametrize("what", ALIKE)
def test_losses_of_the_same_unit_add_up(tmp_path: Path, what: str) -> None:
    first, second = ALIKE[what]
    assert refusal(tmp_path, release(*first), release(*second)) == ""


def test_beside_charges_that_do_not_define_their_unit(tmp_path: Path) -> None:
    """Early versions noted names alone."""
    early = {"unit": "column uid", "adjacency": "add-remove"}
    said = refusal(tmp_path, early, release(BY_HOUSE))
    assert "without noting how its unit is computed" in said
    other = tmp_path / "other"
    other.mkdir()
    assert refusal(other, early, release()) == ""


def test_an_early_charge_is_not_forgotten_behind_later_ones(tmp_path: Path) -> None:
    early = {"unit": "column uid", "adjacency": "add-remove"}
    with Ledger.open(str(tmp_path / "l.sqlite")) as ledger:
        for name, detail in (("a", guarantee_of(release(BY_HOUSE))), ("b", early)):
            ledger.charge(name * 64, "d", "r", Loss(Fraction(1)), Caps(), detail)
        with pytest.raises(Failure, match="entry 2 of the ledger"):
            ledger.charge(
                "c" * 64, "d", "r", Loss(Fraction(1)), Caps(), guarantee_of(release(BY_HOUSE))
            )


def test_what_a_ledger_notes_of_a_unit_never_changes_between_versions() -> None:
    # If this fails, ledgers refuse whoever goes on with them.
    made = release(BY_HOUSE, {"data": NAMED}, {"privacy": {"unit_description": "one household"}})
    assert guarantee_of(made) == {
        "unit": "column uid",
        "adjacency": "add-remove",
        "unit_definition": {
            "type": "string",
            "expression": '||("house", string "-")',
            "reads": {"house": {"type": "string"}},
            "nulls": "dropped",
            "format": "csv",
            "delimiter": ",",
            "quote": '"',
            "encoding": "utf-8",
            "strip": False,
            "header": False,
            "names": {"house": 2},
            "fields": 4,
            "null_values": [""],
        },
        "unit_description": "one household",
    }
    assert guarantee_of(release({"data": {"path": "t.parquet"}}))["unit_definition"] == {
        "type": "string",
        "nulls": "dropped",
        "format": "parquet",
    }
