"""Candidates: the public values among which a query chooses, and the points of a quantile.

They stand in the spec itself, or one a line in a file beside it. In the file a line that reads as a
number is one; in double quotes (a quote within them doubled) it is a text all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from dprelease.model import Candidates, Column, ColumnType, Grid
from dprelease.specfile.checks.columns.domains import read_keys
from dprelease.specfile.checks.columns.expression_checks import read_score
from dprelease.specfile.checks.columns.grids import make_grid
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import show, show_fraction
from dprelease.specfile.complaints.reporter import MOST_SHOWN, Refused
from dprelease.specfile.keys.number_texts import read_exact
from dprelease.statistics.best import SCORE, SCORE_STEP, SCORE_UPPER
from dprelease.statistics.shared.spec_keys import CANDIDATES, CANDIDATES_FILE

_TEXT, _WHOLE, _NUMBER = ColumnType.STRING, ColumnType.INTEGER, ColumnType.DECIMAL
INLINE, FILE = "candidates", "candidates_file"


class CandidateList:
    """The candidates that a query lists: in the spec, or in a file, with their ``lines`` there.

    Of a file only the first wrong line is named, by its number. Its text is never shown: the file
    may be the wrong one, and private.
    """

    def __init__(
        self, query: SpecQuery, values: Sequence[object], lines: Sequence[int] = ()
    ) -> None:
        self.values = values
        self.wrong = 0
        self._part = query.part
        self._lines = lines
        self.hint = f"{_HINT}; write a text such as 01 in double quotes" if lines else _HINT

    def refuse(
        self, position: int, refused: Refused, problem: str = "can't be a candidate"
    ) -> None:
        """Note what is wrong with a value; ``problem`` says it without the value."""
        self.wrong += 1
        if not self._lines:
            self._part.complain("E234", refused.message, INLINE, position, hint=refused.hint)
        elif self.wrong == 1:
            message = f"line {self._lines[position]} of the {FILE} {problem}"
            self._part.complain("E234", message, FILE, hint=refused.hint)

    @property
    def hopeless(self) -> bool:
        """Tell whether to look no further."""
        return self.wrong > (0 if self._lines else MOST_SHOWN)


def list_candidates(query: SpecQuery, empty: str) -> CandidateList | None:
    """Give the candidates that a query lists; None with a complaint. ``empty``: what to do then."""
    inline, file = query.part.value(CANDIDATES), query.part.value(CANDIDATES_FILE)
    if inline is not None and file is not None:
        query.part.complain(
            "E111", f"the query has both {INLINE} and {FILE}", FILE, hint="keep one of them"
        )
    if inline:
        return CandidateList(query, inline)
    if inline is not None:
        query.part.complain("E234", "candidates is empty", INLINE, hint=empty)
        return None
    lists, name = query.context.lists, query.model.name or ""
    lines = query.part.attempt(lambda: lists.read(FILE, name, str(file), "E234"), FILE)
    if lines is None:
        return None
    return CandidateList(query, [_read_value(line) for line in lines.texts], lines.numbers)


def _read_value(line: str) -> object:
    """Give what a line of a file means: a number or a text."""
    if len(line) < _SHORT and line.isascii() and line.isdigit():
        return int(line)  # most lines, without looking further
    if _NUMERAL.fullmatch(line):
        plain = line.strip(" \t")
        return int(plain) if _INTEGER.fullmatch(plain) else Decimal(plain)
    quoted = _QUOTED.fullmatch(line)
    return quoted[1].replace('""', '"') if quoted else line


def read_candidates(query: SpecQuery) -> tuple[ColumnType, tuple[str, ...]] | None:
    """Give the type and the canonical texts of the candidates; None when one is refused.

    They are texts or numbers, not both; equal ones, even in another notation, are refused.
    """
    listing = list_candidates(query, "list what to choose from")
    if listing is None:
        return None
    values = listing.values
    alike = _TEXTS if isinstance(values[0], str) else _NUMBERS
    for position, value in enumerate(values):
        if type(value) in alike and value != "":
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | Decimal | Fraction):
            refused = Refused(f"{show(value)} is neither a number nor a text", listing.hint)
            listing.refuse(position, refused)
        elif isinstance(value, str) != isinstance(values[0], str):
            problem = f"is in a list of {'numbers' if isinstance(value, str) else 'texts'}"
            listing.refuse(position, Refused(f"{show(value)} {problem}", listing.hint), problem)
        elif value == "":
            listing.refuse(position, Refused("the empty text can't be a candidate", "name it"))
        if listing.hopeless:
            break
    if listing.wrong:
        return None
    kind = _TEXT if isinstance(values[0], str) else _WHOLE
    if kind is _WHOLE and not all(isinstance(value, int) for value in values):
        kind = _NUMBER

    def complain(position: int, refused: Refused) -> None:
        twice = refused.code == "E211"
        listing.refuse(position, refused, *(["repeats an earlier one"] if twice else []))

    texts = read_keys(kind, values, complain)
    return None if listing.wrong else (kind, texts)


def read_points(query: SpecQuery, column: Column, grid: Grid) -> tuple[int, ...] | None:
    """Give the grid integers of a quantile's candidates, rising; None when one is refused."""
    listing = list_candidates(query, "list some, or leave it out")
    if listing is None:
        return None
    points: set[int] = set()
    for position, value in enumerate(listing.values):
        try:
            point = _read_point(column, grid, value)
            if point in points:
                raise _Unfit(value, "is listed twice", "keep one")
            points.add(point)
        except _Unfit as refused:
            listing.refuse(position, refused, refused.what)
        except Refused as refused:
            listing.refuse(position, refused, "is not a number for a grid")
        if listing.hopeless:
            break
    return None if listing.wrong else tuple(sorted(points))


