"""``dprelease init``: the beginning of a spec, from the names of the columns alone."""

from __future__ import annotations

import os

import click
from click.core import ParameterSource

from dprelease.cli.app import QUIET
from dprelease.cli.views.console import answer, write_remark
from dprelease.errors import ExitCode

MARKS = (";", "\t", "|", ",")

EPILOG = """\b
Example:
  dprelease init extracts/visits.csv -o visits.toml
  dprelease init --delimiter ';' --encoding latin-1 visits.csv
  dprelease init --sheet 2025 --codebook codebook.csv visits.xlsx
  dprelease init --driver sqlite --uri-env SURVEY_URI --table persons
  dprelease init --example"""


@click.command(epilog=EPILOG)
@click.argument("data", type=click.Path(), metavar="[DATA]", required=False)
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
@click.option("--sheet", metavar="NAME", help="For an Excel workbook: its only one if left out.")
@click.option("--driver", metavar="NAME", help="For a table of a database: postgresql or sqlite.")
@click.option("--uri-env", metavar="NAME", help="The variable that holds the database's URI.")
@click.option("--table", metavar="NAME", help="The table or view, as NAME or SCHEMA.NAME.")
@click.option(
    "--codebook",
    "codebooks",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="A public table of columns, types, bounds, keys and labels to fill in.",
)
@click.option(
    "--example",
    is_flag=True,
    help="Write a whole spec with made-up data beside it; FILE is example.toml if left out.",
)
@QUIET
def init(  # noqa: PLR0913, PLR0917 - one parameter for each option
    data: str | None,
    out: str | None,
    delimiter: str | None,
    encoding: str,
    skip_rows: int,
    no_header: bool,
    driver: str | None,
    uri_env: str | None,
    table: str | None,
    codebooks: tuple[str, ...],
    example: bool,
    quiet: bool,
    **own: str | None,  # each is of one format
) -> int:
    """Begin a spec, with comments that say what to fill in.

    Reads the header of a CSV file or a sheet, the schema of a Parquet or Arrow file, the catalogue
    of a database. Reads no value: bounds, keys and budget are yours to write.
    """
    if example:
        context = click.get_current_context()
        given = {
            name
            for name in context.params
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        if given - {"example", "out", "quiet"}:
            raise click.UsageError("--example is of no data: it goes with -o and -q alone")
        return _write_example(out or "example.toml", quiet)
    from dprelease.model.source_registry import Naming
    from dprelease.scaffold.new_spec import InvalidOptions, Options, begin_spec
    from dprelease.scaffold.template import MARK, write_spec

    folder = os.path.dirname(os.path.abspath(out)) if out is not None else os.getcwd()
    delimiter = "\t" if delimiter in {"\\t", "tab"} else delimiter
    named = {key: value for key, value in own.items() if value is not None}
    if len(codebooks) > 1:
        raise click.UsageError("--codebook names one file: join several into one")
    options = Options(
        delimiter, encoding, not no_header, skip_rows, driver, uri_env, table, named, *codebooks
    )
    try:
        new_spec = begin_spec(data, folder, "SPEC" if out is None else out, options)
    except InvalidOptions as problem:
        raise click.UsageError(problem.reason) from None
    text, columns = write_spec(new_spec), new_spec.columns
    if out is None:
        answer(text.removesuffix("\n"))
    else:
        from dprelease.cli.views.console import write_new

        write_new(out, text)
    if quiet:
        return int(ExitCode.DONE)
    if columns is not None and new_spec.naming in (Naming.LINE, Naming.ROW):
        line = new_spec.naming.value
        write_remark(
            f"note: the first {line} was read as the header; if it is a record, delete this spec"
        )
        if len(columns) == 1 and new_spec.naming is Naming.LINE:
            mark = next((mark for mark in MARKS if mark in columns[0].name), "")
            hint = f"; it holds {mark!r}: --delimiter {mark!r}" if mark else ""
            write_remark(
                f"note: that is one column{hint or '; --delimiter names another delimiter'}"
            )
    if out is not None:
        write_remark(f"written  {out}; complete the lines marked {MARK}")
    return int(ExitCode.DONE)


def _write_example(spec: str, quiet: bool) -> int:
    from dprelease.cli.views.console import refuse_present, write_new
    from dprelease.scaffold.example import write_example_data, write_example_spec
    from dprelease.scaffold.template import check_path

    data = f"{os.path.splitext(spec)[0]}.csv"
    if data == spec:
        raise click.UsageError("-o names the spec, and its data are the .csv beside it")
    check_path(os.path.basename(data))
    refuse_present(spec)  # before the data is written
    write_new(data, write_example_data())
    write_new(spec, write_example_spec(os.path.basename(spec), os.path.basename(data)))
    if not quiet:
        write_remark(f"written  {spec} and {data}; next: dprelease run {spec}")
    return int(ExitCode.DONE)
