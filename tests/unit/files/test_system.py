"""The product on Windows and macOS: held by processes that lack what those systems lack.

Nothing here runs on another system; see the docs for what that means.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import other_systems
import pytest
from product_source import FILES, PACKAGE, get_module_name, list_nodes, parse_module, write_dotted

from dprelease.files import system

ROOT = Path(__file__).parents[3]
SYSTEMS = ("windows", pytest.param("macos", marks=pytest.mark.thorough))
HOME = "files/system.py"


def start(system: str, code: str, folder: Path, *modules: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, other_systems.__file__, system, code, *modules],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )


def answer(system: str, code: str, folder: Path, *modules: str) -> str:
    """What a process of the other system prints; of the product it uses these modules, or any."""
    process = start(system, code, folder, *modules)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    return out


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_is_imported(system: str, tmp_path: Path) -> None:
    code = (
        "import importlib\n"
        "names = product_modules()\n"
        "for name in names: importlib.import_module(name)\n"
        "from dprelease.files.system import POSIX\n"
        "print(len(names), POSIX)"
    )
    modules = len([file for file in FILES if file.name != "__main__.py"]) - 1  # itself
    assert answer(system, code, tmp_path).split() == [str(modules), str(system == "macos")]


WHOLE = """\
import glob, hashlib, io, json, os, sys
from dprelease.cli.guard import execute
from dprelease.ledger.store import Ledger
def hashes():
    files = filter(os.path.isfile, glob.glob("out/**", recursive=True))
    return {{file: hashlib.sha256(open(file, "rb").read()).hexdigest() for file in files}}
def entries(path):
    with Ledger.read(path) as ledger:
        return len(list(ledger.list_runs()))
def commands(*lines):
    return [execute(line.split()) for line in lines]
sys.stderr = io.StringIO()  # remarks
codes = commands("check {spec}", "plan {spec}", "run {spec} -q")
(out,), book = glob.glob("out/*"), "release_specs/dprelease-ledger.sqlite"
first = hashes()
codes += commands("run {spec} -q", f"show {{out}}", f"report {{out}}", f"budget show {{book}}")
same, paid = hashes() == first, entries(book)
codes += commands(f"budget move {{book}} moved.sqlite", "budget verify moved.sqlite")
moved = [entries("moved.sqlite"), os.path.exists(book)]
print()
print(json.dumps([codes, len(first) > 4, same, paid, *moved]))
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", ["clinic_visits", "clinic_records"])
def test_an_example_runs_and_a_second_run_is_free(system: str, name: str, tmp_path: Path) -> None:
    ledgers = shutil.ignore_patterns("*.sqlite*")  # of somebody who has run the examples
    shutil.copytree(ROOT / "release_specs", tmp_path / "release_specs", ignore=ledgers)
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    out = answer(system, WHOLE.format(spec=f"release_specs/{name}.toml"), tmp_path)
    codes, files, same, paid, moved, old = json.loads(out.splitlines()[-1])
    assert codes == [0] * 9
    assert (files, same, paid, moved, old) == (True, True, 1, 1, False)
    names = [path.name for path in tmp_path.rglob("*")]
    assert [name for name in names if name.endswith(".lock") or ".new-" in name] == []


HOLD = """\
import sys
from dprelease.output.staging import stage
with stage({folder!r}, ".p-") as staging:
    staging.write({{"a.csv": b"x"}})
    print(staging.path, flush=True)
    sys.stdin.readline()
"""
CLEAR = "from dprelease.output.staging import remove_leftovers\nremove_leftovers({folder!r}, '.p-')"


def test_a_lock_holds_as_long_as_its_process(tmp_path: Path) -> None:
    system = "windows"
    staging = "dprelease.output.staging"
    holder = start(system, HOLD.format(folder=str(tmp_path)), tmp_path, staging)
    assert holder.stdout is not None
    place = Path(holder.stdout.readline().strip())
    clear = CLEAR.format(folder=str(tmp_path))
    answer(system, clear, tmp_path, staging)
    assert (place / "content" / "a.csv").exists()
    holder.kill()
    holder.communicate()
    assert place.exists()
    answer(system, clear, tmp_path, staging)
    assert os.listdir(tmp_path) == []


