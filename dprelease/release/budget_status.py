"""The budget of each dataset of a ledger: what was spent, on what, and what is left."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct, convert

from dprelease.ledger.entries import Account, Run, SetCap
from dprelease.ledger.guarantee import DESCRIPTION, read_definition
from dprelease.ledger.privacy_filter import CAPS, ZERO, Caps, Terms, Total, wrap_loss
from dprelease.ledger.reservation import read_stated_caps
from dprelease.ledger.store import Ledger
from dprelease.ledger.totals import add_losses, compute_remaining, is_meeting, iter_running_totals
from dprelease.model import LedgerSettings, Loss, Release, is_server
from dprelease.reports.text.notebook import render_table
from dprelease.reports.text.shown_numbers import number_or_none, to_json_number, to_json_remaining
from dprelease.specfile import load

Number = int | float
BY = ("year", "period", "snapshot")


class Charged(Struct, frozen=True):
    """A run that was charged. Losses are rounded up."""

    release: str
    charged_at: str
    epsilon: Number
    delta: Number
    rho: Number | None
    snapshot: str | None
    period: str | None
    state: str  # "charged", "sealed", "published" or "burnt"


class Amounts(Struct, frozen=True):
    """An epsilon and a delta; None: no cap, or no limit to what is left.

    ``rho`` is that of a cap of rho, and of what is left under it; None where there is no such cap.
    """

    epsilon: Number | None
    delta: Number | None
    rho: Number | None = None


class DatasetBudget(Struct, frozen=True):
    """Amounts spent on a dataset, rounded up, and left, rounded down.

    ``spent`` are plain sums; what is left is what the caps leave, with losses composed as the
    ledger does it. Under caps on neither, it is None.
    """

    dataset: str
    runs: tuple[Charged, ...]
    spent: Amounts
    cap: Amounts
    remaining: Amounts


class Budget(Struct, frozen=True):
    """The datasets of a ledger, in the order of their first charge or cap."""

    ledger: str
    datasets: tuple[DatasetBudget, ...]
    _facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the budget in JSON values, as ``dprelease budget show --json`` prints it."""
        return dict(self._facts)

    def __repr__(self) -> str:
        """Name each dataset with what was spent and what is left."""
        lines = "; ".join(
            f"{entry.dataset}: epsilon {entry.spent.epsilon} spent, {_format(entry.remaining)} left"
            for entry in self.datasets
        )
        return f"<Budget in {self.ledger}: {lines or 'nothing was charged yet'}>"

    def _repr_html_(self) -> str:
        rows = [
            (dataset.dataset, len(dataset.runs), dataset.spent.epsilon, dataset.spent.delta,
             _format(dataset.cap), _format(dataset.remaining))
            for dataset in self.datasets
        ]  # fmt: skip
        heads = ("dataset", "runs", "epsilon spent", "delta spent", "cap", "left")
        return render_table(f"Budget in {self.ledger}", heads, rows)


def _format(amounts: Amounts) -> str:
    if amounts.epsilon is not None:
        return str(amounts.epsilon)
    return "no cap" if amounts.rho is None else f"rho {amounts.rho}"


def budget(  # noqa: PLR0913 - all but the ledger are optional, and named
    ledger: str | os.PathLike[str] | Mapping[str, Any] | Release,
    *,
    dataset: str | None = None,
    by: str | None = None,
    last: int | None = None,
    period: str | None = None,
    witness: str | os.PathLike[str] | None = None,
) -> Budget:
    """Do what the package's ``budget`` says."""
    if (by is not None and by not in BY) or (last is not None and last < 1):
        raise ValueError(f"by is one of {BY}, and last at least 1")
    place = None if witness is None else os.fspath(witness)
    caps = of_period = None
    settings = _read_settings(ledger, period)
    if isinstance(settings, str):
        path = settings
    else:
        path, place = settings.path, settings.witness if place is None else place
        dataset = settings.dataset if dataset is None else dataset
        if dataset == settings.dataset:
            caps = read_stated_caps(settings)
            of_period = None if period is None else (period, settings.disjoint_periods)
    with Ledger.read(path, witness=place) as book:
        facts = list_history(book, dataset, caps, by, last, of_period)
    return Budget(path, tuple(map(_build_budget, facts["datasets"])), facts)


