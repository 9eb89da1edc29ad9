"""Help, version, mistakes on the command line, and how fast and lean the start is."""

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from dprelease.cli.app import COMMANDS, MODULES

HEAVY = {
    "duckdb", "msgspec", "numpy", "pandas", "pyarrow", "rich", "sqlglot", "dprelease.run",
}  # fmt: skip


OF_BUDGET = ("show", "verify", "export", "witness", "cap", "move")


@pytest.mark.parametrize(
    "command",
    [(), *((name,) for name in COMMANDS), *(("budget", name) for name in OF_BUDGET)],
)
def test_help_has_an_example_and_80_columns(cli, command):
    answer = cli(*command, "--help")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    if command:
        examples = answer.out.partition("\n  Example")[2]
        assert f"    dprelease {' '.join(command)} " in examples


def test_help_is_no_wider_on_a_wide_terminal(cli):
    assert max(map(len, cli("plan", "--help", COLUMNS="200").out.splitlines())) <= 80


def test_version(cli):
    answer = cli("--version")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"dprelease {version('dprelease')}\n"


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("run", "--new-nois", "small.toml"), "--new-noise"),
        (("check", "--quite", "small.toml"), "--quiet"),
        (("show", "--tabel", "x", "out"), "--table"),
        (("budget", "show", "--datset", "x"), "--dataset"),
        (("budget", "verfy"), "verify"),
    ],
)
def test_unknown_option_is_answered_with_the_nearest(cli, arguments, nearest):
    answer = cli(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert nearest in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("plan", "a.toml", "b.toml"),
        ("check", "--format", "yaml", "small.toml"),
        ("run", "--wait", "nan", "small.toml"),
        ("run", "--wait", "inf", "small.toml"),
        ("run", "--wait", "-1", "small.toml"),
        ("run", "--wait", "soon", "small.toml"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_so_on_stderr(cli, arguments):
    answer = cli(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert "Try: dprelease" in answer.err
    assert "Traceback" not in answer.err


def list_modules_after(folder, *arguments):
    """Names of the modules that are loaded when the command is done."""
    probe = (
        "import sys\n"
        "from dprelease.cli.guard import execute\n"
        "code = execute(sys.argv[1:])\n"
        "print('\\n'.join(sorted(sys.modules)), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines())


def test_help_loads_nothing_heavy(folder):
    loaded = list_modules_after(folder, "--help")
    assert "click" in loaded
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name.startswith("dprelease.")} <= {
        "dprelease.cli",
        "dprelease.cli.views.console",
        "dprelease.cli.app",
        "dprelease.cli.views.complaints_view",
        "dprelease.cli.views.text_layout",
        "dprelease.cli.guard",
        "dprelease.cli.views",
        *(MODULES.get(command, f"dprelease.cli.{command}_command") for command in COMMANDS),
        "dprelease.local",
        "dprelease.errors",
        "dprelease.model",
        "dprelease.report_format",
    }


# Modules of ours, without packages, that a command may load for two figures of a CSV file.
MOST_MODULES = {"check": 177, "plan": 213, "run": 313}
FOR_OTHER_SPECS = {
    "dprelease.sources.parquet",
    "dprelease.engines.spark",
    "dprelease.expressions.whitelist",
    "dprelease.postprocess.finishing.agreement",
    "dprelease.kernel.chapters.choices.choice_sampler",
    "dprelease.kernel.chapters.choices.quantile_sampler",
    "dprelease.kernel.chapters.choices.weights",
    "dprelease.kernel.chapters.private_keys.shown_keys",
    "dprelease.kernel.chapters.record_tables.finite",
    "dprelease.kernel.chapters.record_tables.record_draws",
    "dprelease.kernel.chapters.record_tables.subset_selection",
    "dprelease.kernel.chapters.strategies.mixed_cells",
    "dprelease.local.estimation.estimates",
    "dprelease.privacy.loss_distributions",
    "dprelease.reports.renderers.opendp_registry",
    "dprelease.kernel.chapters.composition.search",
    "pandas",
    "pyarrow",
    "sqlglot",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("command", MOST_MODULES)
def test_a_command_loads_what_its_spec_needs(folder, command):
    loaded = list_modules_after(folder, command, "small.toml")
    assert loaded & FOR_OTHER_SPECS == set()
    ours = [find_spec(name) for name in loaded if name.partition(".")[0] == "dprelease"]
    files = [spec for spec in ours if spec and spec.submodule_search_locations is None]
    assert len(files) <= MOST_MODULES[command]


def test_what_other_specs_need_is_there():
    ours = {name for name in FOR_OTHER_SPECS if name.startswith("dprelease")}
    assert {name for name in ours if find_spec(name) is None} == set()


def test_check_loads_neither_an_engine_nor_arrays(folder):
    loaded = list_modules_after(folder, "check", "small.toml")
    assert loaded & {"duckdb", "pyarrow", "pandas", "numpy", "rich"} == set()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
def test_arrays_start_no_threads(folder):
    probe = (
        "import os, sys\n"
        "from dprelease.cli.guard import execute\n"
        "execute(['--version'])\n"
        "import numpy\n"
        "sys.exit(len(os.listdir('/proc/self/task')) - 1)\n"
    )
    command = [sys.executable, "-c", probe]
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("OPENBLAS")}
    assert subprocess.run(command, env=environment, check=False).returncode == 0


def test_plan_opens_no_engine(folder):
    assert (
        list_modules_after(folder, "plan", "small.toml") & {"duckdb", "pyarrow", "pandas"} == set()
    )
