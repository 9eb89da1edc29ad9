"""Finishing of tables: from released figures to those published, as the queries say.

It reads nothing but published columns and public facts about their noise. With every changed figure
it also returns the figure as it was released, unless that is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, prod
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from dprelease.model import (
    AS_RELEASED,
    Finish,
    Group,
    NoisyTable,
    OutputColumn,
    OutputTable,
    Plan,
    Query,
    Read,
)
from dprelease.model.outputs import SUPPRESSED
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.finishing.finished_intervals import Estimate, compute_ends, find_least
from dprelease.postprocess.finishing.lattice import identify_rows, number_axes
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)
from dprelease.postprocess.intervals.estimate_columns import end_columns, flag_meaning, flag_values
from dprelease.postprocess.intervals.fixed_point import count_decimals
from dprelease.postprocess.intervals.number_text import join_names, number
from dprelease.postprocess.intervals.shown_figures import Limits
from dprelease.statistics.read_release import (
    Piece,
    collect_figure_noise,
    compute_figure_variance,
    list_pieces,
)
from dprelease.statistics.statistic_registry import get_statistic

if TYPE_CHECKING:
    from dprelease.expressions import Node
    from dprelease.postprocess.finishing.agreement import Counts, Fit

HALF, RANKS, FLAG, COUNT = "_noise_moe", "_rank_moe", "_flag", "_count"
LOW, HIGH = "_low", "_high"
ESTIMATED_PLACES = 4
"""Additional decimals of a figure that agrees with others, before it is moved further."""
AGREED_PLACES = 2
"""Additional decimals of a figure that is a weighted mean of several."""
TOO_FAR = 6
"""A difference of two tables' totals, in standard deviations, that noise hardly ever exceeds."""

Figures = Sequence[str | int | None]


class Noisy(NamedTuple):
    """A query whose figures are published, with the step that they are read from.

    ``variance`` and ``noise`` are of a figure, if they are the same for all. ``pieces`` are the
    steps that a combined figure is read from, with their ``integers`` by name. ``threshold``: only
    figures from there on are published, of private keys. ``screened``: part of the noise is left
    out at times, so that intervals are not those of ``noise``.
    """

    query: Query
    step: str
    variance: Fraction | None
    noise: tuple[Part, ...] = ()
    pieces: Sequence[Piece] = ()
    integers: Mapping[str, Sequence[int]] = {}
    threshold: int | None = None
    screened: bool = False


def collect_noisy_figures(
    plan: Plan, reads: Sequence[Read], released: NoisyTable | None = None
) -> list[Noisy]:
    """Collect for each read the noise of its query, and the integers if any are released yet."""
    # A piece releases one integer for each cell.
    rows_by_step = {} if released is None else released.values
    integers = {name: rows[0] for name, rows in rows_by_step.items() if rows}
    return [
        Noisy(
            read.query,
            read.step,
            compute_figure_variance(read, plan),
            collect_figure_noise(read, plan) or (),
            list_pieces(read, plan),
            integers,
            plan.step(read).threshold,
            read.screened,
        )
        for read in reads
    ]


class Finished(Struct, frozen=True):
    """The tables as they are published.

    ``raw`` holds the figures of changed columns as they were released, in 10^-decimals, by table
    and column, with those decimals; ``agreed`` those that agree with other tables, before they were
    moved further. ``remarks`` tell what the noisy figures themselves show.
    """

    tables: tuple[OutputTable, ...]
    raw: Mapping[tuple[str, str], tuple[Figures, int]] = field(default_factory=dict)
    agreed: Mapping[tuple[str, str], tuple[Figures, int]] = field(default_factory=dict)
    remarks: tuple[Text, ...] = ()


