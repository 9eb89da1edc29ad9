"""What others run by machine: the pre-commit hook, the GitHub Action, the line for cron."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from doc_pages import PAGES, ROOT

ACTION = ROOT / ".github" / "actions" / "dprelease" / "action.yml"
SPEC = """\
schema = 1
[release]
name = "small"
[data]
path = "small.csv"
[privacy]
unit = "row"
unit_description = "one visit"
adjacency = "add-remove"
epsilon = 1.0
[ledger]
epsilon_cap = 2.5
[[query]]
name = "visits"
statistic = "count"
[output]
path = "out"
"""


@pytest.fixture
def shell(tmp_path):
    """Run shell text in a folder where ``dprelease`` is the tree under test."""
    tools = tmp_path / "tools"
    tools.mkdir()
    tool = tools / "dprelease"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dprelease "$@"\n')
    tool.chmod(0o755)
    folder = tmp_path / "checkout"
    folder.mkdir()
    kept = ("HOME", "PYTHONPATH", "PYTHONOPTIMIZE")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip

    def run(text, **more):
        return subprocess.run(
            # as GitHub runs `shell: bash`
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
            cwd=folder, env=environment | more, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    run.folder = folder
    return run


def steps():
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    return {step["name"]: step for step in action["runs"]["steps"]}


def test_the_action_takes_its_inputs_by_the_environment_alone():
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    for step in steps().values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        for value in step.get("env", {}).values():
            assert re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value)[1] in action["inputs"]


def test_the_action_installs_the_repository_it_is_in():
    (place,) = re.findall(r'"\$GITHUB_ACTION_PATH/([./]+)"', steps()["install"]["run"])
    assert (ACTION.parent / place).resolve() == ROOT.resolve()


def committed(shell, **specs):
    """Commit specs by name, and give the commit."""
    folder = shell.folder / "release_specs"
    folder.mkdir(exist_ok=True)
    for name, text in specs.items():
        (folder / f"{name}.toml").write_text(text)
    done = shell("git init -q; git add -A; git commit -qm x; git rev-parse HEAD")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.thorough
def test_the_actions_steps_check_and_compare(shell):
    inputs = {"SPECS": "release_specs/*.toml", "PERIOD": "", "FAIL_WHEN_WEAKER": "true"}
    check, compare = steps()["check"]["run"], steps()["diff"]["run"]
    base = committed(shell, a=SPEC, b=SPEC)
    done = shell(check, **inputs)
    assert (done.returncode, done.stdout) == (0, "")
    assert shell(compare, BASE="", **inputs).stdout == ""
    same = shell(compare, BASE=base, **inputs)
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")

    weak = SPEC.replace("epsilon_cap = 2.5", "epsilon_cap = 5")
    committed(shell, b=weak, c=SPEC)
    done = shell(compare, BASE=base, **inputs)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        "::error file=release_specs/b.toml,line=12,col=15,title=weaker%3A epsilon_cap::"
        "epsilon_cap 2.5 -> 5 (weaker)",
        "::notice title=new spec::release_specs/c.toml is new, nothing to compare it with",
    ]
    marked = shell(compare, BASE=base, **inputs | {"FAIL_WHEN_WEAKER": "false"})
    assert (marked.returncode, marked.stdout) == (0, done.stdout)
    assert shell("git worktree list").stdout.count("\n") == 1

    broken = committed(shell, b=SPEC.replace("count", "cont"))
    done = shell(check, **inputs)
    assert done.returncode == 2
    assert "::error file=release_specs/b.toml,line=15" in done.stdout

    committed(shell, b=SPEC)
    mended = shell(compare, BASE=broken, **inputs)
    assert (mended.returncode, mended.stderr) == (0, "")
    assert mended.stdout == (
        "::warning title=not compared::release_specs/b.toml could not be loaded as it was\n"
    )


def test_a_period_is_for_the_specs_that_have_a_place_for_it(shell):
    committed(shell, a=SPEC, b=SPEC.replace("small.csv", "small-{period}.csv"))
    inputs = {"SPECS": "release_specs/*.toml", "PERIOD": "2026-01"}
    done = shell(steps()["check"]["run"], **inputs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    alone = shell(steps()["check"]["run"], **inputs | {"SPECS": "release_specs/a.toml"})
    assert alone.returncode == 1
    assert "W204" in alone.stdout


def test_the_hook_checks_the_files_that_it_is_given(shell):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["language"]) == ("dprelease-check", "python")
    files = re.compile(hook["files"])
    assert files.search("release_specs/a.toml")
    assert files.search("x/y.dprelease.toml")
    assert not files.search("pyproject.toml")
    committed(shell, a=SPEC, b=SPEC.replace("count", "cont"))
    entry = shlex.split(hook["entry"])
    assert shell(shlex.join([*entry, "release_specs/a.toml"])).returncode == 0
    assert shell(shlex.join([*entry, "release_specs/a.toml", "release_specs/b.toml"])).returncode


@pytest.mark.thorough
def test_the_line_for_cron_publishes_once(shell):
    (line,) = [each for page in PAGES for block in page.blocks("text")
               for each in block.text.splitlines()
               if re.match(r"[0-9*]+ [0-9*]+ ", each)]  # fmt: skip
    command = line.split(None, 5)[5].replace(r"\%", "%")
    assert command.startswith("cd /srv/releases && ")
    command = command.replace("/srv/releases", str(shell.folder))
    month = shell("date +%Y-%m").stdout.strip()
    spec = SPEC.replace("small.csv", "visits-{period}.csv").replace('"out"', '"out-{period}"')
    spec = spec.replace("epsilon_cap", 'dataset = "visits"\nepsilon_cap')
    (shell.folder / "monthly.toml").write_text(spec)
    (shell.folder / f"visits-{month}.csv").write_text("a\n" + "1\n" * 50)
    for _ in range(2):
        done = shell(command)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    out = Path(shell.folder / f"out-{month}")
    assert (out / "overall.csv").exists()
    spent = shell("dprelease budget show --json dprelease-ledger.sqlite").stdout
    assert spent.count(f'"{month}"') == 1
