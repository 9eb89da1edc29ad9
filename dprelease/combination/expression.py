"""Expressions over published figures: ``visits[region="north"] - visits[region="south"]``.

    expression  term, or terms with + or - between
    term        factor, or factors with * or / between; two figures are never multiplied
    factor      number, - factor, (expression), figures, sum(figures), mean(figures)
    figures     column or table.column, then [group="label", ...] or nothing

``sum`` adds up all cells that are left, ``mean`` takes their mean: of means and proportions the one
of all records together, by the numbers behind them. Elsewhere exactly one cell must be left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from unicodedata import normalize

from msgspec import Struct

from dprelease.combination.combined_figures import Figures, Pooled, Published, Weighted
from dprelease.combination.combined_intervals import (
    Interval,
    joined,
    mean_interval,
    mean_of,
    quotient_interval,
    sum_interval,
    value_of,
)
from dprelease.combination.overlap import check_overlap, overlapping
from dprelease.errors import Complaint, ExitCode, Failure

MOST_CHARACTERS = 10_000
MOST_NESTED = 50
MOST_DIGITS = 40
_LARGEST = 10**30
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<name>[^\W\d][\w]*)|(?P<sign>[-+*/()\[\],=.]))"""
)


def refusal(code: str, what: str, hint: str) -> Failure:
    """Refuse to combine."""
    return Failure(ExitCode.SPEC, Complaint(code, what, hint))


class Sum(Struct, frozen=True):
    """A number, a weighted sum of linear figures, and one of means."""

    number: Fraction = Fraction(0)
    weighted: Weighted = ()
    means: tuple[tuple[Pooled, Fraction], ...] = ()
    divisor: Weighted = ()

    @property
    def cells(self) -> int:
        """How many cells are in it."""
        whole = (*self.weighted, *self.divisor)
        return sum(len(weights) for _, weights in whole) + sum(
            len(pooled.places) for pooled, _ in self.means
        )


def combine(published: Published, text: str, alpha: Fraction) -> tuple[Sum, Interval]:
    """Evaluate an expression. Raises Failure where it can't be, or would mislead."""
    total = _Reader(published, text).whole()
    weighted = [pair for pair in total.weighted if pair[1]]
    if not weighted and not total.means:
        what = f'"{text}" leaves no figure'
        raise refusal("E840", what, "name at least one figure, and not with a weight of 0")
    _check_weights(total)
    check_overlap(weighted, total.means)
    check_overlap(total.divisor, ())
    try:
        interval = _interval(published, total, weighted, alpha)
        return total, interval.around(_published_value(total, interval.value))
    except ValueError:
        hint = "combine fewer cells, or cells of a smaller table"
        raise refusal("E843", "too many released integers enter these figures", hint) from None


def _check_weights(total: Sum) -> None:
    of_cells = [w for _, weights in (*total.weighted, *total.divisor) for w in weights.values()]
    for weight in (*of_cells, *(weight for _, weight in total.means), total.number):
        if weight and not 1 <= abs(weight) * _LARGEST <= _LARGEST**2:
            what = f"a number in the expression is beyond {_LARGEST:.0e}, or as near to 0"
            raise refusal("E840", what, "write smaller or larger numbers")


def _interval(published: Published, total: Sum, weighted: Weighted, alpha: Fraction) -> Interval:
    if total.divisor:
        quotient = quotient_interval(published, weighted, total.divisor, alpha)
        if quotient is None:
            what = "what is divided by can't be told from 0: its noise is as large"
            raise refusal("E845", what, "divide by a figure that is larger than its noise interval")
        return quotient
    part = alpha / (len(total.means) + bool(weighted))
    start = sum_interval(published, weighted, part) if weighted else Interval(*[Fraction(0)] * 3)
    value, low, high = start
    for pooled, weight in total.means:
        interval = mean_interval(published, pooled.figures, pooled.places, part)
        if interval is None:
            name = pooled.figures.name
            what = f'the number behind "{name}" can\'t be told from 0, or a mean is at its bounds'
            raise refusal("E845", what, "leave the cells with few records out")
        ends = sorted((weight * interval.low, weight * interval.high))
        value, low, high = value + weight * interval.value, low + ends[0], high + ends[1]
    return Interval(*(end + total.number for end in (value, low, high)))


