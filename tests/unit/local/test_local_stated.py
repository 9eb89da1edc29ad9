"""Record-level tables in the report: written, read back to the letter, and nothing else is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from thorough import some

from dprelease.local.estimation.estimates import estimate_all
from dprelease.local.estimation.table_estimates import read_steps
from dprelease.local.report.table_facts import describe_drawn_table
from dprelease.model import (
    ColumnType,
    Grid,
    Group,
    LaplaceLaw,
    Loss,
    Mechanism,
    Perturb,
    PerturbedColumn,
    Quantity,
    RecordStep,
    Response,
    StoredTable,
    SubsetLaw,
    Tally,
    Window,
    WindowLaw,
)
from dprelease.reports.model.json_form import to_json

LOSS = Loss(Fraction(1, 3), Fraction(1, 10**9))
KEEP = Fraction((1 << 63) + 12345, 1 << 64)
LABELS = ("x", "=y", "rest")


def response(name: str, mechanism: Mechanism, law: Any, group: Group | None) -> Response:
    grid = Grid(Fraction(1, 100), -500, 500)
    quantity = None if group else Quantity(name, grid, 0)
    column = PerturbedColumn(name, group, quantity, mechanism, Fraction(2, 3), group is None)
    return Response(column, mechanism, law, LOSS)


KEYED = Group("a", ColumnType.STRING, LABELS, LABELS[:2], None, "rest", "x")
BINNED = Group("b", ColumnType.INTEGER, ("0 to 5", "5 to 9"), None, ("0", "5", "9"))
WINDOW = Window(4, 1, Fraction(5), Fraction(7, 9))
TWO = WindowLaw(
    Window(2, 1, Fraction(3), Fraction(4)),
    Window(5, 2, Fraction(7, 2), Fraction(2)),
    Fraction(1, 4),
)
STEP = RecordStep(
    Perturb("people", (), Fraction(7, 3), Fraction(1, 10**8), None),
    (
        response("a", Mechanism.SUBSET_SELECTION, SubsetLaw(3, 2, KEEP), KEYED),
        response("b", Mechanism.RANDOMIZED_RESPONSE, SubsetLaw(2, 1, Fraction(3, 4)), BINNED),
        response("c", Mechanism.LAPLACE, LaplaceLaw(Fraction(10**40 + 1, 10**38)), None),
        response("d", Mechanism.PIECEWISE, TWO, None),
    ),
    2,
    LOSS,
)
TALLY = Tally(
    7, {"a": (3, 5, 6), "b": (2, 5)}, {"c": Fraction(5), "d": Fraction(1, 2)},
    {("a", "b"): ((1, 2), (2, 3), (1, 5))},
)  # fmt: skip
STORED = StoredTable("/a/b/people.csv", "csv", "ab" * 32, 99, TALLY)


def report() -> Any:
    facts = to_json(describe_drawn_table(STEP, STORED, Fraction(19, 20)))
    made = {"schema": "dprelease/report/1", "perturb": [facts], "provenance": {"interval": "0.95"}}
    return json.loads(json.dumps(made, allow_nan=False))


def test_laws_are_read_back_to_the_letter() -> None:
    known = read_steps(report(), "people.csv")
    assert known.step.responses == STEP.responses
    assert known.step.loss == STEP.loss
    assert known.step.rows == 2
    assert known.step.perturb.epsilon == Fraction(7, 3)
    assert (known.format, known.sha256, known.rows) == ("csv", "ab" * 32, 7)
    assert known.interval == Fraction(19, 20)


def test_it_says_what_answers_are_worth() -> None:
    (facts,) = report()["perturb"]
    sets, answer, laplace, levels = facts["columns"]
    assert (facts["rows_per_unit"], facts["file"], facts["bytes"]) == (2, "people.csv", 99)
    assert facts["asked"] == {"epsilon": "7/3", "delta": "1/100000000", "truth": None}
    assert sets["labels"]["separator"] == "|"
    assert answer["truth"] == {"own": 0.75, "given_other": 0.25, "labels_in_answer": 1}
    assert laplace["truth"] is None
    for column in facts["columns"]:
        assert min(column["error"][name] for name in ("expected", "floor", "deviation")) > 0
    assert levels["law"]["share"] == "1/4"
    told = facts["estimates"]
    assert [each["column"] for each in told["frequencies"]] == ["a", "b"]
    assert [each["column"] for each in told["means"]] == ["c", "d"]
    assert len(told["crosses"][0]["cells"]) == 6
    figure = told["frequencies"][1]["labels"][0]
    assert figure["share"] == pytest.approx((2 / 7 - 0.25) / 0.5)
    assert figure["number"] == pytest.approx(7 * figure["share"])
    assert figure["share_lower"] < figure["share"] < figure["share_upper"]


@pytest.mark.parametrize("file", ["other.csv", "", "PEOPLE.csv"])
def test_a_table_that_is_not_there_is_not_found(file: str) -> None:
    with pytest.raises(LookupError):
        read_steps(report(), file)
    without = report()
    del without["perturb"]
    with pytest.raises(LookupError):
        read_steps(without, "people.csv")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


BAD: tuple[Any, ...] = (
    None, "", "x", "1/0", "0/1", "-1/1", "9" * 3000 + "/1", "1/" + "9" * 1900, "1e999999999", -1, 0,
    10**400, 0.5, True, [], [[]], {}, ["x", "x"],
)  # fmt: skip


def test_whatever_else_it_holds_is_refused_in_one_way() -> None:
    """Only LookupError and ValueError, or laws that estimates can be made of."""
    sound = report()
    tried = 0
    for path in places(sound):
        if "estimates" in path or "error" in path or "truth" in path:
            continue
        for bad in some(BAD, 4):
            broken = copy.deepcopy(sound)
            at = broken
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = bad
            tried += 1
            try:
                known = read_steps(broken, "people.csv")
            except (ValueError, LookupError):
                continue
            figures = estimate_all(known.step, nothing(known.step), known.interval)
            assert len(figures.shares) + len(figures.means) == len(known.step.responses)
    assert tried > len(some(range(500), 4))


def test_a_label_with_half_a_character_is_refused() -> None:
    """JSON can hold one, and no file or terminal can."""
    broken = report()
    labelled = next(each for each in broken["perturb"][0]["columns"] if each["labels"])
    labelled["labels"]["labels"][-1] = "\ud800"
    with pytest.raises(ValueError, match="surrogates"):
        read_steps(broken, "people.csv")


def nothing(step: RecordStep) -> Tally:
    """A tally of answers that hold no label and add up to nothing."""
    labels = {
        each.column.name: (0,) * each.law.labels
        for each in step.responses
        if isinstance(each.law, SubsetLaw)
    }
    names = {each.column.name for each in step.responses} - set(labels)
    return Tally(7, labels, dict.fromkeys(names, Fraction(0)))


@pytest.mark.parametrize("top", [None, [], 5, {}, {"schema": "dprelease/report/2"}])
def test_what_is_no_report_is_refused(top: Any) -> None:
    with pytest.raises(ValueError, match="report"):
        read_steps(top, "people.csv")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": 4},
        {"size": 3},
        {"keep": "3/2"},
        {"keep": "2/3"},
        {"law": "laplace"},
        {"law": "nonsense"},
    ],
)
def test_a_law_that_is_none_of_its_column_is_refused(change: dict[str, Any]) -> None:
    broken = report()
    broken["perturb"][0]["columns"][0]["law"] |= change
    with pytest.raises(ValueError, match=r"law|labels|answers|facts"):
        read_steps(broken, "people.csv")
