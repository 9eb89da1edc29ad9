"""``dprelease show``: the released tables, and nothing but them."""

import json
import re
from pathlib import Path

import builders
import pytest

from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output import datapackage
from dprelease.output.released_tables import Field, list_figures, list_keys, list_tables, read_rows
from dprelease.output.table_files import write_table
from dprelease.specfile import load

RELEASE = load(builders.spec(query=[{"name": "n", "statistic": "count"}]))


def number(name, values, places=0, kind="number", said=""):
    query = re.sub("_(noise_moe|rank_moe|flag|low|high)$", "", name)
    return OutputColumn(name, kind, values, said, places, query)


def build_table(name="by_region"):
    odd = ["=north", "'x", "a\x1b[31m"]
    half = "half-width of the 95% noise interval of n: the noise alone"
    return OutputTable(
        name,
        (
            OutputColumn("region", "key", odd, "declared values of region",
                         type=ColumnType.STRING),
            OutputColumn("open", "key", ["true", "false", "true"], "declared values of open",
                         type=ColumnType.BOOLEAN),
            number("n", [-4, 12_345_678, None], kind="integer"),
            number("n_noise_moe", [5, 5, None], kind="integer", said=half),
            number("n_flag", ["low_reliability", "ok", None], kind="text"),
            number("pay", [-312_345, 5, None], 2),
            number("pay_noise_moe", [100, 7, None], 2, said=half),
            number("pay_flag", ["ok", "ok", "low_reliability"], kind="text"),
            number("median", [3, 4, 5], kind="integer"),
            number("median_rank_moe", [7, 7, 7], kind="integer"),
            number("median_flag", ["ok", "low_reliability", "ok"], kind="text"),
            number("fee", ["200", "-3", None], kind="text"),
            number("fee_noise_moe", [46_615] * 3, kind="integer"),
            number("fee_flag", ["ok", None, None], kind="text"),
        ),
        title="Pay by region",
    )  # fmt: skip


@pytest.fixture
def published(folder):
    """Write tables as a release does, without a release: the directory's name."""

    def write(*tables, format="csv", name="done"):
        written = [write_table(each, format) for each in tables]
        (folder / name).mkdir()
        for each in written:
            (folder / name / each.file).write_bytes(each.content)
        made = datapackage.write_datapackage(RELEASE, written, {}, {})
        (folder / name / "datapackage.json").write_bytes(made)
        return name

    return write


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_figures_stand_with_their_intervals_in_80_columns(cli, published, format):
    answer = cli("show", published(build_table(), format=format))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == SHOWN
    assert max(map(len, answer.out.splitlines())) <= 80


SHOWN = """\
by_region: Pay by region

region  open                  n                 pay                median
──────  ─────  ────────────────  ──────────────────  ────────────────────
=north  true           -4 ± 5 *  -3,123.45 ± 1.00    3 (within 7 ranks)
'x      false  12,345,678 ± 5         0.05 ± 0.07    4 (within 7 ranks) *
a\ufffd[31m  true                -                   - *  5 (within 7 ranks)

region  open   fee
──────  ─────  ────────────
=north  true   200 (46,615)
'x      false  -3 (46,615)
a\ufffd[31m  true   - (46,615)

± half-width of the 95% noise interval: noise only
within n ranks: nearest to a value up to n places (or weight n) off the quantile
(n) after a name: its score is at most n below the best score
* low_reliability: the noise is large beside the figure, or beside its count
"""


def test_years_are_no_numbers_and_figures_have_two_digits_of_their_noise(cli, published):
    """14.71306 ± 11.79049 says more than is known; an interval ends where values do."""
    flags = ["ok", "bounded", "bounded"]
    table = OutputTable(
        "by_year",
        (
            OutputColumn("year", "key", ["2004", "2005", "2006"], "declared values of year",
                         type=ColumnType.INTEGER),
            number("n", [123_456, 7_890, 49], kind="integer"),
            number("n_noise_moe", [1_234] * 3, kind="integer"),
            number("n_flag", flags, kind="text"),
            number("wait", [1471306, 2080000, 17_900_000], 5),
            number("wait_noise_moe", [1179049, 5410000, 1_179_049], 5),
            number("wait_flag", ["ok"] * 3, kind="text"),
            number("wait_low", [292257, 0, 16_720_951], 5),
            number("wait_high", [2650355, 7490000, 18_000_000], 5),
        ),
    )  # fmt: skip
    name = published(table)
    shown = cli("show", name).out
    assert shown.splitlines()[4:7] == [
        "2004  123,500 ± 1,300           15 ± 12",
        "2005    7,900 ± 1,300      21 (0 to 75)",
        "2006        0 ± 1,300  179 (167 to 180)",
    ]
    assert "bounded: rows of a unit beyond the limits do not count in n\n" in shown
    assert "(a to b) an interval from a to b" in shown
    one_row = cli("show", "--rows", "1", name).out
    assert "15 ± 12\n" in one_row
    assert "(a to b)" not in one_row


def test_wide_tables_are_shown_in_parts_with_the_keys_again(cli, published):
    name = published(build_table())
    answer = cli("show", name, COLUMNS="40")
    tables = answer.out.split("\n\n")[1:-1]
    assert len(tables) > 1
    assert all(table.startswith("region  open ") for table in tables)
    assert max(len(line) for table in tables for line in table.splitlines()) <= 40


