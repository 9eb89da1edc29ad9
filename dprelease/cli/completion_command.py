"""``dprelease completion``: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click

from dprelease.cli.views.console import answer
from dprelease.errors import ExitCode

EPILOG = """\b
Example:
  echo 'eval "$(dprelease completion bash)"' >> ~/.bashrc
  dprelease completion fish > ~/.config/fish/completions/dprelease.fish
  echo 'eval "$(dprelease completion zsh)"' >> ~/.zshrc"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Write the script that completes words in a shell.

    Bash from 4.4 on.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from dprelease.cli.app import app
    from dprelease.cli.guard import COMPLETION

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    # Of the base class: that of bash would start a shell to learn its version.
    script = ShellComplete.source(kind(app, {}, "dprelease", COMPLETION))
    answer(script.strip("\n"))
    return int(ExitCode.DONE)
