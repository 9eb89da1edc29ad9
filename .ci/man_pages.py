"""Man pages of all commands, by click-man: python .ci/man_pages.py FOLDER.

click-man leaves out what stands below the options in `--help` (examples, exit codes), and cuts the
summary of a command short; both are put in here. Pages bear the day of SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import click
from click_man.core import generate_man_page

from dprelease.cli.app import app


def page(context: click.Context, date: str) -> str:
    """The page of one command."""
    command = context.command
    text: str = generate_man_page(context, version=version("dprelease"), date=date)
    summary = (command.help or "").strip().splitlines()[0].rstrip(".")
    head, name, rest = text.partition(".SH NAME\n")
    rest = rest.partition("\n")[2]
    title = context.command_path.replace(" ", "-")
    lines = [rest.rstrip("\n")]
    for block in (command.epilog or "").replace("\b\n", "").strip().split("\n\n"):
        lines += [".PP", ".nf", *("\\&" + escaped(line) for line in block.splitlines()), ".fi"]
    if isinstance(command, click.Group):
        lines.append(".SH SEE ALSO")
        lines += [f"\\fB{title}\\-{each}\\fP(1)" for each in command.list_commands(context)]
    return f"{head}{name}{title} \\- {escaped(summary)}\n" + "\n".join(lines) + "\n"


def escaped(line: str) -> str:
    """A line as roff shows it."""
    return line.replace("\\", "\\e").replace("-", "\\-")


def write(context: click.Context, folder: Path, date: str) -> None:
    """Write the page of a command, and of those below it."""
    name = context.command_path.replace(" ", "-")
    (folder / f"{name}.1").write_text(page(context, date), encoding="utf-8")
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                write(click.Context(command, info_name=name, parent=context), folder, date)


if __name__ == "__main__":
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    day = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    write(click.Context(app, info_name="dprelease"), Path(sys.argv[1]), day)
