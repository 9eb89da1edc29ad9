"""Publishing: whole or not at all, ours or not touched, whatever stops it."""

import errno
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from thorough import some

from dprelease.errors import ExitCode, Failure
from dprelease.output.datapackage import write_marker
from dprelease.output.publish import check_target, publish
from dprelease.output.released_tables import check_whole


def package(*names: str, **more: str) -> bytes:
    resources = [{"path": name} for name in names]
    return json.dumps({"generator": "dprelease", "resources": resources, **more}).encode()


FIRST = {
    "a.csv": b"a1\n",
    "b.csv": b"b1\n",
    "datapackage.json": package("a.csv", "b.csv", "report.md"),
    "report.md": b"same\n",
}
SECOND = {
    "a.csv": b"a2\n",
    "c.csv": b"c2\n",
    "datapackage.json": package("a.csv", "c.csv", "report.md"),
    "report.md": b"same\n",
}


def read_contents(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir()}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out" / "pay-2026"


def find_refusal(act: Callable[[], object], code: ExitCode = ExitCode.AFTER_CHARGE) -> str:
    with pytest.raises(Failure) as refused:
        act()
    assert refused.value.exit_code is code
    assert all(each.hint for each in refused.value.complaints)
    if code is ExitCode.AFTER_CHARGE:
        assert "costs nothing" in str(refused.value)
    return str(refused.value)


def test_a_new_directory_with_its_parents(target: Path) -> None:
    hashes = publish(str(target), FIRST)
    assert read_contents(target) == FIRST
    assert os.listdir(target.parent) == ["pay-2026"]
    assert hashes == {name: hashlib.sha256(each).hexdigest() for name, each in FIRST.items()}


def test_modes_are_those_of_the_umask(target: Path) -> None:
    before = os.umask(0o022)
    try:
        publish(str(target), FIRST)
        publish(str(target), SECOND)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    assert {stat.S_IMODE(each.stat().st_mode) for each in target.iterdir()} == {0o644}


def test_again_leaves_the_same_files_alone(target: Path) -> None:
    publish(str(target), FIRST)
    before = {each.name: each.stat() for each in target.iterdir()}
    publish(str(target), FIRST)
    after = {each.name: each.stat() for each in target.iterdir()}
    assert {name: (each.st_ino, each.st_mtime_ns) for name, each in before.items()} == {
        name: (each.st_ino, each.st_mtime_ns) for name, each in after.items()
    }


def test_an_update_replaces_what_changed_and_removes_what_is_stale(target: Path) -> None:
    publish(str(target), FIRST)
    report = (target / "report.md").stat().st_ino
    publish(str(target), SECOND)
    assert read_contents(target) == SECOND
    assert (target / "report.md").stat().st_ino == report


