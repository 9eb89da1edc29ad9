"""Arguments and options that several commands share."""

from __future__ import annotations

import click

SPEC = click.argument("spec", type=click.Path(), metavar="SPEC")
PERIOD = click.option(
    "--period", metavar="P", help='Fill in {period} in the spec\'s path and snapshot ("2026-q1").'
)
OUTSIDE = click.option(
    "--allow-outside-lists",
    "outside",
    is_flag=True,
    help="Let a keys_file or candidates_file lie outside of the spec's folder: its lines are "
    "published.",
)
OUTPUT = click.option(
    "--output", type=click.Path(), metavar="DIR", help="Write here, not to [output]."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
QUIET = click.option(
    "-q", "--quiet", is_flag=True, help="Write errors only, and what --json asks for."
)
