"""Sections and keys on their own: reading, defaults, findings and their places and order."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args, get_origin

import pytest

from dprelease.engines.engine_registry import ENGINES
from dprelease.language import LANGUAGES
from dprelease.model.source_registry import DRIVERS, SOURCES
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.keys.fields import read_flag, read_line
from dprelease.specfile.keys.number_texts import read_exact, read_whole_number
from dprelease.specfile.keys.section_reader import (
    TAKES,
    Choice,
    Key,
    Missing,
    Section,
    Unknown,
    build_list_reader,
    build_table_reader,
)
from dprelease.specfile.schema import sections
from dprelease.specfile.schema.query_keys import READERS
from dprelease.specfile.schema.sections import QuerySection
from dprelease.statistics.shared import spec_keys
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys

Colour = Literal["red", "green"]


class Inner(Section):
    numbers = Key(build_list_reader(read_exact))
    name = Key(read_line, remedy="name it")


class Outer(Section):
    title = Key(read_line, remedy="give it a title")
    shown = Key(read_flag)
    words = Choice[Colour](Colour, "green")
    colour = Choice[Colour | None](Colour, None)
    paint = Choice[Colour](Colour, "red")
    inner = Key(build_table_reader(Inner))
    many = Key(build_list_reader(build_table_reader(Inner)))


def list_findings(content: dict[str, object]) -> list[tuple[object, ...]]:
    """Where each finding is and what kind it is."""
    return [(*each.path, type(each.why)) for each in Outer.read(content)[1]]


def test_values_are_read_and_the_absent_are_defaults():
    section, wrong = Outer.read(
        {
            "title": "t",
            "colour": "green",
            "inner": {"name": "x", "numbers": [1, Decimal("0.5")]},
            "many": [{"name": "a"}, {"name": "b"}],
        }
    )
    assert wrong == []
    assert (section.title, section.shown, section.colour, section.paint, section.words) == (
        "t",
        None,
        "green",
        "red",
        "green",
    )
    assert section.inner is not None
    assert section.inner.numbers == (Fraction(1), Fraction(1, 2))
    assert section.many is not None
    assert [one.name for one in section.many] == ["a", "b"]


def test_sections_do_not_share_values_nor_change():
    first, _ = Outer.read({"title": "a", "shown": False})
    second, _ = Outer.read({"title": "b"})
    assert (first.title, first.shown, second.title, second.shown) == ("a", False, "b", None)
    with pytest.raises(AttributeError, match=r"Outer\.title"):
        first.title = "c"
    with pytest.raises(AttributeError):
        first.other = "c"
    assert first.title == "a"


def test_refused_come_first_by_key_then_unknown_by_place_then_missing():
    content = {"zzz": 1, "paint": "pink", "aaa": 2, "shown": "yes", "soon": 3}
    assert list_findings(content) == [
        ("shown", Refused),
        ("paint", Refused),
        ("zzz", Unknown),
        ("aaa", Unknown),
        ("soon", Unknown),
        ("title", Missing),
    ]


def test_what_is_refused_is_left_out_and_the_rest_is_read():
    section, wrong = Outer.read({"title": 3, "shown": False, "paint": "green"})
    assert (section.title, section.shown, section.paint) == (None, False, "green")
    assert [finding.path for finding in wrong] == [("title",)]


@pytest.mark.parametrize("value", ["pink", "Red", "", 1, True, ["red"], {"red": 1}, None])
def test_a_choice_takes_nothing_but_its_words(value):
    section, wrong = Outer.read({"title": "t", "paint": value})
    ((path, why),) = wrong
    assert (path, section.paint) == (("paint",), "red")
    assert isinstance(why, Refused)
    assert (why.code, why.message) == ("E105", f"{show(value)} is not a valid paint")
    assert why.hint in {'use "red" or "green"', 'did you mean "red"?'}


def test_findings_in_nested_tables_and_lists_have_their_place():
    content = {
        "title": "t",
        "inner": {"name": "x", "numbers": [1, "2", True], "nmae": 0},
        "many": [{"name": "a"}, {"numbers": []}, 3],
    }
    assert list_findings(content) == [
        ("inner", "numbers", 1, Refused),
        ("inner", "numbers", 2, Refused),
        ("inner", "nmae", Unknown),
        ("many", 1, "name", Missing),
        ("many", 2, Refused),
    ]
    section, _ = Outer.read(content)
    assert section.inner is section.many is None
    assert list_findings({"title": "t", "inner": 1, "many": {}}) == [
        ("inner", Refused),
        ("many", Refused),
    ]


def test_names_of_the_class_are_no_keys():
    names = ["KEYS", "REQUIRED", "LATER", "read", "__dict__", "__class__"]
    assert list_findings({"title": "t"} | dict.fromkeys(names, 1)) == [
        (name, Unknown) for name in names
    ]


REGISTRIES = {
    (sections.DataSection, "engine"): ENGINES,
    (sections.DataSection, "format"): SOURCES,
    (sections.DataSection, "driver"): DRIVERS,
    (sections.ReportSection, "language"): LANGUAGES,
}


def test_choices_in_the_table_state_the_type_of_their_words():
    checked = 0
    for section in vars(sections).values():
        for name, key in getattr(section, "KEYS", {}).items():
            if isinstance(key, Choice):
                (stated,) = get_args(key.__orig_class__)
                optional = type(None) in get_args(stated)
                literal = get_args(stated)[0] if optional else stated
                if literal is str:  # the words are the names of a registry
                    assert key.words == tuple(REGISTRIES[section, name])
                else:
                    assert get_origin(literal) is Literal
                    assert key.words == get_args(literal)
                assert key.default is None if optional else key.default in key.words
                checked += 1
    assert checked >= 8


# --- keys that statistics declare


def test_each_kind_of_value_is_read_and_described() -> None:
    kinds = {value for value in vars(spec_keys).values() if isinstance(value, spec_keys.Kind)}
    assert kinds == set(READERS)
    assert set(READERS.values()) <= set(TAKES)


@pytest.mark.parametrize("name", STATISTICS)
def test_no_two_statistics_mean_different_things_by_a_key(name: str) -> None:
    for key in STATISTICS[name].keys.own:
        assert list_own_keys()[key.name] is key


def test_no_key_of_a_statistic_is_one_of_every_query() -> None:
    keys, own = QuerySection.KEYS, list_own_keys()
    # One that took the name of a key above would stand there, and one below would take its name.
    first = min(map(list(keys).index, own))
    assert list(keys)[first : first + len(own)] == list(own)
    assert all(keys[name].read is READERS[key.kind] for name, key in own.items())


@pytest.mark.parametrize("value", [1, 12, 10**6])
def test_whole_numbers(value: int) -> None:
    assert read_whole_number(value) == value


@pytest.mark.parametrize("value", [0, -1, 10**6 + 1, "12", True, [12]])
def test_no_whole_number(value: object) -> None:
    with pytest.raises(Refused) as caught:
        read_whole_number(value)
    assert caught.value.code == "E205"
