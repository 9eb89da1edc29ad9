"""``dprelease budget`` through its process."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dprelease

LEDGER = "dprelease-ledger.sqlite"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first release is kept for the tests after it: each takes a second."""
    return tmp_path_factory.mktemp("once") / "released"


@pytest.fixture
def released(folder: Path, once: Path) -> Path:
    """The folder with one release in the ledger."""
    if not once.exists():
        dprelease.run(folder / "small.toml")
        shutil.copytree(folder, once)
    shutil.copytree(once, folder, dirs_exist_ok=True)
    return folder


def test_show_gives_the_runs_and_what_is_left(cli, spec, released):
    spec(('name = "small"', 'name = "second"'), ('path = "out"', 'path = "second"'),
         ("epsilon_cap = 2.5", "epsilon_cap = 3"))  # fmt: skip
    dprelease.run(released / "small.toml")
    answer = cli("budget", "show")
    assert (answer.code, answer.err) == (0, "")
    assert "\x1b" not in answer.out
    for words in ("small.csv", "second", "published", "spent    epsilon 2, plain sums",
                  "cap      epsilon 3, left 1",
                  "the cap on epsilon was raised with entry 4: 2.5 before, 3 since"):  # fmt: skip
        assert words in answer.out, words
    assert all(line == line.rstrip() for line in answer.out.splitlines())


def test_show_in_json(cli, released):
    told = cli("budget", "show", "--json", LEDGER).json
    assert told["schema"] == "dprelease/budget/1"
    assert (told["head"]["entries"], told["charges"]) == (3, 1)
    assert f"{LEDGER}: 1 charge in all\n" in cli("budget", "show").out
    (dataset,) = told["datasets"]
    assert dataset["dataset"] == "small.csv"
    assert dataset["cap"] == {"epsilon": 2.5, "delta": None}
    assert dataset["left"] == {"epsilon": 1.5, "delta": None}
    (run,) = dataset["runs"]
    assert (run["entry"], run["release"], run["epsilon"], run["state"]) == (
        1, "small", 1, "published"
    )  # fmt: skip
    assert run["composed"] == {"epsilon": 1, "delta": 0, "by": "plain sums"}
    assert cli("budget", "show", "--json", "--dataset", "other").json["datasets"][0]["runs"] == []


def test_show_of_a_spec_takes_its_ledger_dataset_and_caps(cli, spec, released):
    spec(("epsilon_cap = 2.5", "epsilon_cap = 1.25"))
    answer = cli("budget", "show", "small.toml")
    assert answer.code == 0
    assert "cap      epsilon 1.25, left 0.25" in answer.out
    assert "lowered now: 2.5 before, 1.25 since" in answer.out


def test_show_fits_a_terminal(terminal, cli, spec, released):
    spec(("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-8"), ("2.5", "9\ndelta_cap = 1e-6"),
         ('name = "small"', 'name = "a-release-of-a-rather-long-name"'),
         ('path = "out"', 'path = "another"'),
         ('statistic = "count"', 'statistic = "count"\nmechanism = "gaussian"'))  # fmt: skip
    assert cli("run", "-q", "small.toml").code == 0
    code, shown = terminal("budget", "show", COLUMNS="80", NO_COLOR="1")
    assert code == 0
    assert max(map(len, shown.splitlines()[1:])) <= 80
    assert "reserved for composition" in shown


def test_verify_and_its_answer_in_one_line(cli, released):
    answer = cli("budget", "verify", LEDGER, "--against", "out/report.json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{LEDGER}: whole; 3 entries, runs: 1, reports held: 1; head ")
    assert answer.out.count("\n") == 1
    told = cli("budget", "verify", "--json").json
    assert (told["schema"], told["entries"], told["runs"]) == ("dprelease/verified/1", 3, 1)


def test_an_older_copy_is_told_by_the_witness_and_by_a_report(cli, spec, released):
    shutil.copy(released / LEDGER, released / "old")
    spec(('name = "small"', 'name = "second"'), ('path = "out"', 'path = "second"'))
    dprelease.run(released / "small.toml")
    shutil.copy(released / "old", released / LEDGER)
    for arguments in (("run", "small.toml"), ("plan", "small.toml"), ("budget", "show"),
                      ("budget", "verify")):  # fmt: skip
        answer = cli(*arguments)
        assert (answer.code, answer.out) == (6, "")
        assert "E613" in answer.err
        assert "dprelease budget verify" in answer.err
    told = cli("budget", "verify", "--against", "second/report.json")
    assert told.code == 6
    assert "does not hold the charge that second/report.json names" in told.err
    renewed = cli("budget", "witness")
    assert renewed.code == 0
    assert "3 entries" in renewed.out
    assert "not counted any more" in renewed.err
    assert cli("budget", "verify").code == 0
    assert cli("budget", "verify", "--against", "second/report.json").code == 6


