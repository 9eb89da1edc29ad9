"""`[release] previous`: what changed since the last release, and which releases are refused."""

import json

import pytest

PREVIOUS = 'previous = "out/report.json"'


def write_second(folder, *changes):
    """The spec of a second release, of other data, that names the first."""
    text = (folder / "small.toml").read_text()
    for old, new in (
        ('name = "small"', f'name = "small-2"\n{PREVIOUS}'),
        ('path = "out"', 'path = "out-2"'),
        ('path = "small.csv"', 'path = "small.csv"\nsnapshot = "2"'),
        *changes,
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "second.toml").write_text(text)


@pytest.fixture
def released(cli):
    assert cli("run", "small.toml", "-q").code == 0


def read_changes(folder):
    return json.loads((folder / "out-2" / "report.json").read_text())["changes"]


def test_what_changed_is_said_and_said_again(cli, folder):
    spec = folder / "small.toml"
    wide = 'path = "out"\ninterval = 0.999999'  # noise alone is hardly ever beyond it
    spec.write_text(spec.read_text().replace('path = "out"', wide))
    assert cli("run", "small.toml", "-q").code == 0
    lines = (folder / "small.csv").read_text()
    (folder / "small.csv").write_text(lines + "north,50\n" * 900)
    write_second(
        folder, ("epsilon = 1.0", "epsilon = 1.2"), ("epsilon = 0.5\n\n[[", "epsilon = 0.7\n\n[[")
    )
    answer = cli("run", "second.toml", "-q")
    assert answer.code == 0, answer.err
    first = json.loads((folder / "out" / "report.json").read_text())
    changes = read_changes(folder)
    assert changes["run_id"] == first["provenance"]["run_id"]
    assert changes["guarantee"] == [{"what": "epsilon", "before": "1", "now": "1.2"}]
    assert (changes["new_tables"], changes["missing_tables"]) == ([], [])
    figures = {(row["column"], *row["labels"]): row for row in changes["figures"]}
    assert changes["compared"] == len(figures) == 4
    assert figures["visits", "north"]["real"]
    assert not figures["visits", "south"]["real"]
    assert figures["mean_days", "north"]["real"]
    assert changes["real"] == 2
    text = (folder / "out-2" / "report.md").read_text()
    assert "What changed since the last release" in text
    assert "- epsilon: 1 before, 1.2 now." in text
    assert "| by_region.visits: south |" in text.replace("\\", "")
    assert "within noise" in text
    assert "more than the noise |" in text  # whether it is real, noise can not tell
    again = {path.name: path.read_bytes() for path in (folder / "out-2").glob("*.*")}
    assert cli("run", "second.toml", "-q").code == 0
    assert again == {path.name: path.read_bytes() for path in (folder / "out-2").glob("*.*")}
    assert cli("report", "out-2").out == text  # without the last release at hand, too


def test_groups_are_named_as_in_the_tables(cli, folder, spec):
    bins = (
        'by = ["region"]\nepsilon = 0.5\n\n[output]',
        'by = ["region", "days"]\nepsilon = 0.5\n\n[output]',
    )
    names = (
        'keys = ["north", "south"]',
        'keys = ["north", "south"]\nlabels = { north = "The North" }',
    )
    days = "lower = 0\nupper = 100", "bins = [0, 10, 50]"
    mean = '"mean"\ncolumn = "days"', '"count"'
    spec(bins, names, days, mean)
    assert cli("run", "small.toml", "-q").code == 0
    write_second(folder)
    assert cli("run", "second.toml", "-q").code == 0
    text = (folder / "out-2" / "report.md").read_text().replace("\\", "")
    assert "| by_region_days.mean_days: The North, 0 to 9 |" in text
    assert read_changes(folder)["figures"][2]["labels"] == ["north", "[0, 10)"]
    assert cli("report", "out-2").out.replace("\\", "") == text


@pytest.mark.usefixtures("released")
def test_it_is_words_alone_the_same_run_with_it_or_without(cli, folder):
    write_second(folder)
    assert cli("run", "second.toml", "-q").code == 0
    table = (folder / "out-2" / "by_region.csv").read_bytes()
    spec = folder / "second.toml"
    spec.write_text(spec.read_text().replace(PREVIOUS, ""))
    answer = cli("run", "second.toml")
    assert "already released" in answer.out + answer.err
    assert (folder / "out-2" / "by_region.csv").read_bytes() == table
    assert "changes" not in json.loads((folder / "out-2" / "report.json").read_text())


@pytest.mark.usefixtures("released")
def test_what_is_defined_otherwise_is_not_called_a_change_of_the_data(cli, folder):
    write_second(folder, ("upper = 100", "upper = 90"))
    assert cli("run", "second.toml", "-q").code == 0
    changes = read_changes(folder)
    assert changes["redefined"] == ["mean_days"]
    assert {row["column"] for row in changes["figures"]} == {"visits"}
    text = (folder / "out-2" / "report.md").read_text()
    assert "2 figures of both releases are compared." in text
    assert "figures are in both releases" not in text  # four are, and two can't be compared
    assert "- mean_days is defined otherwise" in (folder / "out-2" / "report.md").read_text()


@pytest.mark.usefixtures("released")
def test_another_condition_is_compared_and_said(cli, folder):
    write_second(folder, ('statistic = "count"', 'statistic = "count"\nwhere = "days > 3"'))
    assert cli("run", "second.toml", "-q").code == 0
    changes = read_changes(folder)
    assert changes["redefined"] == ["visits"]
    assert "visits" in {row["column"] for row in changes["figures"]}


def edit(folder):
    report = folder / "out" / "report.json"
    report.write_text(report.read_text().replace("small", "large"))


def edit_table(folder):
    table = folder / "out" / "by_region.csv"
    table.write_text(table.read_text() + "east,1\n")


def newer(folder):
    report = folder / "out" / "report.json"
    report.write_text(report.read_text().replace("dprelease/report/1", "dprelease/report/2"))


def gone(folder):
    (folder / "out" / "report.json").unlink()


OTHER_SET = ("epsilon_cap = 2.5", 'epsilon_cap = 2.5\ndataset = "other"')
OWN = (PREVIOUS, 'previous = "out-2/report.json"')
NO_REPORT = (PREVIOUS, 'previous = "out/report.md"')


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize(
    ("spoil", "changes", "code"),
    [
        (edit, [], "E821"),
        (edit_table, [], "E822"),
        (newer, [], "E821"),
        (gone, [], "E820"),
        (None, [OTHER_SET], "E850"),
        (None, [OWN], "E850"),
        (None, [NO_REPORT], "E850"),
    ],
)
def test_what_is_refused_before_the_charge(cli, folder, spoil, changes, code):
    write_second(folder, *changes)
    if spoil is not None:
        spoil(folder)
    ledger = (folder / "dprelease-ledger.sqlite").read_bytes()
    answer = cli("run", "second.toml", "-q")
    assert answer.code == 2
    assert answer.err.startswith(f"second.toml:5:12  {code}"), answer.err
    assert ("use a newer version of dprelease" in answer.err) == (spoil is newer)
    assert not (folder / "out-2").exists()
    assert (folder / "dprelease-ledger.sqlite").read_bytes() == ledger
