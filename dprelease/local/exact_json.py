"""Record-level tables exactly, in JSON values: for charges, seals and saved plans."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dprelease.model import (
    LaplaceLaw,
    Law,
    RecordStep,
    StoredTable,
    SubsetLaw,
    Tally,
    Window,
)


def law_content(law: Law) -> dict[str, object]:
    """State a law, its numbers as "p/q"."""
    if isinstance(law, SubsetLaw):
        keep = _exact(law.keep)
        return {"law": "subset", "labels": law.labels, "size": law.size, "keep": keep}
    if isinstance(law, LaplaceLaw):
        return {"law": "laplace", "scale": _exact(law.scale)}
    windows = [law.first] if law.second is None else [law.first, law.second]
    return {"law": "windows", "share": _exact(law.share), "windows": list(map(_window, windows))}


def record_detail(step: RecordStep) -> dict[str, object]:
    """State a record-level table: what decides how its cells are drawn, and what that costs."""
    return {
        "table": step.perturb.name,
        "rows_per_unit": step.rows,
        "epsilon": _exact(step.loss.epsilon),
        "delta": _exact(step.loss.delta),
        "columns": [
            {
                "column": each.column.name,
                "mechanism": str(each.mechanism),
                **law_content(each.law),
                "epsilon": _exact(each.loss.epsilon),
                "delta": _exact(each.loss.delta),
                "domain": _domain(each.column),
            }
            for each in step.responses
        ],
    }


def _domain(column: Any) -> dict[str, object]:
    if column.group is not None:
        return {"labels": list(column.group.labels)}
    grid = column.quantity.grid
    bounds = {"lower": grid.lower, "upper": grid.upper, "fill": column.quantity.null_fill}
    return {"step": _exact(grid.step), **bounds}


def stored_content(stored: StoredTable) -> dict[str, object]:
    """State a stored table, but for the place, which is derived."""
    tally = stored.tally
    return {
        "format": stored.format,
        "sha256": stored.sha256,
        "size": stored.size,
        "rows": tally.rows,
        "labels": {name: list(counts) for name, counts in tally.labels.items()},
        "sums": {name: _exact(total) for name, total in tally.sums.items()},
        "pairs": [
            [first, second, [list(row) for row in counts]]
            for (first, second), counts in tally.pairs.items()
        ],
    }


def stored_from(content: Mapping[str, Any]) -> StoredTable:
    """Read what ``stored_content`` wrote; the place is left empty."""
    tally = Tally(
        content["rows"],
        {name: tuple(counts) for name, counts in content["labels"].items()},
        {name: Fraction(total) for name, total in content["sums"].items()},
        {(first, second): tuple(map(tuple, counts)) for first, second, counts in content["pairs"]},
    )
    return StoredTable("", content["format"], content["sha256"], content["size"], tally)


def _window(window: Window) -> dict[str, object]:
    return {
        "levels": window.levels,
        "width": window.width,
        "ratio": _exact(window.ratio),
        "gap": _exact(window.gap),
    }


def _exact(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
