"""Names for people in a spec: what they name, and every mistake at its place."""

from __future__ import annotations

import builders
import pytest

from dprelease.ledger.identity import run_id
from dprelease.model import ColumnNames, Review
from dprelease.release.saved_plan import compute_plan_digest
from dprelease.specfile import load

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
    assert load_spec(kind, keys, {written: "One"}).names.columns["c"].labels == {key: "One"}


def test_bins_other_values_and_private_keys_have_labels():
    binned = {"type": "integer", "bins": [0, 18, 65], "other": "rest", "source": "s"}
    labels = {"[0, 18)": "Children", "rest": "Older or unknown"}
    release = load(spec(binned | {"labels": labels}))
    assert release.names.columns["c"].labels == labels
    private = {"type": "string", "labels": {"any town": "Any Town"}}
    selection = {"partition_selection": {"delta": 1e-8}}
    assert load(spec(private, **selection)).names.columns["c"].labels == private["labels"]


def test_names_are_part_of_what_is_approved(good):
    from dprelease import plan

    plain, named = good(), good((KEYS, KEYS + '\nlabels = { north = "N" }'))
    assert compute_plan_digest(plan(named)) != compute_plan_digest(plan(plain))


def test_words_of_a_review_are_read_and_change_no_noise() -> None:
    plain = builders.spec(query=[{"name": "n", "statistic": "count"}])
    texts = {"side_channels": "a quiet room"}
    words = {
        "reviewer": "A", "role": "dpo", "decision": "approved", "date": "2026-03-31",
        "reference": "12", "legal_basis": "law", "necessity": "need",
    }  # fmt: skip
    loaded = load(plain | {"review": words | {"attestations": texts}})
    assert loaded.review == Review(**words, attestations=texts)
    assert load(plain).review == Review()
    assert run_id(loaded) == run_id(load(plain))


def load_spec(kind, keys, labels):
    column = {"type": kind, "labels": labels, "source": "s"}
    return load(spec(column | ({} if keys is None else {"keys": keys})))


def spec(column, **query):
    counted = {"name": "n", "statistic": "count", "by": ["c"], "epsilon": 1} | query
    return builders.spec(
        privacy={"adjacency": "add-remove"},
        ledger={"epsilon_cap": 9},
        columns={"c": column},
        query=[counted],
    )