def _published_value(total: Sum, before: Fraction) -> Fraction:
    """The value of the figures as they were published; ``before`` is that before changes."""
    members = [figures for figures, _ in (*total.weighted, *total.divisor)]
    members += [pooled.figures for pooled, _ in total.means]
    if all(figures.published is None for figures in members):
        return before
    above, below = (
        value_of([(figures.as_published(), weights) for figures, weights in part])
        for part in (total.weighted, total.divisor)
    )
    if total.divisor:
        if not below:
            what = "what is divided by was published as 0"
            raise refusal("E845", what, "divide by a figure that is larger than its noise interval")
        return above / below
    value = above + total.number
    for pooled, weight in total.means:
        mean = mean_of(pooled.figures.as_published(), pooled.places)
        if mean is None:
            what = f'the number behind "{pooled.figures.name}" was published as 0 or less'
            raise refusal("E845", what, "leave the cells with few records out")
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
        self._names = sorted(names, key=len, reverse=True)
        self._groups = sorted(groups, key=len, reverse=True)

    def whole(self) -> Sum:
        """Read all of it."""
        if len(self._text) > MOST_CHARACTERS:
            raise self._unreadable("it is too long")
        total = self._sum()
        if self._text[self._place :].strip():
            raise self._unreadable("an operator is expected")
        return total

    def _sum(self) -> Sum:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._unreadable("too many parentheses")
        total = self._product()
        while sign := self._sign("+-"):
            total = self._added(total, self._product(), Fraction(1 if sign == "+" else -1))
        self._depth -= 1
        return total

    def _product(self) -> Sum:
        total = self._factor()
        while sign := self._sign("*/"):
            other = self._factor()
            total = self._times(total, other) if sign == "*" else self._divided(total, other)
        return total

    def _factor(self) -> Sum:
        sign = 1
        while self._sign("-"):
            sign = -sign
        return self._unsigned() if sign > 0 else self._scaled(self._unsigned(), Fraction(-1))

    def _unsigned(self) -> Sum:
        if self._sign("("):
            inner = self._sum()
            self._expect(")")
            return inner
        function = _FUNCTION.match(self._text, self._place)
        if function:  # also where a figure has the same name: none stands before a parenthesis
            self._place = function.end()
            name = self._known(self._names)
            if name is None:
                raise self._unknown()
            figures, places = self._figures(name)
            self._expect(")")
            return self._together(function["name"], figures, places)
        name = self._known(self._names)
        if name is not None:
            return self._alone(*self._figures(name))
        token = _TOKEN.match(self._text, self._place)
        if token and token["number"]:
            if len(token["number"]) > MOST_DIGITS:
                raise self._unreadable(f"a number has more than {MOST_DIGITS} digits")
            self._place = token.end()
            return Sum(Fraction(token["number"]))
        if token and token["name"]:
            raise self._unknown()
        raise self._unreadable("a number or the name of a column is expected")

    # --- operations ------------------------------------------------------------------------------

    def _scaled(self, value: Sum, factor: Fraction) -> Sum:
        means = tuple((pooled, weight * factor) for pooled, weight in value.means if factor)
        scaled = joined((), value.weighted, factor)
        return Sum(value.number * factor, scaled, means, value.divisor)

    def _added(self, one: Sum, other: Sum, factor: Fraction) -> Sum:
        if one.divisor or other.divisor:
            raise self._unreadable("a quotient of figures stands alone, but for a factor")
        other = self._scaled(other, factor)
        for figures, weights in other.weighted:
            for held, before in one.weighted:
                if held is figures and set(before) & set(weights):
                    raise overlapping(figures, figures, "one stands twice")
        weighted = joined(one.weighted, other.weighted, Fraction(1))
        return Sum(one.number + other.number, weighted, (*one.means, *other.means))

    def _times(self, one: Sum, other: Sum) -> Sum:
        if one.cells and other.cells:
            raise self._unreadable("two figures can't be multiplied")
        number, rest = (other, one) if one.cells else (one, other)
        return self._scaled(rest, number.number)

    def _divided(self, one: Sum, other: Sum) -> Sum:
        if not other.cells:
            if not other.number:
                raise self._unreadable("it divides by 0")
            return self._scaled(one, 1 / other.number)
        mixed = one.means or other.means or one.number or other.number
        if mixed or one.divisor or other.divisor or not one.cells:
            raise self._unreadable("only sums of figures that are not means divide each other")
        return Sum(weighted=one.weighted, divisor=other.weighted)

    def _alone(self, figures: Figures, places: Sequence[int]) -> Sum:
        if len(places) != 1:
            what = f'"{figures.name}" has {len(places)} such cells'
            hint = f"name all groups ({', '.join(figures.groups)}), or write sum(...)"
            raise refusal("E842", what, hint)
        return self._together("sum", figures, places)

    def _together(self, how: str, figures: Figures, places: Sequence[int]) -> Sum:
        if any(figures.values[place] is None for place in places):
            what = f'a cell of "{figures.name}" is empty'
            raise refusal("E844", what, "leave it out: its figure is not published")
        if figures.share is not None:
            if how == "sum" and len(places) > 1:
                what = f'a sum of "{figures.name}" means nothing'
                raise refusal("E843", what, "write mean(...): the one of all records together")
            return Sum(means=((Pooled(figures, tuple(places)), Fraction(1)),))
        if figures.terms is None:
            what = f'"{figures.name}" can\'t be combined: {_reason(figures)}'
            raise refusal("E843", what, "combine counts, sums, means and proportions")
        weight = Fraction(1, len(places)) if how == "mean" else Fraction(1)
        return Sum(weighted=((figures, dict.fromkeys(places, weight)),))

    # --- figures ---------------------------------------------------------------------------------

    def _figures(self, name: str) -> tuple[Figures, list[int]]:
        named = [
            figures
            for figures in self._published.figures
            if name in {figures.name, f"{figures.table}.{figures.name}"}
        ]
        if len(named) > 1:
            tables = ", ".join(f"{figures.table}.{figures.name}" for figures in named)
            raise refusal("E842", f'several tables have "{name}"', f"write one of {tables}")
        (figures,) = named
        wanted: dict[str, str] = {}
        if self._sign("["):
            while True:
                group = self._known(self._groups)
                if group not in figures.groups:
                    hint = f"its groups are: {', '.join(figures.groups) or 'none'}"
                    raise refusal("E842", f'"{name}" has no such group', hint)
                self._expect("=")
                wanted[group] = self._label()
                if not self._sign(","):
                    break
            self._expect("]")
        places = [
            place
            for place, row in enumerate(figures.rows)
            if all(
                group not in wanted or wanted[group] == normalize("NFC", label)
                for group, label in zip(figures.groups, row, strict=True)
            )
        ]
        if not figures.rows:
            what = f'"{name}" has no cells: no key of its table reached the threshold'
            raise refusal("E842", what, "combine figures of a table that has rows")
        if not places:
            raise refusal("E842", f'"{name}" has no such cell', _labels_hint(figures, wanted))
        return figures, places

    def _label(self) -> str:
        token = _TOKEN.match(self._text, self._place)
        if token is None or not (token["text"] or token["number"] or token["name"]):
            raise self._unreadable('a label between " is expected')
        self._place = token.end()
        written = token["text"]
        if written is None:
            return token["number"] or token["name"] or ""
        return re.sub(r"\\(.)", r"\1", written[1:-1])

    # --- tokens ----------------------------------------------------------------------------------

    def _known(self, names: Sequence[str]) -> str | None:
        """The longest name that stands here; names may hold dots and hyphens."""
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
            raise self._unreadable(f'"{sign}" is expected')

    def _unreadable(self, why: str) -> Failure:
        what = f"the expression can't be read at character {self._place + 1}: {why}"
        hint = 'such as visits[region="north"] - visits[region="south"], or sum(visits)'
        return refusal("E840", what, hint)

    def _unknown(self) -> Failure:
        names = [n for n in self._names if "." not in n]
        hint = f"there are: {', '.join(sorted(names)[:20])}"
        what = f"no published figure has the name at character {self._place + 1}"
        return refusal("E842", what, hint)


_FUNCTION = re.compile(r"\s*(?P<name>sum|mean)\s*\(")
_WORD = re.compile(r"\w")


def _labels_hint(figures: Figures, wanted: Mapping[str, str]) -> str:
    """Name the labels of the first group of which one was not found, as files write them."""
    for place, group in enumerate(figures.groups):
        labels = list(dict.fromkeys(row[place] for row in figures.rows))
        if wanted.get(group, labels[0]) not in labels:
            some = ", ".join(f'"{label}"' for label in labels[:10])
            return f"write labels as the file does; those of {group} begin: {some}"
    return "not all labels stand together in a row"


def _reason(figures: Figures) -> str:
    if figures.query.threshold is not None:
        return "its keys were chosen by their own noise"
    return "report.json states no law of its noise, as it is not a fixed sum of released integers"
