"""Estimates of a table of perturbed records, from the table and its report alone.

The ``perturb`` part of ``report.json`` is read back: the laws of the table, exactly. What is read
may have been written by anybody: it is checked, and bounded in size. What is wrong with it is a
ValueError.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from io import BufferedReader
from typing import Any

from msgspec import Struct

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import open_plain
from dprelease.local.estimation.estimates import (
    Estimates,
    compute_chances,
    estimate_all,
    estimate_facts,
)
from dprelease.local.store.answer_cells import choose_cells
from dprelease.local.store.read_table import read_columns
from dprelease.local.store.tally import Tallier, choose_pairs
from dprelease.model import ColumnType, Grid, Group, Loss, Mechanism, Perturb, PerturbedColumn
from dprelease.model.record_tables import (
    LaplaceLaw,
    Law,
    RecordStep,
    Response,
    SubsetLaw,
    Window,
    WindowLaw,
)
from dprelease.model.requests import Quantity
from dprelease.reports.model.json_form import SCHEMA, from_json
from dprelease.reports.model.record_model import (
    Labels,
    LaplaceResponse,
    NumberGrid,
    RecordColumn,
    RecordTable,
    ResponseLaw,
    ResponseWindow,
    SubsetResponse,
)
from dprelease.reports.text.notebook import render_table

MOST_CELLS = 1_000_000


class TableEstimates(Struct, frozen=True):
    """Estimates from a table of perturbed records, with the facts of its report."""

    table: str
    figures: Estimates
    stated: Stated

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in JSON values, as ``dprelease estimate --json`` does."""
        return {
            "schema": "dprelease/estimates/1",
            "table": self.table,
            **estimate_facts(self.figures),
        }

    def __repr__(self) -> str:
        """Name the table and state its number of records."""
        return f"<TableEstimates of {self.table}: {self.figures.rows:,} records>"

    def _repr_html_(self) -> str:
        rows = [
            (shares.column, label, float(figure.value), figure.lower, figure.upper)
            for shares in self.figures.shares
            for label, figure in zip(shares.labels, shares.figures, strict=True)
        ]
        rows += [
            (mean.column, "mean", float(mean.figure.value), mean.figure.lower, mean.figure.upper)
            for mean in self.figures.means
        ]
        cells = [(*row[:2], *(f"{number:.4g}" for number in row[2:])) for row in rows]
        return render_table(repr(self).strip("<>"), ("column", "of", "share", "low", "high"), cells)


def estimate(
    table: str | os.PathLike[str],
    *,
    crosses: Sequence[str | tuple[str, str]] = (),
    report: str | os.PathLike[str] | None = None,
) -> TableEstimates:
    """Do what the package's ``estimate`` says."""
    path = os.fspath(table)
    with open_plain_file(path) as source:
        table_facts = find_stated_table(path, None if report is None else os.fspath(report))
        pairs = [_parse_pair(cross, table_facts.step) for cross in crosses]
        check_digest(source, path, table_facts)
        cross_pairs = dict.fromkeys(pairs or choose_pairs(table_facts.step))
        counted = Tallier(table_facts.step, tuple(cross_pairs))
        for columns in read_columns(source, path, table_facts.format, table_facts.step):
            counted.add(columns)
    tally = counted.tally()
    if tally.rows != table_facts.rows:
        message = f"{path} has {tally.rows:,} records, and its report says {table_facts.rows:,}"
        raise _build_refusal("E833", message)
    return TableEstimates(
        path, estimate_all(table_facts.step, tally, table_facts.interval), table_facts
    )


def _parse_pair(cross: str | tuple[str, str], step: RecordStep) -> tuple[str, str]:
    """Parse a pair of columns with labels."""
    columns = [response.column for response in step.responses]
    labelled = [column.name for column in columns if column.group is not None]
    names = [column.name for column in columns]
    # Names may hold commas, so ``A,B`` is split at each of them.
    tries = _list_pairs(cross) if isinstance(cross, str) else [cross]
    if not tries:
        raise _build_refusal(
            "E835", f'--cross needs two columns, but "{cross}" is one', "--cross A,B"
        )
    first, second = next((pair for pair in tries if set(pair) <= set(names)), tries[0])
    for name in (first, second):
        if name not in names:
            raise _build_refusal(
                "E835", f'the table has no column "{name}"', _find_nearest(name, labelled)
            )
        if name not in labelled:
            hint = (
                f"the columns with labels are: {', '.join(labelled)}"
                if labelled
                else "none has any"
            )
            raise _build_refusal("E835", f'column "{name}" has no labels to be crossed', hint)
    if first == second:
        raise _build_refusal("E835", f'column "{first}" is crossed with itself', "name two columns")
    groups = {column.name: column.group for column in columns}
    sizes = [len(group.labels) for name in (first, second) if (group := groups[name])]
    if sizes[0] * sizes[1] > MOST_CELLS:
        raise _build_refusal(
            "E835", f"{sizes[0]:,} x {sizes[1]:,} cells are too many", "cross smaller columns"
        )
    return first, second


