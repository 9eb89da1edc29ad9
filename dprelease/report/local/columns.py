"""What an answer of a record-level table is, column by column, in sentences with their numbers.

Functions of the facts of a column, as ``local_facts`` states them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dprelease.postprocess.number_text import listing
from dprelease.report.numbers import shortened, upward, written

Facts = Mapping[str, Any]


def column_words(column: Facts) -> list[str]:
    """Explain one column: the answer, what delta means of it, and what stands for no value."""
    law = column["law"]["law"]
    words = {"subset": _labels, "laplace": _laplace, "windows": _windows}[law]
    return [*words(column), *_without_value(column)]


def percent(share: float) -> str:
    """Write a chance or a share in percent."""
    return f"{share * 100:.4g}%"


def _labels(column: Facts) -> Iterator[str]:
    truth, labels = column["truth"], column["labels"]["labels"]
    own, other = percent(truth["own"]), percent(truth["given_other"])
    size, delta = truth["labels_in_answer"], Fraction(column["delta_exact"])
    if len(labels) == 1:
        yield "There is one label, so that every answer is that one and tells nothing."
        return
    if size == 1:
        yield (
            f"Randomised response among {len(labels):,} labels (Warner 1965; Kairouz, Oh and "
            f"Viswanath 2016): an answer is the true label with a chance of {own}, and each other "
            f"one with a chance of {other}."
        )
        if delta:
            yield (
                f"What delta means here: with a chance of at most {_loss(delta)} the answer is the "
                "true label outright, and else what it would be with a delta of 0."
            )
        return
    between = column["labels"]["separator"]
    form = (
        f'in the order of the spec with "{between}" between them'
        if between is not None
        else "written as their numbers, counted from 1 in the order of the spec"
    )
    yield (
        f"Subset selection (Ye and Barg 2018): an answer is a set of {size} of the "
        f"{len(labels):,} labels, {form}. The true label is among them with a chance of {own}, any "
        f"given other one with a chance of {other}. The record has at most one of them: the set is "
        "no list of what is true of it."
    )
    if delta:
        within = min(Fraction(1), delta * (len(labels) - 1) / (len(labels) - size))
        yield (
            f"What delta means here: with a chance of at most {_loss(within)} the true label is in "
            "the set for certain, and else with the chance that it would have with a delta of 0."
        )


def _laplace(column: Facts) -> Iterator[str]:
    grid, law = column["grid"], column["law"]
    step, scale = Fraction(grid["step"]), Fraction(law["scale"])
    yield (
        f"Discrete Laplace noise of scale {_rough(scale * step)} on the record's number, which is "
        f"rounded to a multiple of {_rough(step)} and held within {_bounds(grid)} first. The "
        "answer isn't held there: it may lie far outside."
    )
    error = column["error"]
    if error is not None:
        yield (
            "The classical bound, the distance of the bounds over epsilon - ln(1 - delta), would "
            f"take a scale of {written(shortened(error['classical_scale'], 6))}."
        )
    yield from _no_outright(column, (grid["upper"] - grid["lower"]) / scale)


def _windows(column: Facts) -> Iterator[str]:
    law, grid = column["law"], column["grid"]
    share, windows = Fraction(law["share"]), law["windows"]
    yield (
        "Piecewise response (Duchi, Jordan and Wainwright 2018; Wang et al. 2019): an answer is "
        + _levels(share, windows)
        + f". The record's number is held within {_bounds(grid)} and picks which levels are the "
        "likelier ones, so that the answer is right on average. Answers lie between "
        f"{_ends(windows, grid)}."
    )
    yield from _no_outright(column, _log_up(max(Fraction(each["ratio"]) for each in windows)))


def _levels(share: Fraction, windows: list[Facts]) -> str:
    first, *rest = map(_window, windows)
    if not rest:
        return first
    return f"with a chance of {percent(float(share))} {first}; else {rest[0]}"


def _window(window: Facts) -> str:
    ratio = _rough(Fraction(window["ratio"]))
    some = "one" if window["width"] == 1 else f"{window['width']} neighbours"
    return (
        f"one of {window['levels']} levels, of which {some} {'is' if some == 'one' else 'are'} "
        f"{ratio} times as likely as the others"
    )


def _ends(windows: list[Facts], grid: Facts) -> str:
    """What the outermost levels stand for."""
    step = Fraction(grid["step"])
    middle = Fraction(grid["lower"] + grid["upper"], 2)
    reach = max(
        (each["levels"] - 1) * Fraction(each["gap"]) * (grid["upper"] - grid["lower"]) / 4
        for each in windows
    )
    return f"{_rough((middle - reach) * step)} and {_rough((middle + reach) * step)}"


def _no_outright(column: Facts, pure: Fraction | float) -> Iterator[str]:
    """What delta means of noise that never shows a number: ``pure`` is the epsilon without it."""
    delta, epsilon = Fraction(column["delta_exact"]), Fraction(column["epsilon_exact"])
    if not delta or pure <= epsilon:
        return
    yield (
        "What delta means here: no answer shows the number outright. But some answers are likelier "
        f"from one number than from another by more than the factor e^{_loss(epsilon)} that "
        f"epsilon allows, up to e^{_loss(Fraction(pure))}: what their chance has beyond that "
        f"factor comes to at most {_loss(delta)}."
    )


def _log_up(ratio: Fraction) -> float:
    """An upper bound of the natural logarithm."""
    return math.log(ratio.numerator) - math.log(ratio.denominator) + 1e-9


def _without_value(column: Facts) -> Iterator[str]:
    labels, grid = column["labels"], column["grid"]
    if labels is None:
        middle = ", the middle of the bounds, as the spec says nothing of them"
        filled = _rough(grid["null_fill"] * Fraction(grid["step"]))
        yield f"Nulls count as {filled}{middle if column['null_chosen'] else ''}."
        return
    without = []
    if labels["other"] is None and labels["type"] != "boolean":
        without.append("values outside the bins" if labels["bins"] else "undeclared values")
    if labels["null_label"] is None:
        without += ["nulls", "unreadable values"]
    if without and len(labels["labels"]) > 1:
        said = listing(without)
        yield (
            f"{said[0].upper()}{said[1:]} are answered as if they had one of the labels, each with "
            "the same chance; estimates count them so, spread evenly over all labels."
        )


def _bounds(grid: Facts) -> str:
    step = Fraction(grid["step"])
    return f"{_rough(grid['lower'] * step)} to {_rough(grid['upper'] * step)}"


def _rough(value: Fraction) -> str:
    """Write a number in at most six digits."""
    return written(float(f"{float(value):.6g}"))


def _loss(value: Fraction) -> str:
    return written(shortened(upward(value), 4))
