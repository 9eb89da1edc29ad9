"""Commands with a ledger on a server: named by a variable, whose URL is shown nowhere."""

import json
import os
from pathlib import Path

import postgres_server
import pytest

import dprelease

PLACE = "env:TRIED_LEDGER"
ON_SERVER = ("epsilon_cap = 2.5", 'url_env = "TRIED_LEDGER"\nepsilon_cap = 2.5')


@pytest.fixture
def uri(postgres: postgres_server.Server) -> str:
    postgres_server.require("psycopg")
    return postgres.uri(postgres.database())


@pytest.fixture
def on_server(cli, uri: str):
    """Run ``dprelease`` with the variable set."""

    def run(*arguments: str, url: str = uri):
        return cli(*arguments, read_late={"TRIED_LEDGER": url})

    return run


@pytest.fixture
def released(on_server, spec, folder: Path) -> Path:
    spec(ON_SERVER)
    answer = on_server("run", "small.toml")
    assert answer.code == 0, answer.err
    assert 'epsilon 1.5 of 2.5 for "small.csv"' in answer.out
    return folder


def test_a_release_is_charged_on_the_server_and_free_again(on_server, released):
    planned = on_server("plan", "small.toml")
    assert 'ledger   env:TRIED_LEDGER: "small.csv"' in planned.out
    assert "already released" in planned.out
    assert "nothing was spent" in on_server("run", "small.toml").out
    assert not list(released.glob("*.sqlite*"))
    assert (released / "TRIED_LEDGER.witness").exists()


def test_budget_takes_the_place_or_a_spec(on_server, spec, released):
    for given in (PLACE, "small.toml"):
        told = on_server("budget", "show", given, "--json").json
        assert (told["ledger"], told["head"]["entries"]) == (PLACE, 3)
    assert on_server("budget", "verify", PLACE, "--against", "out/report.json").code == 0
    capped = on_server("budget", "cap", "small.csv", PLACE, "--epsilon", "1.5", "--reason", "board")
    assert (capped.code, capped.err) == (0, "")
    assert 'env:TRIED_LEDGER: cap of "small.csv": epsilon 1.5, left 0.5' in capped.out
    spec(("epsilon_cap = 2.5", 'url_env = "TRIED_LEDGER"'), ('name = "small"', 'name = "second"'),
         ('path = "out"', 'path = "second"'))  # fmt: skip
    answer = on_server("run", "-q", "small.toml")
    assert (answer.code, "E301" in answer.err) == (3, True)
    lines = on_server("budget", "export", PLACE).out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["charge", "seal", "publish", "cap"]
    assert on_server("budget", "move", PLACE, "l.sqlite").code == 2


def test_a_lost_ledger_on_a_server_is_noticed(on_server, spec, released, postgres):
    url = postgres.uri(postgres.database())
    assert "E613" in on_server("run", "-q", "small.toml", url=url).err  # by its witness
    os.unlink(released / "TRIED_LEDGER.witness")
    assert "E618" in on_server("run", "-q", "small.toml", url=url).err  # by the report in out
    answer = on_server("budget", "verify", PLACE, "--against", "out/report.json", url=url)
    assert answer.code == 6


def test_a_restored_server_is_told_by_the_witness_of_each_machine(
    on_server, spec, released, postgres, uri
):
    """Machine B has charged nothing since the backup: its own witness is as old as that."""
    os.rename(released / "TRIED_LEDGER.witness", released / "b.witness")
    backup = postgres.database(f"TEMPLATE {uri.rpartition('/')[2].partition('?')[0]}")
    for witness in ("a.witness", "b.witness"):
        assert on_server("budget", "witness", PLACE, "--witness", witness).code == 0
    on_a = ("epsilon_cap = 2.5", 'url_env = "TRIED_LEDGER"\nwitness = "a.witness"\nepsilon_cap = 9')
    spec(on_a, ('name = "small"', 'name = "second"'), ('path = "out"', 'path = "second"'))
    assert on_server("run", "-q", "small.toml").code == 0
    each = ("--against", "a.witness", "--against", "b.witness")
    url = postgres.uri(backup)
    assert on_server("budget", "verify", PLACE, "--witness", "b.witness", url=url).code == 0
    answer = on_server("budget", "verify", PLACE, "--witness", "b.witness", *each, url=url)
    assert (answer.code, "E613" in answer.err) == (6, True)
    assert "that a.witness names" in answer.err
    assert on_server("budget", "verify", PLACE, "--witness", "b.witness", *each).code == 0


def test_the_url_is_shown_and_stored_nowhere(on_server, released, uri, capfd):
    answers = [
        on_server(*command)
        for command in (
            ("run", "small.toml"), ("plan", "small.toml", "--json"), ("check", "small.toml"),
            ("plan", "small.toml", "-o", "plan.json"), ("budget", "show", PLACE),
            ("budget", "verify", PLACE, "--json"), ("budget", "export", PLACE),
        )
    ]  # fmt: skip
    texts = [answer.out + answer.err for answer in answers]
    texts += capfd.readouterr()  # of libraries in C
    texts += [
        path.read_text(encoding="utf-8", errors="replace")
        for path in released.rglob("*")
        if path.is_file()
    ]
    assert len(texts) > 12
    for text in texts:
        assert "postgresql:" not in text
        assert "a%20secret" not in text
        assert postgres_server.PASSWORD not in text


def test_another_ledger_for_one_run_may_be_on_a_server(spec, folder, uri, monkeypatch):
    monkeypatch.setenv("TRIED_LEDGER", uri)
    monkeypatch.chdir(folder)
    assert dprelease.run("small.toml", ledger=PLACE).charged
    assert not dprelease.run("small.toml", ledger=PLACE).charged
    assert sorted(path.name for path in folder.iterdir()) == [
        "TRIED_LEDGER.witness", "out", "small.csv", "small.toml"
    ]  # fmt: skip
    spec(("[output]", f"{TABLE}\n[output]"), ('"add-remove"', '"replace-one"'))
    with pytest.raises(dprelease.Failure, match="E111"):
        dprelease.run("small.toml", ledger=PLACE)


TABLE = '[[perturb]]\nname = "people"\ncolumns = ["region"]\nepsilon = 1\n'


@pytest.mark.parametrize(
    ("lines", "code"),
    [('url_env = "postgresql://u:hidden@host/d"', "E106"), ('url_env = ""', "E1"),
     ('url_env = "A B"', "E106"), ('url_env = "L"\npath = "l.sqlite"', "E111")],
)  # fmt: skip
def test_a_variable_is_named_by_its_name_alone(cli, spec, folder, lines, code):
    spec(("epsilon_cap = 2.5", lines))
    answer = cli("check", "small.toml")
    assert answer.code == 2
    assert code in answer.out + answer.err
    # The line of the spec is shown, as for every mistake; the message says no more.
    shown = [line for line in (answer.out + answer.err).splitlines() if code in line]
    assert all("hidden" not in line for line in shown)


def test_records_need_a_file_beside_them(cli, spec, folder):
    spec(ON_SERVER, ("[output]", f"{TABLE}\n[output]"))
    answer = cli("check", "small.toml")
    assert answer.code == 2
    said = answer.out + answer.err
    assert "record-level tables are stored in the folder of a ledger file" in said
    assert "[ledger.url_env]" in said
    assert "hint: write [ledger] path instead" in said


def test_no_variable_no_charge(cli, spec, folder):
    spec(ON_SERVER)
    answer = cli("run", "-q", "small.toml")
    assert (answer.code, "the environment variable is not set: TRIED_LEDGER" in answer.err) == (
        6,
        True,
    )
    assert not (folder / "out").exists()