def finish_tables(
    tables: Sequence[OutputTable],
    figures: Sequence[Noisy],
    interval: Fraction,
    *,
    with_ends: bool = True,
) -> Finished:
    """Adjust, round and hide the figures of all queries as their ``finish`` says.

    ``with_ends``: publish intervals of counts and sums that are moved or hidden; without them
    half-widths are those before, like in version 0.2.
    """
    if all(noisy.query.finish == AS_RELEASED for noisy in figures):
        return Finished(tuple(tables))
    columns = {(table.name, column.name): column for table in tables for column in table.columns}
    changed: dict[tuple[str, str], OutputColumn] = {}
    groups: dict[object, list[Noisy]] = {}
    for noisy in figures:
        groups.setdefault(identify_group(noisy.query), []).append(noisy)
    groups.pop(None, None)
    estimates: dict[tuple[str, str], Estimate] = {}
    remarks = [
        remark
        for members in groups.values()
        for remark in _adjust(members, columns, interval, changed, estimates)
    ]
    union = columns | changed  # conditions look at all figures before any is hidden or rounded
    final: dict[tuple[str, str], OutputColumn] = {}
    raw: dict[tuple[str, str], tuple[Figures, int]] = {}
    agreed: dict[tuple[str, str], tuple[Figures, int]] = {}
    new_columns: dict[tuple[str, str], list[str]] = {}
    for noisy in figures:
        finish, table = noisy.query.finish, noisy.query.table
        if finish == AS_RELEASED:
            continue
        for name, members in group_figure_columns(noisy.query, tables).items():
            visible = _find_visible(finish, table, name, union)
            shown, ends = union, list[OutputColumn]()
            if with_ends and noisy.noise and not noisy.screened:
                estimate = estimates.get((table, name)) or _take_estimate(
                    noisy, columns[table, name]
                )
                ends = _build_intervals(noisy, estimate, union, interval)
                shown = union | {(table, column.name): column for column in ends}
                ends = [column for column in ends if (table, column.name) not in columns]
            added = [column.name for column in ends]
            for column in _build_columns(finish, table, name, [*members, *added], shown, visible):
                final[table, column.name] = column
            new_columns[table, name + FLAG] = added
            before = columns.get((table, name))
            is_changing = finish.is_adjusted or finish.round_to is not None
            if before is not None and before.kind != "text" and is_changing:
                raw[table, name] = _hide_values(before.values, visible), before.decimals
            if with_ends and (table, name) in estimates:
                estimate = estimates[table, name]
                agreed[table, name] = _hide_values(estimate.values, visible), estimate.places
    return Finished(
        tuple(
            replace(
                table,
                columns=tuple(
                    final.get((table.name, name), columns.get((table.name, name)))
                    for column in table.columns
                    for name in (column.name, *new_columns.get((table.name, column.name), ()))
                ),
            )
            for table in tables
        ),
        raw,
        agreed,
        tuple(remarks),
    )


def group_figure_columns(query: Query, tables: Sequence[OutputTable]) -> dict[str, list[str]]:
    """Group the columns of a query by its figures: several for several quantiles, else one."""
    table = next(table for table in tables if table.name == query.table)
    columns = [column for column in table.columns if column.query == query.name]
    figures = [column.figure for column in columns if column.aspect == FLAG]
    if len(figures) < 2:
        return {query.column_name if not figures else figures[0]: [c.name for c in columns]}
    return {
        figure: [column.name for column in columns if column.figure == figure] for figure in figures
    }


# --- agreement, 0 or more, whole ------------------------------------------------------------------


def identify_group(query: Query) -> object:
    """Identify the figures that are adjusted together; None where nothing is adjusted."""
    finish = query.finish
    if finish.consistent:
        return identify_rows(query)
    return query.name if finish.nonnegative or finish.integer else None


def _adjust(
    members: Sequence[Noisy],
    columns: Mapping[tuple[str, str], OutputColumn],
    interval: Fraction,
    changed: dict[tuple[str, str], OutputColumn],
    estimates: dict[tuple[str, str], Estimate],
) -> list[Text]:
    """Put the adjusted columns of a group into ``changed``, and remark on totals far apart.

    Figures that agree, before they are moved further, go into ``estimates``.
    """
    from dprelease.postprocess.finishing.agreement import (
        Wanted,
        make_agree,
        measure_disagreement,
        solve_least_squares,
    )

    queries = [noisy.query for noisy in members]
    places = [(query.table, query.column_name) for query in queries]
    before = [columns[place] for place in places]
    if not all(column.values for column in before):
        return []
    decimals, finish = max(column.decimals for column in before), queries[0].finish
    cells = [
        [
            value * 10 ** (decimals - column.decimals)
            for value in column.values
            if isinstance(value, int)
        ]
        for column in before
    ]
    group = collect_observed(members, [len(column.values) for column in before], cells, decimals)
    after = decimals + (AGREED_PLACES if len(members) > 1 else 0)
    if finish.integer:
        after = 0
    target = Wanted(decimals, after, finish.nonnegative)
    fit = solve_least_squares(group.tables, group.observed, group.sizes)
    results = make_agree(fit, target)
    for place, column, values in zip(places, before, results, strict=True):
        kind = "number" if after else "integer"
        changed[place] = replace(column, values=values, decimals=after, kind=kind)
    if len(members) > 1:
        laws = [*_iter_noise_after(fit, group.noises)]
        before_moves = make_agree(
            fit, Wanted(decimals, decimals + ESTIMATED_PLACES, nonnegative=False)
        )
        for noisy, place, values, noise in zip(members, places, before_moves, laws, strict=True):
            estimates[place] = _take_estimate(noisy, columns[place])._replace(
                values=values, places=decimals + ESTIMATED_PLACES, noise=noise or noisy.noise
            )
        for (table, name), noise in zip(places, laws, strict=True):
            minimum = ceil(compute_combined_halfwidth(noise or (), 1 - interval) * 10**after)
            half = _round_up_halfwidth(columns[table, name + HALF], after)
            sizes = [max(size, minimum) for size in half.values if isinstance(size, int)]
            changed[table, half.name] = replace(half, values=sizes)
    if measure_disagreement(fit, decimals) > TOO_FAR:
        names = join_names(list(dict.fromkeys(query.table for query in queries)))
        return [sentence("finish.agree.totals_far_apart", names=names)]
    return []


