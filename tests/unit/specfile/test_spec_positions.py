"""Positions are those of an independent writer that notes where it puts every key and value."""

from __future__ import annotations

import json

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from dprelease.specfile.toml.positions import find_positions

BARE = st.text("abXY09_-", min_size=1, max_size=4)
ODD = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=4)
SCALARS = st.sampled_from(
    [
        "1", "-17", "1_000", "0x1F", "1.5", "1e-9", "+inf", "nan", "true", "false",
        "1979-05-27", "1979-05-27 07:32:00", "1979-05-27T07:32:00.5Z", "07:32:00",
        '"a"', "'a'", '""', '"#[]{}=, \\" \\\\"', "'#]}\\'", '"""a\n"b" #]\\"" x"""',
        "'''\na''b\n]'''", '"""x""""', "'''x'''''", '"""a\\\n   b"""',
    ]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(BARE, ODD), inner, max_size=3),
    ),
    max_leaves=6,
)


class Writer:
    """Writes TOML and notes the offset of every key and value."""

    def __init__(self, draw):
        self.draw = draw
        self.text = ""
        self.keys = {}
        self.values = {}

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def blank(self):
        self.text += self.pick("", "", "\n", "# note = [1]\n", "   \n", "\t# é\n")

    def key(self, name):
        if name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name):
            written = self.pick(name, json.dumps(name), f"'{name}'")
        else:
            written = json.dumps(name, ensure_ascii=self.draw(st.booleans()))
            if any(ord(c) > 0xFFFF for c in name):
                written = json.dumps(name, ensure_ascii=False)
        self.text += written

    def pair(self, path, name, value):
        self.keys[(*path, name)] = len(self.text)
        self.key(name)
        self.text += self.pick("=", " = ", "\t=  ")
        self.value((*path, name), value)

    def value(self, path, value):
        self.values[path] = len(self.text)
        if isinstance(value, str):
            self.text += value
        elif isinstance(value, list):
            self.text += "["
            for number, each in enumerate(value):
                self.text += self.pick("", " ", "\n  ", " # c ]\n")
                self.keys[(*path, number)] = len(self.text)
                self.value((*path, number), each)
                self.text += self.pick("", " ", "\n")
                if number < len(value) - 1 or self.draw(st.booleans()):
                    self.text += ","
            self.text += self.pick("", "\n", " # e\n") + "]"
        else:
            self.text += "{"
            for number, (name, each) in enumerate(value.items()):
                self.text += ", " if number else " "
                self.pair(path, name, each)
            self.text += " }"

    def table(self, path, content):
        for name, each in content.items():
            self.blank()
            self.text += self.pick("", "  ")
            self.pair(path, name, each)
            self.text += self.pick("", "  # c") + "\n"

    def header(self, names, several):
        self.blank()
        left, right = ("[[", "]]") if several else ("[", "]")
        self.text += left + self.pick("", " ")
        for number, name in enumerate(names):
            self.text += self.pick(".", " . ") if number else ""
            self.key(name)
        self.text += self.pick("", " ") + right + "\n"


def list_paths(value, path=()):
    found = {path} if path else set()
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        if isinstance(each, dict | list):
            found |= list_paths(each, (*path, key))
        else:
            found.add((*path, key))
    return found


def offset(text, spot):
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: spot[0] - 1]) + spot[1] - 1


TABLE = st.dictionaries(st.one_of(BARE, ODD), VALUES, max_size=3)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), top=TABLE, tables=st.lists(TABLE, max_size=3), crlf=st.booleans())
def test_positions_equal_those_of_the_writer(data, top, tables, crlf):
    writer = Writer(data.draw)
    writer.table((), top)
    for number, table in enumerate(tables):
        writer.header(["t", f"n{number}"], several=False)
        writer.table(("t", f"n{number}"), table)
        writer.header(["rows"], several=True)
        writer.table(("rows", number), table)
        writer.header(["rows", "deep"], several=False)
        writer.table(("rows", number, "deep"), table)
    if {"t", "rows"} & set(top):
        return
    text = writer.text
    marks = find_positions(text.replace("\n", "\r\n") if crlf else text)
    assert set(marks) == list_paths(tomli.loads(text))
    assert {p: offset(text, marks[p].key) for p in writer.keys} == writer.keys
    assert {p: offset(text, marks[p].value) for p in writer.values} == writer.values


@pytest.mark.parametrize(
    ("text", "path", "key", "value"),
    [
        ("a.b.c = 1", ("a",), (1, 1), (1, 1)),
        ("a.b.c = 1", ("a", "b"), (1, 3), (1, 3)),
        ("a . 'b'.c = 1", ("a", "b", "c"), (1, 9), (1, 13)),
        ("\n [p]\nx=1", ("p",), (2, 2), (2, 2)),
        ("[p.q]\n[p]\nx=1", ("p",), (2, 1), (2, 1)),
        ("[[q]]\n[[q]]\nby = ['a', 'b']", ("q", 1), (2, 1), (2, 1)),
        ("[[q]]\n[[q]]\nby = ['a', 'b']", ("q", 1, "by", 1), (3, 12), (3, 12)),
        ("[[q]]\n[[q.r]]\n[[q.r]]\nx = 1", ("q", 0, "r", 1, "x"), (4, 1), (4, 5)),
        ("x = { a.b = 1,\n c = 2 }", ("x", "c"), (2, 2), (2, 6)),
        ('"\\u00e9\\t" = 1', ("é\t",), (1, 1), (1, 14)),
        ("é = 1".replace("é", '"é"'), ("é",), (1, 1), (1, 7)),
    ],
)
def test_places_of_keys_and_values(text, path, key, value):
    marks = find_positions(text)
    assert (marks[path].key, marks[path].value) == (key, value)
    assert set(marks) == list_paths(tomli.loads(text))
