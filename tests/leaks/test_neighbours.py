"""Of two neighbouring inputs nothing is left to see but the noised figures, for every statistic.

Once the noised figures of the one are put in the place of the other's, all that the two runs leave
must be the same, byte by byte: files, streams, exit code, ledger. What is computed, shown or stored
beside them can't depend on the data then, however it is made. With the noise that each run draws
itself, only the places that hold noised figures may differ.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli
from thorough import some
from world import HEADER, ROWS, Rows, Traces, World

from dprelease.output.read_back import read_table
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.report_formats import render_with_charts
from dprelease.statistics.statistic_registry import STATISTICS

SPECS = ["every_statistic_rows", "every_statistic_people"]


def vary(**cells: str) -> Rows:
    """The records, one of them changed for each of the columns named."""
    rows = [list(row) for row in ROWS]
    for at, (column, value) in enumerate(cells.items(), 7):
        rows[at][HEADER.index(column)] = value
    return rows


NEIGHBOURS: dict[str, Rows] = {
    "one less": ROWS[1:],
    "one twice": [*ROWS, ROWS[3]],
    "one at the upper bound": [*ROWS, ("P900", "2025-12-31", "north", "surgery", "cancer", "100",
                                       "true", "180", "2000", "5", "x")],
    "all null": [*ROWS, ("",) * 11],
    "nothing but a line": [*ROWS, ("junk",)],
    "no values": vary(cost="NaN", waiting_days="a lot", urgent="maybe", visit_date="2025-02-31",
                         age="1e999", patient_id=""),
    "out of range": vary(cost="-inf", waiting_days="-99999999999999999999999", age="400",
                            diagnosis="zebra fever", region="atlantis", visit_date="0001-01-01"),
    "odd bytes": vary(diagnosis='"asthma', region="no\0rth", department="sur\rgery",
                         note="first,visit", cost="1e400", patient_id="P" * 200_000),
}  # fmt: skip
# A person with all of the records in one cell, many times over: beyond every bound.
CROWD = [*ROWS, *(("P001", *ROWS[1][1:]),) * 30]


def iter_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from iter_leaves(each, f"{path}.{key}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from iter_leaves(each, f"{path}[{place}]")
    else:
        yield path, value


def find_differing(one: bytes, other: bytes) -> set[str]:
    """Paths of two JSON texts that hold different values, or are in one alone."""
    first, second = dict(iter_leaves(json.loads(one))), dict(iter_leaves(json.loads(other)))
    both = first.keys() | second.keys()
    return {path for path in both if first.get(path, ...) != second.get(path, ...)}


def render_page(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The report as a page, and its charts, from the other files of a release alone."""
    facts = json.loads(files["out/report.json"])
    names = [each["file"] for each in facts["tables"]]
    tables = {
        name: read_table(files[f"out/{name}"], name.rpartition(".")[2], each)
        for name, each in zip(names, facts["tables"], strict=True)
    }
    made = render_with_charts(read_report_json(facts), tables, ["html", "md"])
    return {f"out/{name}": content for name, content in made.items()}


def same_but_for_noise(one: Traces, other: Traces) -> None:
    """Compare all that two runs with noise of their own have left."""
    assert (one.code, one.out, one.modes) == (other.code, other.out, other.modes)
    of_figures = re.compile("note: (Every figure|Every name|No key)")
    notes = [
        [line for line in each.err.splitlines() if not of_figures.match(line)]
        for each in (one, other)
    ]
    assert notes[0] == notes[1]
    for name, content in one.files.items():
        beside = other.files[name]
        if name.endswith(".csv"):
            same_table(content.decode(), beside.decode(), public="written" not in name)
        elif name.endswith("report.json"):
            assert all(
                path.startswith(".provenance.files.")
                or path.startswith(".notes[")
                or re.fullmatch(r"\.tables\[\d+\]\.rows", path)  # of private keys
                for path in find_differing(content, beside)
            )
        elif name.endswith("datapackage.json"):
            kinds = {path.rpartition(".")[2] for path in find_differing(content, beside)}
            assert kinds <= {"bytes", "hash"}
        elif name.endswith(("report.html", "report.md")):
            for each in (one, other):  # a function of report.json and the tables, and no more
                made = render_page(each.files)
                assert made == {path: each.files[path] for path in made}
                assert {path for path in each.files if path.endswith(".vl.json")} < made.keys()
        elif name.endswith(".vl.json"):
            assert "out/report.html" in one.files  # compared with it
        else:
            lines = [set(each.decode().splitlines()) for each in (content, beside)]
            prose = [line for line in lines[0] ^ lines[1] if not line.startswith("|")]
            assert [line for line in prose if not of_figures.search(f"note: {line}")] == []
    charges = [[row for row in each.entries if row[1] == "charge"] for each in (one, other)]
    assert charges[0] == charges[1]
    ours, theirs = ([row[:4] for row in each.entries] for each in (one, other))
    assert ours == theirs
    seals = [[json.loads(row[4]) for row in each.entries if row[1] == "seal"]
             for each in (one, other)]  # fmt: skip
    assert {tuple(seal) for each in seals for seal in each} == {("sha256", "size")}
    payloads = [json.loads(each.payloads[0]) for each in (one, other)]
    fixed = [{key: each[key] for key in each if key != "values"} for each in payloads]
    assert fixed[0] == fixed[1]
    shapes = [
        {name: [len(row) for row in rows] for name, rows in each["values"].items()}
        for each in payloads
    ]
    assert shapes[0] == shapes[1]


