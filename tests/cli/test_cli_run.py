"""``dprelease run`` through its process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FILES = [
    "by_region.csv",
    "datapackage.json",
    "figures/by_region.mean_days.vl.json",
    "figures/by_region.visits.vl.json",
    "figures/privacy-facts.svg",
    "report.html",
    "report.json",
    "report.md",
]


def read_contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_run_that_found_its_charge_does_not_say_that_it_spent(cli, monkeypatch):
    """Of several runs at once, and of a retry, one has paid: what is said to be spent adds up."""

    def stop(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr("dprelease.release.run.draw_once", stop)
        assert cli("run", "small.toml").code == 5
    answer = cli("run", "small.toml")
    assert answer.code == 0
    assert answer.out.startswith("small: released\n")
    said = " ".join(answer.out.split())
    assert "spent nothing now: epsilon" in said
    assert "was charged before, or by a run at the same time" in said
    assert "epsilon 0.5 of 2.5" not in answer.out
    assert "epsilon 1.5 of 2.5" in answer.out


def test_json(cli, folder):
    answer = cli("run", "--json", "small.toml")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json
    assert told["schema"] == "dprelease/run/1"
    assert (told["exit_code"], told["release"], told["dataset"]) == (0, "small", "small.csv")
    assert (told["already_released"], told["charged"]) == (False, True)
    assert told["output"] == str(folder / "out")
    assert sorted(told["files"]) == FILES
    assert told["loss"]["epsilon"] == 1
    assert told["ledger"]["after"]["epsilon"] == 1
    again = cli("run", "--json", "small.toml").json
    assert (again["already_released"], again["charged"]) == (True, False)
    assert again["released_at"] == told["released_at"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "missing"),
        (b"", "empty"),
        (b"area,days\nnorth,3\n", "without the column"),
        (b"region,days,days\nnorth,3,4\n", "with a column twice"),
    ],
)
def test_data_of_another_shape_is_refused_before_the_charge(cli, folder, content, what):
    if content is None:
        (folder / "small.csv").unlink()
    else:
        (folder / "small.csv").write_bytes(content)
    answer = cli("run", "small.toml")
    assert answer.code == 4, what
    assert answer.out == ""
    assert answer.err.count("\n") >= 1
    assert "Traceback" not in answer.err
    assert not (folder / "out").exists()
    assert "epsilon 0 spent" in cli("plan", "small.toml").out


def test_a_canary_in_every_cell_is_nowhere(cli, folder):
    rows = "\n".join(f"canary{i},canary{i}" for i in range(100))
    (folder / "small.csv").write_text(f"region,days\n{rows}\n", encoding="utf-8")
    answer = cli("run", "small.toml")
    assert answer.code == 0
    assert "canary" not in answer.out + answer.err
    (folder / "small.csv").unlink()
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in left if b"canary" in path.read_bytes()] == []


@pytest.mark.thorough
def test_progress_on_a_terminal_is_wiped_away(terminal):
    code, shown = terminal("run", "small.toml", NO_COLOR="1")
    assert code == 0
    assert "\x1b[2K" in shown
    progress, result = shown.rsplit("\x1b[2K", 1)
    (*_, last) = progress.removesuffix("\r").split("\r\x1b[2K")
    assert re.fullmatch(r"\[(\d+)/\1\] write: \d+ s", last)
    assert result.startswith("small: released\n")
    assert "\x1b" not in terminal("run", "-q", "small.toml")[1]


def test_a_release_that_cannot_be_told_is_still_a_release(folder):
    command = [sys.executable, "-m", "dprelease", "run", "small.toml"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
            env=dict(os.environ), check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 5
    assert b"the release is complete" in done.stderr
    assert sorted(read_contents(folder / "out")) == FILES
