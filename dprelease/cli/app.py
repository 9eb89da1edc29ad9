"""The command ``dprelease`` itself: its commands, each imported when needed, and shared options."""

from __future__ import annotations

from importlib import import_module

import click

# In the order of use, which is the order of `--help`.
COMMANDS = (
    "init", "check", "plan", "rehearse", "run", "report", "show", "combine", "estimate", "diff",
    "budget", "explain", "schema", "completion",
)  # fmt: skip

# Other commands stand in this folder.
MODULES = {"estimate": "dprelease.local.estimate_command"}

EPILOG = """\b
Example:
  dprelease check release_specs/clinic_visits.toml
  dprelease plan release_specs/clinic_visits.toml
  dprelease run release_specs/clinic_visits.toml

\b
Exit codes: 0 done (already done included), 1 findings, 2 usage or spec,
3 budget refused, 4 data not as declared, 5 failed after the budget was
reserved (retry is free), 6 ledger busy or damaged, 70 internal error."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List every command, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = MODULES.get(cmd_name, f"dprelease.cli.{cmd_name}_command")
        command: click.Command = getattr(import_module(module), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, but suggest the nearest names for an unknown command."""
        name = args[0]
        mistaken = not name.startswith("-") and name not in COMMANDS
        if mistaken and not ctx.resilient_parsing:  # in which a shell asks for completions
            raise click.UsageError(f'no command "{name}"{_find_nearest(name)}', ctx)
        return super().resolve_command(ctx, args)


def _find_nearest(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    if near:
        return f'; did you mean "{near[0]}"?'
    return f"; the commands are: {', '.join(COMMANDS)}"


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dprelease", message="dprelease %(version)s")
def app() -> None:
    """Publish statistics of a private table under differential privacy.

    One TOML spec says what to publish and at what cost: out come noisy tables and a report.
    """


SPEC = click.argument("spec", type=click.Path(), metavar="SPEC")
PERIOD = click.option(
    "--period", metavar="P", help='Fill in {period} in the spec\'s path and snapshot ("2026-q1").'
)
OUTSIDE = click.option(
    "--allow-outside-lists",
    "outside",
    is_flag=True,
    help="Let a keys_file or candidates_file lie outside the spec's folder: its lines are "
    "published.",
)
OUTPUT = click.option(
    "--output", type=click.Path(), metavar="DIR", help="Write to this folder, not to [output]."
)
REPLACE = click.option(
    "--replace-output",
    is_flag=True,
    help="Write into the folder of another release, and remove its files.",
)
FORM = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    help="text (default), json, or annotations for a GitHub workflow.",
)
SAME_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
JSON = click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Write errors and --json output only.")
