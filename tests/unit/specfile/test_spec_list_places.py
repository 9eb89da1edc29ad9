"""No list of public values is the data, another period of them, or the ledger: by whatever path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dprelease.errors import Complaint, Failure
from dprelease.model import Release
from dprelease.specfile import load
from dprelease.specfile.checks.columns import list_files as list_places
from dprelease.specfile.checks.columns.list_files import Lists

Load = Callable[..., Release]
Spoil = Callable[..., list[Complaint]]
Make = Callable[[Path], object]

LINES = "CANARY\nDANARY\n"
KEYS = 'keys = ["north", "south", "east"]'
COUNT = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4\n'
AWAY = "path = '../l.sqlite'"
BEST = """statistic = "best"
score = "CASE WHEN region = candidate THEN 1 ELSE 0 END"
score_upper = 1
epsilon = 0.4
"""


def put_file(folder: Path, name: str, content: str = LINES) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


@pytest.fixture(params=["keys_file", "candidates_file"])
def key(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def text(simple: str, key: str) -> Callable[..., str]:
    """The text of a spec whose list is in a file."""

    def write(list_file: str, data: str = "staff.csv", ledger: str = AWAY) -> str:
        named = f"{key} = {list_file!r}"
        spec = simple.replace('path = "staff.csv"', f'path = "{data}"\nformat = "csv"')
        spec = spec.replace('path = "out/staff"', 'path = "../out"')
        spec = spec.replace("_cap = 2.0", f"_cap = 2.0\n{ledger}")
        before, after = (KEYS, named) if key == "keys_file" else (COUNT, BEST + named + "\n")
        assert spec.count(before) == 1
        return spec.replace(before, after)

    return write


def filter_by_key(key: str, found: list[Complaint]) -> list[Complaint]:
    return [each for each in found if each.key and each.key.endswith(f".{key}")]


def files(*names: str) -> Make:
    return lambda folder: [put_file(folder, name) for name in names]


def link(target: str, name: str = "k.txt", *more: str) -> Make:
    """The data, and a symbolic link to it."""

    def make(folder: Path) -> None:
        files(target, *more)(folder)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(folder / target)

    return make


def hard(target: str, name: str = "k.txt") -> Make:
    def make(folder: Path) -> None:
        os.link(put_file(folder, target), folder / name)

    return make


def link_back(make: Make, source: str, name: str) -> Make:
    """What ``make`` makes, and a symbolic link to a folder or file of it."""

    def both(folder: Path) -> None:
        make(folder)
        (folder / name).symlink_to(folder / source)

    return both


IS_DATA: list[tuple[str, str, Make]] = [
    # data, list, what there is
    ("a.csv", "a.csv", files("a.csv")),
    ("a.csv", "b/../a.csv", files("a.csv")),
    ("a.csv", "k.txt", link("a.csv")),
    ("a.csv", "k2.txt", link_back(link("a.csv"), "k.txt", "k2.txt")),
    ("a.csv", "k.txt", hard("a.csv")),
    ("a.csv", "k.txt", link("k.txt", "a.csv")),
    ("in/a.csv", "far/a.csv", link_back(files("in/a.csv"), "in", "far")),
    ("far/a.csv", "in/a.csv", link_back(files("in/a.csv"), "in", "far")),
    ("far/a.csv", "far/a.csv", link_back(files("in/a.csv"), "in", "far")),
    ("*.csv", "a.csv", files("a.csv")),
    ("*.csv", "k.txt", hard("a.csv")),
    ("*.csv", "k.txt", link("k.txt", "a.csv")),
    ("i?/[ab].csv", "in/a.csv", files("in/a.csv")),
    ("in/*.csv", "k.txt", hard("in/a.csv")),
    ("in/*.csv", "k.txt", link("k.txt", "in/a.csv")),
    ("far/*.csv", "in/a.csv", link_back(files("in/a.csv"), "in", "far")),
    ("in/**/a.csv", "in/x/y/a.csv", files("in/x/y/a.csv")),
    ("in/**/a.csv", "in/a.csv", files("in/a.csv")),
    ("in/**/a.csv", "k.txt", link("k.txt", "in/x/a.csv")),
    ("**/*.csv", "a.csv", files("a.csv")),
    ("**", "k.txt", files("k.txt")),
    ("in/**", "in/x/k.txt", files("in/x/k.txt")),
    (".", "k.txt", files("k.txt")),
    ("..", "k.txt", files("k.txt")),
    ("in", "in/a.csv", files("in/a.csv")),
    ("in", "in/sub/k.txt", files("in/a.csv", "in/sub/k.txt")),
    ("in", "k.txt", hard("in/sub/a.txt")),
    ("in", "k.txt", link("k.txt", "in/a.csv")),
    ("far", "in/k.txt", link_back(files("in/k.txt"), "in", "far")),
    ("in", "far/k.txt", link_back(files("in/k.txt"), "in", "far")),
    ("in[1]/a.csv", "in[1]/a.csv", files("in[1]/a.csv")),
    ("in[1]/*.csv", "in1/a.csv", files("in1/a.csv")),
    ("in[1]/*.csv", "in[1]/a.csv", files("in[1]/a.csv")),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("data", "named", "make"), IS_DATA)
def test_what_is_the_data_is_refused(
    text: Callable[..., str], complaints: Spoil, tmp_path: Path, key: str,
    data: str, named: str, make: Make,
) -> None:  # fmt: skip
    make(tmp_path)
    (found,) = filter_by_key(key, complaints(text(named, data)))
    assert (found.code, found.message) == ("E227", f"the {key} is the data")
    assert "CANARY" not in str(found)


def test_the_output_and_the_ledger_are_kept_apart_from_a_list(
    text: Callable[..., str], complaints: Spoil, tmp_path: Path, key: str
) -> None:
    put_file(tmp_path, "k/list.txt")
    (found,) = complaints(text("k/list.txt").replace('"../out"', '"k"'))
    owner = "region" if key == "keys_file" else "headcount"
    assert f'the {key} of "{owner}"' in found.message
    (found,) = complaints(text("k/list.txt", ledger="path = 'k/list.txt'"))
    assert found.key is not None
    assert found.key.endswith(f".{key}")


IS_ANOTHER_PERIOD: list[tuple[str, str, Make]] = [
    ("v-{period}.csv", "v-2025.csv", files("v-2025.csv")),
    ("v-{period}.csv", "v-old copy.csv", files("v-old copy.csv")),
    ("v-{period}.csv", "v-.csv", files("v-.csv")),
    ("v-{period}.csv", "k.txt", link("v-2025.csv")),
    ("v-{period}.csv", "k.txt", hard("v-2025.csv")),
    ("v-{period}.csv", "k.txt", link("k.txt", "v-2025.csv")),
    ("V-{period}.csv", "v-2025.CSV", files("v-2025.CSV")),
    ("\u00e4-{period}.csv", "a\u0308-2025.csv", files("a\u0308-2025.csv")),
    ("{period}.csv", ".hidden.csv", files(".hidden.csv")),
    ("{period}/v.csv", "2025/v.csv", files("2025/v.csv")),
    ("{period}/v.csv", "k.txt", link("2025/v.csv")),
    ("in/y{period}/v-{period}.csv", "in/y25/v-24.csv", files("in/y25/v-24.csv")),
    ("in/{period}", "in/2025/a.csv", files("in/2025/a.csv")),
    ("in/{period}", "in/2025/sub/k.txt", files("in/2025/sub/k.txt")),
    ("in/{period}", "k.txt", link("k.txt", "in/2025/a.csv")),
    ("in/{period}/**/*.csv", "in/2025/sub/k.csv", files("in/2025/sub/k.csv")),
    ("in/{period}-*.csv", "in/2025-x.csv", files("in/2025-x.csv")),
    ("in[1]/{period}.csv", "in[1]/2025.csv", files("in[1]/2025.csv")),
    ("far/{period}.csv", "in/2025.csv", link_back(files("in/2025.csv"), "in", "far")),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("data", "named", "make"), IS_ANOTHER_PERIOD)
def test_data_of_another_period_are_refused(
    text: Callable[..., str], complaints: Spoil, tmp_path: Path, key: str,
    data: str, named: str, make: Make,
) -> None:  # fmt: skip
    make(tmp_path)
    (found,) = complaints(text(named, data), "2026")
    assert (found.code, found.message) == ("E227", f"the {key} is data of another period")


@pytest.mark.parametrize(
    ("ledger", "named"),
    [
        ("", "dprelease-ledger.sqlite"),
        ("", "dprelease-ledger.sqlite-journal"),
        ("", "dprelease-ledger.sqlite.witness"),
        ("", "dprelease-ledger.sqlite.records/x.csv"),
        ("path = 'l'", "l.records/x.csv"),
        ("path = 'link'", "real.witness"),
        ("path = 'l'\nwitness = 'w'", "w"),
    ],
)
def test_the_ledger_is_refused(
    text: Callable[..., str], complaints: Spoil, load_text: Load, tmp_path: Path, key: str,
    ledger: str, named: str,
) -> None:  # fmt: skip
    put_file(tmp_path, named)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.link(tmp_path / named, tmp_path / "k.txt")
    for name in (named, "k.txt"):
        (found,) = filter_by_key(key, complaints(text(name, ledger=ledger)))
        assert found.code == "E227"
        assert found.message.startswith(f"the {key} is the ledger")
    load_text(text(str(put_file(tmp_path, "labels.txt")), ledger=ledger))


@pytest.mark.parametrize(
    ("data", "named", "make"),
    [
        ("a.csv", "k.txt", files("a.csv", "k.txt")),
        ("a.csv", "k.txt", files("k.txt")),
        ("a.csv", "b.csv", files("a.csv", "b.csv")),
        ("in/a.csv", "in/k.txt", files("in/a.csv", "in/k.txt")),
        ("in/*.csv", "in/k.txt", files("in/a.csv", "in/k.txt")),
        ("in/*.csv", "in/sub/k.csv", files("in/a.csv", "in/sub/k.csv")),
        ("in/*.csv", "b.csv", files("in/a.csv", "b.csv")),
        ("in", "inside/k.csv", files("in/a.csv", "inside/k.csv")),
        ("v-{period}.csv", "v.csv", files("v-2026.csv", "v.csv")),
        ("in/{period}/v.csv", "in/k.txt", files("in/2026/v.csv", "in/k.txt")),
        ("in/{period}/v.csv", "in/2026/k.txt", files("in/2026/v.csv", "in/2026/k.txt")),
        ("in/{period}", "k.txt", link("k.txt", "k2.txt", "in/2026/a.csv")),
    ],
)  # fmt: skip
def test_any_other_file_is_read(
    text: Callable[..., str], load_text: Load, tmp_path: Path, key: str,
    data: str, named: str, make: Make,
) -> None:  # fmt: skip
    make(tmp_path)
    release = load_text(text(named, data), "2026")
    column, query = release.columns["region"], release.queries[0]
    chosen = column.keys if key == "keys_file" else query.candidates and query.candidates.texts
    assert chosen == ("CANARY", "DANARY")


# --- outside the spec's folder -----------------------------------------------------------------

OUTSIDE: list[tuple[str, Make]] = [
    ("../k.txt", files("../k.txt")),
    ("../gone.txt", files("k.txt")),
    ("../spec2/k.txt", files("../spec2/k.txt")),
    ("in/../../k.txt", files("../k.txt", "in/x")),
    ("/etc/passwd", files()),
    ("/dev/zero", files()),
    ("/proc/self/environ", files()),
    ("/proc/self/cwd/k.txt", files()),
    ("k.txt", link_back(files("../k.txt"), "../k.txt", "k.txt")),
    ("k.txt", link_back(files(), "../gone.txt", "k.txt")),
    ("k2.txt", link_back(link_back(files("../k.txt"), "../k.txt", "k.txt"), "k.txt", "k2.txt")),
    ("far/k.txt", link_back(files("../far/k.txt"), "../far", "far")),
    ("k.txt", lambda folder: os.link(put_file(folder, "../k.txt"), folder / "k.txt")),
    ("k.txt", lambda folder: os.link(put_file(folder, "k.txt"), folder / "other.txt")),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the spec, in one that is not."""
    inside = tmp_path / "spec"
    inside.mkdir()
    return inside