def test_the_descriptor_comes_last_and_a_marker_first(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(str(target), FIRST)
    moved: list[str] = []
    replace = os.replace
    monkeypatch.setattr(
        os, "replace", lambda old, new: (moved.append(os.path.basename(new)), replace(old, new))
    )
    publish(str(target), SECOND)
    assert moved == ["datapackage.json", "a.csv", "c.csv", "datapackage.json"]


def test_files_of_others_stay(target: Path) -> None:
    target.mkdir(parents=True)
    (target / "notes.txt").write_bytes(b"mine")
    (target / "sub").mkdir()
    publish(str(target), FIRST)
    publish(str(target), SECOND)
    assert (target / "notes.txt").read_bytes() == b"mine"
    assert sorted(os.listdir(target)) == sorted([*SECOND, "notes.txt", "sub"])


def list_charts(*names: str) -> dict[str, bytes]:
    files = {f"figures/{name}.vl.json": b"{}" for name in names}
    return {**FIRST, **files, "datapackage.json": package(*FIRST, *files)}


def read_tree(directory: Path) -> dict[str, bytes]:
    files = (each for each in directory.rglob("*") if each.is_file())
    return {each.relative_to(directory).as_posix(): each.read_bytes() for each in files}


def test_charts_stand_in_a_folder_that_comes_and_goes_with_them(target: Path) -> None:
    publish(str(target), list_charts("a", "b"))
    assert read_tree(target) == list_charts("a", "b")
    publish(str(target), list_charts("b", "c"))
    assert read_tree(target) == list_charts("b", "c")
    publish(str(target), FIRST)
    assert read_contents(target) == FIRST
    publish(str(target), list_charts("a"))
    assert read_tree(target) == list_charts("a")
    (target / "figures" / "notes.txt").write_bytes(b"mine")
    publish(str(target), FIRST)
    assert read_tree(target) == {**FIRST, "figures/notes.txt": b"mine"}


def test_charts_of_another_release_take_the_place_of_its_charts(target: Path) -> None:
    """All old charts go before the new ones come, and the folder stays."""
    for name in ("old", "new"):
        charts = {f"figures/{name}.vl.json": b"{}"}
        publish(str(target), {**charts, "datapackage.json": package(*charts)})
        assert os.listdir(target / "figures") == [f"{name}.vl.json"]


def test_a_chart_of_others_is_not_overwritten(target: Path) -> None:
    publish(str(target), FIRST)
    (target / "figures").mkdir()
    (target / "figures" / "a.vl.json").write_bytes(b"mine")
    assert "E805" in find_refusal(lambda: publish(str(target), list_charts("a")))
    assert read_tree(target) == {**FIRST, "figures/a.vl.json": b"mine"}
    assert "E803" in find_refusal(lambda: publish(str(target), list_charts("../a")))
    assert "E803" in find_refusal(lambda: publish(str(target), {"other/a.vl.json": b""}))


@pytest.mark.parametrize("kind", ["file", "link"])
def test_the_folder_of_charts_is_a_folder_of_the_target(target: Path, kind: str) -> None:
    """A link in its place would let files go that are elsewhere."""
    elsewhere = target.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.vl.json").write_bytes(b"{}")
    publish(str(target), list_charts("a"))
    (target / "figures" / "a.vl.json").unlink()
    (target / "figures").rmdir()
    if kind == "link":
        (target / "figures").symlink_to(elsewhere)
    else:
        (target / "figures").write_bytes(b"mine")
    for files in (FIRST, list_charts("b")):
        assert "E805" in find_refusal(lambda files=files: publish(str(target), files))
        assert "E805" in find_refusal(
            lambda files=files: check_target(str(target), files), ExitCode.SPEC
        )
    assert (elsewhere / "a.vl.json").read_bytes() == b"{}"


@pytest.mark.parametrize("name", ["a.csv", "datapackage.json"])
def test_a_file_of_others_is_not_overwritten(target: Path, name: str) -> None:
    target.mkdir(parents=True)
    (target / name).write_bytes(b"mine")
    assert "E805" in find_refusal(lambda: publish(str(target), FIRST))
    assert "E805" in find_refusal(lambda: check_target(str(target), FIRST), ExitCode.SPEC)
    assert read_contents(target) == {name: b"mine"}
    check_target(str(target), ["other.csv"])


@pytest.mark.parametrize(
    "bad",
    [b"", b"{", b"[]", b"null", b'{"generator": "dprelease"}', b"[" * 100_000, b"\xff",
     b'{"generator": "dprelease", "resources": [1]}',
     b'{"generator": "x", "resources": [{"path": "a.csv"}]}'],
)  # fmt: skip
def test_a_descriptor_that_is_broken_or_not_ours_marks_nothing(target: Path, bad: bytes) -> None:
    target.mkdir(parents=True)
    (target / "a.csv").write_bytes(b"mine")
    (target / "datapackage.json").write_bytes(bad)
    assert "E805" in find_refusal(lambda: publish(str(target), FIRST))
    assert read_contents(target) == {"a.csv": b"mine", "datapackage.json": bad}


def test_a_descriptor_can_not_make_us_remove_elsewhere(target: Path) -> None:
    publish(str(target), FIRST)
    outside = target.parent / "keep.txt"
    outside.write_bytes(b"mine")
    (target / "dir").mkdir()
    (target / ".hidden").write_bytes(b"mine")
    listed = package("../keep.txt", str(outside), "dir", ".hidden", ".", "..", "b.csv")
    (target / "datapackage.json").write_bytes(listed)
    publish(str(target), {"datapackage.json": package()})
    assert outside.exists()
    assert sorted(os.listdir(target)) == [
        ".hidden",
        "a.csv",
        "datapackage.json",
        "dir",
        "report.md",
    ]


@pytest.mark.parametrize("make", ["link", "directory"])
def test_what_is_no_plain_file_is_not_replaced(target: Path, make: str) -> None:
    publish(str(target), FIRST)
    (target / "a.csv").unlink()
    secret = target.parent / "secret"
    secret.write_bytes(b"s")
    if make == "link":
        (target / "a.csv").symlink_to(secret)
    else:
        (target / "a.csv").mkdir()
    find_refusal(lambda: publish(str(target), SECOND))
    find_refusal(lambda: check_target(str(target), SECOND), ExitCode.SPEC)
    assert secret.read_bytes() == b"s"
    assert (target / "b.csv").exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/a", "..\\a", ".hidden", "a\0b", "a\nb", "x" * 256]
)
def test_names_that_are_no_file_names(target: Path, name: str) -> None:
    assert "E803" in find_refusal(lambda: publish(str(target), {name: b""}))
    assert "E803" in find_refusal(lambda: check_target(str(target), [name]), ExitCode.SPEC)
    assert not target.parent.exists()


