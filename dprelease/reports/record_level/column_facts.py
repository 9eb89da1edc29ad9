"""The columns of record-level tables in words: answers, errors, and what delta means of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dprelease.language import say, say_count, word
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
from dprelease.reports.text.shown_numbers import (
    format_number,
    shorten,
    to_json_number,
    write_percent,
)


def explain_column(column: RecordColumn) -> list[str]:
    """Explain one column: the answer, what delta means of it, and what stands for no value."""
    grid, law = column.grid, column.law
    if column.labels is not None and column.truth is not None:
        return [
            *_explain_labels(column, column.labels, column.truth),
            *_explain_missing_label(column.labels),
        ]
    if grid is None:
        raise ValueError("a column has labels or a grid")
    value = _format_roughly((grid.null_fill or 0) * Fraction(grid.step))
    nulls = say(
        "records.nulls.count_as_middle" if column.null_chosen else "records.nulls.count_as",
        value=value,
    )
    if isinstance(law, LaplaceResponse):
        return [*_explain_laplace(column, grid, law), nulls]
    if isinstance(law, WindowsResponse):
        return [*_explain_windows(column, grid, law), nulls]
    raise ValueError("an answer of labels to a number")


def describe_answer(column: RecordColumn) -> str:
    """Describe the kind of an answer.

    Args:
        column: A column of a record-level table.

    Returns:
        A phrase in the language used now.
    """
    if column.labels is None or not isinstance(column.law, SubsetResponse):
        return (
            say("records.answer.number")
            if isinstance(column.law, LaplaceResponse)
            else say("records.answer.level")
        )
    size, labels = column.law.size, len(column.labels.labels)
    return say_count(size, "records.answer.labels", labels=labels)


def format_error(column: RecordColumn, value: float) -> str:
    """Word an error of an answer.

    Args:
        column: The column.
        value: A chance, or a distance in the unit of the column.

    Returns:
        A phrase in the language used now.
    """
    text = format_amount(column, value)
    return (
        say("records.error.wrong", share=text)
        if column.error.of == "chance"
        else say("records.error.off", distance=text)
    )


def format_expected_errors(column: RecordColumn) -> tuple[str, str]:
    """Say the expected error of an answer, and the least that one can have."""
    return format_error(column, column.error.expected), format_error(column, column.error.floor)


def format_amount(column: RecordColumn, value: float) -> str:
    """Write an error of a column without words.

    Args:
        column: The column.
        value: A chance, or a distance in the unit of the column.

    Returns:
        The number in few digits; a chance in percent.
    """
    return (
        write_percent(value)
        if column.error.of == "chance"
        else format_number(float(f"{value:.5g}"))
    )


def list_halfwidth_heads(table: RecordTable) -> tuple[str, ...]:
    """Name the columns of ``list_halfwidth_rows``.

    Args:
        table: A record-level table.

    Returns:
        Column, estimate, and one number of records for each half-width.
    """
    sizes = [half.records for half in table.columns[0].error.halfwidths]
    return (
        say("words.column"),
        say("records.columns.estimate"),
        *(f"n = {size:,}" for size in sizes),
    )


def list_halfwidth_rows(table: RecordTable) -> Iterator[tuple[str, ...]]:
    """List the half-widths of estimates by the number of records.

    Args:
        table: A record-level table.

    Yields:
        A row of texts for each column.
    """
    for column in table.columns:
        is_share = column.error.of == "chance"
        write = write_percent if is_share else format_number
        halves = [shorten(half.halfwidth, 3) for half in column.error.halfwidths]
        estimate = say("records.columns.share_of_label") if is_share else say("words.mean")
        yield column.name, estimate, *(f"± {write(half)}" for half in halves)


def _explain_labels(column: RecordColumn, domain: Labels, truth: Truth) -> Iterator[str]:
    labels = domain.labels
    own_chance, other_chance = write_percent(truth.own), write_percent(truth.given_other)
    size, delta = truth.labels_in_answer, Fraction(column.delta_exact)
    if len(labels) == 1:
        yield say("records.law.one_label")
        return
    if size == 1:
        yield say(
            "records.law.randomised_response",
            labels=len(labels),
            own=own_chance,
            other=other_chance,
        )
        if delta:
            yield say(
                "records.law.delta_of_response",
                delta=_format_bound(delta),
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
        own=own_chance,
        other=other_chance,
    )
    if delta:
        within = min(Fraction(1), delta * (len(labels) - 1) / (len(labels) - size))
        yield say(
            "records.law.delta_of_subset",
            delta=_format_bound(within),
        )


def _explain_laplace(column: RecordColumn, grid: NumberGrid, law: LaplaceResponse) -> Iterator[str]:
    step, scale = Fraction(grid.step), Fraction(law.scale)
    yield say(
        "records.law.laplace",
        scale=_format_roughly(scale * step),
        step=_format_roughly(step),
        grid=_format_bounds(grid),
    )
    classical = column.error.classical_scale
    if classical is not None:
        yield say(
            "records.law.classical_scale",
            classical=format_number(shorten(classical, 6)),
        )
    yield from _explain_delta(column, (grid.upper - grid.lower) / scale)


def _explain_windows(column: RecordColumn, grid: NumberGrid, law: WindowsResponse) -> Iterator[str]:
    windows = law.windows
    levels, *rest = map(_explain_window, windows)
    if rest:
        share = write_percent(float(Fraction(law.share)))
        levels = say(
            "records.law.piecewise.levels",
            share=share,
            levels=levels,
            others=rest[0],
        )
    ratio = max(Fraction(window.ratio) for window in windows)
    # an upper bound of the natural logarithm
    pure = math.log(ratio.numerator) - math.log(ratio.denominator) + 1e-9
    yield say(
        "records.law.piecewise.answer",
        levels=levels,
        grid=_format_bounds(grid),
        range=_describe_ends(windows, grid),
    )
    yield from _explain_delta(column, pure)


def _explain_window(window: ResponseWindow) -> str:
    ratio = _format_roughly(Fraction(window.ratio))
    return say_count(
        window.width,
        "records.law.piecewise.likelier",
        levels=window.levels,
        ratio=ratio,
    )


def _describe_ends(windows: Sequence[ResponseWindow], grid: NumberGrid) -> str:
    """Describe what the outermost levels stand for."""
    step = Fraction(grid.step)
    middle = Fraction(grid.lower + grid.upper, 2)
    reach = max(
        (window.levels - 1) * Fraction(window.gap) * (grid.upper - grid.lower) / 4
        for window in windows
    )
    return say(
        "records.law.piecewise.two_ends",
        low=_format_roughly((middle - reach) * step),
        high=_format_roughly((middle + reach) * step),
    )


def _explain_delta(column: RecordColumn, pure: Fraction | float) -> Iterator[str]:
    """Explain delta for noise that never shows a number: ``pure`` is the epsilon without it."""
    delta, epsilon = Fraction(column.delta_exact), Fraction(column.epsilon_exact)
    if not delta or pure <= epsilon:
        return
    yield say(
        "records.law.delta_of_piecewise",
        epsilon=_format_bound(epsilon),
        pure=_format_bound(Fraction(pure)),
        delta=_format_bound(delta),
    )


def _explain_missing_label(labels: Labels) -> Iterator[str]:
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
        names = word(join_names(without))
        yield say(
            "records.missing.drawn_evenly",
            upper=names[0].upper(),
            said=names[1:],
        )


def _format_bounds(grid: NumberGrid) -> str:
    step = Fraction(grid.step)
    return say(
        "records.law.range",
        low=_format_roughly(grid.lower * step),
        high=_format_roughly(grid.upper * step),
    )


def _format_roughly(value: Fraction) -> str:
    """Write a number in at most six digits."""
    return format_number(float(f"{float(value):.6g}"))


def _format_bound(value: Fraction) -> str:
    return format_number(shorten(to_json_number(value), 4))
