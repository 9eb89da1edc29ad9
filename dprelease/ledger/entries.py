"""Entries of a ledger: runs with their charge, seal and publication, caps, accounts of datasets.

Pure functions from chained entries; nothing here reads a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dprelease.ledger.chain import EMPTY, GENESIS, BrokenChain, Entry, Head, walk
from dprelease.ledger.identity import write_canonical_json
from dprelease.ledger.privacy_filter import CAPS, Caps, Terms, Total, encode_parts, read_parts
from dprelease.ledger.totals import compute_total, sum_spent
from dprelease.model import Loss
from dprelease.model.plan_json import exact, read_exact


class Kind(StrEnum):
    """Kind of event of an entry. A run has one seal at most: over its numbers, or over none.

    A cap is of a dataset and of no run: in place of a run's identity it has the hash before it.
    """

    CHARGE = "charge"
    SEAL = "seal"
    PUBLISH = "publish"
    CAP = "cap"


BURNT = {"burnt": True}
"""The content of a seal over no numbers."""


class State(StrEnum):
    """State of a run: paid for, its numbers fixed for good, or used up without any."""

    CHARGED = "charged"
    SEALED = "sealed"
    BURNT = "burnt"


class Seal(Struct, frozen=True):
    """The numbers of a run are fixed: ``seq`` finds them, ``sha256`` and ``size`` check them."""

    seq: int
    sealed_at: str
    sha256: str
    size: int


class Run(Struct, frozen=True):
    """One charged run. Times are UTC and only informative.

    ``files`` are names and SHA-256 of what was last published; None before that. ``seq`` and
    ``hash`` are those of the charge's entry. A run that was burnt (``burnt_at``) has been looked
    at, and never gets any numbers: see ``dprelease.ledger.single_draw``.
    """

    seq: int
    hash: str
    run_id: str
    dataset: str
    release: str
    terms: Terms
    caps: Caps
    detail: Mapping[str, object]
    charged_at: str
    seal: Seal | None = None
    files: Mapping[str, str] | None = None
    published_at: str | None = None
    burnt_at: str | None = None

    @property
    def loss(self) -> Loss:
        """Privacy loss that was charged."""
        return self.terms.loss

    @property
    def sealed_at(self) -> str | None:
        """When the numbers were fixed, if they are."""
        return self.seal.sealed_at if self.seal else None

    @property
    def state(self) -> State:
        """State that the ledger records for the run."""
        if self.burnt_at is not None:
            return State.BURNT
        return State.SEALED if self.seal else State.CHARGED


class SetCap(Struct, frozen=True):
    """The caps recorded for a dataset, and the reason given."""

    seq: int
    dataset: str
    caps: Caps
    reason: str
    set_at: str


class Account(Struct, frozen=True):
    """The runs over one dataset, in order of their charge, and the caps set for it by now.

    ``others`` are the names of the other datasets of the ledger.
    """

    dataset: str
    runs: tuple[Run, ...]
    cap: SetCap | None = None
    others: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[Terms, ...]:
        """Terms of each run, in order of their charge."""
        return tuple(run.terms for run in self.runs)

    @property
    def spent_loss(self) -> Loss:
        """Plain sums of what was spent; see ``totals.sum_spent``."""
        return sum_spent(self.terms)

    def compute_total(self, caps: Caps, *extra_runs: Terms) -> Total:
        """Compute the total of the runs followed by ``extra_runs``, under ``caps``."""
        return compute_total((*self.terms, *extra_runs), caps)


class Book(Struct, frozen=True):
    """A whole ledger, checked: its head, its runs in order of their charge, and its caps."""

    head: Head
    runs: Mapping[str, Run]
    hashes: tuple[str, ...]  # of the entries, in order
    caps: tuple[SetCap, ...] = ()

    def hash_at(self, seq: int) -> str | None:
        """Return the hash of an entry, the genesis hash for 0, or None beyond the last entry."""
        if seq == 0:
            return GENESIS
        # Entry numbers begin with 1.
        return self.hashes[seq - 1] if seq <= len(self.hashes) else None

    def get_account(self, dataset: str, before: int | None = None) -> Account:
        """Collect the account of a dataset.

        Args:
            dataset: Name of the dataset.
            before: Count only charges with a lower entry number; None counts all. The cap is always
                the last one that was set.
        """
        runs = [run for run in self.runs.values() if run.dataset == dataset]
        earlier = tuple(run for run in runs if before is None or run.seq < before)
        caps = [cap for cap in self.caps if cap.dataset == dataset]
        dataset_names = [run.dataset for run in self.runs.values()] + [
            cap.dataset for cap in self.caps
        ]
        others = tuple(name for name in dict.fromkeys(dataset_names) if name != dataset)
        return Account(dataset, earlier, caps[-1] if caps else None, others)


NO_ENTRIES = Book(EMPTY, {}, ())


def read_book(entries: Iterable[Entry], before: Book = NO_ENTRIES) -> Book:
    """Read the entries of a ledger and check that they belong together.

    Args:
        entries: All entries after those of ``before``, in order.
        before: The checked entries that these follow; none where all are read.

    Returns:
        The runs in order of their charge, the caps and the head.

    Raises:
        BrokenChain: An entry is missing, was edited, or can't be understood.
    """
    ordered = tuple(entries)
    head = walk(ordered, before.head)
    runs: dict[str, Run] = dict(before.runs)
    caps = list(before.caps)
    for entry in ordered:
        try:
            if entry.kind == Kind.CAP:
                caps.append(_read_cap(entry))
            else:
                runs[entry.run_id] = _READERS[Kind(entry.kind)](entry, runs)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BrokenChain(f"entry {entry.seq} can't be read") from None
    hashes = (*before.hashes, *(entry.hash for entry in ordered))
    return Book(head, runs, hashes, tuple(caps))


def charge_content(
    dataset: str, release: str, terms: Terms, caps: Caps, detail: Mapping[str, object]
) -> str:
    """Write the content of a charge's entry as canonical JSON.

    Args:
        dataset: Name of the dataset that is charged.
        release: Name of the release.
        terms: Loss, parts, period and place of the data.
        caps: Caps that the run is held to.
        detail: Further facts in JSON values, such as those of ``describe_guarantee``.

    Raises:
        TypeError: ``detail`` holds a float.
    """
    loss = terms.loss
    return write_canonical_json(
        {
            "dataset": dataset,
            "release": release,
            "epsilon": exact(loss.epsilon),
            "delta": exact(loss.delta),
            "rho": _write_optional(loss.rho),
            "parts": encode_parts(terms.parts),
            "period": terms.period,
            "disjoint_periods": terms.disjoint,
            **({} if terms.data is None else {"data": list(terms.data)}),
            "epsilon_cap": _write_optional(caps.epsilon),
            "delta_cap": _write_optional(caps.delta),
            **({} if caps.rho is None else {"rho_cap": exact(caps.rho)}),
            "detail": dict(detail),
        }
    )


def cap_content(dataset: str, caps: Caps, reason: str) -> str:
    """Write the content of a cap's entry as canonical JSON."""
    cap_texts = {name: _write_optional(getattr(caps, name)) for name in CAPS}
    return write_canonical_json({"dataset": dataset, **cap_texts, "reason": reason})