@pytest.mark.parametrize(("named", "make"), OUTSIDE)
def test_a_list_lies_below_the_folder_of_the_spec(
    text: Callable[..., str], folder: Path, key: str, named: str, make: Make
) -> None:
    make(folder)
    spec = put_file(folder, "spec.toml", text(named))
    with pytest.raises(Failure) as caught:
        load(spec)
    (found,) = caught.value.complaints
    assert (found.code, found.key and found.key.endswith(f".{key}")) == ("E251", True)
    assert "--allow-outside-lists" in found.hint
    assert "CANARY" not in str(found)
    if not (folder / named).exists() or named.startswith("/"):
        return
    assert "CANARY" in repr(load(spec, allow_outside_lists=True))


def test_what_is_below_is_told_by_where_it_really_is(
    text: Callable[..., str], folder: Path
) -> None:
    put_file(folder, "in/k.txt")
    (folder / "k.txt").symlink_to(folder / "in" / "k.txt")
    (folder.parent / "far").symlink_to(folder)
    for named in ("k.txt", "in/k.txt", str(folder / "k.txt"), "../far/in/k.txt", "../spec/k.txt"):
        put_file(folder, "spec.toml", text(named))
        for spec in (folder / "spec.toml", folder.parent / "far" / "spec.toml"):
            assert "CANARY" in repr(load(spec))


