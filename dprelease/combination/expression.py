"""Expressions over published figures: ``visits[region="north"] - visits[region="south"]``.

    expression  term, or terms with + or - between
    term        factor, or factors with * or / between; two figures are never multiplied
    factor      number, - factor, (expression), figures, sum(figures), mean(figures)
    figures     column or table.column, then [group="label", ...] or nothing

``sum`` adds up all cells that are left, ``mean`` takes their mean: of means and proportions the one
of all records together, by the numbers behind them. Elsewhere exactly one cell must be left.

No sum may add up cells that count the same records. Of two cells with weights of one sign that are
figures of the same thing, no record may be in both: a total plus one of its parts counts that part
twice. A total less a part is what is left of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple
from unicodedata import normalize

from msgspec import Struct

from dprelease.combination.combined_figures import Figures, Pooled, Published, Weighted
from dprelease.combination.combined_intervals import (
    Interval,
    MeanTerm,
    add_weighted,
    bound_mean_errors,
    compute_mean,
    compute_quotient_interval,
    compute_value,
    mean_interval,
    sum_interval,
)
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import OutputColumn
from dprelease.statistics.statistic_registry import get_statistic

MOST_CHARACTERS = 10_000
MOST_NESTED = 50
MOST_DIGITS = 40
_LARGEST = 10**30
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<name>[^\W\d][\w]*)|(?P<sign>[-+*/()\[\],=.]))"""
)


def build_refusal(code: str, problem: str, hint: str = "") -> Failure:
    """Build the failure of a combination."""
    return Failure(ExitCode.SPEC, Complaint(code, problem, hint))


class Sum(Struct, frozen=True):
    """A number, a weighted sum of linear figures, and one of means."""

    number: Fraction = Fraction(0)
    weighted: Weighted = ()
    means: tuple[tuple[Pooled, Fraction], ...] = ()
    divisor: Weighted = ()

    @property
    def cells(self) -> int:
        """The number of cells in the expression."""
        whole = (*self.weighted, *self.divisor)
        return sum(len(weights) for _, weights in whole) + sum(
            len(pooled.places) for pooled, _ in self.means
        )


def combine(published: Published, text: str, alpha: Fraction) -> tuple[Sum, Interval]:
    """Evaluate an expression over published figures.

    Args:
        published: The release.
        text: The expression; the module states its grammar.
        alpha: Chance that the interval misses, between 0 and 1.

    Returns:
        The parsed sum, and its value with the noise interval.

    Raises:
        Failure: Exit code 2, if the expression can't be evaluated or would mislead.
    """
    total = _Reader(published, text).read_whole()
    weighted = [pair for pair in total.weighted if pair[1]]
    if not weighted and not total.means:
        problem = f'"{text}" has no figure left'
        raise build_refusal("E840", problem, "name at least one figure with a weight other than 0")
    of_cells = [w for _, weights in (*total.weighted, *total.divisor) for w in weights.values()]
    for weight in (*of_cells, *(weight for _, weight in total.means), total.number):
        if weight and not 1 <= abs(weight) * _LARGEST <= _LARGEST**2:
            problem = f"a number in the expression is beyond {_LARGEST:.0e}, or too close to 0"
            raise build_refusal("E840", problem, "write smaller or larger numbers")
    limit = published.groups_per_unit
    _check_overlap(weighted, total.means, limit)
    _check_overlap(total.divisor, (), limit)
    try:
        interval = _find_published_interval(published, total, alpha) or _compute_interval(
            published, total, weighted, alpha
        )
        return total, interval.move_to(_compute_published_value(total, interval.value))
    except ValueError:
        hint = "combine fewer cells, or cells of a smaller table"
        raise build_refusal(
            "E843", "too many released integers enter these figures", hint
        ) from None


def _find_published_interval(published: Published, total: Sum, alpha: Fraction) -> Interval | None:
    """Find the interval of a single cell in its table, times the expression's numbers."""
    cells = [(figures, *pair) for figures, weights in total.weighted for pair in weights.items()]
    cells += [
        (pooled.figures, at, weight) for pooled, weight in total.means for at in pooled.places
    ]
    if len(cells) != 1 or total.divisor or alpha != published.alpha:
        return None
    ((figures, place, weight),) = cells
    if figures.ends is None:
        return None
    value, *ends = (of[place] for of in (figures.restore_published().values, *figures.ends))
    if value is None or None in ends:
        return None
    low, high = sorted(weight * end for end in ends)
    return Interval(*(end + total.number for end in (weight * value, low, high)))


