"""Files of public values are told: which, of what column or query, and that they are published."""

import hashlib

import jsonschema
import pytest
from pages import describe_in_json, plan_page, write_files
from report_specs import spec

from dprelease.ledger.identity import run_id
from dprelease.planning.planner import make_plan
from dprelease.release.saved_plan import compute_plan_digest
from dprelease.reports.model.json_form import build_report_schema
from dprelease.reports.plan_facts import describe
from dprelease.reports.rerender import rerender
from dprelease.specfile import load

BEST = {
    "name": "price",
    "statistic": "best",
    "score": "CASE WHEN days <= candidate THEN 1 ELSE 0 END",
    "score_upper": 1,
    "candidates_file": "in/prices.txt",
}
KEYS, PRICES = b"\xef\xbb\xbfnorth\r\n\r\nsouth\r\n", b"1\n2\n30\n"


@pytest.fixture
def make(tmp_path):
    """Plan a spec with two lists in files; every time in a folder of its own."""
    made = []

    def plan(keys=KEYS, name="regions.txt", allow=False):
        folder = tmp_path / str(len(made))
        (folder / "in").mkdir(parents=True)
        made.append(folder)
        (folder / "in" / "prices.txt").write_bytes(PRICES)
        (folder / name).write_bytes(keys)
        content = spec({"name": "n", "statistic": "count", "by": ["region"]}, BEST)
        content["columns"]["region"] = {"type": "string", "keys_file": name, "source": "map"}
        return make_plan(load(content, base=str(folder), allow_outside_lists=allow))

    return plan


def compute_sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_every_form_of_the_report_names_them(make, published, tmp_path):
    made = published(make(), 3)
    assert made.report["lists"] == [
        {
            "key": "keys_file",
            "name": "region",
            "file": "regions.txt",
            "lines": "each is published, as a label",
            "sha256": compute_sha256(KEYS),
        },
        {
            "key": "candidates_file",
            "name": "price",
            "file": "in/prices.txt",
            "lines": "each may be published, as what the query chooses",
            "sha256": compute_sha256(PRICES),
        },
    ]
    schema = build_report_schema()
    checked = jsonschema.Draft202012Validator(schema)
    assert list(checked.iter_errors(made.report)) == []
    assert list(checked.iter_errors({**made.report, "lists": []}))
    page, markdown = made.files["report.html"].decode(), made.files["report.md"].decode()
    for each in made.report["lists"]:
        for text in (each["file"], f"{each['key']} of {each['name']}", each["lines"]):
            assert text in page
            assert text in markdown
        assert each["sha256"] in page
        assert each["sha256"] in markdown
    write_files(made, tmp_path)
    assert rerender(str(tmp_path), "html") == made.files["report.html"]


def test_no_list_no_word(planned, published):
    made = published(planned({"statistic": "count", "by": ["region"]}), 3)
    assert "lists" not in made.report
    for name in ("report.html", "report.md", "report.json"):
        assert "read from files" not in made.files[name].decode()


def test_the_plan_names_them(make):
    plan = make()
    told = describe(plan)
    assert told["lists"] == describe_in_json(plan)["lists"]
    page = plan_page(plan)
    assert compute_sha256(KEYS) in page


def test_what_a_release_is_does_not_depend_on_where_a_list_lies(make):
    first, moved, other = make(), make(name="../elsewhere.txt", allow=True), make(b"north\n")
    assert run_id(first.release) == run_id(moved.release)
    assert run_id(first.release) != run_id(other.release)
    rewritten = make(b"north\nsouth\n")
    assert run_id(first.release) == run_id(rewritten.release)
    assert len({compute_plan_digest(plan) for plan in (first, make())}) == 1
    assert len({compute_plan_digest(plan) for plan in (first, moved, rewritten)}) == 3