def test_tables_of_records_are_locked_under_the_name_that_they_will_have(tmp_path: Path) -> None:
    code = """\
from dprelease.files.system import close_lock, lock, open_lock
from dprelease.local.store.table_store import Unsealed
import os
open("made", "w").close()
with Unsealed() as tables:
    tables.keep("made", "kept")
    other = open_lock("kept")
    try:
        lock(other)
    except BlockingIOError:
        print("locked", sorted(os.listdir()))
    close_lock(other, "kept")
print(sorted(os.listdir()))
"""
    found = answer(
        "windows", code, tmp_path, "dprelease.files.system", "dprelease.local.store.table_store"
    )
    assert found == "locked ['kept', 'kept.lock']\n['kept']\n"


def test_a_file_that_somebody_reads_is_replaced_a_little_later(tmp_path: Path) -> None:
    code = """\
import threading, time
from dprelease.files.atomic import put_file
put_file("a", b"1")
reader = open("a")
threading.Timer(0.3, reader.close).start()
put_file("a", b"2")
print(open("a").read(), reader.closed)
reader = open("a")
try:
    put_file("a", b"3")
except PermissionError:
    print(open("a").read())
"""
    assert answer("windows", code, tmp_path, "dprelease.files.atomic") == "2 True\n2\n"


def test_links_are_refused_where_they_are_not_followed(tmp_path: Path) -> None:
    code = """\
import os
from dprelease.files.system import open_plain, open_real
os.mkdir("folder")
open("folder/a", "w").write("x")
os.symlink("folder/a", "link")
os.symlink("folder", "way")
real = os.path.realpath("folder/a")
print(open_real(real).read(), open_plain("link").read())
for act in (
    lambda: open_plain("link", follow=False),
    lambda: open_real(os.path.abspath("link")),
    lambda: open_real(os.path.abspath("way/a")),
    lambda: open_plain("folder"),
    lambda: open_plain("/dev/null"),
):
    try:
        act()
    except OSError:
        print("refused")
"""
    found = answer("windows", code, tmp_path, "dprelease.files.system").split()
    assert found == ["b'x'", "b'x'"] + ["refused"] * 5


def test_a_draft_counts_as_left_behind_after_a_day(tmp_path: Path) -> None:
    code = """\
import os, time
from dprelease.files.atomic import remove_dead_drafts
day = 86_400_000_000_000
for made in (time.time_ns(), time.time_ns() - day + 10**10, time.time_ns() - day - 1):
    open(f"a.new-1-{made}", "w").close()
remove_dead_drafts("a")
print(len(os.listdir()))
"""
    assert answer("windows", code, tmp_path, "dprelease.files.atomic") == "2\n"


def test_the_other_system_refuses_what_it_should(tmp_path: Path) -> None:
    code = """\
import os
def tried(act):
    try:
        act()
    except Exception as problem:
        print(type(problem).__name__)
    else:
        print("done")
open("a", "w").close()
open("b", "w").close()
os.mkdir("f")
held = open("a")
tried(lambda: os.unlink("a"))
tried(lambda: os.replace("b", "a"))
tried(lambda: os.rename("b", "a"))
tried(lambda: os.open("f", os.O_RDONLY))
tried(lambda: os.fsync(held.fileno()))
tried(lambda: os.O_NOFOLLOW)
tried(lambda: os.kill(os.getpid(), 0))
held.close()
tried(lambda: os.replace("b", "a"))
tried(lambda: __import__("fcntl"))
"""
    expected = (
        "PermissionError PermissionError FileExistsError PermissionError OSError AttributeError "
        "RuntimeError done ModuleNotFoundError"
    )
    assert answer("windows", code, tmp_path, "dprelease").split() == expected.split()


# --- read from the source ------------------------------------------------------------------------


