"""``dprelease init``: the beginning of a spec, from the names of the columns alone."""

from __future__ import annotations

import os

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
@click.option(
    "--skip-rows",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="N",
    help="For a CSV file: the number of lines before the header.",
)
@click.option("--no-header", is_flag=True, help="The first line is a record; DATA is not opened.")
@QUIET
def init(  # noqa: PLR0913, PLR0917 - one parameter for each option
    data: str,
    out: str | None,
    delimiter: str | None,
    encoding: str,
    skip_rows: int,
    no_header: bool,
    quiet: bool,
) -> int:
    """Begin a spec, with comments that say what to fill in.

    Reads the header of a CSV file, or the schema of a Parquet or Arrow file: no value, so bounds,
    keys and budget are yours to write.
    """
    from dprelease.scaffold.file_columns import Csv
    from dprelease.scaffold.new_spec import begin_spec, is_delimiter
    from dprelease.scaffold.template import MARK, write_spec

    folder = os.path.dirname(os.path.abspath(out)) if out is not None else os.getcwd()
    delimiter = "\t" if delimiter in {"\\t", "tab"} else delimiter
    if delimiter is not None and not is_delimiter(delimiter):
        raise click.UsageError("--delimiter is one ASCII character, such as ';' or tab")
    form = Csv(delimiter or "", encoding, skip_rows)
    new_spec = begin_spec(data, folder, "SPEC" if out is None else out, form, header=not no_header)
    text, columns = write_spec(new_spec), new_spec.columns
    if out is None:
        answer(text.removesuffix("\n"))
    else:
        from dprelease.cli.views.console import write_new

        write_new(out, text)
    if quiet:
        return int(ExitCode.DONE)
    if columns is not None and new_spec.format == "csv":
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
