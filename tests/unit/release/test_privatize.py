"""Exact integers in, noisy integers out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from dprelease.kernel.chapters.private_keys.shown_keys import select_keys
from dprelease.kernel.core.aggregates import Drawn
from dprelease.kernel.core.engine_requests import Job
from dprelease.kernel.privatization import privatize
from dprelease.model import (
    AggregateRequest,
    Candidates,
    ColumnType,
    ExactTable,
    Expression,
    Form,
    Grid,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    QuantileScheme,
    QuantileStep,
    Quantity,
    Query,
    Sensitivity,
    Source,
    Step,
)

GROUP = Group("g", ColumnType.STRING, ("a", "b", "c"), keys=("a", "b", "c"))


def step(noise: Noise, transform: tuple[tuple[int, ...], ...] = ((1,),)) -> Step:
    return Step(
        Query("q", "count", "t", (GROUP,)),
        (Measure(MeasureKind.RECORDS),) * len(transform[0]),
        transform,
        (Fraction(1),) * len(transform),
        Sensitivity(1, 1, 1),
        noise,
        Loss(Fraction(1)),
    )


def job(steps: list[Step], positions: list[tuple[int, ...]]) -> Job:
    request = AggregateRequest(Source("/t.csv", "csv"), (), steps[0].query.groups, ())
    return Job(request, tuple(steps), tuple(positions), (None,) * len(steps))


def run_release(
    exact: ExactTable, steps: list[Step], positions: list[tuple[int, ...]], entropy: Any
) -> Any:
    drawn = privatize(exact, job(steps, positions), entropy, {})
    assert drawn.keys == {}
    return drawn.values


NONE = Noise(NoiseFamily.NONE, Fraction(0))
LAPLACE = Noise(NoiseFamily.LAPLACE, Fraction(50))


def test_the_transform_is_applied_in_integers_of_any_size(entropy: Any) -> None:
    exact = ExactTable([[1, 2, 3], [2**70, 0, -(2**70)]])
    found = run_release(exact, [step(NONE, ((-5, 1), (7, -1)))], [(0, 1)], entropy)
    assert found == {"q": ((2**70 - 5, -10, -(2**70) - 15), (7 - 2**70, 14, 21 + 2**70))}


def test_every_cell_and_every_released_integer_gets_its_own_draw(entropy: Any) -> None:
    exact = ExactTable([[0] * 3])
    twice = step(LAPLACE, ((1,), (1,)))
    found = run_release(
        exact,
        [twice, replace(twice, query=Query("p", "count", "t", (GROUP,)))],
        [(0,), (0,)],
        entropy,
    )
    draws = [value for rows in found.values() for row in rows for value in row]
    assert len(draws) == 12
    assert len(set(draws)) > 9


def test_the_same_bytes_give_the_same_noise_and_other_bytes_other_noise() -> None:
    class Constant:
        def __init__(self, seed: bytes) -> None:
            self.seed, self.reads = seed, 0

        def read(self, size: int) -> bytes:
            import hashlib

            self.reads += 1
            return hashlib.shake_256(self.seed + bytes([self.reads % 256])).digest(size)

    exact = ExactTable([[0] * 3])
    first, second, other = (
        run_release(exact, [step(LAPLACE)], [(0,)], Constant(seed)) for seed in (b"a", b"a", b"b")
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("measures", [[[1, 2]], [[1, 2, 3, 4]]])
def test_a_table_of_another_size_stops_the_release(measures: list[list[int]], entropy: Any) -> None:
    with pytest.raises(ValueError, match="cell"):
        run_release(ExactTable(measures), [step(LAPLACE)], [(0,)], entropy)


def test_exact_tables_show_nothing() -> None:
    import pickle

    table = ExactTable([[123456]])
    assert "123456" not in repr(table)
    with pytest.raises(TypeError):
        pickle.dumps(table)


RATE = Noise(NoiseFamily.PERMUTE_AND_FLIP, Fraction(50))
PICKS = Group("c", ColumnType.STRING, ("x", "y"), keys=("x", "y"))


@pytest.mark.parametrize("family", [NoiseFamily.PERMUTE_AND_FLIP, NoiseFamily.EXPONENTIAL])
def test_a_choice_gives_positions_of_candidates_for_each_cell(
    family: NoiseFamily, entropy: Any
) -> None:
    query = Query("q", "top_k", "t", (GROUP,), axis=PICKS, picks=2)
    chosen = replace(step(Noise(family, Fraction(50))), query=query, form=Form.CHOICE)
    exact = ExactTable([[9, 1, 2, 8, 0, 7]])
    assert run_release(exact, [chosen], [(0,)], entropy) == {"q": ((0, 1, 1), (1, 0, 0))}


def test_a_choice_by_noise_for_numbers_is_refused(entropy: Any) -> None:
    query = Query("q", "mode", "t", (GROUP,), axis=PICKS)
    chosen = replace(step(LAPLACE), query=query, form=Form.CHOICE)
    with pytest.raises(ValueError, match="mechanism for choices"):
        run_release(ExactTable([[0] * 6]), [chosen], [(0,)], entropy)


def test_quantiles_are_searched_in_each_cell(entropy: Any) -> None:
    scheme = QuantileScheme(
        (Fraction(1, 2),), (QuantileStep(1, 0, 2, Fraction(1, 2), Fraction(100)),)
    )
    points = Quantity("x", Grid(Fraction(1), 0, 9))
    searched = replace(
        step(Noise(NoiseFamily.EXPONENTIAL, Fraction(100))),
        form=Form.QUANTILES,
        scheme=scheme,
        points=points,
    )
    exact = ExactTable([[0, 0, 2], [3, 8, 5], [90, 10, 20]])
    found = run_release(exact, [searched], [()], entropy)["q"]
    assert (found[0][0], found[0][2]) == (3, 5)
    assert 0 <= found[0][1] <= 9  # a cell without records


PRIVATE = Group("k", ColumnType.STRING, (), private=True)


def selecting(threshold: int | None = 50) -> Step:
    query = Query("n", "count", "t", (PRIVATE,))
    return replace(step(Noise(NoiseFamily.LAPLACE, Fraction(1))), query=query, threshold=threshold)


def test_private_keys_below_the_threshold_leave_no_trace(entropy: Any) -> None:
    other = replace(step(NONE), query=Query("s", "sum", "t", (PRIVATE,)))
    exact = ExactTable(
        [[100, 1, 200, 2], [5, 6, 7, 8]], [("zoë",), ("rare",), ("ann",), ("secret",)]
    )
    steps = [selecting(), other]
    drawn = privatize(exact, job(steps, [(0,), (1,)]), entropy, {})
    assert drawn.keys == {"t": (("ann",), ("zoë",))}
    assert drawn.values["s"] == ((7, 5),)
    assert [abs(count - 150) < 90 for count in drawn.values["n"][0]] == [True, True]
    assert len(drawn.values["n"][0]) == 2


def test_two_sums_select_by_what_they_add_up_to(entropy: Any) -> None:
    """Each key keeps its own two noisy sums, in the order of the keys that are shown."""
    noise = Noise(NoiseFamily.LAPLACE, Fraction(1))
    values = Quantity("x", Grid(Fraction(1), 0, 10))
    numbers = Group("k", ColumnType.INTEGER, (), private=True)  # "10" is drawn before "9"
    mean = replace(
        step(noise),
        query=Query("m", "mean", "t", (numbers,)),
        measures=(Measure(MeasureKind.VALUES, values), Measure(MeasureKind.SUM, values)),
        transform=((0, 1), (10, -1)),
        unit=(Fraction(1), Fraction(1)),
        threshold=2000,
    )
    keys = [("100",), ("10",), ("7",), ("9",), ("8",)]
    counts, sums = [900, 400, 2, 300, 150], [100, 0, 9, 2900, 1500]
    drawn = privatize(ExactTable([counts, sums], keys), job([mean], [(0, 1)]), entropy, {})
    assert drawn.keys == {"t": (("9",), ("10",), ("100",))}
    first, second = drawn.values["m"]
    wanted = [(2900, 100), (0, 4000), (100, 8900)]
    for found, (low, high) in zip(zip(first, second, strict=True), wanted, strict=True):
        assert abs(found[0] - low) < 90
        assert abs(found[1] - high) < 90


def test_selected_keys_are_the_cells_of_later_jobs(entropy: Any) -> None:
    other = replace(step(NONE), query=Query("s", "sum", "t", (PRIVATE,)))
    exact = ExactTable([[5, 9]], [("b",), ("x",)])
    keys = {"t": (("a",), ("b",))}
    assert privatize(exact, job([other], [(0,)]), entropy, keys) == Drawn(
        {"s": ((0, 5),)}, {"t": (("a",), ("b",))}
    )


def test_keys_are_drawn_in_an_order_of_their_own(entropy: Any) -> None:
    """The engine's says something of the data: the same bytes give the same table in any order."""
    keys, counts = [("b",), ("c",), ("a",), ("d",)], [51, 52, 53, 54]
    tables = []
    for order in ([0, 1, 2, 3], [3, 1, 2, 0]):
        exact = ExactTable([[counts[at] for at in order]], [keys[at] for at in order])
        drawn = privatize(exact, job([selecting()], [(0,)]), type(entropy)("keys"), {})
        tables.append((drawn.values, drawn.keys))
    assert tables[0] == tables[1]
    assert tables[0][1]["t"]


