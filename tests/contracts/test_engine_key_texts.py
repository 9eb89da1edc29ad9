"""Texts as keys: one key for all spellings of a text, and of a private one a line to be shown."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from time import process_time

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.key_texts import normal, one_line
from tables import ENGINES, T, asked, by_key, drawing, hidden, inputs, sql, written

from dprelease.expressions.normal_form import SIMPLE
from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
)
from dprelease.sources.shared.key_normalization import CONTROLS, LONGEST_KEY

M = MeasureKind
COUNT = (Measure(M.RECORDS),)
TYPES = {"k": T.STRING, "p": T.INTEGER}
SETTINGS = drawing(12)
# Five spellings of two letters: composed, decomposed, by the sign for Angstrom.
SPELT = ["\u00e9", "e\u0301", "\u00c5", "A\u030a", "\u212b"]
# The planes between hold nothing, those after nothing but private characters.
CODES = (*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE1000))
EVERY = [chr(code) for code in CODES]


def declared(keys: Sequence[str], null: str | None = None) -> Group:
    """A group of public keys, and one label for all else."""
    return Group("k", T.STRING, (*keys, "rest"), keys=tuple(keys), other="rest", null_label=null)


def by_duckdb(texts: list[str]) -> list[str]:
    """The normal form as the engine's database makes it; it ends at a NUL."""
    table = pa.table({"t": texts})
    with duckdb.connect() as connection:
        connection.register("texts", table)
        found = connection.execute("SELECT NFC_NORMALIZE(t) AS n FROM texts").fetchall()
    return [text for (text,) in found]


@cache
def unknown_to_one() -> frozenset[str]:
    """Characters that Python and DuckDB do not put in order, or together, with others alike."""
    apart: set[str] = set()
    # accents stand in the order of their class; the second of a pair is put together with the first
    for before, after in (("a\u0301", "\u0316"), ("", "\u0301"), ("a", "\u0323")):
        texts = [before + each + after for each in EVERY[1:]]
        made = by_duckdb(texts)
        apart.update(
            each
            for each, text, found in zip(EVERY[1:], texts, made, strict=True)
            if found != unicodedata.normalize("NFC", text)
        )
    return frozenset(apart)


@pytest.mark.thorough
def test_normal_forms_differ_for_characters_alone_that_one_does_not_know() -> None:
    """What is documented: by Unicode's rules only characters that are new to one of them."""
    assert all(unicodedata.ucd_3_2_0.category(each) == "Cn" for each in unknown_to_one())
    if unicodedata.unidata_version <= "15.1.0":  # DuckDB knows 15: it is Python that lacks them
        assert all(unicodedata.category(each) == "Cn" for each in unknown_to_one())
    assert len(unknown_to_one()) < 200


def test_simple_texts_are_their_own_normal_form() -> None:
    second = {
        pair[1]
        for each in EVERY
        if len(pair := unicodedata.decomposition(each).split()) == 2 and pair[0][0] != "<"
    }
    jamo = {f"{code:04X}" for code in (*range(0x1160, 0x1200), *range(0xD7B0, 0xD800))}
    simple = [each for each in EVERY if re.fullmatch(SIMPLE, each)]
    assert len(simple) > 30_000
    for each in simple:
        assert unicodedata.category(each) != "Cn"
        assert unicodedata.is_normalized("NFC", each)
        assert unicodedata.combining(each) == 0
        assert f"{ord(each):04X}" not in second | jamo
        assert not re.match(CONTROLS, each)


def test_controls_are_all_of_their_category_and_what_turns_a_line() -> None:
    controls = {each for each in EVERY if re.match(CONTROLS, each)}
    of_category = {each for each in EVERY if unicodedata.category(each) == "Cc"}
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    turning = {each for each in EVERY if unicodedata.bidirectional(each) in turning}
    assert controls == of_category | turning | {"\u2028", "\u2029", "\ufeff"}


# --- private keys --------------------------------------------------------------------------------

CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("ae\u00e9\u0300\u0301\u0316\u0323\u0345\u1100\u1161\u11a8\uac00\u0344\u2126"),
    st.sampled_from(
        "\0\x01\t\n\r\x1b\x7f\x85\u2028\u2029\ufeff\u202a\u202e\u2066\u2069\ufffd'\",\\"
    ),
)
SHORT = st.text(CHARACTERS, max_size=8)
LONG = st.builds(
    lambda text, times: text * (times // len(text) + 1),
    st.text(CHARACTERS, min_size=1, max_size=5),
    st.sampled_from([300, 900, 995, 1000, 3900, 4000, 9000]),
)
TEXTS = st.lists(st.one_of(SHORT, SHORT, LONG), min_size=1, max_size=12)


def known(texts: list[str]) -> list[str]:
    """The texts without characters that only one of Python and DuckDB knows."""
    away = dict.fromkeys(map(ord, unknown_to_one()))
    return [text.translate(away) for text in texts]


@pytest.mark.one_in(2)
@given(texts=TEXTS)
@SETTINGS
@pytest.mark.parametrize("engine", ENGINES)
def test_private_keys_are_lines_made_of_their_text(
    engine: str, tmp_path: Path, texts: list[str]
) -> None:
    """Both engines make the keys of ``key_normalization``."""
    texts = known(texts)
    expected = Counter(one_line(text) for text in texts)
    for label in expected:
        assert len(label) <= LONGEST_KEY
        assert not re.search(CONTROLS, label)
        assert len(label.splitlines()) <= 1
        assert unicodedata.is_normalized("NFC", label)
    source = written(tmp_path / "t", TYPES, [(text, 1) for text in texts], "parquet files")
    request = AggregateRequest(source, inputs(TYPES), (hidden("k"),), COUNT)
    assert by_key(engine, request) == {(label,): [n] for label, n in expected.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_long_texts_stay_apart(engine: str, tmp_path: Path) -> None:
    """They are cut, but what is cut off is in the label by its hash."""
    longest = "x" * LONGEST_KEY
    long = [longest + end for end in ("a", "b", "\u00e9", "e\u0301")]
    # a hundred thousand characters, and accents that it would take long to put in order
    long += ["y" * 10**5, "y" * 10**5 + "z", "e" + "\u0315\u0316" * 50_000]
    rows = [(text, 1) for text in [longest, *long]]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    request = AggregateRequest(source, inputs(TYPES), (hidden("k"),), COUNT)
    found = by_key(engine, request)
    assert found[longest,] == [1]
    assert sorted(found.values()) == [[1]] * 6 + [[2]]  # é is one, however it is spelt
    for (label,) in found:
        assert len(label) == LONGEST_KEY
        assert label == longest or re.fullmatch(r".{935}\u2026[0-9a-f]{64}", label)
    assert found == {(one_line(text),): found[one_line(text),] for text, _ in rows}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("null", ["\u00e9", "e\u0301"])
def test_a_null_shares_the_cell_of_its_label_however_that_is_spelt(
    engine: str, tmp_path: Path, null: str
) -> None:
    rows = [("\u00e9", 1), ("e\u0301", 1), (None, 1), ("e", 1)]
    for form in ("csv", "parquet"):
        source = written(tmp_path / "t", TYPES, rows, form)
        request = AggregateRequest(source, inputs(TYPES), (hidden("k", null=null),), COUNT)
        assert by_key(engine, request) == {("\u00e9",): [3], ("e",): [1]}
    rows = [("a\ufffd", 1), ("a\n", 1), (None, 1)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    request = AggregateRequest(source, inputs(TYPES), (hidden("k", null="a\ufffd"),), COUNT)
    assert by_key(engine, request) == {("a\ufffd",): [3]}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [1, 2, 99])
def test_spellings_of_one_key_are_one_cell_of_a_person(
    engine: str, tmp_path: Path, rows: int
) -> None:
    """Were they two to the bounding, a person would count twice where both are one."""
    table = [(text, person) for person in (1, 2) for text in [*SPELT[:2], "a\n", "a\r"]]
    source = written(tmp_path / "t", TYPES, table, "parquet")
    measures = (*COUNT, Measure(M.UNITS), Measure(M.DISTINCT, column="p"))
    for groups in (1, 2, 99):
        bound = Bound("p", rows, groups, rows, leading=1, salt=3)
        request = AggregateRequest(source, inputs(TYPES), (hidden("k"),), measures, bound=bound)
        found = by_key(engine, request)
        assert set(found) <= {("\u00e9",), ("a\ufffd",)}
        assert sum(units for _, units, _ in found.values()) <= 2 * min(rows, groups, 2)
        assert all(units == people for _, units, people in found.values())
        if rows == 99 and groups > 1:
            assert found == {("\u00e9",): [4, 2, 2], ("a\ufffd",): [4, 2, 2]}


# --- declared keys -------------------------------------------------------------------------------


@given(texts=TEXTS, places=st.lists(st.integers(0, 11), max_size=4))
@SETTINGS
@pytest.mark.parametrize("engine", ENGINES)
def test_declared_keys_are_met_by_their_normal_form(
    engine: str, tmp_path: Path, texts: list[str], places: list[int]
) -> None:
    texts = known(texts)
    shown = [text for text in texts if text and len(text) <= 1000 and not re.search(CONTROLS, text)]
    keys = list({normal(shown[at % len(shown)]): shown[at % len(shown)] for at in places if shown})
    expected = Counter(normal(text) for text in texts)
    source = written(tmp_path / "t", TYPES, [(text, 1) for text in texts], "parquet")
    request = AggregateRequest(source, inputs(TYPES), (declared(keys),), COUNT)
    met = {(key,): [expected[normal(key)]] for key in keys}
    others = len(texts) - sum(count for (count,) in met.values())
    assert by_key(engine, request) == {**met, ("rest",): [others]}


# --- one reading for everything ------------------------------------------------------------------

CONDITIONS = {
    "k = '\u00e9t\u00e9'": 3,
    "k = 'e\u0301te\u0301'": 3,
    "k IN ('x', 'e\u0301t\u00e9')": 3,
    "k LIKE '_t_'": 3,
    "k LIKE 'e\u0301%'": 3,
    "LENGTH(k) = 3": 3,
    "SUBSTRING(k, 1, 2) = '\u00e9t'": 3,
    "REPLACE(k, '\u00e9', 'e') = 'ete'": 3,
    "UPPER(k) = '\u00c9T\u00c9'": 3,
    "CASE WHEN k > '\u00e9t\u00e9' THEN TRUE ELSE k < '\u00e9t\u00e9' END": 1,
    "k IS NULL": 2,
    "c = '\u00e9t\u00e9!'": 3,
    "k = p": 1,
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["csv", "csv files", "parquet", "parquet files"])
def test_a_text_is_one_text_in_all_that_reads_it(engine: str, tmp_path: Path, form: str) -> None:
    """Keys, conditions, functions, distinct values, choices, computed columns, nulls and units."""
    types = {"k": T.STRING, "p": T.STRING}
    spelt = ["\u00e9t\u00e9", "e\u0301te\u0301", "\u00e9te\u0301"]
    null = [None, None] if form.startswith("parquet") else ["n\u00e9ant", "ne\u0301ant"]
    people = ["\u00c5", "A\u030a", "\u212b", "Paris", "b", "c"]
    rows = list(zip([*spelt, "Paris", *null], people, strict=True))
    source = replace(
        written(tmp_path / "t", types, rows, form), dialect=Dialect(null_values=("ne\u0301ant",))
    )
    read = (*inputs(types), InputColumn("c", T.STRING, sql("k || '!'", "k")))
    measures = [Measure(M.RECORDS, where=sql(text, "k")) for text in CONDITIONS]
    measures += [Measure(M.DISTINCT, column=name) for name in ("k", "p", "c")]
    request = AggregateRequest(source, read, (), tuple(measures))
    assert by_key(engine, request) == {(): [*CONDITIONS.values(), 2, 4, 2]}
    texts = ("e\u0301t\u00e9", "Paris")
    score = sql("CASE WHEN k = candidate THEN 1 ELSE 0 END", "k", "candidate")
    choice = Candidates(texts, T.STRING, score, Grid(Fraction(1), 0, 1))
    request = AggregateRequest(source, read, (), (), scores=choice)
    assert asked(engine, request) == [[3, 1]]
    key = "e\u0301te\u0301!"
    joined = Group("c", T.STRING, (key, "rest"), keys=(key,), other="rest")
    request = AggregateRequest(source, read, (joined,), COUNT)
    assert by_key(engine, request) == {(key,): [3], ("rest",): [1]}
    for opaque in ((), ("p",)):
        unit = (*inputs(types, *opaque), InputColumn("c", T.STRING, sql("k || '!'", "k")))
        bound = Bound("p", 1, 1, 1, leading=1, salt=2)
        request = AggregateRequest(source, unit, (hidden("p"),), (Measure(M.UNITS),), bound=bound)
        if opaque:
            request = replace(request, groups=())
            assert by_key(engine, request) == {(): [4]}
        else:
            found = by_key(engine, request)
            assert found == {(person,): [1] for person in ("\u00c5", "Paris", "b", "c")}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_text_of_accents_takes_no_long_time(engine: str, tmp_path: Path) -> None:
    """It is read as it stands, in a dictionary of the file too, and whatever reads it."""
    long = "e" + "\u0315\u0316" * 100_000
    rows = [(text, 1) for text in [long, *["e\u0301"] * 20]]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    measures = (
        Measure(M.RECORDS, where=sql("k = '\u00e9'", "k")),
        Measure(M.RECORDS, where=sql("LENGTH(k) = 200001", "k")),
        Measure(M.DISTINCT, column="k"),
    )
    request = AggregateRequest(source, inputs(TYPES), (), measures)
    began = process_time()
    assert by_key(engine, request) == {(): [20, 1, 2]}
    assert process_time() - began < 10