def test_rows_are_limited_and_the_rest_is_counted(cli, published):
    table = OutputTable("t", (OutputColumn("k", "key", [f"k{n}" for n in range(1200)], ""),))
    name = published(table)
    shown = cli("show", name).out
    assert "k49\n" in shown
    assert "k50\n" not in shown
    assert "... and 1,150 rows more, of 1,200" in shown
    assert "k1199" in cli("show", name, "--rows", "2000").out
    assert "... and 1,200 rows more" in cli("show", name, "--rows", "0").out
    assert cli("show", name, "--rows", "-1").code == 2
    assert len(cli("show", name, "--json").json["tables"][0]["values"]) == 1200
    assert len(cli("show", name, "--json", "--rows", "7").json["tables"][0]["values"]) == 7


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_json_has_the_values_of_the_files(cli, published, format):
    name = published(build_table(), build_table("again"), format=format)
    answer = cli("show", "--json", "--table", "again", name)
    assert answer.json["schema"] == "dprelease/tables/1"
    (table,) = answer.json["tables"]
    assert (table["name"], table["rows"], table["unchanged"]) == ("again", 3, True)
    assert table["columns"][0]["name"] == "region"
    assert table["values"][0] == [
        "=north", True, -4, 5, "low_reliability", -3123.45, 1.0, "ok", 3, 7, "ok",
        "200", 46615, "ok",
    ]  # fmt: skip
    assert table["values"][1][0] == "'x"
    assert table["values"][2][2:5] == [None, None, None]


def test_what_is_no_release_is_refused(cli, folder, published):
    (folder / "datapackage.json").write_text(json.dumps({"generator": "other", "resources": []}))
    for place in (".", "nowhere", "small.csv"):
        answer = cli("show", place)
        assert (answer.code, answer.out) == (2, "")
        assert "E012" in answer.err
    answer = cli("show", published(build_table()), "--table", "by_reign")
    assert (answer.code, answer.out) == (2, "")
    assert "the tables are: by_region" in answer.err


def test_a_changed_file_is_told_and_a_broken_one_refused(cli, folder, published):
    file = folder / published(build_table()) / "by_region.csv"
    file.write_bytes(file.read_bytes().replace(b"-4,5", b"-9,x"))
    answer = cli("show", "done")
    assert answer.code == 0
    assert "W801" in answer.err
    assert "-9 ± x" in answer.out
    told = cli("show", "--json", "done")
    assert told.json["tables"][0]["unchanged"] is False
    assert told.json["tables"][0]["values"][0][3] == "x"
    for damage in (b"other,header\n", b"\xff\xfe", file.read_bytes() + b"one field\n", b""):
        file.write_bytes(damage)
        answer = cli("show", "done", "--rows", "9")
        assert (answer.code, answer.out) == (2, ""), damage
        assert "E013" in answer.err
    file.unlink()
    assert cli("show", "done").code == 2


def test_files_outside_the_directory_are_not_read(tmp_path: Path):
    resource = {"type": "table", "format": "csv", "path": "../secret.csv", "hash": "",
                "schema": {"fields": []}}  # fmt: skip
    content = {"generator": "dprelease", "resources": [resource]}
    (tmp_path / "datapackage.json").write_text(json.dumps(content))
    assert list_tables(str(tmp_path)) == []


@pytest.mark.parametrize("text", ["=a", "'=a", "''=a", "'a", "'", "", "''", "-1", "a"])
def test_apostrophes_are_taken_off_where_they_were_put_on(published, folder, text):
    column = OutputColumn("k", "key", [text, "z"], "", type=ColumnType.STRING)
    (table,) = list_tables(str(folder / published(OutputTable("t", (column,)))))
    assert read_rows(table, None).rows[0][0] == (text or None)


def test_only_what_is_about_a_figure_is_put_with_it():
    fields = [Field(name, "integer", "") for name in ("a", "b_flag", "c", "c_flag")]
    assert [each.name for each in list_figures(fields)] == ["a", "b_flag", "c", "c_flag"]
    fields.append(Field("c_noise_moe", "integer", ""))
    figures = list_figures(fields)
    assert [each.name for each in figures] == ["a", "b_flag", "c"]
    assert figures[2] == ("c", 2, 4, None, 3, None, None)
    assert list_keys(fields, figures) == []


@pytest.mark.parametrize("decimals", [0, 2])
def test_figures_have_the_decimals_that_the_spec_states_as_in_the_report(
    cli, spec, folder, decimals
):
    name = 'name = "mean_days"'
    spec((name, f"{name}\ndecimals = {decimals}"), name="small.toml")
    assert cli("run", "-q", "small.toml").code == 0
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    (north,) = re.findall(r"^\| north \| [^|]+ \| ([^|(]+?) [|(]", report, re.MULTILINE)
    assert re.fullmatch(
        r"[0-9]+" + (rf"\.[0-9]{{{decimals}}}" if decimals else ""), north.split()[0]
    )
    assert f" {north} " in cli("show", "out").out
