"""Two specs whose units have one name and are made of other rows: what each command says."""

import json

import pytest

PEOPLE = ('unit = "row"', 'unit = "column"\nunit_column = "uid"')
BOUNDING = (
    "[ledger]",
    "[privacy.bounding]\nmax_rows_per_unit = 3\nmax_groups_per_unit = 2\n\n[ledger]",
)
NAME = ('name = "small"', 'name = "homes"')
HOME = (
    "[columns.region]",
    '[columns.uid]\ntype = "string"\nexpression = "SUBSTRING(person, 1, 2)"\n\n'
    '[columns.person]\ntype = "string"\n\n[columns.region]',
)
PERSON = (HOME[0], HOME[1].replace("SUBSTRING(person, 1, 2)", "TRIM(person)"))


@pytest.fixture
def two(spec, folder):
    """A spec for persons and one for their homes, with the same name of the unit."""
    lines = (f"{region},{days},h{days % 3}p{days}\n" for region in ("north", "south")
             for days in range(30))  # fmt: skip
    (folder / "small.csv").write_text("region,days,person\n" + "".join(lines))
    spec(PEOPLE, BOUNDING, PERSON, ("one visit", "one person"))
    spec(PEOPLE, BOUNDING, HOME, NAME, ('"out"', '"homes"'), name="homes.toml")


def test_a_run_for_homes_is_refused_where_persons_were_charged(cli, folder, two):
    assert cli("run", "-q", "small.toml").code == 0
    before = (folder / "dprelease-ledger.sqlite").read_bytes()
    for command in ("run", "plan"):
        answer = cli(command, "homes.toml")
        assert answer.code == 3
        assert "E304 entry 1 of the ledger" in answer.err
        assert "defined in another way (expression)" in answer.err
    assert not (folder / "homes").exists()
    assert (folder / "dprelease-ledger.sqlite").read_bytes() == before
    assert cli("run", "small.toml").code == 0


def test_the_unit_of_a_dataset_is_told(cli, folder, two):
    assert cli("run", "-q", "small.toml").code == 0
    told = cli("budget", "show").out
    assert 'unit     column uid = trim("person"): one person, add-remove\n' in told
    assert "note     " not in told
    (dataset,) = cli("budget", "show", "--json").json["datasets"]
    (unit,) = dataset["units"]
    assert (unit["unit"], unit["adjacency"], unit["entries"]) == ("column uid", "add-remove", [1])
    assert unit["definition"]["reads"] == {"person": {"type": "string"}}


def test_several_descriptions_of_one_unit_are_told(cli, spec, folder, two):
    assert cli("run", "-q", "small.toml").code == 0
    spec(PEOPLE, BOUNDING, PERSON, NAME, ("one visit", "one patient"), ('"out"', '"patients"'))
    assert cli("run", "-q", "small.toml").code == 0
    told = cli("budget", "show").out
    assert "one person, add-remove (entry 1)\n" in told
    assert "one patient, add-remove (entry 4)\n" in told
    assert "the unit is described in several ways: check that it is the same unit" in told


def test_a_change_of_how_a_unit_is_computed_is_weaker(cli, two):
    answer = cli("diff", "small.toml", "homes.toml")
    assert answer.code == 1
    assert "~ unit: as the column was defined -> as it is now (weaker: who counts" in answer.out
    assert "derived in another way (expression); the losses can't be compared" in answer.out
    back = json.loads(cli("diff", "--json", "homes.toml", "small.toml").out)
    assert back["weaker"] is True


def test_another_reading_of_the_file_is_another_unit_too(cli, spec, two):
    spec(PEOPLE, BOUNDING, name="old.toml")
    spec(PEOPLE, BOUNDING, ('path = "small.csv"', 'path = "small.csv"\nstrip = true'))
    answer = cli("diff", "old.toml", "small.toml")
    assert answer.code == 1
    assert "in another way (strip)" in answer.out