def places(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    for name in ("file", "file/below", "link", "dangling", "dangling/below"):
        yield tmp_path / name


def test_places_that_are_refused(tmp_path: Path) -> None:
    for place in places(tmp_path):
        assert "E801" in find_refusal(lambda at=place: publish(str(at), FIRST))
        assert "E801" in find_refusal(lambda at=place: check_target(str(at)), ExitCode.SPEC)
    assert sorted(os.listdir(tmp_path)) == ["dangling", "file", "link", "real"]
    assert os.listdir(tmp_path / "real") == []


def test_checking_leaves_nothing_behind(target: Path) -> None:
    check_target(str(target), FIRST)
    assert not target.parent.exists()
    publish(str(target), FIRST)
    check_target(str(target), SECOND)
    assert read_contents(target) == FIRST


# argv: directory, step at which to be killed (0: never), names to publish. Says how many steps
# there were.
KILLED = """
import os, signal, sys
from dprelease.output.publish import publish
directory, at, mark = sys.argv[1], int(sys.argv[2]), sys.argv[3]
import importlib.util
spec = importlib.util.spec_from_file_location("tests_of_publish", sys.argv[4])
tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
steps = 0
def counted(act):
    def wrapper(*arguments, **options):
        global steps
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **options)
    return wrapper
for name in ("mkdir", "rename", "replace", "fsync", "unlink", "rmdir"):
    setattr(os, name, counted(getattr(os, name)))
publish(directory, getattr(tests, mark))
print(steps)
"""


def child(directory: Path, at: int, mark: str) -> int | None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(directory), str(at), mark, __file__],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, -signal.SIGKILL)
    return int(done.stdout) if done.returncode == 0 else None


def test_killed_at_any_step_there_is_all_or_nothing(tmp_path: Path) -> None:
    steps = child(tmp_path / "0", 0, "FIRST")
    assert steps is not None
    for at in some(range(1, steps + 1), 20):
        base = tmp_path / str(at)
        target = base / "out"
        if at % 2:  # with and without parents to be made
            base.mkdir()
        assert child(target, at, "FIRST") is None
        assert not target.exists() or read_contents(target) == FIRST
        publish(str(target), FIRST)
        assert read_contents(target) == FIRST
        assert os.listdir(base) == ["out"]
    assert [each for each in os.listdir(tmp_path) if each.startswith(".")] == []


def test_killed_at_any_step_of_an_update_files_are_whole(tmp_path: Path) -> None:
    publish(str(tmp_path / "0"), FIRST)
    steps = child(tmp_path / "0", 0, "SECOND")
    assert steps is not None
    whole: set[bool] = set()
    for at in some(range(1, steps + 1), 12):
        target = tmp_path / str(at)
        publish(str(target), FIRST)
        (target / "notes.txt").write_bytes(b"mine")
        assert child(target, at, "SECOND") is None
        found = read_files(target)
        for name, content in found.items():
            marker = name == "datapackage.json" and content == write_marker(SECOND[name])
            assert marker or content in (FIRST.get(name), SECOND.get(name), b"mine")
        del found["notes.txt"]
        if is_whole(target):
            assert found in (FIRST, SECOND)
        whole.add(is_whole(target))
        check_target(str(target), SECOND)
        # Another release may come next: what the killed run had begun is still known as ours.
        publish(str(target), {"d.csv": b"d", "datapackage.json": package("d.csv")})
        assert sorted(os.listdir(target)) == ["d.csv", "datapackage.json", "notes.txt"]
    assert whole == {True, False}


def is_whole(target: Path) -> bool:
    """Whether readers take what is there for a release."""
    if b"under_way" not in (target / "datapackage.json").read_bytes():
        check_whole(str(target))
        return True
    assert "E017" in find_refusal(lambda: check_whole(str(target)), ExitCode.SPEC)
    return False


