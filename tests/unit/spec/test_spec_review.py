"""``[review]``: words of who agreed to a release, and what is refused of them."""

from __future__ import annotations

import pytest

from dprelease.errors import Failure
from dprelease.ledger.identity import run_id
from dprelease.model import Review
from dprelease.spec import load

SPEC = {
    "release": {"name": "r"},
    "data": {"path": "t.csv"},
    "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
    "query": [{"name": "n", "statistic": "count"}],
    "output": {"path": "out"},
}


def complaint(**review: object) -> tuple[str, str | None, str]:
    with pytest.raises(Failure) as refused:
        load(SPEC | {"review": review})
    (found,) = refused.value.complaints
    return found.code, found.key, f"{found.message} {found.hint}"


def test_all_words_are_read_and_change_no_noise() -> None:
    texts = {"side_channels": "a quiet room"}
    words = {
        "reviewer": "A", "role": "dpo", "decision": "approved", "date": "2026-03-31",
        "reference": "12", "legal_basis": "law", "necessity": "need",
    }  # fmt: skip
    loaded = load(SPEC | {"review": words | {"attestations": texts}})
    assert loaded.review == Review(**words, attestations=texts)
    assert load(SPEC).review == Review()
    assert run_id(loaded) == run_id(load(SPEC))


def test_a_misspelt_hazard_is_told_what_was_meant() -> None:
    code, key, said = complaint(reviewer="A", attestations={"side_chanels": "none"})
    assert (code, key) == ("E102", "review.attestations.side_chanels")
    assert '"side_channels"' in said


@pytest.mark.parametrize(
    "review", [{"attestations": {"side_channels": "none"}}, {"decision": "approved"}]
)
def test_words_of_nobody_are_refused(review: dict[str, object]) -> None:
    code, key, said = complaint(**review)
    assert (code, key) == ("E110", "review")
    assert "who reviewed" in said


def test_an_attestation_of_what_the_release_does_not_have_is_refused() -> None:
    code, key, _ = complaint(reviewer="A", attestations={"trust_in_the_local_model": "x"})
    assert (code, key) == ("E111", "review.attestations.trust_in_the_local_model")


@pytest.mark.parametrize(
    ("review", "code"),
    [
        ({"decision": "aproved"}, "E105"),
        ({"date": "31 March"}, "E103"),
        ({"date": 20260331}, "E103"),
        ({"legal_basis": ""}, "E107"),
        ({"role": "a\nb"}, "E107"),
    ],
)
def test_words_that_are_none_are_refused(review: dict[str, object], code: str) -> None:
    assert complaint(reviewer="A", **review)[0] == code