def test_the_data_are_refused_outside_as_well(
    text: Callable[..., str], folder: Path, key: str
) -> None:
    put_file(folder, "../data/v-2025.csv")
    for data, named in (("../data", "../data/v-2025.csv"), ("../data/v-{period}.csv", "k.txt")):
        (folder / "k.txt").unlink(missing_ok=True)
        (folder / "k.txt").symlink_to(folder.parent / "data" / "v-2025.csv")
        spec = put_file(folder, "spec.toml", text(named, data).replace('"../out"', '"out"'))
        with pytest.raises(Failure) as caught:
            load(spec, period="2026", allow_outside_lists=True)
        (found,) = filter_by_key(key, list(caught.value.complaints))
        assert found.code == "E227"


def test_without_a_file_the_folder_is_where_paths_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(folder, "k.txt")
    spec = {
        "schema": 1,
        "release": {"name": "x"},
        "data": {"path": "d.csv"},
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
        "columns": {"region": {"type": "string", "keys_file": str(folder / "k.txt")}},
        "query": [{"name": "n", "statistic": "count", "by": ["region"]}],
        "output": {"path": "out"},
    }
    load(spec, base=str(folder))
    monkeypatch.chdir(folder)
    load(spec)
    (folder / "in").mkdir()
    monkeypatch.chdir(folder / "in")
    load(spec, allow_outside_lists=True)
    for base in (None, str(folder / "in")):
        with pytest.raises(Failure, match="E251"):
            load(spec, base=base)