def _iter_noise_after(
    fit: Fit, noises: Sequence[tuple[Part, ...]]
) -> Iterator[tuple[Part, ...] | None]:
    """Give the noise of figures after least squares, None where very many draws are added up."""
    from dprelease.postprocess.finishing.agreement import list_entering

    laws = list(dict.fromkeys(noises))
    numbers = [laws.index(noise) for noise in noises]
    # Of very many draws, the figures before and after are both nearly Gaussian, and the half-width
    # of the one that varies more holds for the other.
    for entered in list_entering(fit):
        draws: Counter[tuple[int, float]] = Counter()
        for place, kinds in (entered or {}).items():
            for factor, times in kinds.items():
                draws[numbers[place], factor] += times
        parts = combine_parts(
            part.multiply(Fraction(factor), times)
            for (law, factor), times in draws.items()
            for part in laws[law]
        )
        yield None if entered is None else parts


def _take_estimate(noisy: Noisy, column: OutputColumn) -> Estimate:
    """Take the figures of a column as they are for those that intervals are about."""
    query = noisy.query
    unit = get_statistic(query.statistic).define_release(query).unit[0]
    return Estimate(
        [value if isinstance(value, int) else None for value in column.values],
        column.decimals,
        noisy.noise,
        find_least(query, noisy.threshold),
        count_decimals(unit),
    )


def _build_intervals(
    noisy: Noisy,
    estimate: Estimate,
    columns: Mapping[tuple[str, str], OutputColumn],
    interval: Fraction,
) -> list[OutputColumn]:
    """Build the half-width and the ends of figures that are moved or hidden, if they have a law."""
    query = noisy.query
    table, name, finish = query.table, query.column_name, query.finish
    limits = _find_limits(noisy, columns)
    changes = finish.is_adjusted or limits is not None
    if not changes:
        return []
    figure, half = columns[table, name], columns[table, name + HALF]
    ends = compute_ends(estimate, _to_integers(figure.values), figure.decimals, limits, interval)
    places = max(figure.decimals, estimate.own_places)
    up, of_ends = 10 ** (places - figure.decimals), 10 ** (places - estimate.own_places)
    halves = [
        None
        if value is None or low is None or high is None
        else max(value * up - low * of_ends, high * of_ends - value * up)
        for value, low, high in zip(_to_integers(figure.values), *ends, strict=True)
    ]
    kind = "number" if places else "integer"
    return [
        replace(half, values=halves, decimals=places, kind=kind),
        *end_columns(name, query.name, estimate.own_places, interval, ends),
    ]


def allow_for_hiding(noisy: Noisy, queries: Sequence[Query], interval: Fraction) -> bool | None:
    """Tell if intervals hold among the shown figures of a query that has a condition.

    ``queries`` are all of its table. None if the figure does not decide itself if it is shown.
    """
    # Imported here for start-up: the parser is large.
    from dprelease.postprocess.finishing.conditions import find_limits, read

    query, finish = noisy.query, noisy.query.finish
    least, known = find_least(query, noisy.threshold), bool(noisy.noise) and not noisy.screened
    if finish.publish_if is None:
        return known and least is not None
    names = {
        mate.column_name + suffix
        for mate in queries
        for suffix in get_statistic(mate.statistic).list_suffixes(mate)
    }
    node = read(finish.publish_if.text, sorted({*names, "value", "noise_moe", "count"}))
    halves = {"noise_moe", query.column_name + HALF}
    own = {"value", query.column_name}
    if COUNT not in get_statistic(query.statistic).list_suffixes(query):
        own.add("count")
    if (own | halves).isdisjoint(node.list_columns()):
        return None
    if not known or (noisy.threshold is not None and not halves.isdisjoint(node.list_columns())):
        return False
    size = compute_combined_halfwidth(noisy.noise, 1 - interval)
    limits = find_limits(node, own, dict.fromkeys(halves, size), size, AGREED_PLACES)
    return limits is not None and (least is not None or limits.lower is not None)


