"""``dprelease report``: a published release's report again, in any format."""

from __future__ import annotations

import os
import sys

import click

import dprelease
from dprelease.cli.app import QUIET
from dprelease.cli.views.console import write_remark
from dprelease.errors import build_write_failure
from dprelease.report_format import REPORT_FORMATS

EPILOG = """\b
Example:
  dprelease report out/clinic-visits --format html -o report.html
  dprelease report out/clinic-visits --format registry > registry.yaml"""


@click.command(epilog=EPILOG)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(REPORT_FORMATS)),
    default="md",
    show_default=True,
    help="HTML, Markdown, JSON, PDF, or a YAML entry for the OpenDP registry of deployments.",
)
@click.option("-o", "--out", type=click.Path(), metavar="FILE", help="Write here.")
@QUIET
def report(directory: str, form: str, out: str | None, quiet: bool) -> None:
    """Render a release's report again, from its files alone.

    Reads report.json and the tables in DIR, and gives the same bytes as the run: nothing is spent,
    no private data and no ledger are opened.
    """
    content = dprelease.report(directory, format=form).content
    if out is None:
        sys.stdout.buffer.write(content)  # its own encoding, whatever that of the stream is
        sys.stdout.buffer.flush()
        return
    write_file(out, content, directory)
    if not quiet:
        write_remark(f"written  {out}")


def write_file(path: str, content: bytes, directory: str | None = None) -> None:
    """Write a file that somebody asked for by name. Raises Failure (exit 2 or 6).

    A published file is only replaced in the ``directory`` of the release that it is of.
    """
    from dprelease.files.atomic import UnwrittenError, save_file
    from dprelease.output.released_tables import list_published_files
    from dprelease.reports.report_formats import is_rendered

    folder, name = os.path.split(os.path.realpath(path))
    elsewhere = directory is None or folder != os.path.realpath(directory)
    try:
        if elsewhere and name in list_published_files(folder):
            raise UnwrittenError("it is a file of another release", is_of_disk=False)
        save_file(path, content, is_rendered)
    except UnwrittenError as problem:
        message = f"{path} can't be written: {problem.reason}"
        hint = "choose another FILE"
        raise build_write_failure("E823", message, hint, is_of_disk=problem.is_of_disk) from None