# --- the file that was checked is the one that is read -----------------------------------------


def test_what_is_swapped_after_the_checks_is_not_read(
    text: Callable[..., str], load_text: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(tmp_path, "k.txt", "good\n")
    put_file(tmp_path, "staff.csv")
    check = Lists.check_opened

    def swap(*known: object) -> None:
        check(*known)  # type: ignore[arg-type]
        os.replace(tmp_path / "staff.csv", tmp_path / "k.txt")

    monkeypatch.setattr(Lists, "check_opened", swap)
    assert "CANARY" not in repr(load_text(text("k.txt")))


@pytest.mark.parametrize("named", ["k.txt", "in/k.txt"])
def test_what_is_swapped_before_it_is_opened_is_not_read(
    text: Callable[..., str], complaints: Spoil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    named: str,
) -> None:  # fmt: skip
    put_file(tmp_path, named, "good\n")
    put_file(tmp_path, "secret/k.txt")
    first = named.split("/", maxsplit=1)[0]
    resolved = os.path.realpath

    def swap(path: str) -> str:
        real = resolved(path)
        if real.endswith(named) and not (tmp_path / first).is_symlink():
            (tmp_path / first).rename(tmp_path / "gone")
            target = "secret/k.txt" if first == named else "secret"
            (tmp_path / first).symlink_to(tmp_path / target)
        return real

    monkeypatch.setattr(os.path, "realpath", swap)
    (found,) = complaints(text(named))
    assert found.code == "E112"
    assert "CANARY" not in str(found)


def test_descriptors_are_files_as_well(
    text: Callable[..., str], complaints: Spoil, tmp_path: Path
) -> None:
    with open(put_file(tmp_path, "staff.csv"), "rb") as stream:
        for folder in ("/dev/fd", "/proc/self/fd"):
            (found,) = complaints(text(f"{folder}/{stream.fileno()}"))
            assert found.code == "E227"
    source, sink = os.pipe()
    os.write(sink, LINES.encode())
    os.close(sink)
    spec = put_file(tmp_path, "spec.toml", text(f"/dev/fd/{source}"))
    for allowed, code in ((False, "E251"), (True, "E112")):
        with pytest.raises(Failure, match=code):
            load(spec, allow_outside_lists=allowed)
    os.close(source)


# --- looking for the data ends ----------------------------------------------------------------


def test_links_in_a_circle_are_walked_once(
    text: Callable[..., str], load_text: Load, tmp_path: Path
) -> None:
    put_file(tmp_path, "k.txt")
    put_file(tmp_path, "in/a/b/c/d/x.csv")
    for number in range(20):
        (tmp_path / "in" / "a" / f"back{number}").symlink_to(tmp_path / "in")
    load_text(text("k.txt", "in/**/**/**/*.csv"))
    load_text(text("k.txt", f"in/{'*a' * 60}.csv"))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("data", ["in", "in/*", "in/**/x.csv", "in/**", "**/" * 300 + "x.csv"])
def test_looking_for_the_data_has_an_end_that_does_not_depend_on_the_spec(
    text: Callable[..., str], complaints: Spoil, load_text: Load, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, key: str, data: str,
) -> None:  # fmt: skip
    files("k.txt", *(f"in/{number}/a.csv" for number in range(20)))(tmp_path)
    load_text(text("k.txt", data))
    monkeypatch.setattr(list_places, "MOST_LOOKS", 20, raising=False)
    (found,) = filter_by_key(key, complaints(text("k.txt", data)))
    message = (
        f"it can't be checked that the {key} is not the data: that may be any of more than 20 files"
    )
    assert (found.code, found.message) == ("E227", message)


@pytest.mark.parametrize(
    ("data", "named"),
    [("in/v-{period}.csv", "in/v-25.csv"), ("in/{period}", "in/25/k.txt"), ("in", "in/25/k.txt")],
)
def test_a_folder_that_may_not_be_listed(
    text: Callable[..., str], complaints: Spoil, load_text: Load, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, data: str, named: str,
) -> None:  # fmt: skip
    files(named, "k.txt")(tmp_path)

    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", forbidden)
    monkeypatch.setattr(os, "scandir", forbidden)
    (found,) = complaints(text(named, data), "2026")
    assert found.code == "E227"
    load_text(text("k.txt", data), "2026")


def test_a_folder_that_goes_while_it_is_looked_at(
    tmp_path: Path, text: Callable[..., str], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(tmp_path, "k.txt")
    spec = put_file(tmp_path, "spec.toml", text("k.txt", data="data"))
    (tmp_path / "data").mkdir()

    def gone(*_: object) -> bool:
        raise FileNotFoundError

    monkeypatch.setattr(list_places, "is_inside", gone)
    with pytest.raises(Failure) as refused:
        load(spec)
    (found,) = filter_by_key(key, list(refused.value.complaints))
    assert found.code == "E112"
