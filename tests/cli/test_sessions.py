"""Sessions on the command line go as they are written down, to the letter, in ``sessions``.

A session begins with ``# title``, in a folder with small.toml and small.csv. ``$`` is a command;
below it stands what it prints (``>``), what it complains of (``!``), its exit code unless that is 0
(``=``), and the files that it makes (``new``), writes (``changed``) or removes (``gone``). Between
commands the folder is changed: ``edit`` starts from the file that small.toml was at first (``-`` an
old text, ``+`` what replaces it), ``write`` gives a whole text (``|``). After a change of words,

    DPRELEASE_UPDATE_GOLDEN=1 pytest tests/cli/test_sessions.py

writes all answers afresh, and the difference is read in review.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FILES = sorted((Path(__file__).parent / "sessions").glob("*.txt"))
ANSWER = (">", "!", "=", "new", "changed", "gone")
IS_UPDATED = bool(os.environ.get("DPRELEASE_UPDATE_GOLDEN"))
MASKS = [
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "HASH"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?( UTC|Z|\+00:00)?"), "TIME"),
    (re.compile(rf"\b{re.escape(version('dprelease'))}\b"), "VERSION"),
]


class Session(NamedTuple):
    """A title, and the lines below it."""

    title: str
    lines: list[str]


def read_sessions(file: Path) -> list[Session]:
    """Read the sessions of a file."""
    parts = re.split(r"^# ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [Session(lines[0], lines[1:]) for lines in (part.strip().split("\n") for part in parts)]


def split_steps(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Give each step of a session: its first line, and what it is told below that."""
    step: str | None = None
    told: list[str] = []
    for line in lines:
        if line.split(" ", 1)[0] in ANSWER:
            continue
        if line[0] in "-+|":
            told.append(line)
            continue
        if step is not None:
            yield step, told
        step, told = line, []
    if step is not None:
        yield step, told


def read_changes(told: list[str]) -> list[tuple[str, str]]:
    """Read texts and what replaces them."""
    changes: list[tuple[list[str], list[str]]] = []
    for line in told:
        if line[0] == "-" and (not changes or changes[-1][1]):
            changes.append(([], []))
        changes[-1]["-+".index(line[0])].append(line[2:])
    return [("\n".join(old), "\n".join(new)) for old, new in changes]


def change_folder(folder: Path, spec: Callable[..., str], step: str, told: list[str]) -> None:
    """Take a step that is no command."""
    kind, *names = shlex.split(step)
    place = folder / names[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "edit":
        spec(*read_changes(told), name=names[0])
    elif kind == "write":
        place.unlink(missing_ok=True)
        place.write_text("\n".join(line[2:] for line in told), encoding="utf-8")
    elif kind == "copy":
        (folder / names[1]).unlink(missing_ok=True)
        (folder / names[1]).write_bytes(place.read_bytes())
    elif kind == "move":
        place.rename(folder / names[1])
    elif kind == "link":
        place.symlink_to(names[1])
    elif kind == "folder":
        place.mkdir(exist_ok=True)
    else:
        assert kind == "remove"
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()


def list_contents(folder: Path) -> dict[str, bytes]:
    """Give the content of each file of a folder."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def write_answer(answer: Any, old: dict[str, bytes], new: dict[str, bytes]) -> Iterator[str]:
    """Write down what a command did, line by line."""
    try:
        out = json.dumps(json.loads(answer.out), indent=1, ensure_ascii=False)
    except ValueError:
        out = answer.out.removesuffix("\n")
    for mark, text in ((">", out), ("!", answer.err.removesuffix("\n"))):
        yield from (f"{mark} {line}".rstrip() for line in text.split("\n") if text)
    if answer.code:
        yield f"= {answer.code}"
    for kind, names in (
        ("new", new.keys() - old.keys()),
        ("changed", {name for name in new.keys() & old.keys() if new[name] != old[name]}),
        ("gone", old.keys() - new.keys()),
    ):
        if names:
            yield f"{kind} {' '.join(sorted(names))}"


def mask(line: str, folder: Path) -> str:
    """Leave out of a line what is another in each run."""
    line = line.replace(str(folder), "FOLDER")
    for pattern, word in MASKS:
        line = pattern.sub(word, line)
    return line


def take(session: Session, folder: Path, spec: Any, cli: Any) -> list[str]:
    """Take all steps of a session, and write down how it went."""
    lines: list[str] = []
    for step, told in split_steps(session.lines):
        lines += [step, *told]
        if step.startswith("$ dprelease"):
            before = list_contents(folder)
            answer = cli(*shlex.split(step)[2:])
            written = write_answer(answer, before, list_contents(folder))
            lines += [mask(line, folder) for line in written]
        else:
            change_folder(folder, spec, step, told)
    return lines


SESSIONS = [(file, session) for file in FILES for session in read_sessions(file)]


@pytest.mark.parametrize(
    ("file", "session"), SESSIONS, ids=[f"{file.stem}: {each.title}" for file, each in SESSIONS]
)
def test_a_session_goes_as_it_is_written_down(
    file: Path,
    session: Session,
    folder: Path,
    spec: Callable[..., str],
    cli: Callable[..., Any],
    entropy: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "dprelease.kernel.core.entropy.SystemEntropy.read", lambda _, size: entropy.read(size)
    )
    lines = take(session, folder, spec, cli)
    if IS_UPDATED:
        text = file.read_text(encoding="utf-8")
        old, new = (
            "\n".join([f"# {session.title}", *each]) + "\n" for each in (session.lines, lines)
        )
        assert old in text + "\n"
        file.write_text(text.replace(old.rstrip("\n"), new.rstrip("\n")), encoding="utf-8")
    assert lines == session.lines or IS_UPDATED


def test_titles_are_told_apart() -> None:
    for file in FILES:
        titles = [session.title for session in read_sessions(file)]
        assert len(titles) == len(set(titles))