def _read_settings(
    ledger: str | os.PathLike[str] | Mapping[str, Any] | Release, period: str | None
) -> LedgerSettings | str:
    """Read the [ledger] of a spec; return the path of a ledger as it is."""
    if isinstance(ledger, Release):
        return ledger.ledger
    if not isinstance(ledger, Mapping) and not os.fspath(ledger).endswith(".toml"):
        return os.fspath(ledger)
    # The section is the same for all periods, so none need be given; lists are not shown.
    return load(ledger, period=period or "any", allow_outside_lists=True).ledger


def find_ledger(ledger: str, witness: str | None) -> tuple[str, str | None]:
    """Find the place of a ledger and of its witness.

    Args:
        ledger: The place of a ledger, or the path of a spec (``.toml``) that names one.
        witness: Path of the witness; None takes the spec's.

    Returns:
        The ledger's place, and the witness's path or None for the default place.
    """
    settings = _read_settings(ledger, None)
    if isinstance(settings, str):
        return settings, witness
    return settings.path, settings.witness if witness is None else witness


def _build_budget(facts: Mapping[str, Any]) -> DatasetBudget:
    return convert({**facts, "remaining": facts["left"]}, DatasetBudget)


def format_place(ledger: str) -> str:
    """Format a ledger's place: an absolute path, or the variable with a server's URL."""
    return ledger if is_server(ledger) else os.path.abspath(ledger)


def list_history(  # noqa: PLR0913, PLR0917 - what is shown of it
    book: Ledger,
    dataset: str | None,
    caps: Caps | None,
    by: str | None = None,
    last: int | None = None,
    of_period: tuple[str, bool] | None = None,
) -> dict[str, Any]:
    """Describe every run of a ledger and the account of every dataset.

    Args:
        book: The ledger.
        dataset: Describe this dataset only; None for all.
        caps: Caps that the spec states; None takes the last ones of the ledger.
        by: Add runs up in groups besides: a value of ``BY``.
        last: List only so many runs and groups; sums and what is left are of all.
        of_period: State what is left for a run of this period, and if it is declared disjoint.

    Returns:
        JSON values, as ``dprelease budget show --json`` prints them.
    """
    runs, set_caps, head = book.list_runs(), book.list_caps(), book.read_head()
    names = dict.fromkeys([run.dataset for run in runs] + [cap.dataset for cap in set_caps])
    if dataset is not None:
        names = {dataset: None}
    return {
        "schema": "dprelease/budget/1",
        "ledger": format_place(book.path),
        "witness": os.path.abspath(book.witness),
        "head": {"entries": head.seq, "hash": head.hash},
        "charges": len(runs),
        "datasets": [
            _describe_dataset(
                Account(name, tuple(run for run in runs if run.dataset == name)),
                [cap for cap in set_caps if cap.dataset == name],
                caps,
                by,
                last or 0,
                of_period,
            )
            for name in names
        ],
    }


def _describe_dataset(  # noqa: PLR0913, PLR0917 - what it is of, and what is asked of it
    account: Account,
    set_caps: Sequence[SetCap],
    caps: Caps | None,
    by: str | None,
    last: int,
    of_period: tuple[str, bool] | None,
) -> dict[str, object]:
    name, runs = account.dataset, account.runs
    if caps is None:
        caps = runs[-1].caps if runs else Caps()
        caps = _merge_caps(set_caps[-1].caps, caps) if set_caps else caps
    elif set_caps:
        caps = set_caps[-1].caps.lower(caps)
    after = list(iter_running_totals([run.terms for run in runs], caps))
    plain, total = after[-1] if after else (Caps(ZERO, ZERO), None)
    counting = account.terms
    if of_period is not None:
        planned = Terms(Loss(ZERO), wrap_loss(Loss(ZERO)), *of_period)
        counting = tuple(terms for terms in counting if is_meeting(terms, planned))
    return {
        "dataset": name,
        "runs": [
            _run(run) | {"spent": encode_amounts(sums), "composed": _encode_total(total)}
            for run, (sums, total) in zip(runs, after, strict=True)
        ][-last:],
        **({} if by is None else {"by": by, "groups": _group_runs(runs, by)[-last:]}),
        "spent": encode_amounts(plain),
        "composed": _encode_total(total) if total else None,
        # Rho is left out unless it has a cap, which is seldom.
        "cap": encode_amounts(caps)
        | ({} if caps.rho is None else {"rho": to_json_number(caps.rho)}),
        "kept": to_json_number(total.reserve) if total else 0,
        "left": {
            name: left
            for name, left in compute_remaining_under(caps, counting).items()
            if name != "rho" or caps.rho is not None
        },
        **({} if of_period is None else {"left_for": of_period[0]}),
        "cap_changes": list(_iter_changes(runs, set_caps, caps)),
        "caps": [
            {
                "entry": cap.seq,
                "set_at": cap.set_at,
                **{name: number_or_none(getattr(cap.caps, name)) for name in CAPS},
                "reason": cap.reason,
            }
            for cap in set_caps
        ],
        "units": list_units(runs),
    }


