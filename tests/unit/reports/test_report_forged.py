"""A report.json that somebody has written, together with its hash in datapackage.json."""

import copy
import json
import math
import os
from contextlib import suppress

import pytest
from pages import forge_report, write_files

from dprelease.errors import Failure
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.rerender import rerender

# A PDF is the HTML page laid out, which takes seconds and asks nothing more of the facts.
CHEAP = [name for name, form in REPORT_FORMATS.items() if not form.extra]


@pytest.fixture
def forged(planned, published, tmp_path):
    """Write a release of which one fact of the report is another."""
    made = published(planned({"name": "visits", "statistic": "count", "by": ["region"]}), 7)
    write_files(made, tmp_path)

    def write(path, value):
        facts = copy.deepcopy(made.report)
        inner = facts
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        forge_report(tmp_path, json.dumps(facts).encode())
        return str(tmp_path)

    return write


FORGED = [
    (("provenance", "interval"), "nearly"),
    (("provenance", "interval"), [None]),
    (("queries", 0, "delta"), []),
    (("queries", 0, "granularity"), "9" * 500),
    (("queries", 0, "granularity"), 10**400),
    (("meaning", "beliefs", 0, "rows"), {}),
    (("meaning", "beliefs", 0, "rows", 0, "posterior_low"), "\ud800"),
    (("hazards", 0), {}),
    (("tables", 0, "file"), "a\0b"),
    (("tables", 0, "file"), ".."),
    (("tables", 0, "columns"), []),
    (("tables",), [5]),
]


@pytest.mark.parametrize(("path", "value"), FORGED, ids=str)
def test_what_no_report_holds_is_refused_and_no_bug(forged, path, value):
    folder = forged(path, value)
    with pytest.raises(Failure) as refused:
        rerender(folder, "html")
    assert refused.value.exit_code == 2
    for form in CHEAP:  # some hold less; nothing but a Failure may be raised
        with suppress(Failure):
            rerender(folder, form)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_refused(forged, value):
    folder = forged(("queries", 0, "epsilon"), value)
    for form in CHEAP:
        with pytest.raises(Failure) as refused:
            rerender(folder, form)
        assert refused.value.complaints[0].message.endswith("report.json is not JSON")


def test_the_sound_one_is_rendered(forged):
    assert rerender(forged(("deployment", "basic", "title"), "Other"), "html")


def test_markdown_moves_no_cursor(forged):
    page = rerender(forged(("deployment", "basic", "title"), "a\x1b[2J\x9bb\n\u202ec"), "md")
    assert page.decode().startswith("# a\ufffd\\[2J\ufffdb \ufffdc\n")


def test_pipes_are_not_waited_for(forged):
    folder = forged(("schema",), "dprelease/report/1")
    for file in ("by_region.csv", "datapackage.json", "report.json"):
        os.unlink(os.path.join(folder, file))
        os.mkfifo(os.path.join(folder, file))
        with pytest.raises(Failure):
            rerender(folder, "md")
