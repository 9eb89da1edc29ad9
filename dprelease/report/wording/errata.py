"""How errors of a published release are put right, in sentences for a data user.

Made of what a report states already, so that old ones say it too when they are rendered again. A
release can't know of what comes after it: who would, is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from dprelease.report.numbers import shortened, written

Facts = Mapping[str, Any]


def errata_words(report: Facts) -> Iterator[str]:
    """Say what is no error, whom to tell of one, what a correction costs and how to know it."""
    basic, known = report["deployment"]["basic"], report["provenance"]
    beyond = 100 * (1 - Decimal(known["interval"]))
    yield (
        "Noise is no error, and is never corrected: in up to "
        f"{beyond.normalize():f} of 100 releases a figure is off by more than its noise interval."
    )
    yield (
        f"{_whom(basic)} Ask there too whether there are corrections, and where they are listed: "
        "this report was written with the release, and nothing is added to it later."
    )
    yield (
        "Wrong words, such as a title or the source of a bound, are put right at no cost: the "
        "report is written again, with the same run and the same figures."
    )
    yield (
        "Wrong figures (wrong data, bounds, groups or conditions) can only be put right by another "
        "release: it is a run of its own, draws new noise, and spends again, on top of the "
        f"{_spent(report)} of this one. What was published stays known: also when it is withdrawn, "
        "none of that is given back."
    )
    yield (
        "A figure and its correction hold noise of their own, each: how far they are apart does "
        "not say how large the error was."
    )
    yield (
        f"Where figures of this release are used, name its run, {known['run_id']}, so that it can "
        "be told from a correction."
    )


def _whom(basic: Facts) -> str:
    if basic["contact"]:
        return f"Errors are to be told to {basic['contact']}, the contact of this release."
    if basic["data_curator"]:
        return f"The spec names no contact: errors are to be told to {basic['data_curator']}."
    return "The spec names no contact: errors are to be told to whoever published these files."


def _spent(report: Facts) -> str:
    spent = report["accounting"]
    delta = f" and delta {written(shortened(spent['delta']))}" if spent["delta"] else ""
    return f"epsilon {written(shortened(spent['epsilon']))}{delta}"
