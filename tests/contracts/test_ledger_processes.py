"""The ledger's promises with real processes: races, kills, locks, full disks, read-only places.

Each child is a Python process of its own, started with one of the scripts below.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import postgres_server
import pytest
from thorough import is_thorough, some

from dprelease.errors import ExitCode, Failure
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss

# argv: ledger, run id, epsilon, cap, and "unprivileged" to go without special rights.
# Says "charged", "known" or "exit <code>".
CHARGE = """
import os, sys
from fractions import Fraction
from dprelease.errors import Failure
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss
path, run, epsilon, cap, *unprivileged = sys.argv[1:]
sys.stdin.readline()
if unprivileged and os.geteuid() == 0:  # the superuser may write anywhere
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with Ledger.open(path, 60) as ledger:
        loss = Loss(Fraction(epsilon))
        made = ledger.charge(run, "d", "r", loss, Caps(Fraction(cap)), {})
        print("charged" if made.fresh else "known")
except Failure as refused:
    print(f"exit {int(refused.exit_code)}")
"""

# argv: ledger, run id. Charges, seals noise of its own, and shows what it may publish.
SEAL = """
import os, sys
from fractions import Fraction
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss
path, run = sys.argv[1:3]
sys.stdin.readline()
with Ledger.open(path, 60) as ledger:
    made = ledger.charge(run, "d", "r", Loss(Fraction(1)), Caps(Fraction(1)), {})
    mine = b"noise of %d" % os.getpid()
    print(ledger.seal(made, mine).decode())
"""

# argv: ledger. Charges and seals one run after another for ever, telling what was confirmed.
FOR_EVER = """
import itertools, sys
from fractions import Fraction
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss
with Ledger.open(sys.argv[1], 60) as ledger:
    for number in itertools.count(len(ledger.list_runs())):
        run = f"{number:064x}"
        made = ledger.charge(run, "d", "r", Loss(Fraction(1)), Caps(), {})
        print("charge", run, flush=True)
        ledger.seal(made, run.encode() * 1000)
        print("seal", run, flush=True)
"""

# argv: ledger. Tries what is possible where files must not grow beyond the size they have, plus
# the bytes given. Says which exit codes come.
FULL_DISK = """
import resource, signal, sys
from fractions import Fraction
from dprelease.errors import Failure
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.store import Ledger
from dprelease.model import Loss
path, run, limit, payload = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import os
noise = os.urandom(payload)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with Ledger.open(path, 1) as ledger:
        made = ledger.charge(run, "d", "r", Loss(Fraction(1)), Caps(), {})
        print("charged")
        ledger.seal(made, noise)
        print("sealed")
except Failure as refused:
    print(f"exit {int(refused.exit_code)} {refused}")
"""


def run_at_once(script: str, argument_lists: list[list[str]]) -> list[str]:
    """Starts all, lets them all go when they are ready, and returns what each says."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for arguments in argument_lists
    ]
    for each in started:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    answers = [each.communicate(timeout=120) for each in started]
    assert [err for _, err in answers] == [""] * len(answers)
    return [out.strip() for out, _ in answers]


