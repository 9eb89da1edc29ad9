"""Which unit a dataset's charges are about, in JSON values and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dprelease.ledger import Run
from dprelease.ledger.guarantee import DESCRIPTION, definition_in

Facts = Mapping[str, Any]


def units_of(runs: Sequence[Run]) -> list[dict[str, object]]:
    """Tell the units that charges note, with the entries of each; usually it is one."""
    found: list[dict[str, Any]] = []
    for run in runs:
        definition = definition_in(run.detail)
        told = {
            "unit": run.detail.get("unit"),
            "adjacency": run.detail.get("adjacency"),
            "definition": None if definition is None else dict(definition),
            "description": run.detail.get(DESCRIPTION),
        }
        known = next((each for each in found if told.items() <= each.items()), None)
        if known is None:
            found.append({**told, "entries": [run.seq]})
        else:
            known["entries"].append(run.seq)
    return found


def unit_lines(units: Sequence[Facts]) -> Iterator[str]:
    """Say what is protected, and what people should look at before they believe the total."""
    noted = [each for each in units if each["unit"] is not None]
    for each in noted:
        of = f" ({_entries(each)})" if len(noted) > 1 else ""
        yield f"unit     {_unit(each)}, {each['adjacency']}{of}"
    for each in noted:
        if each["unit"] != "row" and each["definition"] is None:
            yield f"note     {_entries(each)}: an early version did not note how it is defined"
    if len({each["description"] for each in noted} - {None}) > 1:
        yield "note     the unit is described in several ways: is it the same one?"


def _unit(told: Facts) -> str:
    definition = told["definition"] or {}
    made = f" = {definition['expression']}" if "expression" in definition else ""
    described = f": {told['description']}" if told["description"] is not None else ""
    return f"{told['unit']}{made}{described}"


def _entries(told: Facts, most: int = 5) -> str:
    numbers: Sequence[int] = told["entries"]
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    listed = ", ".join(map(str, numbers[:most]))
    return f"{'entry' if len(numbers) == 1 else 'entries'} {listed}{more}"