def not_everywhere(tree: ast.AST) -> Iterator[str]:
    """Uses of names of ``os`` and ``signal`` that Windows lacks, or means something else by.

    Nor a folder's handle, nor a module of POSIX.
    """
    missing = {f"os.{name}" for name in other_systems.NOT_ON_WINDOWS | {"kill", "rename"}}
    missing |= {f"signal.{name}" for name in other_systems.SIGNALS_NOT_ON_WINDOWS}
    for node in list_nodes(tree):
        if isinstance(node, ast.Attribute) and write_dotted(node) in missing:
            yield f"{node.lineno}: {write_dotted(node)}"
        elif isinstance(node, ast.keyword) and node.arg in {"dir_fd", "follow_symlinks"}:
            yield f"{node.value.lineno}: {node.arg}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            modules = names if isinstance(node, ast.Import) else [node.module or ""]
            gone = {"fcntl", "msvcrt", *other_systems.MODULES_NOT_ON_WINDOWS} & set(modules)
            if isinstance(node, ast.ImportFrom) and node.module in {"os", "signal"}:
                gone |= {name for name in names if f"{node.module}.{name}" in missing}
            yield from (f"{node.lineno}: {name}" for name in gone)


def text_without_encoding(tree: ast.AST) -> Iterator[str]:
    """Files opened as text in whatever encoding the system prefers."""
    for node in list_nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        name, given = write_dotted(node.func), [word.arg for word in node.keywords]
        modes = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
        devnull = any(write_dotted(arg) == "os.devnull" for arg in node.args)
        if name == "open" and not any("b" in str(mode) for mode in modes) and not devnull:
            if "encoding" not in given:
                yield f"{node.lineno}: open"
        elif name.endswith((".read_text", ".write_text")) and not (node.args or given):
            yield f"{node.lineno}: {name}"


ALLOWED = {
    "engines/duckdb/duckdb_session.py: os.sched_getaffinity",  # asks for it first
    "output/publish.py: os.rename",  # of a folder, which must not be there
    "output/staging.py: follow_symlinks",  # of an entry of scandir
}


def test_nothing_is_used_that_another_system_lacks() -> None:
    used = {
        f"{get_module_name(file)}: {complaint.partition(': ')[2]}"
        for file in FILES
        if get_module_name(file) != HOME
        for complaint in not_everywhere(parse_module(file))
    }
    assert used == ALLOWED
    assert list(
        not_everywhere(parse_module(next(file for file in FILES if get_module_name(file) == HOME)))
    )


def test_texts_have_their_encoding() -> None:
    found = [
        f"{get_module_name(file)}:{complaint}"
        for file in FILES
        for complaint in text_without_encoding(parse_module(file))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (not_everywhere, "import fcntl"),
        (not_everywhere, "from resource import getrusage"),
        (not_everywhere, "from os import geteuid"),
        (not_everywhere, "import os\nos.open(x, os.O_NOFOLLOW)"),
        (not_everywhere, "import os\nos.stat(x, dir_fd=y)"),
        (not_everywhere, "import signal\nsignal.SIGKILL"),
        (not_everywhere, "import os\nos.kill(1, 0)"),
        (text_without_encoding, "open(x)"),
        (text_without_encoding, "open(x, 'w', newline='')"),
        (text_without_encoding, "file.read_text()"),
    ],
)
def test_a_rule_catches_what_it_is_for(rule: object, source: str) -> None:
    assert callable(rule)
    assert list(rule(ast.parse(source)))


def test_an_interruption_ends_a_wait_where_a_library_has_calls_go_on() -> None:
    """As after ``import polars``; one wait of the thread's whole time would not notice it."""
    stopped, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (stopped.wait(20), ended.set()))
    thread.start()
    later = threading.Timer(
        0.1, signal.pthread_kill, (threading.main_thread().ident or 0, signal.SIGINT)
    )
    signal.siginterrupt(signal.SIGINT, False)
    try:
        later.start()
        with pytest.raises(KeyboardInterrupt):
            system.wait_for(thread)
        assert not ended.is_set()
    finally:
        signal.siginterrupt(signal.SIGINT, True)
        stopped.set()
        later.join()
        assert ended.wait(20)
