"""Names for people in a spec: what they name, and every mistake at its place."""

from __future__ import annotations

import pytest

from dprelease.ledger.identity import run_id
from dprelease.model import ColumnNames
from dprelease.release.saved_plan import digest_of
from dprelease.spec import load

KEYS = 'keys = ["north", "south", "east"]'
COUNT = 'name = "headcount"'
OUT = 'path = "out/staff"'
TITLE = 'title = "Headcount and mean salary by region, 2026"'


def test_names_are_read(good):
    names = good(
        (
            KEYS,
            KEYS + '\nlabel = "Region"\nlabels = { north = "The <b>North</b>", "south" = "Süd" }',
        ),
        (COUNT, COUNT + '\ntitle = "People"\nunit = "persons"\ndecimals = 0'),
        (OUT, OUT + '\ntitles = { by_region = "By region" }'),
        (TITLE, TITLE + '\nlicence = "CC-BY-4.0"'),
    )
    assert names.names.columns == {
        "region": ColumnNames("Region", labels={"north": "The <b>North</b>", "south": "Süd"})
    }
    assert names.names.queries == {"headcount": ColumnNames("People", "persons", 0)}
    assert names.names.tables == {"by_region": "By region"}
    assert names.about.licence == "CC-BY-4.0"


def test_names_change_neither_the_release_nor_its_noise(good):
    plain = good()
    named = good((KEYS, KEYS + '\nlabel = "Region"'), (COUNT, COUNT + '\nunit = "persons"'))
    assert run_id(named) == run_id(plain)
    assert named.queries == plain.queries
    assert named.columns == plain.columns


@pytest.mark.parametrize(
    ("kind", "keys", "written", "key"),
    [
        ("integer", [1, 2], "01", "1"),
        ("decimal", [0.5, 1], "0.50", "0.5"),
        ("boolean", None, "true", "true"),
        ("string", ["caf\u00e9", "x"], "cafe\u0301", "caf\u00e9"),
        ("date", ["2026-01-31", "2026-02-28"], "2026-01-31", "2026-01-31"),
    ],
)
def test_a_label_finds_its_key_however_it_is_spelt(kind, keys, written, key):
    assert loaded(kind, keys, {written: "One"}).names.columns["c"].labels == {key: "One"}


def test_bins_other_values_and_private_keys_have_labels():
    binned = {"type": "integer", "bins": [0, 18, 65], "other": "rest", "source": "s"}
    labels = {"[0, 18)": "Children", "rest": "Older or unknown"}
    release = load(spec(binned | {"labels": labels}))
    assert release.names.columns["c"].labels == labels
    private = {"type": "string", "labels": {"any town": "Any Town"}}
    selection = {"partition_selection": {"delta": 1e-8}}
    assert load(spec(private, **selection)).names.columns["c"].labels == private["labels"]


@pytest.mark.parametrize(
    ("edit", "line", "column", "code", "words"),
    [
        ((KEYS, KEYS + '\nlabels = { nort = "N" }'), 21, 12, "E280", 'did you mean "north"'),
        ((KEYS, KEYS + '\nlabels = { north = "A", south = "a" }'), 21, 10, "E280", "of its own"),
        ((KEYS, KEYS + '\nlabels = { north = "south" }'), 21, 10, "E280", "of its own"),
        ((KEYS, KEYS + '\nlabels = { north = "" }'), 21, 20, "E107", "write it"),
        ((KEYS, KEYS + '\nlabels = { north = "a\\u202eb" }'), 21, 20, "E107", "remove it"),
        ((KEYS, KEYS + f'\nlabel = "{"x" * 201}"'), 21, 9, "E107", "shorten"),
        ((COUNT, COUNT + "\ndecimals = 13"), 31, 12, "E281", "decimals = 1"),
        ((COUNT, COUNT + "\ndecimals = true"), 31, 12, "E281", "decimals = 1"),
        ((OUT, OUT + '\ntitles = { by_regio = "R" }'), 44, 12, "E280", 'did you mean "by_region"'),
        ((TITLE, TITLE + '\nlicence = "cc by 4.0"'), 5, 11, "E282", 'write "CC-BY-4.0"'),
        ((TITLE, TITLE + '\nlicence = "free for all!"'), 5, 11, "E282", "https"),
    ],
)
def test_mistakes_are_told_at_their_place(spoilt, edit, line, column, code, words):
    (complaint,) = spoilt(edit)
    assert complaint.code == code
    assert words in complaint.hint
    assert (complaint.place.line, complaint.place.column) == (line, column)


def test_names_that_are_chosen_have_no_unit(spoilt):
    query = 'name = "top"\nstatistic = "mode"\ncolumn = "region"\nepsilon = 0.1\nunit = "kg"'
    (complaint,) = spoilt(
        (f"{COUNT}\n", f"{query}\n[[query]]\n{COUNT}\n"), ("1.0\n\n[ledger", "2\n\n[ledger")
    )
    assert (complaint.code, complaint.message[:12]) == ("E281", "unit of a mo")


def test_names_are_part_of_what_is_approved(good):
    from dprelease import plan

    plain, named = good(), good((KEYS, KEYS + '\nlabels = { north = "N" }'))
    assert digest_of(plan(named)) != digest_of(plan(plain))


def loaded(kind, keys, labels):
    column = {"type": kind, "labels": labels, "source": "s"}
    return load(spec(column | ({} if keys is None else {"keys": keys})))


def spec(column, **query):
    counted = {"name": "n", "statistic": "count", "by": ["c"], "epsilon": 1} | query
    return {
        "release": {"name": "x"},
        "data": {"path": "x.csv"},
        "privacy": {"unit": "row", "adjacency": "add-remove"},
        "ledger": {"epsilon_cap": 9},
        "columns": {"c": column},
        "query": [counted],
        "output": {"path": "out"},
    }
