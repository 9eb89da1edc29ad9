"""`dprelease combine`: sums, differences and shares of a release's figures, and what it refuses."""

import csv
import json
import shutil

import pytest

import dprelease


@pytest.fixture
def released(run_once, folder):
    shutil.copytree(run_once, folder, dirs_exist_ok=True)


def read_figures(folder, table="by_region"):
    with (folder / "out" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("released")
def test_one_cell_has_the_interval_that_its_table_has(cli, folder):
    north, _ = read_figures(folder)
    told = json.loads(cli("combine", "--json", "out", 'visits[region="north"]').out)
    assert told["schema"] == "dprelease/combination/1"
    assert told["value"] == float(north["visits"])
    assert told["noise_halfwidth"] == float(north["visits_noise_moe"])
    assert (told["cells"], told["interval"], told["as_released"]) == (1, "19/20", [])
    mean = json.loads(cli("combine", "--json", "out", "mean_days[region=north]").out)
    assert mean["value"] == float(north["mean_days"])
    assert mean["noise_halfwidth"] == pytest.approx(float(north["mean_days_noise_moe"]), rel=0.05)


@pytest.mark.usefixtures("released")
def test_a_sum_is_that_of_the_table_and_nothing_is_written(cli, folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    answer = cli("combine", "out", "sum(visits)")
    assert answer.code == 0
    total = sum(int(row["visits"]) for row in read_figures(folder))
    assert answer.out.splitlines()[1].startswith(f"  {total:,} ± ".replace("-", "\u2212"))
    wide = json.loads(cli("combine", "--json", "out", "sum(visits)", "--interval", "0.99").out)
    usual = json.loads(cli("combine", "--json", "out", "sum(visits)").out)
    assert wide["noise_halfwidth"] > usual["noise_halfwidth"]
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


REFUSED = {
    "visits[region=north] + visits[region=north]": "E841",
    "visits[region=north] + sum(visits)": "E841",
    "visits[region=north] + mean_days_count[region=north]": "E841",
    "mean_days[region=north] + mean(mean_days)": "E841",
    "visits": "E842",
    "visits[region=atlantis]": "E842",
    "visits[sex=f]": "E842",
    "visitors": "E842",
    "sum(mean_days)": "E843",
    "visits[region=north] *": "E840",
    "visits[region=north] * visits[region=south]": "E840",
    "sum(visits) / 0": "E840",
    "2 + 2": "E840",
    "0 * sum(visits)": "E840",
    "(" * 60 + "1": "E840",
    "sum(visits) / sum(visits) + 1": "E840",
    "": "E840",
    "9" * 5000 + " * sum(visits)": "E840",
    "sum(visits)" + " * 99999999" * 40: "E840",
    "sum(visits)" + " / 99999999" * 40: "E840",
    "-" * 9000 + "(": "E840",
}


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused(cli, expression):
    answer = cli("combine", "out", "--", expression)
    assert answer.code == 2
    assert answer.err.startswith(REFUSED[expression]), answer.err
    assert answer.out == ""


@pytest.mark.usefixtures("released")
def test_many_signs_and_large_and_small_numbers(cli, folder):
    total = sum(int(row["visits"]) for row in read_figures(folder))
    signs = cli("combine", "--json", "out", "--", "-" * 9000 + "sum(visits)")
    assert json.loads(signs.out)["value"] == total
    large = cli("combine", "out", "sum(visits) + 1" + "0" * 29).out.splitlines()[1]
    assert large.partition(" ± ")[0] == f"  {10**29 + total:,}"
    small = cli("combine", "out", "sum(visits) / 1" + "0" * 29).out.splitlines()[1]
    half = json.loads(cli("combine", "--json", "out", "sum(visits)").out)["noise_halfwidth"]
    assert float(small.partition(" ± ")[2]) == pytest.approx(half / 10**29, rel=0.1)


def test_a_label_may_be_written_in_either_normal_form(cli, folder):
    spec = (folder / "small.toml").read_text(encoding="utf-8")
    spec = spec.replace('"north"', '"Orl\u00e9ans"')
    (folder / "accents.toml").write_text(spec, encoding="utf-8")
    assert cli("run", "accents.toml", "-q").code == 0
    north = read_figures(folder)[0]
    for town in ("Orl\u00e9ans", "Orle\u0301ans"):
        told = json.loads(cli("combine", "--json", "out", f'visits[region="{town}"]').out)
        assert told["value"] == float(north["visits"])


def test_a_label_may_be_written_as_readers_see_it(cli, folder, spec):
    spec(
        ('keys = ["north", "south"]', 'keys = ["north", "south"]\nlabels = { north = "The North", '
         'south = "north" }'),
        ("upper = 100\n", "upper = 100\nbins = [0, 10, 101]\n"),
        ('statistic = "count"\nby = ["region"]', 'statistic = "count"\nby = ["region", "days"]'),
    )  # fmt: skip
    assert cli("run", "small.toml", "-q").code == 0

    def ask(cell: str) -> object:
        return json.loads(cli("combine", "--json", "out", f"visits[{cell}]").out)["value"]

    figures = read_figures(folder, "by_region_days")
    by_key = {(row["region"], row["days"]): float(row["visits"]) for row in figures}
    for bins, shown in (("[0, 10)", "0 to 9"), ("[10, 101]", "10 to 101")):
        for days in (bins, shown):
            assert ask(f'region="The North", days="{days}"') == by_key["north", bins]
            assert ask(f'region="north", days="{days}"') == by_key["north", bins]  # a key first
    assert "E842" in cli("combine", "out", 'visits[region="the north", days="0 to 9"]').err


def test_a_label_may_be_written_as_a_report_in_another_language_shows_it(cli, folder, spec):
    spec(
        ("upper = 100\n", "upper = 100\nbins = [0, 10, 101]\n"),
        ('by = ["region"]', 'by = ["days"]'),
        ("[output]", '[report]\nlanguage = "de"\n\n[output]'),
    )
    assert cli("run", "small.toml", "-q").code == 0
    (figure, _) = read_figures(folder, "by_days")
    for days in ("[0, 10)", "0 to 9", "0 bis 9"):
        told = json.loads(cli("combine", "--json", "out", f'visits[days="{days}"]').out)
        assert told["value"] == float(figure["visits"])


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("level", ["1", "0", "much", "1/0", "0.9999999999"])
def test_levels_that_are_none(cli, level):
    assert cli("combine", "out", "sum(visits)", "--interval", level).err.startswith("E846")


@pytest.mark.usefixtures("released")
def test_edited_files_are_refused(cli, folder):
    table = folder / "out" / "by_region.csv"
    table.write_text(table.read_text().replace("north", "North"))
    assert cli("combine", "out", "sum(visits)").err.startswith("E822")
    report = folder / "out" / "report.json"
    report.write_text(report.read_text() + " ")
    assert cli("combine", "out", "sum(visits)").err.startswith("E821")
    assert cli("combine", "nowhere", "sum(visits)").err.startswith("E820")


def with_queries(folder, queries, more=""):
    spec = folder / "small.toml"
    head, _, _ = spec.read_text().partition("[[query]]")
    end = '\n[output]\npath = "out"\n'
    head = head.replace('name = "small"', 'name = "other"').replace(
        "epsilon = 1.0", "epsilon = 2.0"
    )
    spec.write_text(head + "".join(f"\n[[query]]\n{query}\n" for query in queries) + end + more)


def test_suppressed_changed_and_other_figures(cli, folder):
    with_queries(
        folder,
        [
            'name = "visits"\nstatistic = "count"\nby = ["region"]\nnonnegative = true',
            'name = "few"\nstatistic = "count"\nby = ["region"]\nwhere = "days > 90"\n'
            "hide_below = 1_000",
            'name = "middle"\nstatistic = "median"\ncolumn = "days"',
            'name = "commonest"\nstatistic = "mode"\ncolumn = "region"',
        ],
    )
    answer = cli("run", "small.toml", "-q")
    assert answer.code == 0, answer.err
    assert cli("combine", "out", "few[region=north]").err.startswith("E844")
    assert cli("combine", "out", "middle").err.startswith("E843")
    assert cli("combine", "out", "commonest").err.startswith("E843")
    changed = cli("combine", "out", "sum(visits)")
    assert "for figures before they were changed after the noise: visits" in changed.out


def test_a_column_that_is_no_figure_is_not_said_to_be_missing(cli, folder):
    spread = 'statistic = "stddev"\ncolumn = "days"\nby = ["region"]\nepsilon = 0.5'
    with_queries(folder, [f'name = "sd"\n{spread}'])
    assert cli("run", "small.toml", "-q").code == 0
    refused = cli("combine", "out", "sd_mean[region=north] - sd_mean[region=south]")
    assert refused.err.startswith('E843 "sd_mean" can\'t be combined')
    assert 'statistic = "mean"' in refused.err
    for column in read_figures(folder)[0]:
        for name in (column, f"by_region.{column}", f"sum({column})"):
            answer = cli("combine", "out", name)
            assert "no published figure" not in answer.err, name
    assert cli("combine", "out", "sd_low").err.startswith('E843 "sd_low"')
    assert 'combine "sd"' in cli("combine", "out", "sd_low").err
    # What the hint says: a mean of its own is read from the same release, and can be combined.
    with_queries(
        folder, [f'name = "sd"\n{spread}', f'name = "wait"\n{spread}'.replace("stddev", "mean")]
    )
    plan = json.loads(cli("plan", "small.toml", "--json").out)
    assert plan["steps"][1]["shares"] == {"release": "sd", "with": ["sd"]}
    assert cli("run", "small.toml", "--output", "both", "-q").code == 0
    assert cli("combine", "both", "wait[region=north] - wait[region=south]").code == 0


@pytest.mark.parametrize("limit", [1, 2])
def test_people_add_up_where_each_is_in_one_cell(cli, folder, limit):
    with_queries(
        folder,
        [
            'name = "people"\nstatistic = "count_units"\nby = ["region"]\nepsilon = 1',
            'name = "lengths"\nstatistic = "count_distinct"\ncolumn = "days"\nby = ["region"]\n'
            "epsilon = 1",
        ],
    )
    spec = (folder / "small.toml").read_text()
    bounds = f"max_rows_per_unit = 2\nmax_groups_per_unit = {limit}"
    for before, after in [
        ('unit = "row"', 'unit = "column"\nunit_column = "who"'),
        ("[ledger]", f"[privacy.bounding]\n{bounds}\n\n[ledger]"),
    ]:
        assert before in spec
        spec = spec.replace(before, after, 1)
    (folder / "small.toml").write_text(spec)
    rows = [f"{region},3,{who}" for who in range(400) for region in ("north", "south")]
    (folder / "small.csv").write_text("\n".join(["region,days,who", *rows]) + "\n")
    answer = cli("run", "small.toml", "-q")
    assert answer.code == 0, answer.err
    text = (folder / "out" / "report.md").read_text()
    assert cli("combine", "out", "sum(lengths)").err.startswith("E841")
    for expression in ("sum(people)", "people[region=north] + people[region=south]"):
        told = cli("combine", "--json", "out", expression)
        if limit == 1:
            assert told.json["value"] == pytest.approx(400, abs=40), "each counts once"
        else:
            assert told.err.startswith("E841")
    assert ("add up numbers of people" in text) is (limit == 2)
    assert ("add up within one column" in text) is (limit == 1)


def test_figures_may_have_the_names_of_functions(cli, folder):
    with_queries(
        folder, [f'name = "{n}"\nstatistic = "count"\nby = ["region"]' for n in ("sum", "mean")]
    )
    assert cli("run", "small.toml", "-q").code == 0
    rows = read_figures(folder)
    value = json.loads(cli("combine", "--json", "out", "sum(sum) - mean[region=north]").out)[
        "value"
    ]
    assert value == sum(int(row["sum"]) for row in rows) - int(rows[0]["mean"])


def test_the_value_is_of_what_was_published_and_the_interval_holds_it(cli, folder):
    """Of tables that were made to agree, moved to 0 or more, made whole and rounded."""
    changes = "consistent = true\nnonnegative = true\ninteger = true\nround_to = 5\nepsilon = 0.05"
    with_queries(
        folder,
        [
            f'name = "visits"\nstatistic = "count"\nby = ["region"]\n{changes}',
            f'name = "all"\nstatistic = "count"\n{changes}',
            'name = "apart"\nstatistic = "count"\nwhere = "days > 1"\nepsilon = 0.05\n'
            "consistent = false",
        ],
    )
    answer = cli("run", "small.toml", "-q")
    assert answer.code == 0, answer.err
    rows = {row["region"]: int(row["visits"]) for row in read_figures(folder)}
    lines = (folder / "out" / "overall.csv").read_text().splitlines()
    total = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    whole, apart = int(total["all"]), float(total["apart"])
    expected = {
        "sum(visits)": sum(rows.values()),
        "mean(visits)": sum(rows.values()) / len(rows),
        "visits[region=north] - 2 * visits[region=south]": rows["north"] - 2 * rows["south"],
        "all": whole,
        "all - apart + 1": whole - apart + 1,
    }
    for expression, value in expected.items():
        told = cli("combine", "--json", "out", expression).json
        assert told["value"] == pytest.approx(value), expression
        assert told["low"] <= told["value"] <= told["high"]
    agreed = {
        column["name"]: column["agreed"]
        for table in json.loads((folder / "out" / "report.json").read_text())["tables"]
        for column in table["columns"]
        if "agreed" in column
    }
    told = dprelease.combine(folder / "out", "sum(visits)")
    # The interval is that of what agreed, before it was moved any further.
    assert told.low <= sum(agreed["visits"]) <= told.high
    assert sum(agreed["visits"]) == pytest.approx(agreed["all"][0], abs=1e-3)


def test_a_quotient_of_changed_figures_is_of_what_was_published(cli, folder):
    lines = (folder / "small.csv").read_text().splitlines()
    (folder / "small.csv").write_text("\n".join([lines[0], *lines[1:] * 400]) + "\n")
    changes = "round_to = 100\nepsilon = 1"
    with_queries(
        folder,
        [
            f'name = "visits"\nstatistic = "count"\nby = ["region"]\n{changes}',
            f'name = "long"\nstatistic = "count"\nby = ["region"]\nwhere = "days > 1"\n{changes}',
        ],
    )
    answer = cli("run", "small.toml", "-q")
    assert answer.code == 0, answer.err
    rows = read_figures(folder)
    told = cli("combine", "--json", "out", "sum(long) / sum(visits)").json
    above, below = (sum(int(float(row[name])) for row in rows) for name in ("long", "visits"))
    assert told["value"] == pytest.approx(above / below)
    assert told["low"] <= told["value"] <= told["high"]


def test_a_mean_that_was_rounded_is_taken_as_it_was_published(cli, folder):
    lines = (folder / "small.csv").read_text().splitlines()
    (folder / "small.csv").write_text("\n".join([lines[0], *lines[1:] * 400]) + "\n")
    query = 'name = "rest"\nstatistic = "mean"\ncolumn = "days"\nby = ["region"]\nround_to = 2'
    with_queries(folder, [query])
    assert cli("run", "small.toml", "-q").code == 0
    rows = read_figures(folder)
    for row in rows:
        told = cli("combine", "--json", "out", f"rest[region={row['region']}]").json
        assert told["value"] == float(row["rest"])
        assert told["low"] <= told["value"] <= told["high"]
    numbers = [(float(row["rest"]), float(row["rest_count"])) for row in rows]
    pooled = sum(mean * count for mean, count in numbers) / sum(count for _, count in numbers)
    assert cli("combine", "--json", "out", "mean(rest)").json["value"] == pytest.approx(pooled)
