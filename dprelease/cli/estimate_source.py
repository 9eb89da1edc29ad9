"""A released record-level table and the report beside it: opened, and held against each other."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any, BinaryIO

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.report.facts.record_laws import Stated, steps_from_report

REPORT = "report.json"
_LARGEST = 256 * 1024 * 1024
_CHUNK = 1 << 20
_AGAIN = "running the release again, at no cost, restores it"


def opened(path: str, code: str = "E830") -> BinaryIO:
    """Open a plain file. Raises Failure (exit code 2)."""
    reason = "it is no plain file"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return open(handle, "rb")
        os.close(handle)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
    except ValueError:
        reason = "no file has such a name"
    hint = "name a table of records in the output folder of a run"
    if code == "E831":
        hint = f'the table of a run has its {REPORT} beside it, if its spec asks for "json"'
    raise Failure(ExitCode.SPEC, Complaint(code, f"{path} can't be read: {reason}", hint))


def stated(table: str, report: str | None) -> Stated:
    """What the report says of the table. Raises Failure (exit code 2)."""
    path = report if report is not None else os.path.join(os.path.dirname(table), REPORT)
    facts = _report(path)
    name = os.path.basename(table)
    try:
        return steps_from_report(facts, name)
    except LookupError:
        raise Failure(ExitCode.SPEC, _unknown(table, name, facts, path)) from None
    except ValueError:
        message = f"{path} is not a report of a release that tells of {name}"
        raise Failure(ExitCode.SPEC, Complaint("E831", message, _AGAIN)) from None


def _report(path: str) -> Mapping[str, Any]:
    try:
        with opened(path, "E831") as source:
            content = source.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError("larger than any report")
        facts = json.loads(content)
        if not isinstance(facts, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError):
        message = f"{path} is not a report of a release"
        raise Failure(ExitCode.SPEC, Complaint("E831", message, _AGAIN)) from None
    except OSError as problem:
        message = f"{path} can't be read: {os.strerror(problem.errno or 0)}"
        raise Failure(ExitCode.SPEC, Complaint("E831", message, _AGAIN)) from None
    return facts


def _unknown(table: str, name: str, facts: Mapping[str, Any], path: str) -> Complaint:
    """The table is not among the record-level ones: say what it is, and which there are."""
    if name in _files(facts, "tables"):
        message = f"{table} is a table of statistics, with its noise beside it: nothing to estimate"
        folder = os.path.dirname(table) or "."
        return Complaint("E832", message, f"dprelease show {folder}")
    there = _files(facts, "perturb")
    hint = f"there are: {', '.join(there)}" if there else "such tables come of [[perturb]]"
    return Complaint("E832", f"{path} knows no record-level table {name}", hint)


def _files(facts: Mapping[str, Any], part: str) -> list[str]:
    listed = facts.get(part)
    if not isinstance(listed, list):
        return []
    found = [each.get("file") for each in listed if isinstance(each, dict)]
    return [each for each in found if isinstance(each, str)]


def check_digest(source: BinaryIO, path: str, known: Stated) -> None:
    """Refuse a file that is not the one of the report, and go back to its begin."""
    digest = hashlib.sha256()
    try:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
        source.seek(0)
    except OSError as problem:
        message = f"{path} can't be read: {os.strerror(problem.errno or 0)}"
        raise Failure(ExitCode.SPEC, Complaint("E830", message, _AGAIN)) from None
    if digest.hexdigest() != known.sha256:
        message = f"{path} is not the file that was released: its SHA-256 is another"
        raise Failure(ExitCode.SPEC, Complaint("E833", message, _AGAIN))


def check_rows(rows: int, path: str, known: Stated) -> None:
    """Refuse a table with more or fewer records than its report says."""
    if rows != known.rows:
        message = f"{path} has {rows:,} records, and its report says {known.rows:,}"
        raise Failure(ExitCode.SPEC, Complaint("E833", message, _AGAIN))
