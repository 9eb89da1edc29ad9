"""``dprelease estimate``: from a record-level table and its report, and nothing but them."""

from __future__ import annotations

import hashlib
import io
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_laws import build_labels_response, numeric

from dprelease.local.report.table_facts import describe_drawn_table
from dprelease.local.store.answer_cells import describe_table
from dprelease.local.store.tally import Tallier, choose_pairs
from dprelease.local.store.write_table import write_records
from dprelease.model import About, Grid, LaplaceLaw, Loss, Perturb, RecordStep, StoredTable
from dprelease.reports.model.json_form import to_json

ROWS = 800


SURE = Fraction(3, 4)
TWO = Loss(Fraction(2))
PAY = Grid(Fraction(1, 100), 0, 500_000)
STEP = RecordStep(
    Perturb("people", ()),
    (
        build_labels_response("region", ("=north", "south", "a\x1b[31m"), SURE, loss=TWO),
        build_labels_response("town, old", ("yes", "no"), SURE, loss=TWO),
        numeric("pay", PAY, LaplaceLaw(Fraction(200_000)), TWO),
    ),
    1,
    Loss(Fraction(6), Fraction(1, 10**7)),
)


def list_column_names() -> tuple[Any, ...]:
    numbers = np.arange(ROWS)
    pay = 200_000 + (numbers * 7919 % 4001 - 2000) * 100
    return (
        (numbers % 5 % 3)[:, None].astype(np.uint16),
        (numbers % 2)[:, None].astype(np.uint16),
        pay,
    )


def release(folder: Path, form: str = "csv", rows: int = ROWS) -> Path:
    """Write a table of records and its report, as a run does: the table's path."""
    batch = tuple(each[:rows] for each in list_column_names())
    sink = io.BytesIO()
    write_records(sink, STEP, describe_table(STEP, About("a")), [batch], form)
    content = sink.getvalue()
    counted = Tallier(STEP, choose_pairs(STEP))
    counted.add(batch)
    digest = hashlib.sha256(content).hexdigest()
    stored = StoredTable(f"/x/people.{form}", form, digest, len(content), counted.tally())
    report = {
        "schema": "dprelease/report/1",
        "perturb": [to_json(describe_drawn_table(STEP, stored, Fraction(19, 20)))],
        "tables": [{"file": "overall.csv"}],
        "provenance": {"interval": "0.95"},
    }
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / "report.json").write_text(json.dumps(report), encoding="utf-8")
    (folder / "out" / "overall.csv").write_text("n\n5\n", encoding="utf-8")
    (folder / "out" / f"people.{form}").write_bytes(content)
    return folder / "out" / f"people.{form}"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_estimates_stand_with_their_intervals_in_80_columns(cli, folder, form):
    table = release(folder, form)
    answer = cli("estimate", os.path.relpath(table, folder))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == SHOWN
    assert max(map(len, answer.out.splitlines())) <= 80


SHOWN = """\
people: 800 records, perturbed one by one (epsilon 6, delta 1e-7)

region  share    95% interval  number  95% interval
──────  ─────  ──────────────  ──────  ────────────
=north  44.0%  39.7% to 48.4%     352    317 to 387
south   44.0%  39.7% to 48.4%     352    317 to 387
a\ufffd[31m  12.0%   8.0% to 16.0%      96     64 to 128

town, old  share    95% interval  number  95% interval
─────────  ─────  ──────────────  ──────  ────────────
yes        50.0%  43.8% to 56.2%     400    350 to 450
no         50.0%  43.8% to 56.2%     400    350 to 450

column   mean    95% interval        sum            95% interval
──────  ─────  ──────────────  ─────────  ──────────────────────
pay     2,020  1,824 to 2,217  1,616,234  1,459,416 to 1,773,052

region  town, old  share    95% interval  number  95% interval
──────  ─────────  ─────  ──────────────  ──────  ────────────
=north  yes        22.0%  15.4% to 28.7%     176    123 to 229
=north  no         22.0%  15.4% to 28.7%     176    123 to 229
south   yes        22.0%  15.4% to 28.7%     176    123 to 229
south   no         22.0%  15.4% to 28.7%     176    123 to 229
a\ufffd[31m  yes         6.0%   0.7% to 11.3%      48       6 to 91
a\ufffd[31m  no          6.0%   0.7% to 11.3%      48       6 to 91

95% interval: noise only, for the records of this table
shares below 0 or above 100% are due to noise; cutting them off would bias sums
a record without a label was given a random one, each equally likely
the intervals are for the labels after that step
means are of values clamped to the declared bounds
a record without pay counts as 2,500
"""