def _compute_interval(
    published: Published, total: Sum, weighted: Weighted, alpha: Fraction
) -> Interval:
    if total.divisor:
        quotient = compute_quotient_interval(published, weighted, total.divisor, alpha)
        if quotient is None:
            problem = "the divisor can't be distinguished from 0: its noise is as large"
            raise build_refusal(
                "E845", problem, "divide by a figure that is larger than its noise interval"
            )
        return quotient
    joint = _bound_together(published, total, weighted, alpha)
    if joint is not None:
        return _build_joint_interval(total, weighted, joint)
    # Bonferroni: each mean, and the linear part as a whole, gets an equal share of alpha.
    part = alpha / (len(total.means) + bool(weighted))
    start = sum_interval(published, weighted, part) if weighted else Interval(*[Fraction(0)] * 3)
    value, low, high = start
    for pooled, weight in total.means:
        interval = mean_interval(published, pooled.figures, pooled.places, part)
        if interval is None:
            name = pooled.figures.name
            problem = (
                f'the number behind "{name}" can\'t be told from 0, or a mean is at its bounds'
            )
            raise build_refusal("E845", problem)
        # A negative weight exchanges the ends.
        ends = sorted((weight * interval.low, weight * interval.high))
        value, low, high = value + weight * interval.value, low + ends[0], high + ends[1]
    return Interval(*(end + total.number for end in (value, low, high)))


def _bound_together(
    published: Published, total: Sum, weighted: Weighted, alpha: Fraction
) -> Fraction | None:
    """Bound the error of several figures of which some are means; None for a single one."""
    if len(total.means) + bool(weighted) < 2 or not total.means:
        return None
    means = [
        MeanTerm(published, pooled.figures, pooled.places, weight)
        for pooled, weight in total.means
        if weight
    ]
    return bound_mean_errors(means, alpha, *([(published, weighted)] if weighted else []))


def _build_joint_interval(total: Sum, weighted: Weighted, half: Fraction) -> Interval:
    """Build the interval around a sum with means, cut to what means alone can come to."""
    value = total.number + compute_value(weighted)
    least = most = total.number
    for pooled, weight in total.means:
        value += weight * (compute_mean(pooled.figures, pooled.places) or 0)
        if pooled.figures.share is not None:
            share = pooled.figures.share
            ends = sorted((weight * share.low, weight * share.high))
            least, most = least + ends[0], most + ends[1]
    low, high = value - half, value + half
    return (
        Interval(value, low, high)
        if weighted
        else Interval(value, max(low, least), min(high, most))
    )


