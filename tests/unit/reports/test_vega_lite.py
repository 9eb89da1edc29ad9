"""Each figure's Vega-Lite specification is published beside it, and draws what the file holds."""

import csv
import hashlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import vl_convert
from report_specs import records_spec, spec
from thorough import is_thorough

import dprelease
from dprelease.planning.planner import make_plan
from dprelease.reports.sections.overview_section import LABEL_FILE
from dprelease.specfile import load

ROOT = Path(__file__).resolve().parents[3]
SPECS = ("clinic_finished", "every_statistic_rows", "clinic_visits", "clinic_parquet")


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    shutil.copytree(
        ROOT / "release_specs", folder / "specs", ignore=shutil.ignore_patterns("*.sqlite*")
    )
    for name in SPECS:
        dprelease.run(folder / "specs" / f"{name}.toml", output=folder / name)
    return [folder / name for name in SPECS]


def number(cell):
    return float(cell) if cell else None


def list_rows(data, place):
    """The rows that a specification draws: of the file that its relative path names, or its own."""
    if "values" in data:
        return data["values"]
    file = (place.parent / data["url"]).resolve()
    assert file.parent == place.parent.parent
    with file.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    types = data["format"]["parse"]
    assert set(types) <= set(rows[0])
    return [
        {name: number(cell) if types.get(name) == "number" else cell for name, cell in row.items()}
        for row in rows
    ]


def marks(spec, rows):
    """How many marks of each kind a renderer draws."""
    inline = json.dumps({**spec, "data": {"values": rows}})
    svg = vl_convert.vegalite_to_svg(inline, vl_version="5.20")
    return Counter(re.findall('aria-roledescription="([^"]*)"', svg))


def list_figures_drawn(layers):
    """The columns of figures that the last layers draw."""
    encodings = [layer["encoding"] for layer in layers]
    fields = [
        part["field"] for encoding in encodings for part in encoding.values() if "field" in part
    ]
    types = [part.get("type") for encoding in encodings for part in encoding.values()
             if "field" in part]  # fmt: skip
    return [
        field
        for field, kind in zip(fields, types, strict=True)
        if kind == "quantitative" and field not in {"interval low", "interval high"}
    ]


def test_each_figure_is_rendered_from_the_file_beside_it(releases):
    kinds = Counter()
    for release in releases:
        files = sorted((release / "figures").glob("*.vl.json"))
        assert files
        for file in files:
            spec = json.loads(file.read_text(encoding="utf-8"))
            rows = list_rows(spec["data"], file)
            layers = spec.get("spec", spec)["layer"]
            mark = layers[-1]["mark"]
            kind = mark if isinstance(mark, str) else mark["type"]
            if kinds[kind] == (100 if is_thorough() else 1):
                continue
            drawn = marks(spec, rows)
            if kind == "rect":
                assert drawn["rect mark"] == len(rows)
            else:
                names = dict.fromkeys(list_figures_drawn(layers if kind == "tick" else layers[-1:]))
                there = sum(row[name] is not None for name in names for row in rows)
                assert drawn[kind] == there > 0, file.name
                if not kinds[kind]:
                    assert marks(spec, rows[:1])[kind] < there
            kinds[kind] += 1
    assert set(kinds) == {"point", "tick", "rect"}


def test_specifications_are_listed_with_their_hash_and_hold_what_the_page_draws(releases):
    for release in releases:
        listed = json.loads((release / "datapackage.json").read_text())["resources"]
        hashes = {each["path"]: each["hash"] for each in listed}
        files = {f"figures/{each.name}": each for each in (release / "figures").iterdir()}
        assert {path for path in hashes if path.startswith("figures/")} == set(files)
        page = (release / "report.html").read_text(encoding="utf-8")
        assert sorted(re.findall('href="(figures/[^"]*)"', page)) == sorted(files)
        for path, file in files.items():
            content = file.read_bytes()
            assert hashes[path] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            if path == LABEL_FILE:
                continue
            (kind,) = [each["mediatype"] for each in listed if each["path"] == path]
            assert kind == "application/vnd.vegalite.v5+json"


def test_a_parquet_table_is_drawn_from_values_in_the_specification(releases):
    (file, *_) = sorted((releases[-1] / "figures").iterdir())
    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    assert "url" not in data
    assert len(data["values"]) > 1


def draw_text(publication, name):
    """All texts of a chart that reads the published file."""
    chart = json.loads(publication.files[f"figures/{name}.vl.json"])
    table = publication.files[chart["data"]["url"].removeprefix("../")].decode()
    inline = {"values": table, "format": chart["data"]["format"]}
    svg = vl_convert.vegalite_to_svg(json.dumps({**chart, "data": inline}), vl_version="5.20")
    return re.sub("\u00a0", " ", " ".join(re.findall("<text[^>]*>([^<]*)</text>", svg)))


KEYS = ["north", "south", "=1+1", "constructor"]
MONTHS = ["2025-01-01", "2025-02-01", "2025-03-01", "2025-04-01"]


@pytest.mark.parametrize(
    ("by", "shown"),
    [
        (["region"], ["The North", "South", "=1+1", "constructor", "Visits (visits)"]),
        (["age"], ["0 to 17", "18 to 64", "65 to 120", "Age of people", "Visits (visits)"]),
        (["day"], ["Jan 2025", "Feb 2025", "Mar 2025"]),
        (["region", "age"], ["The North", "South", "18 to 64", "Region of people", "constructor"]),
        (["urgent", "region", "age"], ["false", "true", "constructor \u00b7 0 to 17"]),
    ],
)
def test_a_chart_says_what_people_read(by, shown, published):
    made = spec({"statistic": "count", "by": by, "title": "Visits", "unit": "visits"})
    labels = {"north": "The North", "south": "South"}
    made["columns"] |= {
        "region": {"type": "string", "keys": KEYS, "labels": labels, "label": "Region of people"},
        "age": {"type": "integer", "bins": [0, 18, 65, 120], "label": "Age of people"},
        "day": {"type": "date", "bins": MONTHS},
    }
    text = draw_text(published(make_plan(load(made))), f"by_{'_'.join(by)}.q")
    for words in shown:
        assert words in text
    assert sorted(shown[:2], key=text.index) == shown[:2], "in the order of the table"
    for key in ("north", "[0, 18)", "[2025-01-01", "'=1+1"):
        assert key not in text


def test_estimates_from_records_have_a_chart_of_their_own(published):
    made = records_spec({"columns": ["region", "job"]}, {"name": "ages", "columns": ["age"]})
    publication = published(make_plan(load(made)))
    files = sorted(file for file in publication.files if file.endswith(".vl.json"))
    assert files == [
        f"figures/{name}.vl.json" for name in ("ages.age", "records.job", "records.region")
    ]
    chart = json.loads(publication.files["figures/records.region.vl.json"])
    (facts,) = [
        each
        for table in publication.report["perturb"]
        for each in table["estimates"]["frequencies"]
        if each["column"] == "region"
    ]
    assert chart["data"]["values"] == [
        {
            "label": cell["label"],
            "share": pytest.approx(100 * cell["share"]),
            "share_low": pytest.approx(100 * cell["share_lower"]),
            "share_high": pytest.approx(100 * cell["share_upper"]),
        }
        for cell in facts["labels"]
    ]
    assert marks(chart, chart["data"]["values"])["point"] == 2
