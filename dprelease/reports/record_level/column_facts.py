"""The columns of record-level tables in words: answers, errors, and what delta means of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dprelease.language import counted, say, word
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.model.record_model import (
    Labels,
    LaplaceResponse,
    NumberGrid,
    RecordColumn,
    RecordTable,
    ResponseWindow,
    SubsetResponse,
    Truth,
    WindowsResponse,
)
from dprelease.reports.text.shown_numbers import percent, shortened, upward, written


def column_words(column: RecordColumn) -> list[str]:
    """Explain one column: the answer, what delta means of it, and what stands for no value."""
    grid, law = column.grid, column.law
    if column.labels is not None and column.truth is not None:
        return [*_labels(column, column.labels, column.truth), *_unlabelled(column.labels)]
    if grid is None:
        raise ValueError("a column has labels or a grid")
    chosen = say("records.nulls.middle_of_bounds")
    value = _rough((grid.null_fill or 0) * Fraction(grid.step))
    nulls = say("records.nulls.count_as", value=value, reason=chosen if column.null_chosen else "")
    if isinstance(law, LaplaceResponse):
        return [*_laplace(column, grid, law), nulls]
    if isinstance(law, WindowsResponse):
        return [*_windows(column, grid, law), nulls]
    raise ValueError("an answer of labels to a number")


def answer_of(column: RecordColumn) -> str:
    """Say what kind of thing an answer is."""
    if column.labels is None or not isinstance(column.law, SubsetResponse):
        return (
            say("records.answer.number")
            if isinstance(column.law, LaplaceResponse)
            else say("records.answer.level")
        )
    size, labels = column.law.size, len(column.labels.labels)
    return counted(size, "records.answer.labels", labels=labels)


def error_of(column: RecordColumn, value: float) -> str:
    """Say an error of an answer: a chance, or a distance."""
    said = amount(column, value)
    return (
        say("records.error.wrong", share=said)
        if column.error.of == "chance"
        else say("records.error.off", distance=said)
    )


def expected_and_floor(column: RecordColumn) -> tuple[str, str]:
    """Say the expected error of an answer, and the least that one can have."""
    return error_of(column, column.error.expected), error_of(column, column.error.floor)


def amount(column: RecordColumn, value: float) -> str:
    """Write an error of a column without words, in few digits."""
    return percent(value) if column.error.of == "chance" else written(float(f"{value:.5g}"))


def halfwidth_head(table: RecordTable) -> tuple[str, ...]:
    """Name the columns of ``halfwidth_rows``."""
    sizes = [half.records for half in table.columns[0].error.halfwidths]
    return (
        say("words.column"),
        say("records.columns.estimate"),
        *(f"n = {size:,}" for size in sizes),
    )


def halfwidth_rows(table: RecordTable) -> Iterator[tuple[str, ...]]:
    """Say for each column how far estimates are off, by the number of records."""
    for column in table.columns:
        is_share = column.error.of == "chance"
        write = percent if is_share else written
        halves = [shortened(half.halfwidth, 3) for half in column.error.halfwidths]
        estimate = say("records.columns.share_of_label") if is_share else say("words.mean")
        yield column.name, estimate, *(f"± {write(half)}" for half in halves)


def _labels(column: RecordColumn, domain: Labels, truth: Truth) -> Iterator[str]:
    labels = domain.labels
    own, other = percent(truth.own), percent(truth.given_other)
    size, delta = truth.labels_in_answer, Fraction(column.delta_exact)
    if len(labels) == 1:
        yield say("records.law.one_label")
        return
    if size == 1:
        yield say(
            "records.law.randomised_response",
            labels=len(labels),
            own=own,
            other=other,
        )
        if delta:
            yield say(
                "records.law.delta_of_response",
                delta=_upto(delta),
            )
        return
    between = domain.separator
    form = (
        say("records.law.set.separated", separator=between)
        if between is not None
        else say("records.law.set.numbers")
    )
    yield say(
        "records.law.subset_selection",
        size=size,
        labels=len(labels),
        form=form,
        own=own,
        other=other,
    )
    if delta:
        within = min(Fraction(1), delta * (len(labels) - 1) / (len(labels) - size))
        yield say(
            "records.law.delta_of_subset",
            delta=_upto(within),
        )


def _laplace(column: RecordColumn, grid: NumberGrid, law: LaplaceResponse) -> Iterator[str]:
    step, scale = Fraction(grid.step), Fraction(law.scale)
    yield say(
        "records.law.laplace",
        scale=_rough(scale * step),
        step=_rough(step),
        grid=_bounds(grid),
    )
    classical = column.error.classical_scale
    if classical is not None:
        yield say(
            "records.law.classical_scale",
            classical=written(shortened(classical, 6)),
        )
    yield from _no_outright(column, (grid.upper - grid.lower) / scale)


def _windows(column: RecordColumn, grid: NumberGrid, law: WindowsResponse) -> Iterator[str]:
    windows = law.windows
    levels, *others = map(_window, windows)
    if others:
        share = percent(float(Fraction(law.share)))
        levels = say(
            "records.law.piecewise.levels",
            share=share,
            levels=levels,
            others=others[0],
        )
    ratio = max(Fraction(window.ratio) for window in windows)
    # an upper bound of the natural logarithm
    pure = math.log(ratio.numerator) - math.log(ratio.denominator) + 1e-9
    yield (
        say("records.law.piecewise.begin")
        + levels
        + say(
            "records.law.piecewise.end",
            grid=_bounds(grid),
            range=_ends(windows, grid),
        )
    )
    yield from _no_outright(column, pure)


def _window(window: ResponseWindow) -> str:
    ratio = _rough(Fraction(window.ratio))
    return counted(
        window.width,
        "records.law.piecewise.likelier",
        levels=window.levels,
        ratio=ratio,
    )


def _ends(windows: Sequence[ResponseWindow], grid: NumberGrid) -> str:
    """What the outermost levels stand for."""
    step = Fraction(grid.step)
    middle = Fraction(grid.lower + grid.upper, 2)
    reach = max(
        (window.levels - 1) * Fraction(window.gap) * (grid.upper - grid.lower) / 4
        for window in windows
    )
    return say(
        "records.law.piecewise.two_ends",
        low=_rough((middle - reach) * step),
        high=_rough((middle + reach) * step),
    )


def _no_outright(column: RecordColumn, pure: Fraction | float) -> Iterator[str]:
    """What delta means of noise that never shows a number: ``pure`` is the epsilon without it."""
    delta, epsilon = Fraction(column.delta_exact), Fraction(column.epsilon_exact)
    if not delta or pure <= epsilon:
        return
    yield say(
        "records.law.delta_of_piecewise",
        epsilon=_upto(epsilon),
        pure=_upto(Fraction(pure)),
        delta=_upto(delta),
    )


def _unlabelled(labels: Labels) -> Iterator[str]:
    """Say what stands for a record without a label."""
    without = []
    if labels.other is None and labels.type != "boolean":
        without.append(
            say("records.missing.outside_bins")
            if labels.bins
            else say("records.missing.undeclared")
        )
    if labels.null_label is None:
        without += [say("words.nulls"), say("records.missing.unreadable")]
    if without and len(labels.labels) > 1:
        said = word(join_names(without))
        yield say(
            "records.missing.drawn_evenly",
            upper=said[0].upper(),
            said=said[1:],
        )


def _bounds(grid: NumberGrid) -> str:
    step = Fraction(grid.step)
    return say("records.law.range", low=_rough(grid.lower * step), high=_rough(grid.upper * step))


def _rough(value: Fraction) -> str:
    """Write a number in at most six digits."""
    return written(float(f"{float(value):.6g}"))


def _upto(value: Fraction) -> str:
    return written(shortened(upward(value), 4))
