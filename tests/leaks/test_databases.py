"""Of a table in a database nothing is left to see but noised figures, and of its URI nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import databases
import pytest
from canary import CELLS, TEXT, find_in
from postgres_server import PASSWORD, Server
from small import GOOD, HEADER, RECORDS, SPEC, Answer, command, iter_files_below
from world import HEADER as COLUMNS
from world import ROWS, Rows, World

from dprelease.model.source_registry import DRIVERS

DATA = 'path = "data.csv"'
OF_A_DATABASE = """\
format = "adbc"
driver = "{driver}"
uri_env = "{variable}"
table = "t"
"""
TEXTS = dict.fromkeys(HEADER, databases.T.STRING)
Write = Callable[[list[str], Rows], None]


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> str:
    databases.require(request.param)
    return str(request.param)


@pytest.fixture
def write(
    driver: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Write:
    """Puts a table of texts into a database, to which the variable leads."""

    def in_database(names: list[str], rows: Rows) -> None:
        if driver == "sqlite":
            (tmp_path / PASSWORD.replace("/", "")).mkdir(exist_ok=True)
            place = tmp_path / PASSWORD.replace("/", "") / "t.db"
            uri = databases.write_to_sqlite(place, names, rows)
        else:
            server: Server = request.getfixturevalue("postgres")
            types = dict.fromkeys(names, databases.T.STRING)
            plain = [[str(cell).replace("\0", "") for cell in row] for row in rows]
            uri = databases.write_to_postgres(server, types, plain)
        monkeypatch.setenv(databases.VARIABLE, uri)

    return in_database


def build_spec(text: str, driver: str) -> str:
    place = OF_A_DATABASE.format(driver=driver, variable=databases.VARIABLE)
    return text.replace(DATA, place).replace("[ledger]", '[ledger]\ndataset = "people"')


def secrets(content: bytes) -> list[str]:
    """Tokens of the data, and parts of the URI, that a content holds."""
    uri = (PASSWORD, PASSWORD.replace("/", ""), "dprelease-pg-", "secret%40")
    return [*find_in(content), *(each for each in uri if each.encode() in content)]


def clean(answer: Answer, folder: Path) -> None:
    assert secrets((answer.out + answer.err).encode()) == []
    assert "Traceback" not in answer.err
    left = {path: secrets(path.read_bytes()) for path in iter_files_below(folder)}
    assert {path: tokens for path, tokens in left.items() if tokens} == {}


ODD = [
    "\x1b[31m" + TEXT, TEXT * 200_000, f"'; DROP TABLE t; -- {TEXT}", "infinity", "NaN",
    f"{TEXT}\ufffd\u202e", "1e400", "", "9" * 400,
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", [SPEC, RECORDS], ids=["figures", "records"])
def test_whatever_the_cells_hold(
    text: str, driver: str, write: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "spec.toml").write_text(build_spec(text, driver), encoding="utf-8")
    odd = [[value] * len(HEADER) for value in ODD]
    write(HEADER, [*[GOOD, CELLS] * 5, *odd])
    for command_line in (["check"], ["plan", "-o", str(work / "plan.json")], ["run"], ["run"]):
        name, *options = command_line
        answer = command(capfd, name, *options, str(work / "spec.toml"))
        assert answer.code == 0, answer.err
        clean(answer, work)
    assert (work / "out" / "report.json").exists()
    answer = command(capfd, "budget", "show", str(work / "spec.toml"))
    clean(answer, work)


def test_what_is_refused_says_no_more(
    driver: str,
    write: Write,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the charge: no entry in a ledger, exit code 4."""
    work = tmp_path / "work"
    work.mkdir()
    spec = work / "spec.toml"
    text = build_spec(SPEC, driver)
    write(HEADER, [CELLS] * 3)
    for broken in (
        text.replace('table = "t"', 'table = "none"'),
        text.replace("columns.town", "columns.city").replace('"town"', '"city"')
        .replace("LENGTH(town)", "LENGTH(city)"),
    ):  # fmt: skip
        spec.write_text(broken, encoding="utf-8")
        answer = command(capfd, "run", str(spec))
        assert answer.code == 4, answer.err
        clean(answer, work)
    spec.write_text(text, encoding="utf-8")
    for uri in (f"postgresql://{TEXT}:{PASSWORD}@127.0.0.1:1/{TEXT}", f"/{TEXT}/{PASSWORD}"):
        monkeypatch.setenv(databases.VARIABLE, uri)
        answer = command(capfd, "run", str(spec))
        assert answer.code == 4, answer.err
        clean(answer, work)


class Database(World):
    """A world whose data is in an SQLite database."""

    def write_spec(self) -> None:
        super().write_spec()
        text = self.spec.read_text(encoding="utf-8")
        place = OF_A_DATABASE.format(driver="sqlite", variable=databases.VARIABLE)
        lines = [line for line in text.splitlines() if not line.startswith("null_values")]
        text = "\n".join(lines).replace(DATA, place)
        if "dataset =" not in text:
            text = text.replace("[ledger]", '[ledger]\ndataset = "d"')
            if "[ledger]" not in text:
                text += '\n[ledger]\ndataset = "d"\n'
        self.spec.write_text(text, encoding="utf-8")

    def write(self, rows: Rows) -> None:
        databases.write_to_sqlite(self.folder / "data.db", COLUMNS, rows)


@pytest.fixture
def of_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    databases.require("sqlite")
    monkeypatch.setenv(databases.VARIABLE, str(tmp_path / "data.db"))
    world = Database(tmp_path, "every_statistic_people")
    world.write_spec()
    yield world
    shutil.rmtree(tmp_path / "out", ignore_errors=True)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("what", ["one less", "nulls", "other types", "none"])
def test_neighbours_leave_the_same_traces(what: str, of_sqlite: Database) -> None:
    """The same noised figures put in their place, all else is the same, byte by byte."""
    of_sqlite.write(ROWS)
    expected = of_sqlite.run()
    assert expected.code == 0, expected.err
    of_sqlite.replayed = of_sqlite.drawn
    neighbour: dict[str, Rows] = {
        "one less": ROWS[1:],
        "nulls": [(None,) * len(COLUMNS), *ROWS],  # type: ignore[list-item]
        "other types": [*ROWS, (b"\xff", 1.5, 9e999, 2**62, "", *ROWS[0][5:])],  # type: ignore[list-item]
        "none": [],
    }
    of_sqlite.write(neighbour[what])
    assert of_sqlite.run() == expected


def test_the_search_finds_a_uri(tmp_path: Path) -> None:
    assert secrets(f"x {PASSWORD} y".encode()) == [PASSWORD]
    assert secrets(TEXT.encode()) == [TEXT]
