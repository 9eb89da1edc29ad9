"""Estimates in JSON values."""

from __future__ import annotations

from dprelease.local.estimates import Cross, Estimates, Mean, Shares
from dprelease.local.intervals import Figure

DIGITS = 12


def estimate_facts(found: Estimates) -> dict[str, object]:
    """Everything that was estimated; ``number`` is the share times the number of records."""
    return {
        "rows": found.rows,
        "interval": rounded(float(found.interval)),
        "frequencies": [_shares(each, found.rows) for each in found.shares],
        "means": [_mean(each, found.rows) for each in found.means],
        "crosses": [_cross(each, found.rows) for each in found.crosses],
    }


def rounded(value: float) -> float:
    """The number in twelve digits: the last ones of a float differ between machines."""
    return float(f"{value:.{DIGITS}g}")


def _figure(figure: Figure) -> list[float]:
    return [rounded(each) for each in (float(figure.value), figure.lower, figure.upper)]


def _counted(figure: Figure, rows: int) -> dict[str, object]:
    return {
        **dict(zip(("share", "share_lower", "share_upper"), _figure(figure), strict=True)),
        **dict(
            zip(
                ("number", "number_lower", "number_upper"), _figure(figure.times(rows)), strict=True
            )
        ),
    }


def _shares(found: Shares, rows: int) -> dict[str, object]:
    labels = [
        {"label": label, **_counted(figure, rows)}
        for label, figure in zip(found.labels, found.figures, strict=True)
    ]
    return {"column": found.column, "labels": labels}


def _mean(found: Mean, rows: int) -> dict[str, object]:
    return {
        "column": found.column,
        **dict(zip(("mean", "mean_lower", "mean_upper"), _figure(found.figure), strict=True)),
        **dict(
            zip(("sum", "sum_lower", "sum_upper"), _figure(found.figure.times(rows)), strict=True)
        ),
    }


def _cross(found: Cross, rows: int) -> dict[str, object]:
    cells = [
        {"labels": [one, other], **_counted(figure, rows)}
        for one, row in zip(found.labels[0], found.figures, strict=True)
        for other, figure in zip(found.labels[1], row, strict=True)
    ]
    return {"columns": list(found.columns), "cells": cells}