class _Unfit(Refused):
    """A value that is wrong in a way that can be said without it."""

    def __init__(self, value: object, problem: str, hint: str) -> None:
        super().__init__(f"{show(value)} {problem}", hint)
        self.what = problem


def _read_point(column: Column, grid: Grid, value: object) -> int:
    number, step = read_exact(value), grid.step
    point, rest = divmod(number.numerator * step.denominator, number.denominator * step.numerator)
    if not (grid.lower <= point and point + bool(rest) <= grid.upper):
        low, high = show_fraction(grid.lower * step), show_fraction(grid.upper * step)
        problem = f"is outside the bounds of {show(column.name)}"
        raise _Unfit(value, problem, f"write a value from {low} to {high}")
    if rest:
        problem = f"is not a multiple of the step of {show(column.name)}"
        hint = f"the step is {show_fraction(step)}: round it, or declare a smaller step"
        raise _Unfit(value, problem, hint)
    return point


_TEXTS = frozenset({str})
_NUMBERS = frozenset({int, Decimal, Fraction})
_HINT = "candidates must be all numbers or all texts"
_SHORT = 18
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMERAL = re.compile(r"[ \t]*[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?[ \t]*")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
CANDIDATE = "candidate"


def read_best(query: SpecQuery) -> Candidates | None:
    """Make the candidates of a `best` query; None with a complaint."""
    candidates = read_candidates(query) if query.part.list_given(INLINE, FILE) else None
    if CANDIDATE in {*query.context.columns, query.context.unit_column}:
        message = f'a column is named "{CANDIDATE}", the name of the candidate in score'
        hint = "derive that column under another name, or rename it"
        query.part.complain("E231", message, "score", hint=hint)
        return None
    score = None
    written = query.part.value(SCORE)
    if candidates is not None and written is not None:
        types = {**query.context.base_types, CANDIDATE: candidates[0]}
        score = read_score(written, types, query.part)
    upper = query.part.value(SCORE_UPPER)
    if upper is not None and upper <= 0:
        message = f"score_upper {show_fraction(upper)} is not above 0"
        query.part.complain(
            "E205",
            message,
            "score_upper",
            hint="write the largest score that one record can add, a number above 0",
        )
        upper = None
    if candidates is None or written is None:
        return None
    kind, texts = candidates
    whole = score is not None and score[1] is ColumnType.INTEGER
    grid = _choose_grid(query, upper, whole) if upper is not None else None
    if score is None:
        return None
    if CANDIDATE not in score[0].columns:
        message = (
            f"the score does not use `{CANDIDATE}`, so all candidates would have the same score"
        )
        hint = f'write, for example, score = "CASE WHEN price <= {CANDIDATE} THEN 1 ELSE 0 END"'
        query.part.complain("E215", message, "score", hint=hint)
        return None
    return Candidates(texts, kind, score[0], grid) if grid is not None else None


def _choose_grid(query: SpecQuery, upper: Fraction, whole: bool) -> Grid | None:
    """Put scores on a grid from 0; whole scores on that of the whole numbers if nothing else."""
    step = query.part.value(SCORE_STEP)
    if "score_step" in query.part.bad:
        return None
    whole = whole and upper.denominator == 1 and (step is None or step.denominator == 1)
    kind = ColumnType.INTEGER if whole else ColumnType.FLOAT
    try:
        return make_grid(kind, upper * 0, upper, step)[0]
    except Refused as refused:
        key = "score_step" if refused.key == "step" else "score_upper"
        message, hint = refused.message, refused.hint
        if refused.code == "E207":  # there is no lower bound to speak of
            message = f"score_step {show(step)} does not divide score_upper"
            hint = f"score_{hint}"
        query.part.complain(refused.code, message, key, hint=hint)
        return None
