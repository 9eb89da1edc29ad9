"""The package's dataclasses beside those of the standard library: the same, but made faster."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

import pytest

from dprelease import frozen

# Through a name that type checkers don't take for the standard library's.
OURS: Callable[..., Any] = vars(frozen)["dataclass"]


class Written:
    """What both decorators are given."""

    shared: ClassVar[int] = 7
    number: int
    text: str = "a"
    listed: list[int] = dataclasses.field(default_factory=list, compare=False)
    hidden: int = dataclasses.field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("negative")


class Empty:
    """No field at all."""


class One:
    """A single field."""

    values: tuple[int, ...]


class Own:
    """Methods of its own."""

    number: int

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 3


def both(written: type, **options: bool) -> list[Any]:
    """The class as each decorator makes it."""
    left = {k: v for k, v in vars(written).items() if k not in ("__dict__", "__weakref__")}
    decorators: list[Callable[..., Any]] = [dataclasses.dataclass, OURS]
    return [
        decorator(frozen=True, **options)(type(written.__name__, (), dict(left)))
        for decorator in decorators
    ]


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize(
    ("written", "some", "other"),
    [
        (Written, {"number": 1}, {"number": 1, "text": "b"}),
        (Written, {"number": 1, "listed": [1]}, {"number": 1, "hidden": 5}),
        (Empty, {}, {}),
        (One, {"values": (1, 2)}, {"values": (1, 3)}),
        (Own, {"number": 1}, {"number": 2}),
    ],
)
def test_instances_are_as_those_of_the_standard_library(
    written: type, some: dict[str, Any], other: dict[str, Any], *, slots: bool
) -> None:
    theirs, ours = both(written, slots=slots)
    assert repr(ours(**some)) == repr(theirs(**some))
    assert hash(ours(**some)) == hash(theirs(**some))
    assert (ours(**some) == ours(**other)) == (theirs(**some) == theirs(**other))
    assert (ours(**some) == object()) == (theirs(**some) == object())
    assert ours(**some) == ours(**some)
    names = [field.name for field in dataclasses.fields(theirs)]
    assert [field.name for field in dataclasses.fields(ours)] == names
    assert list(signature(ours).parameters) == list(signature(theirs).parameters)
    assert hasattr(ours(**some), "__dict__") is not slots
    for name in names:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(ours(**some), name, 2)
    assert dataclasses.replace(ours(**some), **other) == ours(**{**some, **other})
    assert copy.deepcopy(ours(**some)) == ours(**some)


def test_what_is_not_compared_is_not_compared() -> None:
    _, ours = both(Written, slots=True)
    assert ours(1, listed=[1]) == ours(1, listed=[2])
    assert ours(1, hidden=1) != ours(1, hidden=2)


def test_a_default_is_made_for_each_instance() -> None:
    _, ours = both(Written, slots=True)
    assert ours(1).listed is not ours(1).listed


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((1, "a", [], 0, 5), {}),
        ((1,), {"number": 1}),
        ((1,), {"other": 1}),
        ((), {"text": "a", "other": 1}),
    ],
)
def test_other_arguments_than_the_fields_are_refused(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for made in both(Written, slots=True):
        with pytest.raises(TypeError):
            made(*values, **named)


def test_the_check_after_the_start_is_made() -> None:
    _, ours = both(Written, slots=True)
    with pytest.raises(ValueError, match="negative"):
        ours(-1)


def test_instances_of_two_classes_are_not_equal() -> None:
    (_, one), (_, other) = (
        both(One, slots=True),
        both(One, slots=True),
    )
    assert one((1,)) != other((1,))


def test_without_equality_an_instance_equals_itself_alone() -> None:
    _, ours = both(One, slots=True, eq=False)
    made = ours((1,))
    assert made == made
    assert made != ours((1,))
    assert hash(made) == object.__hash__(made)


@OURS(frozen=True, slots=True)
class Kept:
    """One that pickle finds."""

    number: int


def test_an_instance_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)  # type: ignore[call-arg]
