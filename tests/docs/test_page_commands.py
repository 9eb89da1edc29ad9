"""Every command that the documentation shows is run, and prints what its page says."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import FIRST, PAGES, README, ROOT, Block, Page, matches

from dprelease.cli.app import COMMANDS, app

# Installing is what .ci/run does, in a fresh environment; here everything is installed already.
# command -> what is run in its place.
WITHOUT_INSTALLING = {
    "pip install . && dprelease run release_specs/clinic_visits.toml": (
        "dprelease run release_specs/clinic_visits.toml"
    ),
    "pip install '.[test]' && pytest": "true",
    "pip install .": "true",
    "pip install '.[docs]' && python docs/build_site.py": "true",
}


def blocks(language: str) -> list[tuple[Page, Block]]:
    """All blocks of a language, with their pages."""
    return [(page, block) for page in PAGES for block in page.blocks(language)]


def place(part: Page | Block) -> str:
    """Where a block is, for the names of tests."""
    return part.name if isinstance(part, Page) else f"line {part.line}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the commands of a page need of a checkout, and the first tutorial's files.

    One for each test: what one spends in the ledger, another would show.
    """
    folder = tmp_path
    shutil.copytree(
        ROOT / "release_specs",
        folder / "release_specs",
        ignore=shutil.ignore_patterns("*.sqlite*"),
    )
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    for block in FIRST.blocks():
        save(block, folder)
    tools = folder / ".tools"
    tools.mkdir()
    for name, arguments in {"dprelease": "-P -m dprelease", "python": "-P"}.items():
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        tool.chmod(0o755)
    return folder


def save(block: Block, folder: Path) -> None:
    """Write a block that has the name of a file."""
    if block.title is not None:
        (folder / block.title).write_text(block.text, encoding="utf-8")


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
@pytest.mark.parametrize("page", [page for page in PAGES if page.commands()], ids=lambda p: p.name)
def test_every_command_prints_what_its_page_says(page, checkout):
    wrong = []
    for step in page.steps():
        if isinstance(step, Block):
            save(step, checkout)
            continue
        done = run(["sh", "-c", WITHOUT_INSTALLING.get(step.text, step.text)], checkout)
        if not matches(step.expected, done.stdout):
            wrong.append(f"{page.name}:{step.line}: $ {step.text}\n{done.stdout}")
    assert wrong == []


def commands_shown() -> set[str]:
    return {command.text for page in PAGES for command in page.commands()}


def test_what_is_not_run_as_written_is_shown():
    shown = commands_shown()
    assert set(WITHOUT_INSTALLING) == {text for text in shown if text.startswith("pip ")}


def test_the_readme_begins_with_the_two_commands_that_set_all_up():
    assert [command.text for command in README.commands()][:2] == list(WITHOUT_INSTALLING)[:2]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("page", "block"),
    [(page, block) for page, block in blocks("python") if block.title is None],
    ids=place,
)
def test_every_python_block_runs(page, block, checkout):
    done = run(["python", "-W", "error", "-c", block.text], checkout)
    assert done.returncode == 0, done.stdout
    assert done.stdout


@pytest.mark.parametrize(("page", "block"), [*blocks("text"), *blocks("yaml")], ids=place)
def test_commands_in_other_blocks_are_well_formed(page, block):
    for line in block.text.splitlines():
        _, found, rest = line.partition("dprelease ")
        alone = re.split(r"[|>)]", rest.replace("$(date +\\%Y-\\%m)", "2026-01"))[0]
        name, *arguments = shlex.split(alone) or [""]
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
        ("north  12 ± 5\n", "north   1,024 ± 5.2\n", True),
        ("north  12 ± 5\n", "south  12 ± 5\n", False),
        ("north  12 ± 5\n", "north  none ± 5\n", False),
        ("a  12 ± 5\n──\n", "a   99 ± 5\n────\n", True),
        ("count  ± 5\n", "count  ± 6\n", False),
        ("east  5.6%  3.8% to 7.5%\n", "east  -1.2%  -3% to 0%\n", True),
        ("", "a\n", False),
    ],
)
def test_outputs_are_compared_by_this_rule(expected, output, fits):
    assert matches(expected, output) is fits
