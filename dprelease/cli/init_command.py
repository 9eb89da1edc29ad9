"""``dprelease init``: the beginning of a spec, from the names of the columns alone."""

from __future__ import annotations

import os
import re

import click

from dprelease.cli.app import QUIET
from dprelease.cli.views.console import answer, write_remark
from dprelease.errors import ExitCode

MARKS = (";", "\t", "|", ",")

EPILOG = """\b
Example:
  dprelease init extracts/visits.csv -o visits.toml
  dprelease init --delimiter ';' --encoding latin-1 visits.csv
  dprelease init visits.parquet"""


@click.command(epilog=EPILOG)
@click.argument("data", type=click.Path(), metavar="DATA")
@click.option(
    "-o", "--out", type=click.Path(), metavar="FILE", help="Write to FILE, which must not exist."
)
@click.option("--delimiter", metavar="C", help='For a CSV file: "," or, for .tsv, a tab.')
@click.option(
    "--encoding",
    type=click.Choice(["utf-8", "latin-1", "cp1252"]),
    default="utf-8",
    help="For a CSV file: utf-8 if left out.",
)
@click.option("--no-header", is_flag=True, help="The first line is a record; DATA is not opened.")
@QUIET
def init(  # noqa: PLR0913, PLR0917 - one parameter for each option
    data: str, out: str | None, delimiter: str | None, encoding: str, no_header: bool, quiet: bool
) -> int:
    """Begin a spec, with comments that say what to fill in.

    Reads the first line of a CSV file, which must be its header, or the schema of a Parquet or
    Arrow file: no value, so bounds, keys and budget are yours to write.
    """
    from dprelease.files.packed import get_suffix
    from dprelease.model.source_registry import SOURCES, SUFFIXES
    from dprelease.scaffold.file_columns import Csv, read_csv_columns
    from dprelease.scaffold.template import MARK, NewSpec, check_path, write_spec

    if "://" in data:  # a URI may hold a password, and is not said again
        hint = "write its spec by hand: How-to, Read from a database"
        raise click.UsageError(f"init can't begin a spec for a database or URI; {hint}")
    suffix = get_suffix(data)
    if suffix not in SUFFIXES:
        hint = f"a file with one of the suffixes {', '.join(SUFFIXES)}"
        raise click.UsageError(f"{data}: its suffix does not show the format; name {hint}")
    if SUFFIXES[suffix] not in ("csv", "parquet", "arrow"):
        raise click.UsageError(
            f"init can't begin a spec for {suffix} files; save the sheet as CSV first"
        )
    form = Csv(_choose_delimiter(delimiter, suffix), encoding)
    folder = os.path.dirname(os.path.abspath(out)) if out is not None else os.getcwd()
    path = os.path.relpath(os.path.abspath(data), folder).replace(os.sep, "/")
    check_path(path)
    columns = None
    if SUFFIXES[suffix] != "csv":
        if no_header or delimiter is not None or encoding != "utf-8":
            title = SOURCES[SUFFIXES[suffix]].title
            raise click.UsageError(f"the options for CSV don't apply to {title} files")
        from dprelease.scaffold.file_columns import read_typed_columns

        columns = read_typed_columns(data, SUFFIXES[suffix])
    elif not no_header:
        columns = read_csv_columns(data, form)
    spec = out if out is not None else "SPEC"
    text = write_spec(NewSpec(_name(data, suffix), path, spec, SUFFIXES[suffix], columns, form))
    if out is None:
        answer(text.removesuffix("\n"))
    else:
        from dprelease.cli.views.console import write_new

        write_new(out, text)
    if quiet:
        return int(ExitCode.DONE)
    if columns is not None and SUFFIXES[suffix] == "csv":
        write_remark(
            "note: the first line was read as the header; if it is a record, delete this spec"
        )
        if len(columns) == 1:
            mark = next((mark for mark in MARKS if mark in columns[0].name), "")
            hint = f"; it holds {mark!r}: --delimiter {mark!r}" if mark else ""
            write_remark(
                f"note: that is one column{hint or '; --delimiter names another delimiter'}"
            )
    if out is not None:
        write_remark(f"written  {out}; complete the lines marked {MARK}")
    return int(ExitCode.DONE)


def _choose_delimiter(option: str | None, suffix: str) -> str:
    if option is None:
        return "\t" if suffix.startswith(".tsv") else ","
    if option in {"\\t", "\t", "tab"}:
        return "\t"
    if len(option) != 1 or not (" " <= option <= "~") or option.isalnum() or option == '"':
        raise click.UsageError("--delimiter is one ASCII character, such as ';' or tab")
    return option


def _name(data: str, suffix: str) -> str:
    """Derive a file-safe name from the name of the data file."""
    stem = os.path.basename(data)
    stem = stem[: len(stem) - len(suffix)]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem)[:100].strip("-_")
    return name or "release"
