"""``dprelease show`` of directories that anybody may have written to, and of odd names."""

import json
import os
import shutil

import pytest
from rich.cells import cell_len


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A place where the first test leaves its release for the others."""
    return tmp_path_factory.mktemp("kept") / "out"


@pytest.fixture
def out(cli, folder, kept):
    """A release in ``out``; give a function that edits its descriptor."""
    if not kept.exists():
        assert cli("run", "-q", "small.toml").code == 0
        shutil.copytree(folder / "out", kept)
    else:
        shutil.copytree(kept, folder / "out")
    file = folder / "out" / "datapackage.json"

    def edit(change):
        content = json.loads(file.read_text())
        change(content["resources"])
        file.write_text(json.dumps(content))
        return folder / "out"

    return edit


def column(name, text):
    """Put a text in the first row of a column of by_region.csv."""

    def change(place):
        file = place / "by_region.csv"
        lines = [line.split(",") for line in file.read_text().splitlines()]
        lines[1][lines[0].index(name)] = text
        file.write_text("".join(",".join(line) + "\n" for line in lines))

    return change


DESCRIPTORS = {
    "a text for a file": lambda found: found.append("x"),
    "a list for a file": lambda found: found.insert(0, []),
    "a zero byte": lambda found: found[0].update(path="a\0b.csv"),
    "half a character": lambda found: found[0].update(path="\ud800.csv"),
    "colours": lambda found: found[0].update(path="\x1b[31mred.csv"),
    "a text for labels": lambda found: found[0]["schema"]["fields"][0].update(labels="a"),
    "many decimals": lambda found: found[0]["schema"]["fields"][0].update(decimals=99),
    "bins of no type": lambda found: found[0]["schema"]["fields"][0].update(bins="[0, 1)"),
    "a text for a column": lambda found: found[0]["schema"].update(fields=["a"]),
}


@pytest.mark.parametrize("change", DESCRIPTORS.values(), ids=DESCRIPTORS)
def test_an_odd_descriptor_is_no_release(cli, out, change):
    out(change)
    answer = cli("show", "out")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("E012")
    assert "\x1b" not in answer.err


@pytest.mark.parametrize("file", ["by_region.csv", "datapackage.json", "report.json"])
def test_no_pipe_is_waited_for(cli, out, file):
    place = out(lambda found: None) / file
    place.unlink()
    os.mkfifo(place)
    for command in ("show", "report"):
        answer = cli(command, "out")
        assert answer.code == (0 if (command, file) == ("show", "report.json") else 2)


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "NaN", "9" * 400, "9e99", "1e9"])
def test_what_no_release_writes_is_shown_as_it_stands(cli, out, text):
    column("visits", text)(out(lambda found: None))
    answer = cli("show", "out")
    assert answer.code == 0
    assert f"{text[:38]}" in answer.out
    assert cli("show", "--json", "out").json["tables"][0]["values"][0][1] == text


WIDE = "\u65e5\u672c\u8a9e" * 20
FAMILY = "\U0001f469\u200d\U0001f467"


@pytest.fixture
def wide(cli, spec):
    spec(('"north", "south"', f'"{WIDE}", "{FAMILY}", "south"'), ("upper = 100", "upper = 1e12"),
         ("epsilon_cap = 2.5", ""), ('statistic = "mean"', 'statistic = "sum"'),
         ("epsilon = 0.5", "epsilon = 0.0001"), ("epsilon = 1.0", ""))  # fmt: skip
    assert cli("run", "-q", "small.toml").code == 0


def test_labels_are_cut_by_their_width_and_joiners_stay(cli, wide):
    shown = cli("show", "out", COLUMNS="60").out.splitlines()
    (first, *_) = [line for line in shown if line.startswith(WIDE[:3])]
    assert cell_len(first.partition("\u2026")[0]) <= 29
    assert any(line.startswith(f"{FAMILY} ") for line in shown)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_figures_and_their_noise_are_never_cut(cli, wide, columns):
    shown = cli("show", "out", COLUMNS=columns).out
    for row in cli("show", "--json", "out").json["tables"][0]["values"]:
        names = [each["name"] for each in cli("show", "--json", "out").json["tables"][0]["columns"]]
        held = dict(zip(names, row, strict=True))
        value, half = held["mean_days"], held["mean_days_noise_moe"]
        unit = 10 ** (len(str(half)) - 2)  # two digits of the half-width
        value, half = (value + unit // 2) // unit * unit, -(-half // unit) * unit
        assert f"{value:,} \u00b1 {half:,} " in shown