def test_json_says_what_the_report_says(cli, folder):
    table = release(folder)
    told = [cli("estimate", "--json", "out/people.csv").json]
    table.rename(folder / "people.csv")
    told.append(cli("estimate", "--json", "--report", "out/report.json", "people.csv").json)
    assert [each.pop("table") for each in told] == ["out/people.csv", "people.csv"]
    assert [each.pop("schema") for each in told] == ["dprelease/estimates/1"] * 2
    report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    assert told[0] == told[1] == report["perturb"][0]["estimates"]


def test_cross_tables_are_shown_when_asked_for(cli, folder):
    release(folder)
    one = cli("estimate", "out/people.csv", "--cross", "town, old,region")
    assert (one.code, one.err) == (0, "")
    assert "pay" not in one.out
    assert len([line for line in one.out.splitlines() if line.startswith(("yes", "no "))]) == 6
    both = cli("estimate", "--json", "out/people.csv", "--cross", "region,town, old",
               "--cross", "town, old,region")  # fmt: skip
    pairs = [each["columns"] for each in both.json["crosses"]]
    assert pairs == [["region", "town, old"], ["town, old", "region"]]
    cells = [each["cells"] for each in both.json["crosses"]]
    turned = {tuple(cell["labels"][::-1]): cell["number"] for cell in cells[1]}
    assert turned == pytest.approx({tuple(cell["labels"]): cell["number"] for cell in cells[0]})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("regoin,town, old", 'did you mean "region"?'),
        ("region,pay", 'column "pay" has no labels'),
        ("region,region", "crossed with itself"),
        ("region", "needs two columns"),
        ("region,zzz", "the columns with labels are: region, town, old"),
    ],
)
def test_columns_that_cannot_be_crossed_are_told(cli, folder, asked, said):
    release(folder)
    answer = cli("estimate", "out/people.csv", "--cross", asked)
    assert (answer.code, answer.out) == (2, "")
    assert "E835" in answer.err
    assert said in answer.err


def test_no_other_table_is_taken(cli, folder):
    table = release(folder)
    whole = table.read_bytes()
    told = {
        ("out/overall.csv",): "hint: dprelease show out",
        ("out/report.json",): "its tables are: people.csv",
        ("small.csv",): "E831",
        ("out",): "E830",
        ("nowhere.csv",): "E830",
        ("out/people.csv", "--report", "small.csv"): "E831",
        ("out/people.csv", "--report", "nowhere.json"): "E831",
    }
    for arguments, said in told.items():
        answer = cli("estimate", *arguments)
        assert (answer.code, answer.out) == (2, ""), arguments
        assert said in answer.err
    for changed in (whole + b"south,yes,5.00\n", whole[:-1], whole.replace(b"south", b"=north", 1)):
        table.write_bytes(changed)
        answer = cli("estimate", "out/people.csv")
        assert (answer.code, answer.out) == (2, "")
        assert "E833 out/people.csv is not the file that was released" in answer.err


def test_a_pipe_is_not_waited_for(cli, folder):
    release(folder).unlink()
    os.mkfifo(folder / "out" / "people.csv")
    assert cli("estimate", "out/people.csv").code == 2


def change_report(folder: Path, change: Any) -> None:
    path = folder / "out" / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    change(report)
    path.write_text(json.dumps(report), encoding="utf-8")


def test_a_report_of_something_else_is_refused(cli, folder):
    release(folder)
    change_report(folder, lambda report: report["perturb"][0].update(rows=5))
    answer = cli("estimate", "out/people.csv")
    assert (answer.code, answer.out) == (2, "")
    assert "E833 out/people.csv has 800 records, and its report says 5" in answer.err
    column = ("perturb", 0, "columns", 1)

    def relabelled(report: Any) -> None:
        report["perturb"][0]["columns"][1]["labels"]["labels"] = ["yes", "other"]

    change_report(folder, relabelled)
    answer = cli("estimate", "out/people.csv")
    assert answer.code == 2
    assert "E834 out/people.csv: row 2 has no value of town, old" in answer.err
    change_report(folder, lambda report: report.pop("perturb"))
    assert "E832" in cli("estimate", "out/people.csv").err
    for content in (b"", b"[" * 100_000, b"\xff", b"[]", b'{"schema": "dprelease/report/2"}'):
        (folder / "out" / "report.json").write_bytes(content)
        answer = cli("estimate", "out/people.csv")
        assert (answer.code, answer.out) == (2, ""), column
        assert "E831" in answer.err


def test_no_records_are_no_mistake(cli, folder):
    release(folder, rows=0)
    answer = cli("estimate", "out/people.csv")
    assert (answer.code, answer.out) == (0, "")
    assert "holds no records" in answer.err
    assert cli("estimate", "--json", "out/people.csv").json["frequencies"] == []
