"""The Dockerfile's facts, and what it does done by hand: no test builds an image."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STRANGER = 54321  # a user that no machine knows


def lines() -> list[tuple[str, str]]:
    """Instructions with what follows them."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in kept)]


def all_of(instruction: str) -> list[str]:
    return [rest for word, rest in lines() if word == instruction]


def copied() -> list[str]:
    """What is copied of the checkout."""
    own = [shlex.split(rest) for rest in all_of("COPY") if not rest.startswith("--from")]
    return [source for words in own for source in words[:-1]]


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_its_python_is_one_that_the_project_is_for() -> None:
    tags = {re.fullmatch(r"python:(3\.[0-9]+)-slim( AS build)?", rest) for rest in all_of("FROM")}
    versions = {tag[1] for tag in tags if tag}
    assert None not in tags
    (version,) = versions
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    least = PROJECT["requires-python"].removeprefix(">=")
    assert [int(part) for part in version.split(".")] >= [int(part) for part in least.split(".")]


def test_it_copies_what_is_there_and_what_the_build_needs() -> None:
    assert [source for source in copied() if not (ROOT / source).exists()] == []
    needed = {PROJECT["readme"], *PROJECT["license-files"], "hatch_build.py", "pyproject.toml"}
    assert needed | {"dprelease"} == set(copied())
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert set(ignored) == {"*", "**/__pycache__", *(f"!{source}" for source in copied())}


def test_it_runs_the_tool_as_a_user_of_its_own() -> None:
    last = len(lines()) - 1 - [word for word, _ in reversed(lines())].index("FROM")
    stage = lines()[last:]
    (user,) = [rest for word, rest in stage if word == "USER"]
    assert user not in {"root", "0"}
    assert ("RUN", f"useradd --create-home {user}") in stage
    after = [word for word, _ in stage[stage.index(("USER", user)) + 1 :]]
    assert after == ["WORKDIR", "ENTRYPOINT", "CMD"]  # and nothing that a user couldn't do
    assert json.loads(all_of("ENTRYPOINT")[0]) == ["dprelease"]
    assert set(PROJECT["scripts"]) == {"dprelease"}


def told(text: str) -> list[str]:
    """The command that a text tells to run it with."""
    return shlex.split(re.sub(r"\\\n#?", "", text[text.index("docker run") :]).splitlines()[0])


def test_how_it_is_run_leaves_it_no_network_and_no_root() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    command = told(text)
    page = (ROOT / "docs" / "reference" / "versions.md").read_text(encoding="utf-8")
    assert told(page) == command
    assert command[3:9] == [
        "--network", "none", "--user", "$(id -u):$(id -g)", "-v", f"$PWD:{all_of('WORKDIR')[-1]}",
    ]  # fmt: skip
    assert command[9:] == ["dprelease", "run", "release_specs/clinic_visits.toml"]


def alone(python: Path) -> list[str]:
    """What starts a program without a network, and as another user where we may."""
    stranger = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
    ways = [["unshare", "--net", *stranger], ["unshare", "--map-root-user", "--net"], []]
    for way in ways:
        tried = subprocess.run([*way, python, "-c", ""], capture_output=True, check=False)
        if tried.returncode == 0:
            return way
    raise AssertionError("the Python of an environment doesn't start")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.thorough
def test_what_it_copies_runs_the_main_example_for_a_stranger_without_a_network(
    place: Path,
) -> None:
    source, home, release = (place / name for name in ("source", "opt", "release"))
    source.mkdir()
    for name in copied():
        if (ROOT / name).is_dir():
            no_cache = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=no_cache)
        else:
            shutil.copy(ROOT / name, source)
    (build,) = [rest for rest in all_of("RUN") if "pip install" in rest]
    for command in build.replace("/opt/dprelease", str(home)).split(" && "):
        words = shlex.split(command)
        words[0] = sys.executable if words[0] == "python" else words[0]
        subprocess.run(words, cwd=source, check=True, capture_output=True)
    for name in ("release_specs", "sample_data"):
        shutil.copytree(ROOT / name, release / name, ignore=shutil.ignore_patterns("*.sqlite*"))
    for path in (release, *release.rglob("*")):
        path.chmod(0o777)
    way = alone(home / "bin" / "python")
    for words in (told((ROOT / "Dockerfile").read_text())[10:], json.loads(all_of("CMD")[0])):
        done = subprocess.run(
            [*way, home / "bin" / "dprelease", *words],
            cwd=release,
            env={"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": "/"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (release / "out" / "clinic-visits" / "report.html").exists()
