"""What a change of a record-level table does: weaker exactly where a unit's loss in it grows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dprelease.comparison.output_changes import find_perturb_changes
from dprelease.comparison.spec_changes import Change, Kind, Pair
from dprelease.model import Loss, Plan, RecordStep
from dprelease.specfile import load

KEYS = {"type": "string", "keys": ["n", "s"], "source": "public"}
SPEC = {
    "release": {"name": "survey"},
    "data": {"path": "staff.csv"},
    "columns": {
        "region": KEYS,
        "sex": KEYS,
        "pay": {"type": "integer", "lower": 0, "upper": 9, "keys": [1, 2], "source": "public"},
    },
    "output": {"path": "out"},
}
TABLE = {"name": "people", "columns": ["region", "pay"], "epsilon": Fraction(1)}
WHOLE = {"name": "people", "columns": ["region", "pay"]}
TRUTH = {"name": "people", "columns": ["region"], "truth": Fraction(3, 4)}
Table = dict[str, object]


def planned(*tables: Table, lost: str = "0.99", total: str = "5") -> Plan:
    """A plan as far as diff reads it; ``lost`` is what the laws of each table lose."""
    privacy = {"unit": "row", "adjacency": "replace-one", "epsilon": Fraction(total)}
    release = load({**SPEC, "privacy": privacy, "perturb": list(tables)})
    loss = Loss(Fraction(lost))
    steps = tuple(RecordStep(perturb, (), 1, loss) for perturb in release.perturbs)
    return Plan(release, (), loss, "sum", loss, records=steps)


def changes(old: Plan, new: Plan) -> dict[str, Change]:
    return {change.what: change for change in find_perturb_changes(Pair(old, new))}


def kinds(old: Plan, new: Plan) -> dict[str, Kind]:
    return {what: change.kind for what, change in changes(old, new).items()}


GREATER = {
    "epsilon": (planned(TABLE), planned({**TABLE, "epsilon": Fraction(11, 10)}), "epsilon"),
    "delta": (planned(TABLE), planned({**TABLE, "delta": Fraction(1, 10**8)}), "delta"),
    "truth": (
        planned(TRUTH, lost="1.1"),
        planned({**TRUTH, "truth": Fraction(4, 5)}, lost="1.4"),
        "epsilon",
    ),
    # Further from 1/2 on the other side.
    "a lie": (
        planned(TRUTH, lost="1.1"),
        planned({**TRUTH, "truth": Fraction(1, 5)}, lost="1.4"),
        "epsilon",
    ),
    "truth of one more column": (
        planned(TRUTH, lost="1.1"),
        planned({**TRUTH, "columns": ["region", "sex"]}, lost="2.2"),
        "epsilon",
    ),
    "truth, then epsilon": (planned(TRUTH, lost="0.9"), planned(TABLE), "epsilon"),
    "the total": (planned(WHOLE, total="2"), planned(WHOLE, total="3"), "epsilon"),
    "a part, then the total": (planned(TABLE), planned(WHOLE), "epsilon"),
}


@pytest.mark.parametrize("what", GREATER)
def test_a_greater_loss_is_weaker_and_its_reverse_stronger(what: str) -> None:
    old, new, figure = GREATER[what]
    assert kinds(old, new)[f"table people: {figure}"] is Kind.WEAKER
    back = kinds(new, old)
    assert back[f"table people: {figure}"] is Kind.STRONGER
    assert Kind.WEAKER not in back.values()


def asked(**changed: object) -> Plan:
    # As a planner rounds: the laws lose a little more or less than before.
    return planned({**TABLE, **changed}, lost="0.995")


OTHER = {
    "columns": (asked(columns=["region", "pay", "sex"]), "new: sex: more of each record"),
    "columns gone": (asked(columns=["region"]), "gone: pay"),
    "columns in order": (asked(columns=["pay", "region"]), "in another order"),
    "region: mechanism": (asked(mechanism={"region": "subset-selection"}), ""),
    "pay: published as": (asked(mechanism={"pay": "laplace"}), ""),
    "region: weight": (asked(weights={"region": 3}), ""),
}


@pytest.mark.parametrize("what", OTHER)
def test_what_is_published_otherwise_is_told_and_weakens_nothing(what: str) -> None:
    new, why = OTHER[what]
    found = changes(planned(TABLE), new)
    key = what.split(" ", maxsplit=1)[0] if what.startswith("columns") else what
    change = found[f"table people: {key}"]
    assert change.kind is Kind.OTHER
    assert why in change.why
    assert change.key == "perturb[0]"
    assert {each.kind for each in found.values()} == {Kind.OTHER}


def test_truth_on_the_other_side_is_told_at_the_same_loss() -> None:
    old, new = planned(TRUTH, lost="1.1"), planned({**TRUTH, "truth": Fraction(1, 4)}, lost="1.1")
    assert kinds(old, new) == {"table people: truth": Kind.OTHER}


@pytest.mark.parametrize("same", [{}, {"weights": {"region": 7, "pay": 7}}, {"mechanism": "auto"}])
def test_what_says_the_same_is_no_change(same: Table) -> None:
    assert changes(planned(TABLE), asked(**same)) == {}


def test_tables_that_come_and_go_are_told() -> None:
    more = {**TABLE, "name": "more"}
    added = changes(planned(TABLE), planned(TABLE, more))
    assert [*added] == ["table more"]
    assert (added["table more"].kind, added["table more"].key) == (Kind.OTHER, "perturb[1]")
    assert "how many there are" in added["table more"].why
    gone = changes(planned(TABLE, more), planned(TABLE))
    assert (gone["table more"].new, gone["table more"].why) == (None, "removed")
    assert gone["table more"].old == "records perturbed, with region, pay"


def test_changes_of_a_table_are_told_one_table_after_the_other() -> None:
    first = {**TRUTH, "columns": ["region", "sex"], "truth": Fraction(1, 4)}
    second = {**TABLE, "name": "second", "columns": ["pay", "region"], "weights": {"pay": 3}}
    gone = {**TABLE, "name": "gone"}
    old = planned(TRUTH, gone, {**TABLE, "name": "second"}, lost="1.1")
    assert [*changes(old, planned(first, second, lost="1.2"))] == [
        "table people: epsilon",
        "table people: truth",
        "table people: columns",
        "table gone",
        "table second: columns",
        "table second: pay: weight",
    ]