def _compute_published_value(total: Sum, before: Fraction) -> Fraction:
    """Compute the value of the figures as published; ``before`` is the value without changes."""
    members = [figures for figures, _ in (*total.weighted, *total.divisor)]
    members += [pooled.figures for pooled, _ in total.means]
    if all(figures.published is None for figures in members):
        return before
    above, below = (
        compute_value([(figures.restore_published(), weights) for figures, weights in part])
        for part in (total.weighted, total.divisor)
    )
    if total.divisor:
        if not below:
            problem = "the divisor was published as 0"
            raise build_refusal(
                "E845", problem, "divide by a figure that is larger than its noise interval"
            )
        return above / below
    value = above + total.number
    for pooled, weight in total.means:
        mean = compute_mean(pooled.figures.restore_published(), pooled.places)
        if mean is None:
            problem = f'the number behind "{pooled.figures.name}" was published as 0 or less'
            raise build_refusal("E845", problem)
        value += weight * mean
    return value


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, published: Published, text: str) -> None:
        # Names and labels are published in NFC, in which texts are compared everywhere.
        self._published, self._text = published, normalize("NFC", text)
        self._place, self._depth = 0, 0
        names = {figures.name for figures in published.figures}
        names |= {f"{figures.table}.{figures.name}" for figures in published.figures}
        groups = {group for figures in published.figures for group in figures.groups}
        # The longest first: a name may begin like another one.
        self._names = sorted(names, key=len, reverse=True)
        self._groups = sorted(groups, key=len, reverse=True)

    def read_whole(self) -> Sum:
        """Read the whole expression."""
        if len(self._text) > MOST_CHARACTERS:
            raise self._build_unreadable_failure("it is too long")
        total = self._sum()
        if self._text[self._place :].strip():
            raise self._build_unreadable_failure("an operator is expected")
        return total

    def _sum(self) -> Sum:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._build_unreadable_failure("too many parentheses")
        total = self._read_product()
        while sign := self._sign("+-"):
            total = self._add(total, self._read_product(), Fraction(1 if sign == "+" else -1))
        self._depth -= 1
        return total

    def _read_product(self) -> Sum:
        total = self._read_factor()
        while sign := self._sign("*/"):
            other = self._read_factor()
            total = self._multiply(total, other) if sign == "*" else self._divide(total, other)
        return total

    def _read_factor(self) -> Sum:
        sign = 1
        while self._sign("-"):
            sign = -sign
        return (
            self._parse_unsigned()
            if sign > 0
            else self._scale(self._parse_unsigned(), Fraction(-1))
        )

    def _parse_unsigned(self) -> Sum:
        if self._sign("("):
            inner = self._sum()
            self._expect(")")
            return inner
        function = _FUNCTION.match(self._text, self._place)
        if function:  # also where a figure has the same name: none stands before a parenthesis
            self._place = function.end()
            name = self._find_known_name(self._names)
            if name is None:
                raise self._build_unknown_failure()
            figures, places = self._read_figures(name)
            self._expect(")")
            return self._read_joint_cells(function["name"], figures, places)
        name = self._find_known_name(self._names)
        if name is not None:
            return self._read_single_cell(*self._read_figures(name))
        token = _TOKEN.match(self._text, self._place)
        if token and token["number"]:
            if len(token["number"]) > MOST_DIGITS:
                raise self._build_unreadable_failure(f"a number has more than {MOST_DIGITS} digits")
            self._place = token.end()
            return Sum(Fraction(token["number"]))
        if token and token["name"]:
            raise self._build_unknown_failure()
        raise self._build_unreadable_failure("a number or the name of a column is expected")

    # --- operations ------------------------------------------------------------------------------

    def _scale(self, value: Sum, factor: Fraction) -> Sum:
        means = tuple((pooled, weight * factor) for pooled, weight in value.means if factor)
        scaled = add_weighted((), value.weighted, factor)
        return Sum(value.number * factor, scaled, means, value.divisor)

    def _add(self, left: Sum, right: Sum, factor: Fraction) -> Sum:
        if left.divisor or right.divisor:
            raise self._build_unreadable_failure(
                "a quotient of figures can only be multiplied by a number"
            )
        right = self._scale(right, factor)
        for figures, weights in right.weighted:
            for figures_sum, before in left.weighted:
                if figures_sum is figures and set(before) & set(weights):
                    raise _build_overlap_failure(figures, figures, "one stands twice")
        weighted = add_weighted(left.weighted, right.weighted, Fraction(1))
        return Sum(left.number + right.number, weighted, (*left.means, *right.means))

    def _multiply(self, left: Sum, right: Sum) -> Sum:
        if left.cells and right.cells:
            raise self._build_unreadable_failure("two figures can't be multiplied")
        number, rest = (right, left) if left.cells else (left, right)
        return self._scale(rest, number.number)

    def _divide(self, left: Sum, right: Sum) -> Sum:
        if not right.cells:
            if not right.number:
                raise self._build_unreadable_failure("it divides by 0")
            return self._scale(left, 1 / right.number)
        mixed = left.means or right.means or left.number or right.number
        if mixed or left.divisor or right.divisor or not left.cells:
            raise self._build_unreadable_failure(
                "only sums of figures that are not means divide each other"
            )
        return Sum(weighted=left.weighted, divisor=right.weighted)

    def _read_single_cell(self, figures: Figures, places: Sequence[int]) -> Sum:
        if len(places) != 1:
            problem = f'"{figures.name}" has {len(places)} such cells'
            hint = f"name all groups ({', '.join(figures.groups)}), or write sum(...)"
            raise build_refusal("E842", problem, hint)
        return self._read_joint_cells("sum", figures, places)

    def _read_joint_cells(self, how: str, figures: Figures, places: Sequence[int]) -> Sum:
        if any(figures.values[place] is None for place in places):
            problem = f'a cell of "{figures.name}" is empty'
            raise build_refusal("E844", problem)
        if figures.share is not None:
            if how == "sum" and len(places) > 1:
                problem = f'a sum of "{figures.name}" has no meaning'
                raise build_refusal(
                    "E843", problem, "write mean(...), the mean of all records together"
                )
            return Sum(means=((Pooled(figures, tuple(places)), Fraction(1)),))
        if figures.terms is None:
            why = (
                "report.json states no law of its noise, as it is not a fixed sum of released "
                "integers"
                if figures.query.threshold is None
                else "its keys were selected by their own noise"
            )
            problem = f'"{figures.name}" can\'t be combined: {why}'
            raise build_refusal("E843", problem)
        weight = Fraction(1, len(places)) if how == "mean" else Fraction(1)
        return Sum(weighted=((figures, dict.fromkeys(places, weight)),))

    # --- figures ---------------------------------------------------------------------------------

    def _read_figures(self, name: str) -> tuple[Figures, list[int]]:
        matches = [
            figures
            for figures in self._published.figures
            if name in {figures.name, f"{figures.table}.{figures.name}"}
        ]
        if len(matches) > 1:
            tables = ", ".join(f"{figures.table}.{figures.name}" for figures in matches)
            raise build_refusal("E842", f'several tables have "{name}"', f"write one of {tables}")
        (figures,) = matches
        wanted: dict[str, str] = {}
        if self._sign("["):
            while True:
                group = self._find_known_name(self._groups)
                if group not in figures.groups:
                    hint = f"its groups are: {', '.join(figures.groups) or 'none'}"
                    raise build_refusal("E842", f'"{name}" has no such group', hint)
                self._expect("=")
                wanted[group] = _find_key(figures, group, self._label())
                if not self._sign(","):
                    break
            self._expect("]")
        places = [
            place
            for place, row in enumerate(figures.rows)
            if all(
                group not in wanted or wanted[group] == normalize("NFC", key)
                for group, key in zip(figures.groups, row, strict=True)
            )
        ]
        if not figures.rows:
            problem = f'"{name}" has no cells: no key of its table reached the threshold'
            raise build_refusal("E842", problem, "combine figures of a table that has rows")
        if not places:
            raise build_refusal(
                "E842", f'"{name}" has no such cell', _build_labels_hint(figures, wanted)
            )
        return figures, places

    def _label(self) -> str:
        token = _TOKEN.match(self._text, self._place)
        if token is None or not (token["text"] or token["number"] or token["name"]):
            raise self._build_unreadable_failure('a label between " is expected')
        self._place = token.end()
        text = token["text"]
        if text is None:
            return token["number"] or token["name"] or ""
        return re.sub(r"\\(.)", r"\1", text[1:-1])

    # --- tokens ----------------------------------------------------------------------------------

    def _find_known_name(self, names: Sequence[str]) -> str | None:
        """Find the longest name that starts here; names may hold dots and hyphens."""
        start = (
            self._place + len(self._text[self._place :]) - len(self._text[self._place :].lstrip())
        )
        for name in names:
            end = start + len(name)
            if self._text.startswith(name, start) and not _WORD.match(self._text[end : end + 1]):
                self._place = end
                return name
        return None

    def _sign(self, signs: str) -> str:
        token = _TOKEN.match(self._text, self._place)
        if token is None or not token["sign"] or token["sign"] not in signs:
            return ""
        self._place = token.end()
        return token["sign"]

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise self._build_unreadable_failure(f'"{sign}" is expected')

    def _build_unreadable_failure(self, why: str) -> Failure:
        problem = f"the expression can't be read at character {self._place + 1}: {why}"
        hint = 'write, for example, visits[region="north"] - visits[region="south"], or sum(visits)'
        return build_refusal("E840", problem, hint)

    def _build_unknown_failure(self) -> Failure:
        names = [n for n in self._names if "." not in n]
        hint = f"the figures are: {', '.join(sorted(names)[:20])}"
        others = self._published.other_columns
        name = self._find_known_name(sorted(others, key=len, reverse=True))
        if name is not None:
            return _build_other_failure(name, others[name], hint)
        problem = f"no published figure has the name at character {self._place + 1}"
        return build_refusal("E842", problem, hint)


