"""The chain and what is read from it, without any file."""

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dprelease.ledger.chain import EMPTY, BrokenChain, Entry, Head, follow, walk
from dprelease.ledger.entries import Kind, charge_content, read_book
from dprelease.ledger.privacy_filter import Caps, Terms, wrap_loss
from dprelease.ledger.store import compress_payload, decompress_payload, hash_payload
from dprelease.ledger.totals import add_losses
from dprelease.model import Loss

A, B = "a" * 64, "b" * 64
NOON = "2026-01-01T12:00:00+00:00"


def chain(*events: tuple[str, str, str]) -> list[Entry]:
    head, found = EMPTY, []
    for kind, run, content in events:
        entry = follow(head, kind, run, NOON, content)
        found.append(entry)
        head = Head(entry.seq, entry.hash)
    return found


def charge(epsilon: Fraction = Fraction(1, 2), dataset: str = "d") -> str:
    loss = Loss(epsilon)
    terms = Terms(loss, wrap_loss(loss))
    return charge_content(dataset, "r", terms, Caps(Fraction(2)), {"steps": [1]})


def seal(payload: bytes = b"x") -> str:
    return json.dumps({"sha256": hash_payload(payload), "size": len(payload)})


def three() -> list[Entry]:
    files = json.dumps({"files": {"a.csv": "0"}})
    return chain((Kind.CHARGE, A, charge()), (Kind.SEAL, A, seal()), (Kind.PUBLISH, A, files))


def test_an_empty_chain_has_the_first_head() -> None:
    assert walk([]) == EMPTY


def test_a_whole_chain_gives_its_head() -> None:
    entries = three()
    assert walk(entries) == Head(3, entries[-1].hash)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": Kind.SEAL},
        {"run_id": B},
        {"written_at": "2025-01-01T12:00:00+00:00"},
        {"content": charge(Fraction(1, 3))},
        {"previous": B},
        {"hash": B},
    ],
)
def test_an_edited_entry_is_seen(change: dict[str, str]) -> None:
    entries = three()
    for at in range(3):
        edited = [*entries[:at], replace(entries[at], **change), *entries[at + 1 :]]
        if edited != entries:
            with pytest.raises(BrokenChain, match=rf"entry {at + 1} was edited"):
                walk(edited)


def test_missing_and_swapped_entries_are_seen() -> None:
    first, second, third = three()
    broken: Sequence[Sequence[Entry]] = [
        [second, third],
        [first, third],
        [first, third, second],
        [first, first, second],
    ]
    for each in broken:
        with pytest.raises(BrokenChain, match="missing"):
            walk(each)


def test_a_book_tells_the_runs() -> None:
    book = read_book(three())
    run = book.runs[A]
    assert (run.seq, run.dataset, run.release) == (1, "d", "r")
    assert run.loss == Loss(Fraction(1, 2))
    assert run.caps == Caps(Fraction(2))
    assert run.detail == {"steps": [1]}
    assert run.charged_at == run.sealed_at == run.published_at == NOON
    assert run.seal is not None
    assert run.seal.sha256 == hash_payload(b"x")
    assert run.files == {"a.csv": "0"}


@pytest.mark.parametrize("name", ["parts", "period", "disjoint_periods"])
def test_a_charge_without_parts_or_period_is_refused(name: str) -> None:
    content = json.loads(charge())
    del content[name]
    with pytest.raises(BrokenChain, match="can't be read"):
        read_book(chain((Kind.CHARGE, A, json.dumps(content))))


@pytest.mark.parametrize(
    "change",
    [{"parts": {}}, {"parts": None}, {"period": 3}, {"disjoint_periods": "yes"},
     {"parts": {"rho": "-1/2", "epsilon": "0/1", "delta": "0/1", "either": "0/1"}}],
)  # fmt: skip
def test_odd_parts_and_periods_are_refused(change: dict[str, object]) -> None:
    content = json.dumps(json.loads(charge()) | change)
    with pytest.raises(BrokenChain, match="can't be read"):
        read_book(chain((Kind.CHARGE, A, content)))


@pytest.mark.parametrize(
    "events",
    [
        [(Kind.CHARGE, A, charge()), (Kind.CHARGE, A, charge())],
        [(Kind.SEAL, A, seal())],
        [(Kind.CHARGE, A, charge()), (Kind.SEAL, A, seal()), (Kind.SEAL, A, seal())],
        [(Kind.CHARGE, A, charge()), (Kind.PUBLISH, A, '{"files":{}}')],
        [(Kind.CHARGE, A, charge().replace("1/2", "-1/2"))],
        [(Kind.CHARGE, A, charge().replace("1/2", "0.5"))],
        [(Kind.CHARGE, A, "{}")],
        [(Kind.CHARGE, A, "[]")],
        [(Kind.CHARGE, A, "not json")],
        [("refund", A, charge())],
    ],
)
def test_a_chain_that_makes_no_sense_is_refused(events: list[tuple[str, str, str]]) -> None:
    with pytest.raises(BrokenChain, match=f"entry {len(events)} can't be read"):
        read_book(chain(*events))


def test_accounts_keep_datasets_apart_and_add_up_exactly() -> None:
    third = Fraction(1, 3)
    book = read_book(
        chain(
            (Kind.CHARGE, A, charge(third, "d")),
            (Kind.CHARGE, B, charge(third, "d")),
            (Kind.CHARGE, "c" * 64, charge(Fraction(9), "e")),
            (Kind.CHARGE, "d" * 64, charge(third, "d")),
        )
    )
    assert book.get_account("d").spent_loss.epsilon == 1
    assert book.get_account("d", before=2).spent_loss.epsilon == third
    assert book.get_account("nothing").spent_loss == add_losses(())


def test_a_total_has_a_rho_only_if_all_have() -> None:
    zcdp = Loss(Fraction(1), Fraction(1, 10), Fraction(1, 4))
    assert add_losses([zcdp, zcdp]) == Loss(Fraction(2), Fraction(1, 5), Fraction(1, 2))
    assert add_losses([zcdp, Loss(Fraction(1))]) == Loss(Fraction(2), Fraction(1, 10), None)


def test_payloads_come_back_only_unchanged() -> None:
    payload = b"noisy numbers " * 1000
    stored = compress_payload(payload)
    assert len(stored) < len(payload)
    assert decompress_payload(stored, hash_payload(payload), len(payload)) == payload
    changed = compress_payload(payload.replace(b"noisy", b"exact", 1))
    for bad in (
        changed,
        compress_payload(payload + b"!"),
        compress_payload(payload[:-1]),
        b"",
        b"junk",
        compress_payload(b"other"),
    ):
        with pytest.raises(ValueError, match="payload"):
            decompress_payload(bad, hash_payload(payload), len(payload))