def say(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input="go\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


ON_SERVER = "env:TRIED_LEDGER"


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.thorough)])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the ledger is. Processes inherit the folder and the environment."""
    monkeypatch.chdir(tmp_path)
    if request.param == "file":
        return str(tmp_path / "ledger.sqlite")
    postgres_server.require("psycopg")
    server: postgres_server.Server = request.getfixturevalue("postgres")
    monkeypatch.setenv("TRIED_LEDGER", server.uri(server.database()))
    return ON_SERVER


def test_several_processes_on_a_cap_for_three(place: str, tmp_path: Path) -> None:
    path = place  # made by whoever comes first
    runs = [f"{number:064x}" for number in range(8 if is_thorough() else 5)]
    answers = run_at_once(CHARGE, [[path, run, "1/3", "1"] for run in runs])
    assert sorted(answers) == ["charged"] * 3 + [f"exit {int(ExitCode.BUDGET)}"] * (len(runs) - 3)
    with Ledger.open(path) as ledger:
        assert ledger.read_account("d").spent_loss.epsilon == 1
        assert ledger.verify().seq == 3
    files = {"TRIED_LEDGER.witness"}
    if path != ON_SERVER:
        files = {"ledger.sqlite", "ledger.sqlite.witness"}
    assert set(os.listdir(tmp_path)) == files


def test_one_run_in_several_processes(place: str) -> None:
    path = place
    answers = run_at_once(SEAL, [[path, "a" * 64]] * (8 if is_thorough() else 3))
    assert len(set(answers)) == 1
    with Ledger.open(path) as ledger:
        assert ledger.read_sealed("a" * 64) == answers[0].encode()
        assert ledger.verify().seq == 2
        assert ledger.read_account("d").spent_loss.epsilon == 1


def test_killed_at_any_moment_nothing_confirmed_is_lost(place: str) -> None:
    path = place
    confirmed: list[list[str]] = []
    for lines in some((1, 4, 2, 7), 2):
        child = subprocess.Popen(
            [sys.executable, "-c", FOR_EVER, path], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(lines):
            confirmed.append(child.stdout.readline().split())
        child.send_signal(signal.SIGKILL)
        confirmed += [each.split() for each in child.stdout.read().splitlines()]
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        with Ledger.open(path) as ledger:
            ledger.verify()
            found = {run.run_id: run for run in ledger.list_runs()}
            for what, run in confirmed:
                assert run in found
                assert what == "charge" or ledger.read_sealed(run) == run.encode() * 1000
            # At most the one charge that was under way is there without having been confirmed.
            extra = found.keys() - {run for _, run in confirmed}
            assert len(extra) <= 4


def test_a_journal_left_by_a_kill_is_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(str(path)) as ledger:
        ledger.charge("a" * 64, "d", "r", Loss(Fraction(1)), Caps(), {})
    # Half a transaction, spilled into the file, and no time to undo it.
    script = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("PRAGMA foreign_keys = OFF")
db.execute("BEGIN IMMEDIATE")
for number in range(200):
    db.execute("INSERT INTO payloads VALUES (?, randomblob(4000))", (number + 5,))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == [
        "ledger.sqlite",
        "ledger.sqlite-journal",
        "ledger.sqlite.witness",
    ]
    with Ledger.read(str(path)) as reader:
        assert reader.verify().seq == 1
    with Ledger.open(str(path)) as ledger:
        assert ledger.verify().seq == 1
    assert sorted(os.listdir(tmp_path)) == ["ledger.sqlite", "ledger.sqlite.witness"]


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "ledger.sqlite")
    Ledger.open(path).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield path
    holder.close()


def test_a_locked_ledger_is_waited_for_and_then_refused(locked: str) -> None:
    with pytest.raises(Failure, match="E601") as refused:
        Ledger.open(locked, 0.2)
    assert refused.value.exit_code is ExitCode.LEDGER
    assert "waited 0.2 s" in str(refused.value)


def test_a_ledger_locked_between_open_and_charge(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.sqlite")
    with Ledger.open(path, 0.2) as ledger:
        made = ledger.charge("a" * 64, "d", "r", Loss(Fraction(1)), Caps(), {})
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        for act in (
            lambda: ledger.charge("b" * 64, "d", "r", Loss(Fraction(1)), Caps(), {}),
            lambda: ledger.seal(made, b"x"),
            lambda: ledger.read_account("d"),
        ):
            with pytest.raises(Failure, match="E601"):
                act()
        holder.close()
        assert ledger.seal(made, b"y") == b"y"
        assert ledger.verify().seq == 2


def test_a_reader_does_not_stop_a_charge(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.sqlite")
    with Ledger.open(path, 0.2) as ledger, Ledger.read(path, 0.2) as reader:
        for run in ("a" * 64, "b" * 64):
            ledger.charge(run, "d", "r", Loss(Fraction(1)), Caps(), {})
            assert reader.read_head() == ledger.read_head()


@pytest.mark.thorough
def test_a_full_disk_charges_nothing_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(str(path)) as ledger:
        for number in range(40):
            ledger.charge(f"{number:064x}", "d", "r", Loss(Fraction(1)), Caps(), {})
    size = path.stat().st_size
    # Nothing can be written at all; the journal can, the ledger can't; the charge, not the seal.
    for limit in (0, 512, 4096, size, size + 4096, size + 40_000):
        with Ledger.open(str(path)) as ledger:
            before = ledger.verify().seq
        said = say(FULL_DISK, str(path), f"{1000 + limit:064x}", str(limit), "200000")
        with Ledger.open(str(path)) as ledger:
            after = ledger.verify().seq
        if said.startswith("charged"):
            assert f"exit {int(ExitCode.AFTER_CHARGE)}" in said
            assert "costs nothing" in said
            assert after == before + 1
        else:
            assert said.startswith(f"exit {int(ExitCode.LEDGER)}")
            assert after == before
        assert "E606" in said
    assert said.startswith("charged")


def test_a_full_disk_makes_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    said = say(FULL_DISK, str(path), "a" * 64, "5000", "10")
    assert said.startswith(f"exit {int(ExitCode.LEDGER)}")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_read_only_places_are_refused(shared: Path) -> None:
    path = shared / "ledger.sqlite"
    arguments = (str(path), "a" * 64, "1", "9", "unprivileged")
    os.chmod(shared, 0o555)
    assert say(CHARGE, *arguments) == f"exit {int(ExitCode.LEDGER)}"
    os.chmod(shared, 0o777)
    Ledger.open(str(path)).close()
    for file_mode, directory_mode in ((0o666, 0o555), (0o444, 0o777), (0o000, 0o777)):
        os.chmod(path, file_mode)
        os.chmod(shared, directory_mode)
        assert say(CHARGE, *arguments) == f"exit {int(ExitCode.LEDGER)}"
    os.chmod(shared, 0o755)
    os.chmod(path, 0o600)
    with Ledger.open(str(path)) as ledger:
        assert ledger.verify().seq == 0
