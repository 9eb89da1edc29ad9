"""Where text goes: results to standard output or to a file, everything else to standard error.

Colour and moving lines only on a terminal, and no colour when ``NO_COLOR`` is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO

from dprelease.errors import Failure, build_write_failure

_STYLES = {"error": "31;1", "warning": "33", "good": "32", "quiet": "2"}
NARROWEST = 20
_JOINERS = "\u200c\u200d"


def prepare_streams() -> None:
    """Let neither a closed stream nor a character it can't encode stop the tool."""
    if sys.stdin is None:  # a closed descriptor would be given to the next file that is opened
        sys.stdin = open(os.devnull)  # noqa: SIM115 - open as long as the process lives
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as above
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def abandon_stdout() -> None:
    """Send what is still unwritten nowhere: standard output is gone, at shutdown too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def is_terminal(stream: TextIO) -> bool:
    """Check for a terminal that can move its cursor."""
    able = (
        os.name == "posix" or "WT_SESSION" in os.environ
    )  # others of Windows want to be asked for it
    return able and stream.isatty() and os.environ.get("TERM") != "dumb"


def is_coloured(stream: TextIO) -> bool:
    """Check whether the stream may carry colour."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def paint(text: str, style: str, stream: TextIO) -> str:
    """Put a text into a style of ``_STYLES``, if the stream may carry colour."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if is_coloured(stream) else text


def get_width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None for any other stream."""
    if not is_terminal(stream):
        return None
    setting = os.environ.get("COLUMNS", "")
    if setting.isdecimal() and int(setting):
        return max(NARROWEST, int(setting))
    try:  # of this stream: the other one may be a pipe
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return max(NARROWEST, columns or 80)


def count_columns(text: str) -> int:
    """Count the columns that a text takes on a terminal: many characters take two, some none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(char) in {"Mn", "Me", "Cf"} else 2 if east_asian_width(char) in "WF" else 1
        for char in text
    )


def fold_line(text: str, stream: TextIO, indent: int) -> str:
    """Fold a line between words at the width of a terminal; leave it whole elsewhere."""
    width = get_width(stream)
    if width is None or count_columns(text) <= width:
        return text
    from re import findall

    lines, line, filled = [], "", 0
    for gap, word in findall(r"(\s*)(\S+)", text):
        needed = count_columns(gap + word)
        if line and filled + needed > width:
            lines.append(line)
            line, filled = " " * indent + word, indent + count_columns(word)
        else:
            line, filled = line + gap + word, filled + needed
    return "\n".join([*lines, line])


def answer(text: str) -> None:
    """Write a result to standard output, at once: whether it arrived decides the exit code.

    Raises Failure (exit code 2, or 6 where a disk has no room); BrokenPipeError if nobody reads.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        # Imported here for start-up: it is seldom needed.
        from dprelease.files.system import DISK_ERRORS

        abandon_stdout()
        message = f"standard output can't be written: {problem.strerror or 'it fails'}"
        hint, is_of_disk = "check the program that reads it", problem.errno in DISK_ERRORS
        raise build_write_failure("E018", message, hint, is_of_disk=is_of_disk) from None


def answer_json(value: object) -> None:
    """Write one JSON object to standard output."""
    import json

    answer(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def make_printable(text: str) -> str:
    """Replace characters that could move a terminal's cursor or colour it.

    Blanks of every width stay, as French has them before colons, and joiners, with which emoji and
    several scripts are written.
    """
    if text.isprintable():
        return text
    # Imported here for start-up: most texts are plain.
    from unicodedata import category

    return "".join(
        char if char.isprintable() or char in _JOINERS or category(char) == "Zs" else "\ufffd"
        for char in text
    )


def write_remark(text: str, style: str = "") -> None:
    """Write anything that is not a result to standard error."""
    lines = map(make_printable, text.expandtabs(4).split("\n"))
    text = "\n".join(fold_line(line, sys.stderr, 4) for line in lines)
    sys.stderr.write(f"{paint(text, style, sys.stderr) if style else text}\n")


def refuse_present(file: str) -> None:
    """Refuse a place where something is, before a command writes several files."""
    if os.path.lexists(file):
        raise _build_new_failure(file, "E010", "is there already", is_of_disk=False)


def _build_new_failure(file: str, code: str, message: str, *, is_of_disk: bool) -> Failure:
    hint = "name another file with -o"
    return build_write_failure(code, f"{file} {message}", hint, is_of_disk=is_of_disk)


def write_new(file: str, text: str, *, over: Callable[[str], bool] | None = None) -> None:
    """Write a text file whole. What is there is only replaced if ``over`` says so of its text.

    Raises Failure (exit code 2, or 6 where a disk has no room).
    """
    from dprelease.files.atomic import is_replaceable, put_file
    from dprelease.files.system import DISK_ERRORS

    try:
        put_file(
            file, text.encode(), mode=0o666, over=over is not None and is_replaceable(file, over)
        )
    except OSError as problem:
        reason = problem.strerror or "it can't be written"
        code, message = "E011", f"can't be written: {reason}"
        if isinstance(problem, FileExistsError):
            code, message = "E010", "is there already"
        is_of_disk = problem.errno in DISK_ERRORS
        raise _build_new_failure(file, code, message, is_of_disk=is_of_disk) from None
