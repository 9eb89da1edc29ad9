"""Errors that nobody planned, streams that break, terminals and colour."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import warnings
from pathlib import Path

import pytest

from dprelease import specfile
from dprelease.cli.views.console import make_printable
from dprelease.language import ENGLISH, LANGUAGES, load_catalogue

CANARY = "canary-7f3a"
BUG = "this is a bug in dprelease: please report it, with this line"
OUTSIDE = "check memory, disk, open files and threads"


class Odd(Exception):
    """An error without words."""

    def __str__(self):
        raise ZeroDivisionError


def breaks(error):
    """What a spec is read by, and in its place what raises the error."""

    def load(path, **options):
        raise error

    return "dprelease.specfile.load", load


@pytest.mark.parametrize(
    "error",
    [
        ValueError(CANARY),
        KeyError(CANARY),
        MemoryError(CANARY),
        RecursionError(CANARY),
        ExceptionGroup(CANARY, [ValueError(CANARY)]),
        Odd(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_an_unexpected_error_is_named_by_its_class_alone(probe, command, error):
    answer = probe(*breaks(error), command, "small.toml")
    assert answer.code == 70
    assert answer.out == ""
    name, hint = type(error).__name__, OUTSIDE if isinstance(error, MemoryError) else BUG
    assert answer.err == f"E701 internal error ({name}); nothing was released   hint: {hint}\n"


def test_an_unexpected_error_in_json(probe):
    answer = probe(*breaks(ValueError(CANARY)), "run", "--json", "-q", "small.toml")
    assert answer.code == 70
    assert answer.err == ""
    assert answer.json["schema"] == "dprelease/error/1"
    assert answer.json["exit_code"] == 70
    assert CANARY not in answer.out


def test_an_error_in_a_thread_or_finaliser_shows_no_text(probe):
    class Late:
        def __del__(self):
            raise ValueError(CANARY)

    def fail():
        raise KeyError(CANARY)

    good = specfile.load

    def load(path, **options):
        Late()
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        return good(path, **options)

    answer = probe("dprelease.specfile.load", load, "plan", "small.toml")
    assert answer.code == 0
    assert CANARY not in answer.err + answer.out
    assert "KeyError" in answer.err
    assert "ValueError" in answer.err


def test_a_warning_of_a_library_is_not_shown(probe):
    def load(path, **options):
        warnings.warn(CANARY, stacklevel=1)
        raise ValueError(CANARY)

    answer = probe("dprelease.specfile.load", load, "plan", "small.toml")
    assert answer.code == 70
    assert CANARY not in answer.err


def interrupt(path, **options):
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    "broken", [breaks(KeyboardInterrupt), ("dprelease.specfile.load", interrupt)]
)
def test_an_interrupt_is_one_plain_line(probe, broken):
    answer = probe(*broken, "plan", "small.toml")
    assert answer.code == 130
    assert answer.out == ""
    assert answer.err.startswith("E700 interrupted")
    assert answer.err.count("\n") == 1
    assert "charged" not in answer.err
    assert "charged" in probe(*broken, "run", "small.toml").err


@pytest.mark.parametrize(("columns", "other"), [(40, 100), (100, 40)])
def test_text_is_folded_to_the_terminal_that_shows_it(folder, spec, columns, other):
    """Standard error on a narrow terminal, standard output elsewhere or on another one."""
    spec(('unit = "row"', ""))
    terminals = {}
    for name, width in (("stderr", columns), ("stdout", other)):
        master, terminals[name] = pty.openpty()
        fcntl.ioctl(terminals[name], termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        if name == "stderr":
            shown = master
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    process = start(folder, "check", "small.toml", env=environment, **terminals)
    assert process.wait(timeout=60) == 2
    text = os.read(shown, 65_536).decode().replace("\r\n", "\n")
    assert "E110" in text
    assert min(columns, 90) - 30 < max(map(len, text.splitlines())) <= columns


def start(folder: Path, *arguments: str, **streams: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dprelease", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        **streams,
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("arguments", [("--help",), ("plan", "small.toml"), ("--version",)])
def test_a_reader_that_leaves_is_no_error(folder, arguments):
    read, write = os.pipe()
    os.close(read)
    process = start(folder, *arguments, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert err == b""
    assert process.returncode == 141


def test_a_full_disk_behind_stdout_is_told(folder):
    with open("/dev/full", "wb") as full:
        process = start(folder, "plan", "small.toml", stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 6
    said = (
        "E018 standard output can't be written: No space left on device   hint: free space on the "
        "disk or "
    )
    assert err.decode() == f"{said}repair it, or check the program that reads it\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_an_error_that_standard_output_does_not_take_is_told_beside(folder, quiet):
    with open("/dev/full", "wb") as full:
        process = start(
            folder, "plan", "none.toml", "--json", *quiet, stdout=full, stderr=subprocess.PIPE
        )
        _, err = process.communicate(timeout=60)
    assert (process.returncode, b"E007 " in err) == (2, True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_of_every_language_are_shown_as_they_are(language):
    for sentence in load_catalogue(language).values() if language != ENGLISH else ():
        assert make_printable(sentence) == sentence
    assert make_printable("\x1b[2J\x07\u2028\u202e\x9b") == "\ufffd[2J\ufffd\ufffd\ufffd\ufffd"


def test_closed_streams_are_no_error(folder):
    command = f'"{sys.executable}" -m dprelease check small.toml <&- >&- 2>&-'
    assert subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=False).returncode == 0


def test_an_ascii_terminal_gets_question_marks_and_no_crash(cli):
    answer = cli("plan", "small.toml", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert answer.code == 0
    assert answer.out.isascii()


def test_colour_on_a_terminal_only_and_not_with_no_color(terminal, cli):
    code, shown = terminal("check", "small.toml")
    assert code == 0
    assert "\x1b[" in shown
    assert "\x1b" not in cli("check", "small.toml").out
    code, shown = terminal("check", "small.toml", NO_COLOR="1")
    assert (code, shown) == (0, "small.toml: ok (2 queries, 1 table, epsilon 1)\n")
    assert "\x1b" not in terminal("check", "small.toml", TERM="dumb")[1]


@pytest.mark.thorough
def test_a_plan_on_a_terminal_of_80_columns(terminal, spec):
    spec(('name = "visits"', 'name = "visits_to_any_clinic_in_the_whole_of_the_country"'))
    code, shown = terminal("plan", "small.toml", COLUMNS="80", NO_COLOR="1")
    assert code == 0
    assert "\x1b" not in shown
    assert "…" not in shown
    assert max(map(len, shown.split("total ")[0].splitlines())) <= 80
    assert "\x1b[" in terminal("plan", "small.toml")[1]


LONG = "visits-to-the-clinics-of-all-regions-and-departments-in-the-year-2025"


def test_a_run_on_a_terminal_of_80_columns(terminal, cli, spec):
    """Lines are folded between words; each step of the progress is in one line, cut."""
    table = f"by_{'region_' * 12}of_birth"
    spec(
        ("epsilon_cap = 2.5", f'dataset = "{LONG}"\nepsilon_cap = 2.5'),
        ('by = ["region"]', f'by = ["region"]\ntable = "{table}"'),
        ('source = "public: map"', ""),
    )
    code, shown = terminal("run", "small.toml", COLUMNS="80", NO_COLOR="1")
    assert code == 0
    steps = [each.partition("\n")[0].strip() for each in shown.split("\r\x1b[2K")[1:-1]]
    assert len(steps) == len(set(steps)) > 3
    assert max(map(len, steps)) == 79
    assert [step for step in steps if re.fullmatch(r"\[4/7\] read the data .*…: .*\d+ s", step)]
    result = shown.rpartition("\x1b[2K")[2]
    assert table in result
    folded = [line for line in (shown.partition("\r")[0] + result).splitlines() if " " in line]
    assert [line for line in folded if len(line) > 80 and table not in line] == []
    assert f'         "{LONG}"' in result.splitlines()
    piped = cli("run", "small.toml")
    assert any(len(line) > 80 for line in piped.out.splitlines() + piped.err.splitlines())


def test_errors_on_a_terminal_are_coloured_but_whole(terminal, spec):
    spec(('statistic = "count"', 'statistic = "cont"'))
    code, shown = terminal("check", "small.toml")
    assert code == 2
    assert "\x1b[31;1mE101\x1b[0m unknown statistic" in shown
