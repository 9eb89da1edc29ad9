"""``[review]``: words of who agreed to a release, and what is refused of them."""

from __future__ import annotations

from builders import spec

from dprelease.ledger.identity import run_id
from dprelease.model import Review
from dprelease.specfile import load

SPEC = spec(
    query=[{"name": "n", "statistic": "count"}],
)


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