KEYS = ("region", "department", "age", "urgent")
SUMS = (
    "visits", "patients", "units", "cost", "visits_by_age", "days_with_visits", "visits_crossed",
    "visits_up_to_age",
)  # fmt: skip
EXACT_WIDTHS = [f"{each}_noise_moe" for each in SUMS]


def same_table(one: str, other: str, *, public: bool) -> None:
    """The same header; of public keys also the same rows in order, and half-widths of sums."""
    first, second = (list(csv.reader(io.StringIO(each))) for each in (one, other))
    assert first[0] == second[0]
    if not public:
        return
    assert len(first) == len(second)
    for place, name in enumerate(first[0]):
        if name in KEYS or name in EXACT_WIDTHS:
            assert [row[place] for row in first] == [row[place] for row in second], name


@pytest.mark.parametrize("name", SPECS)
def test_the_specs_hold_every_statistic(name: str, tmp_path: Path) -> None:
    world = World(tmp_path, name)
    world.write_spec()
    spec = tomli.loads(world.spec.read_text(encoding="utf-8"))
    assert {each["statistic"] for each in spec["query"]} == set(STATISTICS)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SPECS)
def test_the_same_noised_figures_leave_the_same_traces(name: str, tmp_path: Path) -> None:
    world = World(tmp_path, name, engine="reference")
    world.write_spec()
    world.write(ROWS)
    expected = world.run()
    assert expected.code == 0
    tables = [path for path in expected.files if "/figures/" not in path]
    assert len(tables) == 14
    drawn = world.drawn
    exact = set()
    all_neighbours = {**NEIGHBOURS, "a crowd": CROWD}
    moving = ("one less", "all null", "out of range")
    chosen = {*moving, *some([*all_neighbours], 5)}
    for what in (what for what in all_neighbours if what in chosen):
        world.write(all_neighbours[what])
        world.replayed = ()
        if what in moving:
            own = world.run()
            same_but_for_noise(expected, own)
            exact.add(own.payloads[0])
        world.replayed = drawn
        assert world.run() == expected, what
    assert len(exact) > 2  # the data did matter to the figures


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "reads", "writes", "what"),
    [
        ("every_statistic_rows", "csv", "csv", "odd bytes"),
        ("every_statistic_rows", "parquet", "parquet", "all null"),
        ("every_statistic_people", "csv", "parquet", "out of range"),
    ],
)
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_the_same_of_the_engines_that_people_use(
    engine: str, name: str, reads: str, writes: str, what: str, tmp_path: Path
) -> None:
    world = World(tmp_path, name, engine, reads=reads, writes=writes)
    world.write_spec()
    world.write(ROWS)
    expected = world.run()
    assert expected.code == 0
    world.replayed = world.drawn
    world.write(NEIGHBOURS[what])
    assert world.run() == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("engine", "rows"), [("reference", ROWS[:1]), ("reference", []), ("duckdb", [])]
)
def test_an_empty_table_is_released_as_any_other(engine: str, rows: Rows, tmp_path: Path) -> None:
    world = World(tmp_path, "every_statistic_people", engine=engine)
    world.write_spec()
    world.write(ROWS[:2])
    expected = world.run()
    assert expected.code == 0
    world.replayed = world.drawn
    world.write(rows)
    assert world.run() == expected


@pytest.mark.thorough
@pytest.mark.parametrize("name", SPECS)
def test_the_order_of_records_is_not_to_be_seen(name: str, tmp_path: Path) -> None:
    """With the same random bytes, records in another order give the same files, on any engine."""
    world = World(tmp_path, name)
    world.write_spec()
    world.write(ROWS)
    expected = world.run()
    assert expected.code == 0
    world.write(ROWS[::-1])
    assert world.run() == expected
    world.engine = "reference"
    world.write([*ROWS[1::2], *ROWS[::2]])
    assert world.run() == expected


def test_the_comparison_sees_what_it_is_for(tmp_path: Path) -> None:
    """A run that tells how many records there are is told apart from its neighbour's."""
    world = World(tmp_path, engine="reference")
    world.write_spec()
    world.write(ROWS)
    honest = world.run()
    world.replayed = world.drawn
    for name, old, new in (
        ("out/report.json", b'"notes": [', b'"records": 40, "notes": ['),
        ("out/report.md", b"\n", b"\n40 records\n"),
        ("out/report.html", b"</main>", b"40 records</main>"),
        ("out/by_region.csv", b"north", b"North"),
        ("out/datapackage.json", b'"name"', b'"rows": 40, "name"'),
    ):
        assert old in honest.files[name]
        files = {**honest.files, name: honest.files[name].replace(old, new, 1)}
        leaky = Traces(**{**vars(honest), "files": files})
        assert leaky != honest
        with pytest.raises(AssertionError):
            same_but_for_noise(honest, leaky)
