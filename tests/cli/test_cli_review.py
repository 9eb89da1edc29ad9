"""A review from the plan to the publication: who approved which digest, and what is run of it."""

import json
from importlib.metadata import PackageNotFoundError

from dprelease.release.payload import list_versions

REVIEW = """
[review]
reviewer = "A. Person"
role = "data protection officer"

[review.attestations]
side_channels = "Runs start at night, and nobody watches them."
"""
DECIDED = """reviewer = "A. Person"
decision = "approved"
date = 2026-03-31
reference = "file 12/2026"
"""
END = ('[output]\npath = "out"\n', f'[output]\npath = "out"\n{REVIEW}')


def report(folder):
    return json.loads((folder / "out" / "report.json").read_text())


def test_the_digest_that_was_signed_stands_in_what_is_published(cli, folder, spec):
    spec(END)
    assert cli("plan", "-q", "-o", "plan.json", "--html", "plan.html", "small.toml").code == 0
    digest = json.loads((folder / "plan.json").read_text())["digest"]
    planned = (folder / "plan.html").read_text()
    assert digest in planned
    assert "All releases with this one, if nothing else is charged before" in planned
    # the decision comes after the plan, and leaves it as it is
    spec(END, ('reviewer = "A. Person"\n', DECIDED))
    answer = cli("run", "-q", "--plan", "plan.json", "small.toml")
    assert answer.code == 0, answer.err
    assert report(folder)["provenance"]["plan"] == digest
    assert report(folder)["review"]["decision"] == "approved"
    page = (folder / "out" / "report.html").read_text()
    assert digest in page
    assert "A. Person, data protection officer; approved on 31 March 2026" in page
    # and also where the files are written again, without the plan
    assert cli("run", "-q", "small.toml").code == 0
    assert report(folder)["provenance"]["plan"] == digest


def test_another_review_is_the_same_release_at_no_cost(cli, folder, spec):
    assert cli("run", "-q", "small.toml").code == 0
    figures, run = (folder / "out" / "by_region.csv").read_bytes(), report(folder)
    spec(END)
    answer = cli("run", "small.toml")
    assert "nothing was spent" in answer.out
    assert (folder / "out" / "by_region.csv").read_bytes() == figures
    again = report(folder)
    assert again["provenance"]["run_id"] == run["provenance"]["run_id"]
    assert again["ledger"] == run["ledger"]
    assert again["review"]["reviewer"] == "A. Person"
    (row,) = [row for row in again["hazards"] if row["hazard"] == "side channels"]
    assert row["status"] == "stated"


def test_an_installation_without_its_metadata_charges_nothing(probe, cli, folder):
    def miss(name):
        raise PackageNotFoundError(name)

    list_versions.cache_clear()
    answer = probe("importlib.metadata.version", miss, "run", "small.toml")
    assert (answer.code, answer.out) == (2, "")
    assert "E321 the installation has no metadata of the package" in answer.err
    assert cli("run", "-q", "small.toml").code == 0
    assert len(report(folder)["ledger"]["history"]) == 1