def _find_limits(noisy: Noisy, columns: Mapping[tuple[str, str], OutputColumn]) -> Limits | None:
    """Find from when on a figure is shown, if it decides that itself."""
    finish, table, name = noisy.query.finish, noisy.query.table, noisy.query.column_name
    at_least = None if noisy.threshold is None else Fraction(noisy.threshold)
    if finish.hide_below is not None:
        at_least = max(at_least or finish.hide_below, finish.hide_below)
    if finish.publish_if is None:
        return None if at_least is None else Limits(at_least)
    # Imported here for start-up: the parser is large.
    from dprelease.postprocess.finishing.conditions import find_limits

    node, own = _read_condition(finish, table, name, columns)
    half, halves = columns[table, name + HALF], {"noise_moe", name + HALF}
    sizes = {value for value in half.values if isinstance(value, int)} or {0}
    limits = None
    if len(sizes) == 1 or halves.isdisjoint(node.list_columns()):
        size = Fraction(max(sizes), 10**half.decimals)
        figures = {alias for alias, column in own.items() if column == name} | {name}
        places = columns[table, name].decimals
        limits = find_limits(node, figures, dict.fromkeys(halves, size), size, places)
    if at_least is None:
        return limits
    return Limits(at_least if limits is None else max(limits.upper, at_least))


class Origin(NamedTuple):
    """Where an array comes from: a step, or the figures of a query.

    ``axes`` are those of the groups of either, None where it is added up over one.
    """

    step: str
    query: str
    axes: tuple[int | None, ...]


class Observed(NamedTuple):
    """A group of tables that are adjusted together, and what is known of them.

    ``sizes`` are the numbers of labels of the axes; each array in ``observed`` has its noise in
    ``noises`` and its origin in ``origins``.
    """

    tables: list[tuple[int, ...]]
    sizes: list[int]
    observed: list[Counts]
    noises: list[tuple[Part, ...]]
    origins: list[Origin]


def collect_observed(
    members: Sequence[Noisy],
    lengths: Sequence[int],
    figures: Sequence[Sequence[int]] = (),
    decimals: int = 0,
) -> Observed:
    """Collect what is known of the tables of a group, which have so many cells each.

    ``figures`` are in 10^-decimals; there are none before the release. Returns the pieces of tables
    that were planned together, and other tables as they are, without those that a finer one, read
    from the same step, repeats. A single table has one axis.
    """
    from dprelease.postprocess.finishing.agreement import Counts

    cells = figures or [()] * len(members)
    if len(members) == 1:
        (noisy,) = members
        counts = Counts((0,), cells[0], noisy.variance or Fraction(1))
        origin = Origin("", noisy.query.name, (0,))
        return Observed([(0,)], [lengths[0]], [counts], [noisy.noise], [origin])
    queries = [noisy.query for noisy in members]
    numbers, tables = number_axes(queries)
    sizes = [len(labels) for _, labels in numbers]
    if [prod(sizes[i] for i in table) for table in tables] != list(lengths):
        raise ValueError("a table that agrees with others has a row for every cell")
    axis_of = {
        group.complete(): axis
        for query, table in zip(queries, tables, strict=True)
        for group, axis in zip(query.groups, table, strict=True)
    }
    group = Observed(tables, sizes, [], [], [])
    pieces: dict[str, None] = {}
    for at, (noisy, table) in enumerate(zip(members, tables, strict=True)):
        read = [_count_piece(piece, noisy, axis_of, sizes, decimals) for piece in noisy.pieces]
        if read and None not in read:
            for piece, counted in zip(noisy.pieces, read, strict=True):
                if piece.name not in pieces and counted is not None:
                    pieces[piece.name] = None
                    group.observed.append(counted[0])
                    group.noises.append(counted[1])
                    axes = tuple(axis_of.get(key) for key in piece.groups)
                    group.origins.append(Origin(piece.name, "", axes))
            continue
        repeated = any(
            noisy.step == other.step and (set(table) < set(finer) or (table == finer and i < at))
            for i, (other, finer) in enumerate(zip(members, tables, strict=True))
        )
        if not repeated and noisy.variance is not None:
            group.observed.append(Counts(table, cells[at], noisy.variance))
            group.noises.append(noisy.noise)
            group.origins.append(Origin("", noisy.query.name, table))
    return group


