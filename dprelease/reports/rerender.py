"""A report rendered again from the files of a release: report.json and its tables, nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import re

import msgspec

from dprelease.combination.combined_figures import Published
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import open_plain
from dprelease.language import use_language
from dprelease.model import OutputTable
from dprelease.output.read_back import read_table
from dprelease.output.released_tables import check_whole
from dprelease.reports.model.json_form import REHEARSED, SCHEMA, read_report_json, to_json
from dprelease.reports.model.record_model import RecordTable
from dprelease.reports.model.report_model import PublishedTable, ReportFacts
from dprelease.reports.report_formats import name_report_file, render_report

REPORT = "report.json"


def rerender(directory: str, form: str) -> bytes:
    """Render a published release in a format.

    Args:
        directory: The output folder of the run.
        form: A key of ``REPORT_FORMATS``.

    Returns:
        The bytes that the run wrote, or would have written.

    Raises:
        Failure: Exit code 2, if report.json or a table is missing or not as it was released.
    """
    content, facts = _read_facts(directory)
    try:
        tables = {table.file: _read_table(directory, table, facts) for table in facts.tables}
        for records in facts.perturb:
            _check_records(directory, records, facts)
        if name_report_file(form) == REPORT:  # of whatever version it is
            return content
        with use_language(facts.language):
            (report,) = render_report(facts, tables, [form]).values()
    except (Failure, MemoryError):
        raise
    except Exception:  # anybody may have written the file, with its hash: what it holds decides
        raise _build_report_failure(directory, "lacks the content of a report") from None
    return report


def read_release(directory: str) -> tuple[ReportFacts, Published]:
    """Read the report of a published release, and its figures as they can be combined.

    Raises:
        Failure: Exit code 2, if report.json or a table is missing or not as it was released.
    """
    _, facts = _read_facts(directory)
    try:
        tables = {table.file: _read_table(directory, table, facts) for table in facts.tables}
        published = Published(facts, tables)
        len(published.figures)
    except (Failure, MemoryError):
        raise
    except Exception:  # anybody may have written the file: see rerender
        raise _build_report_failure(directory, "lacks the content of a report") from None
    return facts, published


def _read_facts(directory: str) -> tuple[bytes, ReportFacts]:
    check_whole(directory)
    path = os.path.join(directory, REPORT)
    try:
        with open_plain(path) as source:
            content = source.read()
        values = msgspec.json.decode(content)  # json.loads would read NaN, too
    except OSError as problem:
        raise Failure(
            ExitCode.SPEC,
            Complaint("E820", f"{path} can't be read: {problem.strerror}"),
        ) from None
    except (ValueError, RecursionError):
        raise _build_report_failure(directory, "is not JSON") from None
    if isinstance(values, dict) and values.get("schema") == REHEARSED:
        hint = "run the spec itself, and name the folder of that release"
        message = f"{path} is from a rehearsal: its records are made up"
        raise Failure(ExitCode.SPEC, Complaint("E821", message, hint))
    if isinstance(values, dict) and _is_newer(values.get("schema")):
        message = f"{path} has a newer schema than {SCHEMA}, which this version reads"
        raise Failure(ExitCode.SPEC, Complaint("E821", message, "use a newer version of dprelease"))
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or "tables" not in values:
        raise _build_report_failure(directory, f"does not have the schema {SCHEMA}")
    if _find_released_hash(directory) != hashlib.sha256(content).hexdigest():
        raise _build_report_failure(directory, "is not the file that was released")
    try:
        return content, read_report_json(values)
    except (ValueError, RecursionError):
        raise _build_report_failure(directory, "lacks the content of a report") from None


def _is_newer(schema: object) -> bool:
    family, _, number = SCHEMA.rpartition("/")
    match = re.fullmatch(rf"{family}/([0-9]{{1,9}})", schema) if isinstance(schema, str) else None
    return match is not None and int(match[1]) > int(number)


def _find_released_hash(directory: str) -> str | None:
    """Find the hash of report.json in the release's own list of files."""
    try:
        with open_plain(os.path.join(directory, "datapackage.json")) as source:
            listed = json.load(source)
        hashes = {resource["path"]: resource["hash"] for resource in listed["resources"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise _build_report_failure(
            directory, "has no datapackage.json of its release in its folder"
        ) from None
    digest = hashes.get(REPORT)
    return digest.removeprefix("sha256:") if isinstance(digest, str) else None


def _read_table(directory: str, facts: PublishedTable, report: ReportFacts) -> OutputTable:
    file, path = facts.file, _find_path(directory, facts.file)
    try:
        with open_plain(path) as source:
            content = source.read()
    except OSError as problem:
        raise _build_table_failure(path, f"can't be read: {problem.strerror}") from None
    if hashlib.sha256(content).hexdigest() != report.provenance.files[file]:
        raise _build_table_failure(path, "is not the file that was released")
    try:
        return read_table(content, file.rpartition(".")[2], to_json(facts))
    except ValueError:
        raise _build_table_failure(path, "is not the table that the report describes") from None


def _check_records(directory: str, facts: RecordTable, report: ReportFacts) -> None:
    """Check that a table of records is the one released; the report holds what is said of it."""
    if facts.file is None:
        raise _build_report_failure(directory, "does not name the file of a table")
    path = _find_path(directory, facts.file)
    try:
        with open(path, "rb") as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as problem:
        raise _build_table_failure(
            path, f"can't be read: {os.strerror(problem.errno or 0)}"
        ) from None
    if not digest == facts.sha256 == report.provenance.files[facts.file]:
        raise _build_table_failure(path, "is not the file that was released")


def _find_path(directory: str, file: str) -> str:
    if os.path.basename(file) != file:
        raise _build_report_failure(directory, "names a table in another folder")
    return os.path.join(directory, file)


def _build_report_failure(directory: str, problem: str) -> Failure:
    return _build_refusal("E821", os.path.join(directory, REPORT), problem)


def _build_table_failure(path: str, problem: str) -> Failure:
    return _build_refusal("E822", path, problem)


def _build_refusal(code: str, path: str, problem: str) -> Failure:
    return Failure(ExitCode.SPEC, Complaint(code, f"{path} {problem}"))