def _list_pairs(text: str) -> list[tuple[str, str]]:
    commas = [place for place, char in enumerate(text) if char == ","]
    return [(text[:place].strip(), text[place + 1 :].strip()) for place in commas]


def _find_nearest(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"the columns with labels are: {', '.join(names)}" if names else "no column has labels"


def _build_refusal(code: str, message: str, hint: str = "") -> Failure:
    return Failure(ExitCode.SPEC, Complaint(code, message, hint))


REPORT = "report.json"
_LARGEST = 256 * 1024 * 1024


def open_plain_file(path: str, code: str = "E830") -> BufferedReader:
    """Open a plain file. Raises Failure (exit code 2)."""
    try:
        return open_plain(path)
    except OSError as problem:
        reason = problem.strerror
    except ValueError:
        reason = "no file can have such a name"
    raise Failure(ExitCode.SPEC, Complaint(code, f"{path} can't be read: {reason}"))


def find_stated_table(table: str, report: str | None) -> Stated:
    """Read what a report states of a record-level table.

    Args:
        table: Path of the table.
        report: Path of the report; None takes the one beside the table.

    Raises:
        Failure: Exit code 2 if the report can't be read, or does not state the table.
    """
    path = report if report is not None else os.path.join(os.path.dirname(table), REPORT)
    facts = _read_report(path)
    name = os.path.basename(table)
    try:
        return read_steps(facts, name)
    except LookupError:
        raise Failure(ExitCode.SPEC, _report_unknown_table(table, name, facts, path)) from None
    except ValueError:
        message = f"{path} is not a report of a release with the table {name}"
        raise _build_refusal("E831", message) from None


def _read_report(path: str) -> Mapping[str, Any]:
    message = f"{path} is not a report of a release"
    try:
        with open_plain_file(path, "E831") as source:
            content = source.read(_LARGEST + 1)
        facts = json.loads(content) if len(content) <= _LARGEST else None
        if isinstance(facts, dict):
            return facts
    except (ValueError, RecursionError):
        pass
    except OSError as problem:
        message = f"{path} can't be read: {os.strerror(problem.errno or 0)}"
    raise _build_refusal("E831", message)


def _report_unknown_table(table: str, name: str, facts: Mapping[str, Any], path: str) -> Complaint:
    """Complain of a table that is not record-level; name those that are."""
    if name in _list_files(facts, "tables"):
        message = f"{table} is a table of statistics with their noise; it needs no estimates"
        folder = os.path.dirname(table) or "."
        return Complaint("E832", message, f"dprelease show {folder}")
    tables = _list_files(facts, "perturb")
    hint = f"its tables are: {', '.join(tables)}" if tables else "[[perturb]] makes such tables"
    return Complaint("E832", f"{path} describes no record-level table {name}", hint)


def _list_files(facts: Mapping[str, Any], part: str) -> list[str]:
    listed = facts.get(part)
    if not isinstance(listed, list):
        return []
    files = [entry.get("file") for entry in listed if isinstance(entry, dict)]
    return [entry for entry in files if isinstance(entry, str)]


def check_digest(source: BufferedReader, path: str, table_facts: Stated) -> None:
    """Refuse a file whose SHA-256 is not the report's; rewind it otherwise.

    Args:
        source: The open table.
        path: Its path for messages.
        table_facts: What the report states.

    Raises:
        Failure: Exit code 2.
    """
    try:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        source.seek(0)
    except OSError as problem:
        message = f"{path} can't be read: {os.strerror(problem.errno or 0)}"
        raise _build_refusal("E830", message) from None
    if digest != table_facts.sha256:
        message = f"{path} is not the file that was released: its SHA-256 differs"
        raise _build_refusal("E833", message)


_EXACT = re.compile(r"-?[0-9]{1,2000}/[0-9]{1,2000}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_LEVELS = 1000
_WHOLE = 2**63
_TINY = Fraction(1, 10**30)


class Stated(Struct, frozen=True):
    """A record-level table as the report states it: its laws, and which file it is."""

    step: RecordStep
    file: str
    format: str
    sha256: str
    rows: int
    interval: Fraction


def read_steps(report: object, table: str) -> Stated:
    """Read the laws of a published record-level table from its report.

    Args:
        report: The content of report.json.
        table: The name of the table's file.

    Returns:
        The table's laws and file, and the coverage of intervals.

    Raises:
        LookupError: The report has no such record-level table.
        ValueError: It is no report of this version, or states no such laws.
    """
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise ValueError("no report of this version")
    tables = report.get("perturb")
    if not isinstance(tables, list):
        raise LookupError(table)
    try:
        for content in tables:
            if content["file"] == table:
                return _describe_law(
                    from_json(RecordTable, content), report["provenance"]["interval"]
                )
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
        raise ValueError("not the facts of a record-level table") from None
    raise LookupError(table)


def _describe_law(facts: RecordTable, interval: object) -> Stated:
    responses, goal = tuple(map(_read_response, facts.columns)), facts.asked_
    perturb = Perturb(
        _read_text(facts.name),
        tuple(response.column for response in responses),
        None if goal.epsilon is None else _read_exact(goal.epsilon),
        _read_exact(goal.delta),
        None if goal.truth is None else _read_exact(goal.truth),
    )
    if not responses or len({column.name for column in perturb.columns}) != len(responses):
        raise ValueError("columns are named once")
    file, form, digest = facts.file or "", facts.format or "", facts.sha256 or ""
    if form not in {"csv", "parquet"} or not _DIGEST.fullmatch(digest):
        raise ValueError("no file of ours")
    step = RecordStep(perturb, responses, _limit(facts.rows_per_unit, 1), _read_loss(facts))
    return Stated(step, file, form, digest, _limit(facts.rows, 0), _read_coverage(interval))


def _read_response(facts: RecordColumn) -> Response:
    name, mechanism = _read_text(facts.name), Mechanism(facts.mechanism)
    group = None if facts.labels is None else _group(name, facts.labels)
    quantity = None if facts.grid is None else _read_quantity(name, facts.grid)
    if (group is None) == (quantity is None) or mechanism is Mechanism.AUTO:
        raise ValueError("a column has labels or a grid, and one mechanism")
    column = PerturbedColumn(
        name, group, quantity, mechanism, _read_exact(facts.weight), facts.null_chosen
    )
    response = Response(column, mechanism, _read_law(facts.law), _read_loss(facts))
    choose_cells(response)  # refuses a law that is of another kind of column
    return response


def _group(name: str, facts: Labels) -> Group:
    labels = tuple(map(_read_text, facts.labels))
    if not labels or len(set(labels)) != len(labels):
        raise ValueError("labels are different")
    return Group(
        name,
        ColumnType(facts.type),
        labels,
        None if facts.keys is None else labels[: _limit(facts.keys, 0)],
        None if facts.bins is None else tuple(map(_read_text, facts.bins)),
        None if facts.other is None else _read_text(facts.other),
        None if facts.null_label is None else _read_text(facts.null_label),
    )


def _read_quantity(name: str, facts: NumberGrid) -> Quantity:
    lower, upper = _limit(facts.lower, -_WHOLE), _limit(facts.upper, -_WHOLE)
    grid = Grid(_read_exact(facts.step), lower, upper)
    if not _TINY < grid.step < 1 / _TINY or grid.upper < grid.lower:
        raise ValueError("no grid")
    return Quantity(name, grid, _limit(facts.null_fill, -_WHOLE))


def _read_law(facts: ResponseLaw) -> Law:
    if isinstance(facts, SubsetResponse):
        law = SubsetLaw(_limit(facts.labels, 1), _limit(facts.size, 1), _read_exact(facts.keep))
        own_chance, other_chance = compute_chances(law)
        if abs(own_chance - other_chance) < _TINY:
            raise ValueError("answers that tell nothing")
        return law
    if isinstance(facts, LaplaceResponse):
        scale = _read_exact(facts.scale)
        if not 0 < scale < _WHOLE:
            raise ValueError("no scale of integers of 64 bits")
        return LaplaceLaw(scale)
    share = _read_exact(facts.share)
    if len(facts.windows) not in {1, 2} or not 0 <= share <= 1:
        raise ValueError("no windows, or no share between 0 and 1")
    first, *second = map(_read_window, facts.windows)
    return WindowLaw(first, second[0] if second else None, share)


def _read_window(facts: ResponseWindow) -> Window:
    levels, width = _limit(facts.levels, 2), _limit(facts.width, 1)
    ratio, gap = _read_exact(facts.ratio), _read_exact(facts.gap)
    if not width < levels <= _MOST_LEVELS or ratio <= 0 or not _TINY < gap < 1 / _TINY:
        raise ValueError("no window")
    return Window(levels, width, ratio, gap)


def _read_loss(facts: RecordColumn | RecordTable) -> Loss:
    return Loss(_read_exact(facts.epsilon_exact), _read_exact(facts.delta_exact))


def _read_coverage(interval: object) -> Fraction:
    """Read the interval as the report writes it: a short decimal, or p/q."""
    if not isinstance(interval, str) or not re.fullmatch(r"[0-9./]{1,80}", interval, re.ASCII):
        raise ValueError("no coverage")
    coverage = Fraction(interval)
    if not 0 < coverage < 1:
        raise ValueError("a coverage is between 0 and 1")
    return coverage


def _read_exact(number: str) -> Fraction:
    if not _EXACT.fullmatch(number):
        raise ValueError("no exact number")
    return Fraction(number)


def _limit(number: int | None, minimum: int) -> int:
    if number is None or not minimum <= number < _WHOLE:
        raise ValueError("no whole number of that size")
    return number


def _read_text(text: str) -> str:
    text.encode()  # half a character can be written in JSON, and nowhere else: a ValueError
    return text