def _build_other_failure(name: str, column: OutputColumn, hint: str) -> Failure:
    """Refuse a published column that is no figure."""
    why = "it has no numbers with noise of their own"
    if column.aspect:
        why = "it only says how exact a figure is"
        hint = f'combine "{column.figure}": the answer has a noise interval of its own'
    elif column.suffix == "_mean":
        why = "report.json states no law of the noise of a mean beside another statistic"
        hint = (
            'give the next release a query of its own with statistic = "mean", of the same column, '
            "groups and condition: where it can, the plan reads both from the same noisy sums"
        )
    return build_refusal("E843", f'"{name}" can\'t be combined: {why}', hint)


_FUNCTION = re.compile(r"\s*(?P<name>sum|mean)\s*\(")
_WORD = re.compile(r"\w")


def _find_key(figures: Figures, group: str, text: str) -> str:
    """Find the key that a text is, or else the one that readers see as this text.

    They see it in the language of the report, or in that of ``show``.
    """
    place = figures.groups.index(group)
    labels, report_labels = figures.labels[place], figures.report_labels[place]
    if any(text == normalize("NFC", key) for key in labels):
        return text
    for names in (report_labels, labels):
        shown = [key for key, label in names.items() if text == normalize("NFC", label)]
        if len(shown) == 1:
            return normalize("NFC", shown[0])
    return text


