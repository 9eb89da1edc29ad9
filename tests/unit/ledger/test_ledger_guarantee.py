"""One account is about one unit: the same rows, and not only a column of the same name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import pytest

from dprelease import Failure, load
from dprelease.ledger.guarantee import describe_guarantee
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss, Release
from dprelease.specfile.schema.sections import SECTIONS

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
NUMBER = {"columns": {"uid": {"type": "integer"}}}
SEMICOLON = {"data": {"delimiter": ";"}}
DAY = {"columns": {"uid": {"type": "date", "format": "%d.%m.%Y"}}}
AMERICAN = {"columns": {"uid": {"type": "date", "format": "%m.%d.%Y"}}}
MOMENT = {"columns": {"uid": {"type": "timestamp", "format": "%Y-%m-%d %H:%M%z"}}}
LINES = {"data": {"multiline": True}}


def read_rows(**data: object) -> Change:
    """Each record is one unit, and the file is read so."""
    privacy = {"unit": "row", "unit_column": None, "bounding": None}
    return {"privacy": privacy, "data": data}


def release(*changes: Change) -> Release:
    """A release about the people of a file, with some sections changed."""
    return load(build_spec(changes))


def build_spec(changes: Sequence[Change]) -> dict[str, Any]:
    """Its spec."""
    spec: dict[str, Any] = builders.spec(
        privacy={
            "unit": "column",
            "unit_column": "uid",
            "adjacency": "add-remove",
            "epsilon": 1,
            "bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 1},
        },
        ledger={"dataset": "d", "epsilon_cap": 9},
        columns={
            "house": {"type": "string"},
            "door": {"type": "integer"},
            "days": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        query=[{"name": "n", "statistic": "count"}],
    )
    for change in changes:
        for section, keys in deepcopy(change).items():
            merged = {**spec[section], **keys} if isinstance(keys, dict) else keys
            if isinstance(merged, dict):
                merged = {key: value for key, value in merged.items() if value is not None}
            spec[section] = merged
    return spec


COMMA = {"data": {"decimal": ","}}
ALONE = {"header": False, "names": ["days"]}
NO_OTHER = {"columns": {"house": None, "door": None}}
BY_DAY = {
    "columns": {
        "seen": {"type": "timestamp", "format": "%Y-%m-%d %H:%M%z"},
        "uid": {"type": "integer", "expression": "EXTRACT(day FROM seen)"},
    }
}


def zone_values(change: Change, name: str = "uid", zone: str = "Asia/Tokyo") -> Change:
    """The same in the days and hours of a zone."""
    columns = change["columns"]
    return {"columns": {**columns, name: {**columns[name], "zone": zone}}}


def find_refusal(tmp_path: Path, first: object, second: object) -> str:
    """What the ledger says to a second charge; nothing if it adds both up. All take details."""
    said = ""
    with Ledger.open(str(tmp_path / "l.sqlite")) as ledger:
        ledger.charge("a" * 64, "d", "r", Loss(Fraction(1)), Caps(), get_detail(first))
        try:
            ledger.charge("b" * 64, "d", "s", Loss(Fraction(1)), Caps(), get_detail(second))
        except Failure as failure:
            said = f"exit {failure.exit_code}: {failure}"
        assert ledger.read_account("d").spent_loss.epsilon == (1 if said else 2)
    return said


def get_detail(what: Any) -> dict[str, object]:
    return describe_guarantee(what) if isinstance(what, Release) else what


def read_lines(**data: object) -> Change:
    return read_rows(multiline=True, **data)


EACH, LINED = read_rows(), read_lines()
WITH_NAMES, WITH_MORE = {"data": NAMED}, {"data": FURTHER}
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
        "reads", (AS_NUMBER,), (AS_NUMBER, {"columns": {"door": {"type": "decimal"}}})),
    "nulls as a unit": ("nulls", (), (ONE_UNIT,)),
    "other nulls as a unit": ("null_values", (ONE_UNIT,), (ONE_UNIT, MISSING)),
    "other nulls in an expression": ("null_values", (BY_HOUSE,), (BY_HOUSE, MISSING)),
    "other nulls where the number of units is public": (
        "null_values", (REPLACED,), (REPLACED, MISSING)),
    "blanks": ("strip", (), ({"data": {"strip": True}},)),
    "encoding": ("encoding", (), ({"data": {"encoding": "latin-1"}},)),
    "quotes": ("quote", (), ({"data": {"quote": ""}},)),
    "delimiter": ("delimiter", (), ({"data": {"delimiter": ";"}},)),
    "format": ("format", (), ({"data": {"path": "t.parquet"}},)),
    "a header that is no header": ("header", (), (WITH_NAMES,)),
    "another field by that name": ("names", (WITH_NAMES,), ({"data": SWAPPED},)),
    "another field in the expression": (
        "names",
        (WITH_NAMES, BY_HOUSE),
        ({"data": {**NAMED, "names": ["x", "door", "house", "days"]}}, BY_HOUSE),
    ),
    "a further field, without which all lines are nulls": (
        "fields", (WITH_NAMES, ONE_UNIT), (WITH_MORE, ONE_UNIT)),
    "a further field, without which an expression reads nulls": (
        "fields", (WITH_NAMES, BY_HOUSE), (WITH_MORE, BY_HOUSE)),
    "decimal marks of a number": ("decimal", (NUMBER, SEMICOLON), (NUMBER, SEMICOLON, COMMA)),
    "marks between digits": ("thousands", (NUMBER,), (NUMBER, {"data": {"thousands": "_"}})),
    "marks of a number that is read": (
        "reads", (AS_NUMBER, SEMICOLON), (AS_NUMBER, SEMICOLON, COMMA)),
    "another way to write a day": ("format of the column", (DAY,), (AMERICAN,)),
    "a way to write a day": (
        "format of the column", ({"columns": {"uid": {"type": "date"}}},), (DAY,)),
    "another zone": ("zone", (MOMENT,), (zone_values(MOMENT),)),
    "another zone of what is read": ("reads", (BY_DAY,), (BY_DAY, zone_values(BY_DAY, "seen"))),
    "records over several lines": ("multiline", (), (LINES,)),
    "records over more lines": (
        "multiline", (LINES,), ({"data": {"multiline": True, "max_lines_per_record": 2}},)),
    "each line a record, or several": ("multiline", (EACH,), (LINED,)),
    "each record of so many lines": ("multiline", (LINED,), (read_lines(max_lines_per_record=9),)),
    "quotes about line breaks": ("quote", (LINED,), (read_lines(quote="'"),)),
    "what ends a field before a line break": ("delimiter", (LINED,), (read_lines(delimiter=";"),)),
    "how many fields a record of several lines has": (
        "fields", (read_lines(**NAMED),), (read_lines(**FURTHER),)),
    "a first line that is a record": ("header", (EACH,), (read_rows(**NAMED),)),
    "lines before the header": ("skip_rows", (), ({"data": {"skip_rows": 1}},)),
    "a field without a name": ("unnamed_field", (), ({"data": {"unnamed_field": "first"}},)),
    "lines before the first record": ("skip_rows", (EACH,), (read_rows(skip_rows=1),)),
    "records, or people": ("another unit", (), (EACH,)),
    "another column": ("another unit", (), ({"privacy": {"unit_column": "house"}},)),
    "other neighbours": ("another adjacency", (), (REPLACED,)),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", OTHERS)
def test_losses_of_other_units_do_not_add_up(tmp_path: Path, what: str) -> None:
    named, first, second = OTHERS[what]
    for pair in ((first, second), (second, first)):
        place = tmp_path / str(pair[0] is first)
        place.mkdir()
        said = find_refusal(place, *(release(*changes) for changes in pair))
        assert said.startswith("exit 3: E304 ")
        assert named in said
        assert "do not add up" in said


ALIKE: dict[str, tuple[tuple[Change, ...], tuple[Change, ...]]] = {
    "empty lines, which are records of any width": (
        (read_rows(**ALONE), NO_OTHER), (read_rows(**NAMED), NO_OTHER)),
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
    "a further field": ((WITH_NAMES,), (WITH_MORE,)),
    "another file": ((), ({"data": {"path": "u.csv", "snapshot": "2"}},)),
    "another filter": ((), (FILTERED,)),
    "marks of numbers where a unit is a text": ((SEMICOLON,), (SEMICOLON, COMMA)),
    "the zone that is the default": ((MOMENT,), (zone_values(MOMENT, "uid", "UTC"),)),
    "each line a record, however it is read": (
        (EACH,),
        (read_rows(delimiter=";", quote="", encoding="cp1252", strip=True, null_values=["-"]),),
    ),
    "each row a record": ((EACH,), (read_rows(path="t.parquet"),)),
    "names of what stands in a line": ((read_rows(**NAMED),), (read_rows(**FURTHER),)),
}  # fmt: skip


@pytest.mark.parametrize("what", ALIKE)
def test_losses_of_the_same_unit_add_up(tmp_path: Path, what: str) -> None:
    first, second = ALIKE[what]
    assert find_refusal(tmp_path, release(*first), release(*second)) == ""


HELD = {
    "[data]": "format delimiter quote encoding null_values header names strip decimal thousands "
    "multiline max_lines_per_record skip_rows unnamed_field",
    "[privacy]": "unit unit_column adjacency",
    "[columns.NAME]": "type nulls format zone expression",
}
"""What decides which records there are, and which of them are one unit: see ``OTHERS``."""
OF_THE_ACCOUNT = {"[ledger]": "path url_env dataset epsilon_cap delta_cap rho_cap witness"}
"""Which account it is, and its caps."""
NEUTRAL = {
    # The unit is the same whatever is asked of it, and however it is told.
    "[release]": "name title curator contact purpose region sector approved_by licence previous",
    "[[query]]": None,
    "accuracy = { ... }": None,
    "bounding = { ... }": None,
    "partition_selection = { ... }": None,
    "numerator = { ... }, denominator = { ... }": None,
    "[[perturb]]": None,
    "[postprocess]": None,
    "[output]": None,
    "[report]": None,
    "[review]": None,
    "[review.attestations]": None,
    # Where the records are: all places of one dataset are one table to the ledger. How they count
    # does not make others of them.
    "[data]": "path driver uri_env table sheet engine snapshot weight design_effect",
    # How much of a unit counts, how much may be lost, and words.
    "[privacy.bounding]": None,
    "[privacy]": "unit_description population epsilon delta rho accounting bounding",
    # Held by itself: see test_ledger_periods.
    "[ledger]": "disjoint_periods",
    # A unit is told by its value as it is read, before keys, bounds and steps.
    "[columns.NAME]": "lower upper step keys keys_file other bins source label labels",
}


def test_each_key_of_a_spec_is_held_against_other_charges_or_has_no_say_in_the_unit() -> None:
    """Whoever adds a key decides it here; and what is held has its case among ``OTHERS``."""
    for section in SECTIONS:
        sides = [side[section.HEADER] for side in (HELD, OF_THE_ACCOUNT, NEUTRAL)
                 if section.HEADER in side]  # fmt: skip
        placed = [key for side in sides if side is not None for key in side.split()]
        assert sides, section.HEADER
        if None not in sides:
            assert sorted(placed) == sorted(section.KEYS), section.HEADER
    held = {f"{header} {key}" for header, keys in HELD.items() for key in keys.split()}
    tried = {key for _, *pair in OTHERS.values() for key in find_differing(*map(build_spec, pair))}
    assert held - tried == {"[data] format"}  # which the suffix of a path says


def find_differing(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """The keys of the data, of privacy and of columns that two specs state differently."""
    columns = {**one["columns"], **other["columns"]}
    pairs = [(f"[{name}]", one[name], other[name]) for name in ("data", "privacy")]
    pairs += [("[columns.NAME]", *(spec["columns"].get(name, {}) for spec in (one, other)))
              for name in columns]  # fmt: skip
    for header, first, second in pairs:
        for key in {**first, **second}:
            if first.get(key) != second.get(key):
                yield f"{header} {key}"


@pytest.mark.parametrize("spec", [release(), release(BY_HOUSE)])
def test_a_charge_that_does_not_define_its_unit_adds_up_with_no_other(
    tmp_path: Path, spec: Release
) -> None:
    undefined = {"unit": "column uid", "adjacency": "add-remove"}
    assert "defined in another way" in find_refusal(tmp_path, undefined, spec)


def test_what_a_ledger_notes_of_a_unit_never_changes_between_versions() -> None:
    # If this fails, ledgers refuse whoever goes on with them.
    made = release(BY_HOUSE, {"data": NAMED}, {"privacy": {"unit_description": "one household"}})
    assert describe_guarantee(made) == {
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
    assert describe_guarantee(release({"data": {"path": "t.parquet"}}))["unit_definition"] == {
        "type": "string",
        "nulls": "dropped",
        "format": "parquet",
    }