def _run(run: Run) -> dict[str, object]:
    return {
        "entry": run.seq,
        "run_id": run.run_id,
        "charged_at": run.charged_at,
        "release": run.release,
        "snapshot": run.detail.get("snapshot"),
        "period": run.terms.period,
        "disjoint_periods": run.terms.disjoint,
        **encode_amounts(run.loss),
        "rho": number_or_none(run.loss.rho),
        "state": "published" if run.published_at is not None else str(run.state),
        "cap": encode_amounts(run.caps),
    }


def _merge_caps(caps: Caps, defaults: Caps) -> Caps:
    """Fill caps that are None with the defaults."""
    pairs = ((getattr(caps, name), getattr(defaults, name)) for name in CAPS)
    return Caps(*(default if cap is None else cap for cap, default in pairs))


def compute_remaining_under(caps: Caps, terms: Sequence[Terms]) -> dict[str, int | float | None]:
    """Compute what is left of each cap in JSON values, rounded down."""
    left = compute_remaining(terms, caps)
    return {name: to_json_remaining(getattr(left, name)) for name in CAPS}


def _group_runs(runs: Sequence[Run], by: str) -> list[dict[str, object]]:
    """Add up what runs cost, by the year of their charge, their period or snapshot."""
    keys: Mapping[str, Callable[[Run], Any]] = {
        "year": lambda run: run.charged_at[:4],
        "period": lambda run: run.terms.period,
        "snapshot": lambda run: run.detail.get("snapshot"),
    }
    groups: dict[str | None, list[Run]] = {}
    for run in runs:
        groups.setdefault(keys[by](run), []).append(run)
    return [
        {
            by: name,
            "releases": len(group),
            **encode_amounts(losses := add_losses(run.loss for run in group)),
            "rho": number_or_none(losses.rho),
        }
        for name, group in groups.items()
    ]


def _iter_changes(
    runs: Sequence[Run], set_caps: Sequence[SetCap], last: Caps
) -> Iterator[dict[str, object]]:
    """Iterate over changes of caps, in order; ``entry`` None: by the caps stated now."""
    declared: list[tuple[int | None, Caps]] = []
    events: list[Run | SetCap] = [*runs, *set_caps]
    for event in sorted(events, key=lambda event: event.seq):
        stands = declared and isinstance(event, SetCap)
        declared.append(
            (event.seq, _merge_caps(event.caps, declared[-1][1]) if stands else event.caps)
        )
    for (_, before), (entry, now) in pairwise([*declared, (None, last)]):
        for name in CAPS:
            old, new = getattr(before, name), getattr(now, name)
            if old != new:
                yield {
                    "entry": entry,
                    "cap": name,
                    "from": number_or_none(old),
                    "to": number_or_none(new),
                    "raised": old is not None and (new is None or new > old),
                }


def list_units(runs: Sequence[Run]) -> list[dict[str, object]]:
    """List the units that charges note, with the entries of each; usually it is one."""
    units: list[dict[str, Any]] = []
    for run in runs:
        definition = read_definition(run.detail)
        unit = {
            "unit": run.detail.get("unit"),
            "adjacency": run.detail.get("adjacency"),
            "definition": None if definition is None else dict(definition),
            "description": run.detail.get(DESCRIPTION),
        }
        same = next((noted for noted in units if unit.items() <= noted.items()), None)
        if same is None:
            units.append({**unit, "entries": [run.seq]})
        else:
            same["entries"].append(run.seq)
    return units


def encode_amounts(of: Loss | Caps) -> dict[str, object]:
    """Encode epsilon and delta in JSON values."""
    return {"epsilon": number_or_none(of.epsilon), "delta": number_or_none(of.delta)}


def _encode_total(total: Total) -> dict[str, object]:
    return {
        "epsilon": to_json_number(total.epsilon),
        "delta": to_json_number(total.delta),
        "by": total.by,
    }
