"""Where a ledger stands, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dprelease.cli.numbers import left as left_of
from dprelease.cli.numbers import spent as spent_of


def ledger_lines(ledger: Mapping[str, Any]) -> list[str]:
    """Say what is spent, what a run adds and what is left, from ``Standing.facts``."""
    lines = [
        f"ledger   {ledger['path']}",
        f"         epsilon {_amount(ledger, 'epsilon')}",
    ]
    if ledger["delta_after"]:
        lines.append(f"         delta {_amount(ledger, 'delta')}")
    if ledger["released_at"]:
        lines.append(f"         already released at {ledger['released_at']}: a run is free")
    elif ledger["already_charged"]:
        lines.append("         already charged, not yet released: a run is free")
    return lines


def _amount(ledger: Mapping[str, Any], what: str) -> str:
    spent = f"{spent_of(ledger[f'{what}_spent'])} spent"
    if not ledger["already_charged"]:
        spent += f", {spent_of(ledger[f'{what}_after'])} after a run"
    cap = ledger[f"{what}_cap"]
    if cap is None:
        return f"{spent}, no cap"
    if ledger["refused"] and ledger[f"{what}_after"] > cap:
        return f"{spent}, over the cap {left_of(cap)}: a run would be refused"
    left = left_of(ledger[f"{what}_left_after"])
    return f"{spent}, {left} left of the cap {left_of(cap)}"
