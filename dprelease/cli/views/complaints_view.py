"""Complaints for people: one line each, the line of the spec below it, one cause told once.

On a terminal the remedy has a line of its own, below the source; elsewhere it ends the first line,
so that a search finds all of a complaint in one line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from stat import S_ISREG

from dprelease.cli.views.console import count_columns, fold_line, get_width, make_printable, paint
from dprelease.errors import Complaint

_INDENT = 4
MOST_BYTES = 1 << 22  # of a spec
_PIPED_WIDTH = 100
_TAB = "    "
_PARSED = ".toml"
# What a mark underlines: a header, list or table on one line, a text in quotes, or a word.
_TOKEN = re.compile(
    r"""\[\[?[^]]*\]\]?|\{[^}]*\}|"(?:\\.|[^"\\])*"|'[^']*'|[^\s,=\]}#'"\[{]+(?:\.[^\s,=\]}#]+)*"""
)


def complain(
    complaints: Iterable[Complaint], style: str = "error", texts: Mapping[str, str] | None = None
) -> None:
    """Write complaints to standard error, the codes in the style.

    ``texts`` holds what was read otherwise than from a file, by the names in places.
    """
    lines: dict[str, list[str]] = {name: text.split("\n") for name, text in (texts or {}).items()}
    for group in _group_by_cause(complaints):
        sys.stderr.write("\n".join(_format_group(group, style, lines)) + "\n")


def _group_by_cause(complaints: Iterable[Complaint]) -> list[list[Complaint]]:
    """Group complaints with the same code and remedy, and the same words or the same place."""
    groups: dict[tuple[object, ...], list[Complaint]] = {}
    for complaint in complaints:
        place = complaint.place
        # Two keys for each group: one thing in several places, or several things in one place.
        same_words = (complaint.code, complaint.hint, complaint.message, place and place.file)
        same_place = (complaint.code, complaint.hint, place or complaint.message)
        group = groups.get(same_words) or groups.get(same_place) or []
        group.append(complaint)
        groups.setdefault(same_words, group)
        groups.setdefault(same_place, group)
    return list({id(group): group for group in groups.values()}.values())


def _format_group(
    group: Sequence[Complaint], style: str, lines: dict[str, list[str]]
) -> Iterator[str]:
    first, *followers = group
    watched = get_width(sys.stderr) is not None
    source = list(_format_source(first, style, lines))
    below = watched and bool(source)
    head = _fold(first.head if below else str(first))
    yield head.replace(first.code, paint(first.code, style, sys.stderr), 1)
    yield from source
    if below:
        yield _fold(f"{'':{_INDENT}}hint: {first.hint}")
    for follower in followers:
        if follower.message == first.message:
            key = f" [{follower.key}]" if follower.key else ""
            yield _fold(f"{'':{_INDENT}}also {follower.place or ''}{key}")
        else:
            yield _fold(f"{'':{_INDENT}}also {follower.message}")


def _fold(text: str) -> str:
    return fold_line(make_printable(text), sys.stderr, _INDENT)


def _format_source(complaint: Complaint, style: str, lines: dict[str, list[str]]) -> Iterator[str]:
    """Format the line of the spec and a mark below the place; nothing if it can't be read again."""
    place = complaint.place
    if place is None:
        return
    if complaint.code.startswith("E00") and not place.file.endswith(_PARSED):
        return  # no spec was read: the file may be data, named by mistake
    if place.file not in lines:
        lines[place.file] = _read_lines(place.file)
    known_lines = lines[place.file]
    if not place.line <= len(known_lines):
        return
    line = known_lines[place.line - 1].removesuffix("\r")
    if not line.strip():
        return
    at = min(place.column - 1, len(line))
    token = _TOKEN.match(line, at)
    number = str(place.line)
    room = (get_width(sys.stderr) or _PIPED_WIDTH) - _INDENT - len(number) - 4
    end = token.end() if token else at + 1
    before, marked, after = _cut(
        _format_text(line[:at]), _format_text(line[at:end]), _format_text(line[end:]), room
    )
    bar = paint("|", "quiet", sys.stderr)
    gap = " " * count_columns(before)
    mark = paint("^" * max(1, count_columns(marked)), style, sys.stderr)
    yield f"{'':{_INDENT}}{number} {bar} {before}{marked}{after}".rstrip()
    yield f"{'':{_INDENT + len(number)}} {bar} {gap}{mark}"


def _read_lines(file: str) -> list[str]:
    """Read the lines of a file; none if it is no plain file any more, or too large."""
    try:
        status = os.stat(file)
        if not S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return []
        with open(file, encoding="utf-8", errors="replace", newline="") as stream:
            return stream.read().split("\n")
    except (OSError, ValueError):
        return []


def _format_text(text: str) -> str:
    return make_printable(text.replace("\t", _TAB))


def _cut(before: str, marked: str, after: str, room: int) -> tuple[str, str, str]:
    """Cut the three parts of a line to a width: the marked part stays, then what is around it."""
    room = max(room, 12)
    if count_columns(before + marked + after) <= room:
        return before, marked, after
    marked = _cut_text(marked, room - 4)
    remaining = room - count_columns(marked)
    before = _cut_text(before[::-1], max(remaining * 2 // 3, remaining - count_columns(after)))[
        ::-1
    ]
    return before, marked, _cut_text(after, room - count_columns(before + marked))


def _cut_text(text: str, width: int) -> str:
    """Cut a text to a number of columns, with a mark where it is cut."""
    if count_columns(text) <= width:
        return text
    cut = text[: max(0, width)]
    while cut and count_columns(cut) > width - 1:
        cut = cut[:-1]
    return f"{cut}…" if width > 0 else ""


def count_errors(by_file: Mapping[str, Sequence[Complaint]]) -> str:
    """Count the errors and the files that have them, as in ``11 errors in 1 file``."""
    from dprelease.specfile.complaints.reporter import MORE

    bad = {file: complaints for file, complaints in by_file.items() if complaints}
    number = sum(map(len, bad.values()))
    is_cut = any(complaint.code == MORE for complaints in bad.values() for complaint in complaints)
    errors = f"{number} error" if number == 1 else f"{number} errors"
    errors = f"more than {number - 1} errors" if is_cut else errors
    of = f" of {len(by_file)}" if len(by_file) > 1 else ""
    return f"{errors} in {len(bad)}{of} file{'s' if len(by_file) > 1 else ''}"
