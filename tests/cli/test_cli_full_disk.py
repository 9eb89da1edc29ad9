"""A file that a command was asked to write, and a disk without room: exit code 6, and why."""

import errno
import os

import pytest

COMMANDS = {
    "init": ("E011", "init", "small.csv", "-o", "begun.toml"),
    "plan": ("E320", "plan", "small.toml", "-o", "plan.json"),
    "plan as a page": ("E823", "plan", "small.toml", "--html", "plan.html"),
    "report": ("E823", "report", "out", "--format", "md", "-o", "report.md"),
    "export": ("E615", "budget", "export", "small.toml", "-o", "entries.jsonl"),
}
CAUSES = {errno.ENOSPC: 6, errno.EIO: 6, errno.EACCES: 2}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cause", CAUSES, ids=errno.errorcode.get)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_told_of_it(cli, folder, monkeypatch, command, cause):
    assert cli("run", "small.toml", "-q").code == 0

    def fail(*_: object, **__: object) -> None:
        raise OSError(cause, os.strerror(cause))

    monkeypatch.setattr("dprelease.files.atomic.open_new_file", fail)
    code, *arguments = COMMANDS[command]
    answer = cli(*arguments)
    assert (answer.code, code in answer.err) == (CAUSES[cause], True), answer.err
    assert os.strerror(cause) in answer.err
    assert ("free space" in answer.err) == (answer.code == 6)
    assert not (folder / arguments[-1]).exists()
