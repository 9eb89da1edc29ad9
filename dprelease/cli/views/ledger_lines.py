"""Where a ledger stands, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dprelease.cli.views.numbers import left as left_of
from dprelease.cli.views.numbers import spent as spent_of


def ledger_lines(ledger: Mapping[str, Any]) -> list[str]:
    """Say what is spent, what a run adds and what is left, from ``Standing.facts``."""
    lines = [
        f"ledger   {ledger['path']}",
        f"         epsilon {_amount(ledger, 'epsilon')}",
    ]
    if ledger["delta_after"]:
        lines.append(f"         delta {_amount(ledger, 'delta')}")
    if _composed(ledger):
        lines.append(f"         composed: {_totals(ledger)}")
    if ledger["released_at"]:
        lines.append(f"         already released at {ledger['released_at']}: a run is free")
    elif ledger["already_charged"]:
        lines.append("         already charged, not yet released: a run is free")
    return lines


def kept_note(ledger: Mapping[str, Any]) -> str:
    """Say what of the delta cap is kept, where something is."""
    kept = ledger["delta_kept"]
    return f" ({spent_of(kept)} is kept for composing)" if kept else ""


def _composed(ledger: Mapping[str, Any]) -> bool:
    return any(each["by"] == "zCDP" for each in ledger["composed"].values())


def _totals(ledger: Mapping[str, Any]) -> str:
    now, then = (ledger["composed"][when]["epsilon"] for when in ("now", "after"))
    after = "" if ledger["already_charged"] else f", {spent_of(then)} after a run"
    at = f" at delta {spent_of(ledger['delta_cap'])}"
    return f"epsilon {spent_of(now)} spent{after}{at}{_left(ledger, 'epsilon', then)}"


def _amount(ledger: Mapping[str, Any], what: str) -> str:
    spent = f"{spent_of(ledger[f'{what}_spent'])} spent"
    after = ledger[f"{what}_after"]
    if not ledger["already_charged"]:
        spent += f", {spent_of(after)} after a run"
    if ledger[f"{what}_cap"] is None:
        return f"{spent}, no cap"
    if what == "epsilon" and _composed(ledger):
        return f"{spent}, by plain sums"
    note = kept_note(ledger) if what == "delta" else ""
    return spent + _left(ledger, what, after) + note


def _left(ledger: Mapping[str, Any], what: str, after: float) -> str:
    cap = ledger[f"{what}_cap"]
    if cap is None:
        return ", no cap"
    left = ledger[f"{what}_left_after"]
    over = after > cap or (what == "delta" and not left)
    if ledger["refused"] and over:
        return f", over the cap {left_of(cap)}: a run would be refused"
    return f", {left_of(left)} left of the cap {left_of(cap)}"
