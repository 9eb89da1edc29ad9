"""Complaints with the line of the spec: the mark stands below the place, one cause is told once."""

import os
import subprocess
import sys

import pytest
from rich.cells import cell_len

SCHEMA = "schema = 1\n"


def list_shown(err: str) -> list[tuple[str, str, str]]:
    """Number, line and mark of every source that is shown."""
    lines = err.splitlines()
    return [
        (number, line, below.partition("| ")[2])
        for at, below in enumerate(lines)
        if set(below.partition("| ")[2].strip()) == {"^"}
        for number, _, line in [lines[at - 1].strip().partition(" | ")]
    ]


def cut_marked(line: str, mark: str) -> str:
    """What stands above a mark, by the columns of a terminal as another library counts them."""
    start, end = len(mark) - len(mark.lstrip()), len(mark)
    return "".join(char for at, char in enumerate(line) if start <= cell_len(line[:at]) < end)


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ('release.name = "a b"', '"a b"'),
        ('\trelease.name =\t\t"a b"', '"a b"'),
        ('release.title = "漢字", release = 3', ""),
        ('release = { title = "漢字かな", name = "a b" }', '"a b"'),
        ('release = { title = "🎉🎉", name = "a b" }', '"a b"'),
        ('release = { title = "e\u0301\u0301", name = "a b" }', '"a b"'),
        (f'release = {{ title = "{"x" * 3000}", name = "a b" }} # {"y" * 3000}', '"a b"'),
        (f'release = {{ title = "{"漢" * 300}", name = "a b" }}', '"a b"'),
        ('release = { name = "a b" }\r', '"a b"'),
        ('release.name = 3 # "', "3"),
    ],
)
def test_the_mark_stands_below_the_place(cli, folder, line, token):
    (folder / "odd.toml").write_bytes(f"{SCHEMA}{line}\n".encode())
    answer = cli("check", "odd.toml")
    assert answer.code == 2
    marks = [(number, cut_marked(text, mark)) for number, text, mark in list_shown(answer.err)]
    assert all(cell_len(text) <= 100 for _, text, _ in list_shown(answer.err))
    if token:
        assert ("2", token) in marks
    else:
        assert [number for number, _ in marks] == ["2"]
    assert "\t" not in answer.err
    assert "\r" not in answer.err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_source_is_no_wider_than_the_terminal(terminal, folder, columns):
    line = f'release = {{ title = "{"漢字 " * 90}", name = "{"a b" * 60}", other = 3 }}'
    (folder / "odd.toml").write_text(f"{SCHEMA}{line}\n", encoding="utf-8")
    _, text = terminal("check", "odd.toml", COLUMNS=str(columns), NO_COLOR="1")
    widths = [cell_len(each) for each in text.splitlines() if "| " in each]
    assert len(widths) > 2
    assert columns - 3 <= max(widths) <= columns


def test_one_cause_is_told_once_with_all_its_places(cli, folder, spec):
    spec(
        ('keys = ["north", "south"]\n', ""),
        ("lower = 0\nupper = 100\n", ""),
        ('statistic = "count"', 'statistic = "sum"\ncolumn = "days"'),
    )
    err = cli("check", "small.toml").err
    assert err.count("E202") == err.count("E201") == 1
    assert '\n    also mean of "days" needs lower and upper\n' in err
    assert "\n    also small.toml:37:6 [query[1].by]\n" in err
    assert len(list_shown(err)) == 2
    assert "\n4 errors in 1 file\n" in err


def test_on_a_terminal_the_remedy_stands_below_the_source(terminal, spec):
    spec(('statistic = "count"', 'statistic = "cont"'))
    _, text = terminal("plan", "small.toml", NO_COLOR="1")
    assert text.splitlines() == [
        'small.toml:31:13  E101 unknown statistic "cont" [query[0].statistic]',
        '    31 | statistic = "cont"',
        "       |             ^^^^^^",
        '    hint: did you mean "count"?',
    ]


def test_the_text_of_what_is_no_spec_is_not_shown(cli, folder):
    """A file of data that is named by mistake: only a parsed spec, or NAME.toml, is shown."""
    for name in ("people.txt", "people.toml"):
        (folder / name).write_text("x = 1\nname = Ann, 41, Canary Street\n", encoding="utf-8")
        answer = cli("check", name)
        assert "E001" in answer.err
        assert bool(list_shown(answer.err)) is name.endswith(".toml")


def pipe(folder, text: bytes, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "dprelease", "check", *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


def test_standard_input_is_a_spec_with_places_and_sources(folder):
    good = (folder / "small.toml").read_bytes()
    done = pipe(folder, good, "-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"<stdin>: ok")
    bad = pipe(folder, good.replace(b'"count"', b'"cont"'), "-", "small.toml")
    assert bad.returncode == 2
    assert bad.stdout.startswith(b"small.toml: ok")
    assert list_shown(bad.stderr.decode()) == [("31", 'statistic = "cont"', " " * 12 + "^" * 6)]
    noise = pipe(folder, b"\xff\xfe\x00 = Canary", "-")
    assert noise.returncode == 2
    assert b"E006" in noise.stderr
    assert b"Canary" not in noise.stderr
    huge = pipe(folder, b"#" * (5 << 20), "-")
    assert b"E008" in huge.stderr


def test_more_errors_than_are_shown_are_counted_so(cli, folder):
    (folder / "odd.toml").write_text(
        SCHEMA + "".join(f"key{number} = 1\n" for number in range(300)), encoding="utf-8"
    )
    assert "\nmore than 150 errors in 1 file\n" in cli("check", "odd.toml").err