def _read_cap(entry: Entry) -> SetCap:
    content = json.loads(entry.content)
    dataset, reason = content["dataset"], content["reason"]
    if not isinstance(dataset, str) or not isinstance(reason, str):
        raise ValueError("not a cap")
    caps = Caps(*(_read_optional(content[name]) for name in CAPS))
    return SetCap(entry.seq, dataset, caps, reason, entry.written_at)


def _read_charge(entry: Entry, runs: Mapping[str, Run]) -> Run:
    if entry.run_id in runs:
        raise ValueError("charged twice")
    content = json.loads(entry.content)
    rho, epsilon_cap, delta_cap = (
        _read_optional(content[name]) for name in ("rho", "epsilon_cap", "delta_cap")
    )
    loss = Loss(read_exact(content["epsilon"]), read_exact(content["delta"]), rho)
    disjoint, period = content["disjoint_periods"], content["period"]
    if not isinstance(disjoint, bool) or not isinstance(period, str | None):
        raise ValueError("not a period")
    # Version 0.2 did not note where the data is.
    data = tuple(map(str, content["data"])) if "data" in content else None
    return Run(
        seq=entry.seq,
        hash=entry.hash,
        run_id=entry.run_id,
        dataset=content["dataset"],
        release=content["release"],
        terms=Terms(loss, read_parts(content["parts"]), period, disjoint, data),
        caps=Caps(epsilon_cap, delta_cap, _read_optional(content.get("rho_cap"))),
        detail=content["detail"],
        charged_at=entry.written_at,
    )


def _read_seal(entry: Entry, runs: Mapping[str, Run]) -> Run:
    run = runs[entry.run_id]
    if run.state is not State.CHARGED:
        raise ValueError("sealed twice")
    content = json.loads(entry.content)
    if content == BURNT:
        return replace(run, burnt_at=entry.written_at)
    seal = Seal(entry.seq, entry.written_at, str(content["sha256"]), int(content["size"]))
    return replace(run, seal=seal)


def _read_publication(entry: Entry, runs: Mapping[str, Run]) -> Run:
    run = runs[entry.run_id]
    if run.seal is None:
        raise ValueError("published before it was sealed")
    return replace(run, files=json.loads(entry.content)["files"], published_at=entry.written_at)


_READERS = {Kind.CHARGE: _read_charge, Kind.SEAL: _read_seal, Kind.PUBLISH: _read_publication}


def _write_optional(value: Fraction | None) -> str | None:
    return None if value is None else exact(value)


def _read_optional(content: object) -> Fraction | None:
    return None if content is None else read_exact(content)
