"""The beginning of a spec for a data file, of which nothing but names and types is read."""

from __future__ import annotations

import os
import re

from dprelease.files.packed import get_suffix
from dprelease.model.source_registry import SOURCES, SUFFIXES
from dprelease.scaffold.file_columns import (
    Csv,
    build_unreadable_failure,
    read_csv_columns,
    read_typed_columns,
)
from dprelease.scaffold.template import NewSpec, check_path, write_spec


def init(
    data: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    skip_rows: int = 0,
) -> str:
    """Do what the package's ``init`` says."""
    if delimiter is not None and not is_delimiter(delimiter):
        raise ValueError("a delimiter is one ASCII character, such as ';' or tab")
    if skip_rows < 0:
        raise ValueError("skip_rows is 0 or more")
    form = Csv(delimiter or "", encoding, skip_rows)
    return write_spec(begin_spec(os.fspath(data), os.getcwd(), "SPEC", form, header=header))


def begin_spec(data: str, folder: str, spec: str, form: Csv, *, header: bool = True) -> NewSpec:
    """Find out what is known of a data file.

    Args:
        data: Path of the file.
        folder: The folder where the spec will stand, to which its path is relative.
        spec: The name of the spec.
        form: Of a CSV file. The delimiter, which ``is_delimiter`` has checked, is that of the
            suffix if it is empty.
        header: Whether a CSV file has a line with the names; if not, it isn't opened.

    Raises:
        Failure: Exit code 2, if names can't be read from the file.
    """
    if "://" in data:  # a URI may hold a password, and is not said again
        hint = "write its spec by hand: How-to, Read from a database"
        raise build_unreadable_failure("a database or URI", "init reads files", hint)
    suffix = get_suffix(data)
    if suffix not in SUFFIXES:
        hint = f"name a file with one of the suffixes {', '.join(SUFFIXES)}"
        raise build_unreadable_failure(data, "its suffix does not show the format", hint)
    format = SUFFIXES[suffix]
    if format not in ("csv", "parquet", "arrow"):
        reason = f"init can't begin a spec for {suffix} files"
        raise build_unreadable_failure(data, reason, "save it as CSV first")
    path = os.path.relpath(os.path.abspath(data), folder).replace(os.sep, "/")
    check_path(path)
    columns = None
    if format != "csv":
        if not header or form != Csv(""):
            reason = f"the options for CSV don't apply to {SOURCES[format].title} files"
            raise build_unreadable_failure(data, reason, "leave them out")
        columns = read_typed_columns(data, format)
        return NewSpec(_name(data, suffix), path, spec, format, columns)
    if not form.delimiter:
        form = form._replace(delimiter="\t" if suffix.startswith(".tsv") else ",")
    if header:
        columns, form = read_csv_columns(data, form)
    return NewSpec(_name(data, suffix), path, spec, format, columns, form)


def is_delimiter(text: str) -> bool:
    """Tell if a text can part the fields of a line."""
    is_printed = len(text) == 1 and " " <= text <= "~"
    return text == "\t" or (is_printed and not text.isalnum() and text != '"')


def _name(data: str, suffix: str) -> str:
    """Derive a file-safe name from the name of the data file."""
    stem = os.path.basename(data)
    stem = stem[: len(stem) - len(suffix)]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem)[:100].strip("-_")
    return name or "release"
