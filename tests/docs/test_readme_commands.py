"""Every command that the README shows is run, and prints what the README says."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from readme_blocks import ROOT, blocks, commands, matches

from dprelease.cli.app import COMMANDS, app

# Installing is what .ci/run does, in a fresh environment; here everything is installed already.
# README command -> what is run in its place.
WITHOUT_INSTALLING = {
    "pip install . && dprelease run release_specs/clinic_visits.toml": (
        "dprelease run release_specs/clinic_visits.toml"
    ),
    "pip install '.[test]' && pytest": "true",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the README's commands need of a checkout, and its first spec as visits.toml.

    One for each test: what one spends in the ledger, another would show.
    """
    folder = tmp_path
    shutil.copytree(
        ROOT / "release_specs",
        folder / "release_specs",
        ignore=shutil.ignore_patterns("*.sqlite*"),
    )
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    (folder / "visits.toml").write_text(blocks("toml")[0].text, encoding="utf-8")
    tools = folder / ".tools"
    tools.mkdir()
    for name, arguments in {"dprelease": "-P -m dprelease", "python": "-P"}.items():
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        tool.chmod(0o755)
    return folder


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{folder / '.tools'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    passed_on = ("PYTHONOPTIMIZE", "PYTHONPATH")
    environment |= {name: os.environ[name] for name in passed_on if name in os.environ}
    return subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.thorough
def test_every_command_prints_what_the_readme_says(checkout):
    wrong = []
    for command in commands():
        done = run(["sh", "-c", WITHOUT_INSTALLING.get(command.text, command.text)], checkout)
        if not matches(command.expected, done.stdout):
            wrong.append(f"README.md:{command.line}: $ {command.text}\n{done.stdout}")
    assert wrong == []


def test_what_is_not_run_as_written_is_in_the_readme():
    shown = {command.text for command in commands()}
    assert set(WITHOUT_INSTALLING) == {text for text in shown if text.startswith("pip ")}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: f"line {block.line}")
def test_every_python_block_runs(block, checkout):
    done = run(["python", "-W", "error", "-c", block.text], checkout)
    assert done.returncode == 0, done.stdout
    assert done.stdout


def test_every_command_of_the_tool_is_shown_with_its_help():
    shown = {command.text for command in commands()}
    assert {f"dprelease {name} --help" for name in COMMANDS} <= shown


@pytest.mark.parametrize(
    "block", [*blocks("text"), *blocks("yaml")], ids=lambda b: f"line {b.line}"
)
def test_commands_in_other_blocks_are_well_formed(block):
    for line in block.text.splitlines():
        _, found, rest = line.partition("dprelease ")
        name, *arguments = shlex.split(rest.replace("$(date +\\%Y-\\%m)", "2026-01")) or [""]
        if found and name in COMMANDS:
            command = app.get_command(None, name)
            command.make_context(name, arguments)


@pytest.mark.parametrize(
    ("expected", "output", "fits"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nb\nc\n", False),
        ("a\n...\n", "a\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("...\nd\n", "a\nb\n", False),
        ("at ... today\n", "at 3.15 today\n", True),
        ("at ... today\n", "at 3.15\n today\n", False),
        ("1.5\n", "105\n", False),
        ("", "a\n", False),
    ],
)
def test_outputs_are_compared_by_this_rule(expected, output, fits):
    assert matches(expected, output) is fits