def _build_labels_hint(figures: Figures, wanted: Mapping[str, str]) -> str:
    """Name the keys of the first group of which one was not found, as files write them."""
    for group, labels in zip(figures.groups, figures.labels, strict=True):
        if wanted.get(group, next(iter(labels))) not in labels:
            examples = ", ".join(f'"{key}"' for key in list(labels)[:10])
            return f"write labels as file or report do; those of {group} begin: {examples}"
    return "the table has no row with all these labels"


# --- cells that count the same records ----------------------------------------------------------


class _Cells(NamedTuple):
    """Cells of one column, all with weights of one sign."""

    figures: Figures
    places: frozenset[int]
    positive: bool


def _check_overlap(
    weighted: Weighted, means: Iterable[tuple[Pooled, Fraction]], groups_per_unit: int | None
) -> None:
    """Refuse cells that count the same records. Raises Failure (exit 2)."""
    summed: list[_Cells] = []
    for figures, weights in weighted:
        for positive in (True, False):
            places = frozenset(p for p, weight in weights.items() if (weight > 0) is positive)
            if places:
                summed.append(_Cells(figures, places, positive))
            statistic = get_statistic(figures.query.statistic)
            if len(places) > 1 and statistic.is_overlapping(groups_per_unit):
                raise _build_overlap_failure(
                    figures, figures, "a record in two cells counts in both"
                )
    averaged = [
        _Cells(pooled.figures, frozenset(pooled.places), weight > 0) for pooled, weight in means
    ]
    for group in (summed, averaged):
        for left, right in combinations(group, 2):
            if left.positive is right.positive and _share_records(left, right):
                why = "the cells share records"
                raise _build_overlap_failure(left.figures, right.figures, why)


def _build_overlap_failure(left: Figures, right: Figures, why: str) -> Failure:
    """Refuse cells that overlap."""
    names = f'"{left.table}.{left.name}"'
    if right is not left:
        names += f' and "{right.table}.{right.name}"'
    problem = f"cells of {names} overlap: {why}"
    return build_refusal("E841", problem)


def _share_records(left: _Cells, right: _Cells) -> bool:
    if _identify_subject(left.figures) != _identify_subject(right.figures):
        return False
    # Records of two conditions are not compared: a report can't tell what they share.
    conditions = {left.figures.query.where, right.figures.query.where}
    if len(conditions) > 1 and None not in conditions:
        return False
    # Only a group with the same labels in both can tell cells apart.
    rows, other_rows = left.figures.rows, right.figures.rows
    common = [
        (a, b)
        for a, group in enumerate(left.figures.groups)
        for b, other_group in enumerate(right.figures.groups)
        if group == other_group and {row[a] for row in rows} == {row[b] for row in other_rows}
    ]
    seen = {tuple(rows[place][a] for a, _ in common) for place in left.places}
    return any(tuple(other_rows[place][b] for _, b in common) in seen for place in right.places)


def _identify_subject(figures: Figures) -> Sequence[object]:
    """Identify what is counted or summed: a count and the number behind a mean count alike."""
    query = figures.query
    counts = bool(get_statistic(query.statistic).counts) or figures.name != query.name
    counted = query.name if get_statistic(query.statistic).overlaps else "records"
    return (counted,) if counts else (query.statistic, query.column)
