"""A ledger on a server: processes and servers that are killed, and connections that are lost."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import faulty
import postgres_server
import pytest
from faulty import Nursery, fill, read_published
from postgres_server import Server
from thorough import some

from dprelease.errors import Failure
from dprelease.ledger.entries import Run, State
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.server import ServerDatabase
from dprelease.ledger.store import Ledger
from dprelease.model import Loss

VARIABLE = "TRIED_LEDGER"
PLACE = f"env:{VARIABLE}"


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server that may be killed."""
    postgres_server.require("psycopg")
    with postgres_server.server() as server:
        yield server


class Place:
    """A folder with a small release whose ledger is in a database of its own."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server = fill(folder), server
        self.uri = server.uri(server.database())
        self.write("small")

    def write(self, name: str, over: int = 20) -> str:
        """A spec; each name is a release of its own."""
        written = faulty.write_spec(self.folder, name, over)
        text = (self.folder / written).read_text(encoding="ascii")
        assert 'path = "ledger.sqlite"' in text
        on_server = text.replace('path = "ledger.sqlite"', f'url_env = "{VARIABLE}"')
        (self.folder / written).write_text(on_server, encoding="ascii")
        return written

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs."""
        return {VARIABLE: self.uri, "POSTMASTER": str(self.server.process)}

    def run(self, nursery: Nursery, **how: object) -> faulty.End:
        """One run."""
        ended = nursery.run(
            self.folder, "run", "small.toml", environment=self.environment,
            log=str(self.folder / ".log"), **how
        )  # fmt: skip
        assert postgres_server.PASSWORD not in ended.said
        assert self.uri not in ended.said
        return ended

    def runs(self, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
        """What the ledger says; it must be whole, and the one that the witness has seen."""
        monkeypatch.setenv(VARIABLE, self.uri)
        witness = str(self.folder / f"{VARIABLE}.witness")
        found = self.server.psql(
            self.uri.split("@/")[1].split("?")[0],
            "SELECT count(*) FROM pg_namespace WHERE nspname = 'dprelease'",
        )
        if found.strip() == "0":
            return []
        with Ledger.read(PLACE, 5, witness) as book:
            book.verify()
            return list(book.list_runs())

    def check_recovered(
        self, nursery: Nursery, monkeypatch: pytest.MonkeyPatch, *, twice: bool = True
    ) -> None:
        """A retry ends the release at one charge, and a second gives the same bytes."""
        before = read_published(self.folder)
        first = self.run(nursery)
        assert first.code == 0, first.err
        (run,) = self.runs(monkeypatch)
        assert run.state is State.SEALED
        files = read_published(self.folder)
        if before.keys() == files.keys():
            assert before == files
        if not twice:
            return
        second = self.run(nursery)
        assert "nothing was spent" in second.said
        assert read_published(self.folder) == files
        assert len(self.runs(monkeypatch)) == 1


def steps(place: Place, nursery: Nursery) -> list[int]:
    """The numbers of the steps of a run that goes well, before each."""
    ended = place.run(nursery)
    assert ended.code == 0, ended.err
    found = (place.folder / ".log").read_text(encoding="ascii").split("\n")[:-1]
    assert found.count("server") > 15
    return [at for at, step in enumerate(found, start=1) if not step.startswith("after")]


@pytest.mark.thorough
def test_a_process_killed_at_any_step(
    nursery: Nursery, own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged = 0
    places = some(steps(Place(tmp_path / "well", own_server), nursery), 6)
    for number, at in enumerate(places):
        place = Place(tmp_path / str(at), own_server)
        assert place.run(nursery, what="kill", at=at).code == -9
        found = place.runs(monkeypatch)
        assert len(found) <= 1
        if read_published(place.folder):
            assert found[0].state is State.SEALED
        charged += len(found)
        place.check_recovered(nursery, monkeypatch, twice=number % 6 == 0)
        shutil.rmtree(place.folder)
    assert charged > 1


@pytest.mark.thorough
def test_a_server_killed_at_any_step(
    nursery: Nursery, own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = set()
    places = some(steps(Place(tmp_path / "well", own_server), nursery), 9)
    for number, at in enumerate(places):
        place = Place(tmp_path / str(at), own_server)
        ended = place.run(nursery, what="server", at=at)
        own_server.start()
        codes.add(ended.code)
        found = place.runs(monkeypatch)
        assert len(found) <= 1
        if ended.code:
            assert ended.code in {5, 6}, ended.err
            assert "E621" in ended.err
            if ended.code == 5:
                assert "costs nothing" in ended.err
                assert found
        place.check_recovered(nursery, monkeypatch, twice=number % 6 == 0)
        shutil.rmtree(place.folder)
    assert codes >= {5, 6}


@pytest.mark.thorough
def test_twenty_processes_on_a_cap_for_five(
    nursery: Nursery, own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "many", own_server)
    specs = [place.write(f"r{number}", over=number) for number in range(20)]
    environment = place.environment
    ends = nursery.run_all(
        [
            nursery.request(place.folder, "run", "--wait", "120", spec, environment=environment)
            for spec in specs
        ]
    )
    assert sorted(end.code for end in ends) == [0] * 5 + [3] * 15
    found = place.runs(monkeypatch)
    assert len(found) == 5
    assert sum(run.loss.epsilon for run in found) == 5
    for number, end in enumerate(ends):
        assert bool(read_published(place.folder, f"r{number}")) == (end.code == 0)


@pytest.mark.thorough
def test_one_release_in_ten_processes(
    nursery: Nursery, own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "one", own_server)
    environment = place.environment
    request = (place.folder, "run", "--wait", "120", "small.toml")
    ends = nursery.run_all(
        [nursery.request(*request, environment=environment) for _ in range(10)]  # type: ignore[arg-type]
    )
    assert [end.code for end in ends] == [0] * 10, [end.err for end in ends]
    (run,) = place.runs(monkeypatch)
    assert run.state is State.SEALED
    place.check_recovered(nursery, monkeypatch)


# --- connections --------------------------------------------------------------------------------


@contextmanager
def cut_lines_at(server: Server, folder: Path, commit: int, when: str) -> Iterator[Path]:
    """A socket before the server's that loses its n-th COMMIT, or the answer to it.

    Connections that are made afterwards pass.
    """
    folder.mkdir()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / ".s.PGSQL.5432"))
    listening.listen()
    seen = 0

    def answer(client: socket.socket, behind: socket.socket, lost: threading.Event) -> None:
        with suppress(OSError):
            while data := behind.recv(65536):
                if lost.is_set():  # it was committed, and nobody is told
                    break
                client.sendall(data)
        close(client, behind)

    def ask(client: socket.socket, behind: socket.socket) -> None:
        nonlocal seen
        lost = threading.Event()
        threading.Thread(target=answer, args=(client, behind, lost), daemon=True).start()
        with suppress(OSError):
            while data := client.recv(65536):
                seen += data.count(b"COMMIT\x00")
                if seen == commit and b"COMMIT\x00" in data:
                    if when == "before":
                        break
                    lost.set()
                behind.sendall(data)
        if not lost.is_set():
            close(client, behind)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                behind = socket.socket(socket.AF_UNIX)
                behind.connect(str(server.folder / ".s.PGSQL.5432"))
                threading.Thread(target=ask, args=(client, behind), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield folder
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


LAID_OUT, CHARGED, SEALED, PUBLISHED = 1, 2, 3, 4  # what each commit makes durable
ONE = Loss(Fraction(1))
RUN = ("a" * 64, "d", "r", ONE, Caps(Fraction(1)), {})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("commit", [LAID_OUT, CHARGED, SEALED, PUBLISHED])
def test_a_lost_commit_neither_charges_twice_nor_loses_a_charge(
    own_server: Server, tmp_path_factory: pytest.TempPathFactory, commit: int, when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("l")
    monkeypatch.chdir(folder)
    name = own_server.database()
    direct = own_server.uri(name)
    with cut_lines_at(own_server, folder / "s", commit, when) as between:
        through = direct.replace(direct.rpartition("host=")[2], str(between).replace("/", "%2F"))
        monkeypatch.setenv(VARIABLE, through)

        def whole(payload: bytes) -> bytes:
            with Ledger.open(PLACE, 5) as book:
                made = book.charge(*RUN)  # type: ignore[arg-type]
                sealed = book.seal(made, payload)
                book.record_published(made, {"a.csv": "0" * 64})
                return sealed

        if commit == PUBLISHED:  # the files are in place: the note is made over a new connection
            assert whole(b"first") == b"first"
        else:
            with pytest.raises(Failure, match="E621") as refused:
                whole(b"first")
            assert refused.value.exit_code == (6 if commit <= CHARGED else 5)
    monkeypatch.setenv(VARIABLE, direct)
    count = int(own_server.psql(name, HELD)) if commit > LAID_OUT else 0
    assert count == {LAID_OUT: 0, CHARGED: 0, SEALED: 1, PUBLISHED: 3}[commit] + (
        when == "after" and LAID_OUT < commit < PUBLISHED
    )
    first = commit > SEALED or (commit == SEALED and when == "after")
    assert whole(b"second") == (b"first" if first else b"second")
    with Ledger.read(PLACE) as book:
        assert book.verify().seq == 3
        (run,) = book.list_runs()
        assert book.read_account("d").spent_loss.epsilon == 1
        assert run.files is not None


HELD = "SELECT count(*) FROM dprelease.entries"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_that_was_lost_is_made_again(
    own_server: Server, tmp_path_factory: pytest.TempPathFactory, when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("l")
    monkeypatch.chdir(folder)
    name = own_server.database()
    direct = own_server.uri(name)
    with cut_lines_at(own_server, folder / "s", SEALED, when) as between:
        through = direct.replace(direct.rpartition("host=")[2], str(between).replace("/", "%2F"))
        monkeypatch.setenv(VARIABLE, through)
        with Ledger.open(PLACE, 5) as book:
            made = book.charge(*RUN)  # type: ignore[arg-type]
            with pytest.raises(Failure, match="E621"):
                book.seal(made, b"first")
            assert book.seal(made, b"second") == (b"first" if when == "after" else b"second")
            own_server.psql(name, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                  " WHERE application_name = 'dprelease'")  # fmt: skip
            book.record_published(made, {"a.csv": "0" * 64})
            assert book.verify().seq == 3


@pytest.mark.parametrize("step", ["charge", "seal", "published"])
def test_a_connection_that_is_lost_after_a_commit_is_made_again(
    own_server: Server, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to do but the witness, which says how far the ledger goes now."""
    monkeypatch.chdir(tmp_path)
    name = own_server.database()
    monkeypatch.setenv(VARIABLE, own_server.uri(name))
    cut = []

    def commit(database: ServerDatabase) -> None:
        original(database)
        if cut:
            own_server.psql(name, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                  " WHERE application_name = 'dprelease'")  # fmt: skip

    original = ServerDatabase.commit
    monkeypatch.setattr(ServerDatabase, "commit", commit)
    acts = {
        "charge": lambda book: book.charge(*RUN),
        "seal": lambda book: book.seal(book.charge(*RUN), b"first"),
        "published": lambda book: book.record_published(book.charge(*RUN), {"a.csv": "0" * 64}),
    }
    with Ledger.open(PLACE, 5) as book:
        for name_of_act, act in acts.items():
            cut[:] = [True] * (name_of_act == step)
            act(book)
            cut.clear()
        assert book.verify().seq == 3
        assert json.loads(Path(book.witness).read_text())["seq"] == 3


def test_nothing_is_charged_over_a_connection_whose_ledger_was_not_checked(
    own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = own_server.database()
    monkeypatch.setenv(VARIABLE, own_server.uri(name))
    with Ledger.open(PLACE, 5) as book:
        own_server.psql(name, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                              " WHERE application_name = 'dprelease'")  # fmt: skip
        with pytest.raises(Failure, match="E621") as refused:
            book.charge(*RUN)  # type: ignore[arg-type]
    assert refused.value.exit_code == 6
    assert own_server.psql(name, HELD).strip() == "0"


def test_a_server_that_was_set_back_after_the_charge_seals_nothing(
    own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = own_server.database()
    monkeypatch.setenv(VARIABLE, own_server.uri(name))
    with Ledger.open(PLACE, 5) as book:
        made = book.charge(*RUN)  # type: ignore[arg-type]
        own_server.psql(name, "SET session_replication_role = replica;"
                              " DELETE FROM dprelease.entries;"
                              " SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                              " WHERE application_name = 'dprelease'")  # fmt: skip
        with pytest.raises(Failure, match="E609"):
            book.seal(made, b"first")
    assert own_server.psql(name, HELD).strip() == "0"