def test_no_key_may_be_selected(entropy: Any) -> None:
    none: tuple[tuple[str, ...], ...] = ()
    drawn = privatize(ExactTable([[]], none), job([selecting()], [(0,)]), entropy, {})
    assert drawn == Drawn({"n": ((),)}, {"t": ()})
    drawn = privatize(ExactTable([[7]], [("a",)]), job([selecting()], [(0,)]), entropy, {})
    assert drawn == Drawn({"n": ((),)}, {"t": ()})


@pytest.mark.parametrize("what", ["axis", "candidates", "choice"])
def test_only_a_count_of_the_keys_themselves_selects(what: str, entropy: Any) -> None:
    given = Candidates(("1",), ColumnType.INTEGER, Expression("1", ()), Grid(Fraction(1), 0, 1))
    count = selecting()
    if what == "choice":
        count = replace(count, form=Form.CHOICE)
    else:
        changes: dict[str, Any] = {what: PICKS if what == "axis" else given}
        count = replace(count, query=replace(count.query, **changes))
    with pytest.raises(ValueError, match="threshold"):
        privatize(ExactTable([[500]], [("a",)]), job([count], [(0,)]), entropy, {})


def test_private_keys_without_a_selection_are_refused(entropy: Any) -> None:
    with pytest.raises(ValueError, match="threshold"):
        privatize(ExactTable([[5]], [("b",)]), job([selecting(None)], [(0,)]), entropy, {})


def test_every_private_number_has_a_place_in_the_order() -> None:
    group = Group("x", ColumnType.FLOAT, (), null_label="none", private=True)
    texts = ["inf", "2", "none", "-inf", "10", "odd", "-1.5"]
    kept = select_keys([(text,) for text in texts], [9] * len(texts), 9, [group])
    assert [key for (key,), _ in kept] == ["-inf", "-1.5", "2", "10", "inf", "none", "odd"]


@pytest.mark.parametrize(
    ("measures", "keys"),
    [([[90, 90]], [("a",), ("a",)]), ([[90, 90, 90]], [("a",), ("b",)])],
    ids=["a key twice", "a count too many"],
)
def test_an_answer_with_odd_keys_stops_the_release(
    measures: list[list[int]], keys: list[tuple[str]], entropy: Any
) -> None:
    with pytest.raises(ValueError, match="key"):
        privatize(ExactTable(measures, keys), job([selecting()], [(0,)]), entropy, {})
