"""Estimates of a table of perturbed records, from the table and its report alone."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from io import BufferedReader
from typing import Any

from msgspec import Struct

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import open_plain
from dprelease.local.estimates import Estimates, estimate_all, estimate_facts
from dprelease.local.read_table import read_columns
from dprelease.local.tally import Tallier, choose_pairs
from dprelease.model.record_tables import RecordStep
from dprelease.reports.record_level.response_laws import Stated, read_steps
from dprelease.reports.text.notebook import render_table

MOST_CELLS = 1_000_000
_AGAIN = "running the release again, at no cost, restores it"


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


def _build_refusal(code: str, message: str, hint: str = _AGAIN) -> Failure:
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
    hint = "name a table of records in the output folder of a run"
    if code == "E831":
        hint = f'the table of a run has {REPORT} in its folder, if its spec asks for "json"'
    raise Failure(ExitCode.SPEC, Complaint(code, f"{path} can't be read: {reason}", hint))


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
