"""``dprelease schema``: the JSON Schema of specs, for editors, or of reports. Opens no data."""

from __future__ import annotations

import click

from dprelease.cli.views.console import answer, write_new
from dprelease.errors import ExitCode

EPILOG = """\b
Example:
  dprelease schema -o spec.schema.json
then, as the first line of a spec, for editors with TOML support (taplo, Even
Better TOML):
  #:schema ./spec.schema.json"""


@click.command(epilog=EPILOG)
@click.option(
    "-o",
    "--out",
    type=click.Path(),
    metavar="FILE",
    help="Write to FILE, in place of an older schema.",
)
@click.option("--report", is_flag=True, help="The schema of report.json in place of that of specs.")
def schema(out: str | None, *, report: bool) -> int:
    """Write the JSON Schema of specs, for editors.

    An editor then completes keys, shows what they mean, and marks mistakes while one types.
    """
    if report:
        from dprelease.reports.model.json_form import schema_text
    else:
        from dprelease.specfile.schema.json_schema import schema_text

    if out is None:
        answer(schema_text().removesuffix("\n"))
    else:
        write_new(out, schema_text(), over=_is_ours)
    return int(ExitCode.DONE)


def _is_ours(text: str) -> bool:
    """Check for a schema that dprelease wrote, of any version: nothing else is replaced."""
    import json

    from dprelease.reports.model.json_form import TITLE as REPORT_TITLE
    from dprelease.specfile.schema.json_schema import TITLE

    content = json.loads(text)
    return isinstance(content, dict) and content.get("title") in {TITLE, REPORT_TITLE}