@pytest.mark.parametrize(
    ("old", "new"),
    [('"dataset": "small.csv"', '"dataset": "other"'), ('"entry": 1', '"entry": 2'),
     ('"hash": "', '"hash": "0'), ('"run_id": "', '"run_id": "0')],
)  # fmt: skip
def test_a_report_of_something_else_is_refused(cli, released, old, new):
    report = released / "out" / "report.json"
    text = report.read_text(encoding="utf-8")
    assert old in text
    report.write_text(text.replace(old, new, 1), encoding="utf-8")
    answer = cli("budget", "verify", "--against", "out/report.json")
    assert answer.code == 6
    assert "E613" in answer.err


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"ledger": 3}', '{"ledger": {"entry": "1"}}'])
def test_what_is_no_report_is_refused(cli, released, content):
    (released / "no.json").write_text(content, encoding="utf-8")
    for name in ("no.json", "none.json"):
        answer = cli("budget", "verify", "--against", name)
        assert answer.code == 2
        assert "E614" in answer.err


def test_anybody_can_compute_the_chain_again(cli, released):
    assert cli("budget", "export", "-o", "entries.jsonl").code == 0
    text = (released / "entries.jsonl").read_text(encoding="ascii")
    assert cli("budget", "export").out == text
    previous = hashlib.sha256(b"dprelease/ledger/1").hexdigest()
    for number, line in enumerate(text.splitlines(), start=1):
        entry = json.loads(line)
        names = ("seq", "kind", "run_id", "written_at", "content", "previous")
        body = json.dumps([entry[name] for name in names], separators=(",", ":"))
        assert hashlib.sha256(body.encode()).hexdigest() == entry["hash"]
        assert (entry["seq"], entry["previous"]) == (number, previous)
        previous = entry["hash"]
    assert cli("budget", "show", "--json").json["head"]["hash"] == previous
    assert cli("budget", "export", "-o", "no/where").code == 2


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_read_only_copy_in_a_read_only_directory(released, shared):
    place = shared / "copy"
    place.mkdir()
    for name in (LEDGER, f"{LEDGER}.witness"):
        shutil.copy(released / name, place / name)
        os.chmod(place / name, 0o444)
    os.chmod(place, 0o555)
    script = (
        "import contextlib, io, os, sys\n"
        "from dprelease.cli.guard import execute\n"
        "with contextlib.redirect_stdout(io.StringIO()):  # loads what others may not read\n"
        "    execute([*sys.argv[1:3], sys.argv.pop()])\n"
        "if os.geteuid() == 0:\n"
        "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sys.exit(execute(sys.argv[1:]))\n"
    )
    own = str(released / LEDGER)
    for command in ("show", "verify", "export"):
        done = subprocess.run(
            [sys.executable, "-c", script, "budget", command, str(place / LEDGER), own],
            cwd="/", capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout
    os.chmod(place, 0o755)


def test_nothing_of_the_data_is_shown(cli, released):
    shown = cli("budget", "show", "--json").out + cli("budget", "export").out
    for value in ("north", "elsewhere", "n/a"):
        assert value not in shown


def test_disjoint_periods_cost_the_dearest_one(cli, spec, folder):
    spec(('path = "small.csv"', 'path = "small-{period}.csv"'),
         ("epsilon_cap = 2.5", 'dataset = "d"\ndisjoint_periods = true\nepsilon_cap = 1'),
         ('path = "out"', 'path = "out-{period}"'))  # fmt: skip
    for period in ("2026-01", "2026-02", "2026-Q1"):
        shutil.copy(folder / "small.csv", folder / f"small-{period}.csv")
    for period in ("2026-01", "2026-02", "2026-01"):
        dprelease.run(dprelease.load(folder / "small.toml", period=period))
    refused = cli("run", "--period", "2026-Q1", "small.toml")
    assert refused.code == 3
    assert "E301 epsilon 1.0 + 1.0 already spent" in refused.err
    told = cli("budget", "show", "--json").json["datasets"][0]
    assert [run["period"] for run in told["runs"]] == ["2026-01", "2026-02"]
    assert (told["spent"]["epsilon"], told["left"]["epsilon"]) == (1, 0)
    shown = cli("budget", "show").out
    assert "2026-01 *" in shown
    assert "in one such period only" in shown
    report = json.loads((folder / "out-2026-02" / "report.json").read_text(encoding="utf-8"))
    assert report["ledger"]["after"]["epsilon"] == 1
    assert "in one period only" in (folder / "out-2026-02" / "report.md").read_text("utf-8")


def test_a_run_that_stopped_goes_on_with_the_data_that_it_was_charged_for(cli, spec, folder):
    """What its place has become may be another period's: a second draw, with no charge."""
    spec(('path = "small.csv"', 'path = "small-{period}.csv.gz"'),
         ("epsilon_cap = 2.5", 'dataset = "d"\ndisjoint_periods = true\nepsilon_cap = 1'),
         ('adjacency = "add-remove"', 'adjacency = "replace-one"'),
         ('path = "out"', 'path = "out-{period}"'))  # fmt: skip
    content = (folder / "small.csv").read_bytes()
    whole, unended = gzip.compress(content), gzip.compress(content.removesuffix(b"\n"))
    spring, autumn = (folder / f"small-{period}.csv.gz" for period in ("spring", "autumn"))
    spring.write_bytes(whole)
    autumn.write_bytes(unended)
    assert cli("run", "-q", "--period", "spring", "small.toml").code == 0
    assert cli("run", "-q", "--period", "autumn", "small.toml").code == 5
    autumn.unlink()
    autumn.symlink_to(spring)
    planned = cli("plan", "--period", "autumn", "small.toml")
    refused = cli("run", "--period", "autumn", "small.toml")
    assert refused.code == 3
    for answer in (planned, refused):
        assert "E306 entry 4 of the ledger charged this run for the data of" in answer.err
    autumn.unlink()
    autumn.write_bytes(whole)
    assert cli("run", "-q", "--period", "autumn", "small.toml").code == 0
    autumn.unlink()
    autumn.symlink_to(spring)
    assert cli("run", "-q", "--period", "autumn", "small.toml").code == 0  # as it was sealed


@pytest.mark.parametrize(
    "path", ["small.csv", "small-{period}*.csv", "{period}/../small.csv", "[{period}].csv"]
)
def test_disjoint_periods_need_files_of_their_own(cli, spec, path):
    spec(("epsilon_cap = 2.5", "disjoint_periods = true\nepsilon_cap = 1"),
         ('path = "small.csv"', f'path = "{path}"'),
         ('path = "out"', 'path = "out-{period}"'))  # fmt: skip
    answer = cli("check", "--period", "2026-01", "small.toml")
    assert answer.code == 2
    assert "E241 disjoint_periods needs {period} in the path of the data" in answer.err


def test_periods_are_one_data_set_unless_they_are_named_otherwise(cli, spec, folder):
    for path in ("data-{period}.csv", "{period}/*.csv"):
        spec(('path = "small.csv"', f'path = "{path}"'))
        names = {
            dprelease.load(folder / "small.toml", period=each).ledger.dataset for each in ("a", "b")
        }
        assert len(names) == 1, path


FORMATS = ("html", "md", "json", "registry")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("what", ["small.csv", "small.toml", "dprelease-ledger.sqlite",
                                  "dprelease-ledger.sqlite.witness", "link", "deep"])  # fmt: skip
def test_nothing_of_value_is_written_over(cli, folder, what):
    assert cli("run", "small.toml").code == 0
    (folder / "link").symlink_to("small.csv")
    (folder / "deep").write_text("[" * 100_000)
    before = (folder / what).read_bytes()
    for command in (
        ("budget", "export", "-o", what),
        ("plan", "-o", what, "small.toml"),
        ("plan", "--html", what, "small.toml"),
        ("report", "out", "--format", "md", "-o", what),
    ):
        answer = cli(*command)
        assert answer.code == 2
        assert "another file has that name" in answer.err
        assert (folder / what).read_bytes() == before
    for command in (
        ("budget", "export", "-o", "new"),
        ("plan", "small.toml", "-o", "new"),
        ("plan", "small.toml", "--html", "new"),
        *(("report", "out", "--format", form, "-o", "new") for form in FORMATS),
    ):
        assert [cli(*command).code for _ in range(2)] == [0, 0]
        assert (folder / "new").stat().st_mode & 0o077 == 0
        (folder / "new").unlink()


def test_a_bar_shows_how_much_of_the_cap_is_used(cli, spec, released):
    lines = cli("budget", "show").out.splitlines()
    at = lines.index("cap      epsilon 2.5, left 1.5")
    assert lines[at + 1] == f"         {'█' * 8}{'░' * 12} 40% used"
    spec(("epsilon_cap = 2.5", "epsilon_cap = 1.0"))
    assert f"         {'█' * 20} 100% used\n" in cli("budget", "show", "small.toml").out
    spec(("epsilon_cap = 2.5", "epsilon_cap = 100000.0"))
    assert f"         █{'░' * 19} 1% used\n" in cli("budget", "show", "small.toml").out
    spec(("[ledger]\nepsilon_cap = 2.5\n", ""))
    assert "used" not in cli("budget", "show", "small.toml").out


def test_the_snapshot_of_each_release_is_shown(cli, spec, released):
    assert "  snapshot  " not in cli("budget", "show").out
    spec(('path = "small.csv"', 'path = "small.csv"\nsnapshot = "2026-q1"'))
    assert cli("run", "-q", "small.toml").code == 0
    shown = cli("budget", "show").out.splitlines()
    (head,) = [line for line in shown if line.startswith("charged at")]
    rows = [line for line in shown if line.endswith(("published      1", "published      2"))]
    start = head.index("snapshot")
    assert [row[start:].split()[0] for row in rows] == ["-", "2026-q1"]
    (told,) = cli("budget", "show", "--json").json["datasets"]
    assert [run["snapshot"] for run in told["runs"]] == [None, "2026-q1"]
    assert cli("budget", "verify", LEDGER).code == 0