def _count_piece(
    piece: Piece, noisy: Noisy, axis_of: Mapping[Group, int], sizes: Sequence[int], decimals: int
) -> tuple[Counts, tuple[Part, ...]] | None:
    """Add a piece up over its groups without a known axis.

    Return None for a piece that can't be added up, or has an axis twice.
    """
    import numpy as np

    from dprelease.postprocess.finishing.agreement import Counts

    lengths = [len(group.labels) for group in piece.groups]
    extra_places = tuple(place for place, group in enumerate(piece.groups) if group not in axis_of)
    axes = [axis_of[group] for group in piece.groups if group in axis_of]
    if len(set(axes)) < len(axes) or any(piece.centred[place] for place in extra_places):
        return None
    added = prod(lengths[place] for place in extra_places)
    cells: list[int] = []
    if noisy.integers:
        integers = np.array(noisy.integers[piece.name], dtype=object).reshape(lengths)
        cells = np.reshape(integers.sum(axis=extra_places) * 10**decimals, -1).tolist()
    hidden, centred = set(), set()
    for place, group in enumerate(piece.groups):
        if place not in extra_places:
            axis = axis_of[group]
            hidden |= {axis} if lengths[place] > sizes[axis] else set()
            centred |= {axis} if piece.centred[place] else set()
    noise = (Part(piece.noise, Fraction(1), added),)
    spread = piece.variance * added
    counts = Counts(tuple(axes), cells, spread, frozenset(hidden), frozenset(centred))
    return counts, noise


# --- what is shown --------------------------------------------------------------------------------


def _find_visible(
    finish: Finish, table: str, name: str, columns: Mapping[tuple[str, str], OutputColumn]
) -> list[bool] | None:
    """Find the rows that show a figure; None for all."""
    if finish.hide_below is not None:
        column = columns[table, name]
        threshold = finish.hide_below * 10**column.decimals
        return [isinstance(value, int) and value >= threshold for value in column.values]
    if finish.publish_if is None:
        return None
    # Imported here for start-up: the parser is large.
    from dprelease.postprocess.finishing.conditions import evaluate_rows

    node, own = _read_condition(finish, table, name, columns)
    read_columns = [columns[table, own.get(other, other)] for other in node.list_columns()]
    return evaluate_rows(node, [(column.values, column.decimals) for column in read_columns])


def _read_condition(
    finish: Finish, table: str, name: str, columns: Mapping[tuple[str, str], OutputColumn]
) -> tuple[Node, dict[str, str]]:
    """Parse the condition of a figure, and name the columns that ``value`` and others stand for."""
    # Imported here for start-up: the parser is large.
    from dprelease.postprocess.finishing.conditions import read

    if finish.publish_if is None:
        raise ValueError("the figure has no condition")
    own = {"value": name, "noise_moe": name + HALF, "count": name + COUNT}
    beside = columns.get((table, name + COUNT))
    if beside is None or beside.query != columns[table, name].query:  # or a query of that name
        own["count"] = name
    names = {other for at, other in columns if at == table} | {*own}
    return read(finish.publish_if.text, sorted(names)), own


def _hide_values(values: Figures, visible: Sequence[bool] | None) -> Figures:
    if visible is None:
        return values
    return [value if shows else None for value, shows in zip(values, visible, strict=True)]


def _build_columns(  # noqa: PLR0913, PLR0917 - a figure with all that decides it
    finish: Finish,
    table: str,
    name: str,
    members: Sequence[str],
    all_columns: Mapping[tuple[str, str], OutputColumn],
    visible: Sequence[bool] | None,
) -> list[OutputColumn]:
    """Build the columns of a figure as they are published."""
    columns = {member: all_columns[table, member] for member in members}
    if name in columns and columns[name].kind != "text":
        columns |= _estimate(finish, name, columns)
    if visible is not None:
        flag = columns[name + FLAG]
        columns = {
            member: replace(column, values=_hide_values(column.values, visible))
            for member, column in columns.items()
        }
        deed_texts = [
            value if shows else SUPPRESSED
            for value, shows in zip(flag.values, visible, strict=True)
        ]
        described = sentence(
            "flags.suppressed", description=flag.description, suppressed=SUPPRESSED
        )
        columns[flag.name] = replace(flag, values=deed_texts, description=described)
    return list(columns.values())


