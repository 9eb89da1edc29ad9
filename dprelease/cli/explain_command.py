"""``dprelease explain``: what a code means and what to do about it. Opens no data and no spec."""

from __future__ import annotations

import re
import sys

import click

from dprelease.cli.app import JSON
from dprelease.cli.views.console import answer, answer_json, fold_line, paint
from dprelease.errors import CodeGroup, ExitCode, read_code_groups

EPILOG = """\b
Example:
  dprelease explain E201
  dprelease explain | grep delta"""

_LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")


@click.command(epilog=EPILOG)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@JSON
def explain(codes: tuple[str, ...], as_json: bool) -> int:
    """Say what an error or warning code means, and what to do.

    Without a CODE all are listed.
    """
    homes = {code: group for group in read_code_groups() for code in group.codes}
    requests = [code.upper() for code in codes] or list(homes)
    for code in requests:
        if code not in homes:
            raise click.UsageError(f'no code "{code}"; dprelease explain lists all')
    if as_json:
        answer_json(
            {
                "schema": "dprelease/codes/1",
                "codes": [_encode_code(code, homes[code]) for code in requests],
            }
        )
    elif codes:
        answer("\n\n".join(_format_code(code, homes[code]) for code in requests))
    else:
        for code in requests:
            answer(fold_line(f"{code}  {homes[code].codes[code][0]}", sys.stdout, 6))
    return int(ExitCode.DONE)


def _encode_code(code: str, group: CodeGroup) -> dict[str, str]:
    says, remedy = group.codes[code]
    return {
        "code": code,
        "says": says,
        "remedy": _LINK.sub(_strip_link, remedy),
        "group": group.heading,
        "holds": group.holds,
    }


def _format_code(code: str, group: CodeGroup) -> str:
    facts = _encode_code(code, group)
    mark = paint(code, "error" if code.startswith("E") else "warning", sys.stdout)
    lines = (
        facts["says"],
        f"{facts['group']}. {facts['holds']}",
        f"What to do: {facts['remedy']}",
    )
    body = "\n".join(fold_line(f"{'':6}{line}", sys.stdout, 6) for line in lines)
    return mark + body.removeprefix(" " * len(code))


def _strip_link(link: re.Match[str]) -> str:
    """Write a link as its words and a place in the documentation."""
    place = link[2].removeprefix("../")
    return f"{link[1]} (docs/{place if place != link[2] else f'reference/{place}'})"
