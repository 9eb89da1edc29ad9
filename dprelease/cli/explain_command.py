"""``dprelease explain``: what a code means and what to do about it. Opens no data and no spec."""

from __future__ import annotations

import sys

import click

from dprelease.cli.app import JSON
from dprelease.cli.views.console import answer, answer_json, fold_line, paint
from dprelease.errors import CodeMeaning, ExitCode, explain_code, read_code_groups

EPILOG = """\b
Example:
  dprelease explain E201
  dprelease explain | grep delta"""


@click.command(epilog=EPILOG)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@JSON
def explain(codes: tuple[str, ...], as_json: bool) -> int:
    """Say what an error or warning code means, and what to do.

    Without a CODE all are listed.
    """
    requests = codes or tuple(code for group in read_code_groups() for code in group.codes)
    meanings: list[CodeMeaning] = []
    for code in requests:
        meaning = explain_code(code)
        if meaning is None:
            raise click.UsageError(f'no code "{code.upper()}"; dprelease explain lists all')
        meanings.append(meaning)
    if as_json:
        listed = [meaning._asdict() for meaning in meanings]
        answer_json({"schema": "dprelease/codes/1", "codes": listed})
    elif codes:
        answer("\n\n".join(map(_format_meaning, meanings)))
    else:
        for meaning in meanings:
            answer(fold_line(f"{meaning.code}  {meaning.says}", sys.stdout, 6))
    return int(ExitCode.DONE)


def _format_meaning(meaning: CodeMeaning) -> str:
    code = meaning.code
    mark = paint(code, "error" if code.startswith("E") else "warning", sys.stdout)
    lines = (meaning.says, f"{meaning.group}. {meaning.holds}", f"What to do: {meaning.remedy}")
    body = "\n".join(fold_line(f"{'':6}{line}", sys.stdout, 6) for line in lines)
    return mark + body.removeprefix(" " * len(code))