def _estimate(
    finish: Finish, name: str, columns: Mapping[str, OutputColumn]
) -> dict[str, OutputColumn]:
    """Round a figure for display, widen its half-width by that, and set its flag."""
    value, half, flag = columns[name], columns.get(name + HALF), columns.get(name + FLAG)
    if half is not None:
        half = _round_up_halfwidth(half, value.decimals)
    if finish.round_to is not None:
        value, half = _round_columns(value, half, finish.round_to)
    described = value.description
    if deeds := name_deeds(finish):
        remark, *others = deeds
        for other in others:
            remark = sentence("words.comma", text=remark, next=other)
        described = sentence("words.remark", text=described, remark=remark)
    new_columns = {name: replace(value, description=described)}
    if half is None:
        return new_columns
    new_columns[half.name] = half
    if finish.round_to is not None:
        new_columns |= _round_ends(name, columns, finish.round_to)
    if flag is not None and any(size is not None for size in half.values):
        share = finish.flag_unreliable_at
        flags = flag_values(_to_integers(value.values), _to_integers(half.values), share)
        new_columns[flag.name] = replace(flag, values=flags, description=flag_meaning(name, share))
    return new_columns


def _to_integers(values: Figures) -> list[int | None]:
    return [value if isinstance(value, int) else None for value in values]


def name_deeds(finish: Finish) -> list[Text]:
    """Name the changes that are made to figures, each in a word or two."""
    deed_words = {
        sentence("finish.words.agree"): finish.consistent,
        sentence("finish.words.nonnegative"): finish.nonnegative,
        sentence("finish.words.integer"): finish.integer,
    }
    words: list[Text] = [word for word, is_done in deed_words.items() if is_done]
    if finish.round_to is not None:
        words.append(sentence("finish.words.round", multiple=number(finish.round_to, 12)))
    return words


def _round_up_halfwidth(half: OutputColumn, places: int) -> OutputColumn:
    """Give a half-width so many decimals, rounded up where it had more."""
    up, down = 10 ** max(places - half.decimals, 0), 10 ** max(half.decimals - places, 0)
    if up == down:
        return half
    values = [-(-size * up // down) if isinstance(size, int) else None for size in half.values]
    kind = "number" if places else "integer"
    return replace(half, values=values, decimals=places, kind=kind)


def _round_ends(
    name: str, columns: Mapping[str, OutputColumn], step: Fraction
) -> dict[str, OutputColumn]:
    """Round the ends of intervals outward to multiples of ``step``."""
    end_columns = {}
    for end, sign in ((LOW, 1), (HIGH, -1)):
        if (column := columns.get(name + end)) is None:
            continue
        after, grain = count_decimals(step), step * 10**column.decimals
        multiples = (
            None if value is None else sign * (sign * value // grain)
            for value in _to_integers(column.values)
        )
        size, kind = int(step * 10**after), "number" if after else "integer"
        values = [None if number is None else int(number) * size for number in multiples]
        end_columns[column.name] = replace(column, values=values, decimals=after, kind=kind)
    return end_columns


def _round_columns(
    value: OutputColumn, half: OutputColumn | None, step: Fraction
) -> tuple[OutputColumn, OutputColumn | None]:
    """Round figures to multiples of ``step``, and widen half-widths by half of it."""
    after, before = count_decimals(step), value.decimals
    # in 10^-before a step is top/bottom, in 10^-after it is size
    grain, size = step * 10**before, int(step * 10**after)
    top, bottom = grain.numerator, grain.denominator
    values = [
        (2 * number * bottom + top) // (2 * top) * size if isinstance(number, int) else None
        for number in value.values
    ]
    kind = "number" if after else "integer"
    rounded_column = replace(value, values=values, decimals=after, kind=kind)
    if half is None:
        return rounded_column, None
    halves = [
        -(-(2 * number * 10**after + size * 10**before) // (2 * 10**before))
        if isinstance(number, int)
        else None
        for number in half.values
    ]
    return rounded_column, replace(half, values=halves, decimals=after, kind=kind)
