"""The folder of a release is that release's: another one is refused before its charge."""

from __future__ import annotations

from pathlib import Path

import pytest

import dprelease
from dprelease.release import run

SECOND = ('name = "small"', 'name = "second"')
LEDGER = "dprelease-ledger.sqlite"


def read_kept(folder):
    """The files of a folder, and what they hold."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*")
            if path.is_file()}  # fmt: skip


@pytest.fixture
def released(cli, folder):
    """A release of "small" in out, which must stay as it is."""
    assert cli("run", "-q", "small.toml").code == 0
    return read_kept(folder / "out"), (folder / LEDGER).read_bytes()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "place", ["out/deeper", "out/a/b", "link", "out/figures", "over/out/x", "./out/../out/y"]
)
def test_a_folder_inside_of_the_release_is_refused_too(cli, spec, folder, released, place):
    (folder / "linked").symlink_to(folder / "out")
    (folder / "over").symlink_to(folder)
    spec(SECOND, ('path = "out"', f'path = "{place.replace("link", "linked/z")}"'), name="b.toml")
    answer = cli("run", "b.toml")
    assert answer.code == 2
    assert 'out, which contains the release "small", and this is "second"' in answer.err
    assert (read_kept(folder / "out"), (folder / LEDGER).read_bytes()) == released
    assert cli("run", "-q", "--replace-output", "b.toml").code == 0
    assert read_kept(folder / "out").items() >= released[0].items()


def test_the_output_of_the_command_line_and_of_python_too(cli, spec, folder, released, monkeypatch):
    spec(SECOND, ('path = "out"', 'path = "second"'), name="b.toml")
    assert cli("run", "--output", "out", "b.toml").code == 2
    monkeypatch.chdir(folder)
    for output in ("out", folder / "out" / "deeper"):
        with pytest.raises(dprelease.Failure, match="E806"):
            dprelease.run("b.toml", output=output)
    assert (read_kept(folder / "out"), (folder / LEDGER).read_bytes()) == released
    dprelease.run("b.toml", output="out", replace_output=True)
    assert read_kept(folder / "out") != released[0]


def test_of_two_releases_at_once_in_one_folder_the_first_stays(cli, spec, folder, monkeypatch):
    """Both were charged before either had its folder: the second says where it could not go."""
    spec(SECOND, name="b.toml")
    first: list[object] = []
    draw = run.draw_once

    def late(*arguments):
        if not first:
            first.append(None)
            dprelease.run(folder / "b.toml")
        return draw(*arguments)

    monkeypatch.setattr("dprelease.release.run.draw_once", late)
    answer = cli("run", "small.toml")
    assert answer.code == 5
    assert "E806 the output" in answer.err
    assert 'holds the release "second" now, but this is "small"' in answer.err
    assert "costs nothing" in answer.err
    assert b'"name": "second"' in read_kept(folder / "out")[Path("datapackage.json")]
    assert "nothing was spent" in cli("run", "--output", "mine", "small.toml").out


def test_a_rehearsal_is_kept_from_another_one(cli, spec, folder, released):
    assert cli("rehearse", "-q", "--rows", "50", "--output", "try", "small.toml").code == 0
    assert cli("rehearse", "-q", "--rows", "50", "--output", "try", "small.toml").code == 0
    spec(SECOND, ('path = "out"', 'path = "second"'), name="b.toml")
    before = read_kept(folder / "try")
    for place in ("try", "try/deeper", "out/deeper"):
        answer = cli("rehearse", "--rows", "50", "--output", place, "b.toml")
        assert (answer.code, "E806" in answer.err) == (2, True), place
    assert "E806" in cli("run", "--output", "try", "b.toml").err
    assert (read_kept(folder / "try"), read_kept(folder / "out")) == (before, released[0])
    again = ("rehearse", "-q", "--rows", "50", "--replace-output", "--output")
    assert cli(*again, "try", "b.toml").code == 0
    assert cli(*again, "out", "b.toml").code == 2  # never over a release
    with pytest.raises(dprelease.Failure, match="E806"):
        dprelease.rehearse(folder / "small.toml", rows=50, output=folder / "try")
    dprelease.rehearse(folder / "small.toml", rows=50, output=folder / "try", replace_output=True)