def test_killed_before_there_was_a_descriptor_the_files_are_still_ours(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    steps = child(tmp_path / "0", 0, "FIRST")
    assert steps is not None
    for at in some(range(1, steps + 1), 20):
        target = tmp_path / str(at)
        target.mkdir()
        assert child(target, at, "FIRST") is None
        check_target(str(target), SECOND)
        publish(str(target), SECOND)
        assert read_contents(target) == SECOND


def read_files(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir() if each.is_file()}


def test_a_full_disk_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync
    steps: list[int] = []
    full_at = 0

    def full(handle: int) -> None:
        steps.append(handle)
        if len(steps) == full_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    publish(str(tmp_path / "0"), FIRST)
    steps.clear()
    publish(str(tmp_path / "0"), SECOND)
    for at in range(1, len(steps) + 1):
        target = tmp_path / str(at)
        full_at = 0
        publish(str(target), FIRST)
        full_at = at
        steps.clear()
        said = find_refusal(lambda at=target: publish(str(at), SECOND))
        assert "E802" in said
        assert "No space left" in said
        check_target(str(target), SECOND)
        found = {each for each in os.listdir(target) if not each.startswith(".dprelease-")}
        assert found <= {*FIRST, *SECOND}
        publish(str(target), SECOND)
        assert read_contents(target) == SECOND


def test_a_really_full_disk(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from dprelease.errors import Failure
from dprelease.output.publish import publish
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    publish(sys.argv[1], {"a.csv": b"x" * 5000})
except Failure as failed:
    print(int(failed.exit_code), failed.complaints[0].code)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "5 E802\n"
    assert os.listdir(tmp_path) == []


def test_several_processes_publish_one_release(tmp_path: Path) -> None:
    target = tmp_path / "out"
    script = (
        "import sys, json; from dprelease.output.publish import publish; sys.stdin.readline();"
        "files = json.loads(sys.argv[2]);"
        "publish(sys.argv[1], {name: text.encode() for name, text in files.items()})"
    )
    files = json.dumps({name: content.decode() for name, content in FIRST.items()})
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(target), files],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for each in started:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.communicate(timeout=60)[1] for each in started] == [""] * 6
    assert read_contents(target) == FIRST
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE])
def test_no_room_is_no_mistake_of_the_spec(
    number: int, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mkdir(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "mkdir", mkdir)
    said = find_refusal(lambda: check_target(str(target)), ExitCode.LEDGER)
    assert "E802" in said
    assert os.strerror(number) in said
    assert "charged nothing" in said


def test_unwritable_places() -> None:
    script = """
import os, sys
from dprelease.errors import Failure
from dprelease.output.datapackage import write_marker
from dprelease.output.publish import check_target, publish
from dprelease.output.released_tables import check_whole
if os.geteuid() == 0:  # the superuser may write anywhere
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for place in sys.argv[1:]:
    for act in (lambda: check_target(place), lambda: publish(place, {"a.csv": b"a"})):
        try:
            act()
            print("done")
        except Failure as failed:
            print(int(failed.exit_code), failed.complaints[0].code)
"""
    with tempfile.TemporaryDirectory() as name:
        Path(name, "there").mkdir()
        for each in (name, f"{name}/there"):
            os.chmod(each, 0o555)
        done = subprocess.run(
            [sys.executable, "-c", script, *(f"{name}/{at}" for at in ("new", "there", "a/b/c"))],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split("\n") == ["2 E801", "5 E801"] * 3 + [""]
        os.chmod(f"{name}/there", 0o333)  # may be written, but not read
        done = subprocess.run(
            [sys.executable, "-c", script, f"{name}/there"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "2 E801\n5 E802\n"
        os.chmod(name, 0o755)
        assert os.listdir(name) == ["there"]


def test_leftovers_in_use_or_of_others_stay(target: Path) -> None:
    publish(str(target), FIRST)
    dead = target / ".dprelease-1-1"
    dead.mkdir()
    used = target / ".dprelease-2-2"
    used.mkdir()
    link = target / ".dprelease-3-3"
    link.symlink_to(target.parent)
    script = (
        "import fcntl, os, sys; handle = os.open(sys.argv[1], os.O_RDONLY);"
        "fcntl.flock(handle, fcntl.LOCK_EX); print('locked', flush=True); sys.stdin.readline()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(used)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    publish(str(target), SECOND)
    assert not dead.exists()
    assert used.exists()
    assert link.is_symlink()
    holder.communicate("done\n", timeout=60)
    publish(str(target), FIRST)
    assert not used.exists()
