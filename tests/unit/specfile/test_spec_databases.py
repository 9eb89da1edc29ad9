"""Tables of databases in a spec: which keys belong together, and what a name of a table is."""

from __future__ import annotations

import pytest
from builders import edit

from dprelease.errors import Failure
from dprelease.ledger.identity import run_id
from dprelease.model import Database
from dprelease.release.plan import plan_and_certify
from dprelease.release.saved_plan import compute_plan_digest

SPEC = """\
schema = 1
[release]
name = "staff"
[data]
format = "adbc"
driver = "sqlite"
uri_env = "STAFF_URI"
table = "hr.staff"
[privacy]
unit = "row"
unit_description = "one employee"
adjacency = "add-remove"
[ledger]
dataset = "staff"
epsilon_cap = 2.0
[columns.region]
type = "string"
keys = ["north", "south"]
source = "public: map"
[[query]]
name = "headcount"
statistic = "count"
by = ["region"]
epsilon = 0.4
[output]
path = "out"
"""


@pytest.fixture
def made(load_text):
    return lambda *edits, period=None: load_text(edit(SPEC, *edits), period)


def test_a_table(made):
    release = made()
    assert release.data.source.database == Database("sqlite", "STAFF_URI", ("hr", "staff"))
    assert release.data.written_path == "hr.staff"
    assert release.data.source.remote
    assert release.warnings == ()


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("staff", ("staff",)),
        ("Two words.x-y", ("Two words", "x-y")),
        ("'\"a.b\".c'", ("a.b", "c")),
        ('\'a."b""c"\'', ("a", 'b"c')),
        ("'t; DROP TABLE t'", ("t; DROP TABLE t",)),
    ],
)
def test_names_of_tables(written, names, made):
    quoted = written if written[0] == "'" else f'"{written}"'
    database = made(('"hr.staff"', quoted)).data.source.database
    assert database is not None
    assert database.table == names


def test_a_period_in_the_name(made):
    release = made(('"hr.staff"', '"hr.staff_{period}"'), period="2026-01")
    assert release.data.source.database is not None
    assert release.data.source.database.table == ("hr", "staff_2026-01")
    text = 'dataset = "staff"\ndisjoint_periods = true'
    with pytest.raises(Failure):
        made(('dataset = "staff"', text))


def test_what_is_the_same_release_and_what_an_approval_holds(made):
    """The table and the kind of database are a release's; an approval also holds to the place."""
    release = made()
    for old, new, same in (
        ('"hr.staff"', '"hr.staff2"', False),
        ('"sqlite"', '"postgresql"', False),
        ('"STAFF_URI"', '"OTHER_URI"', True),
    ):
        other = made((old, new))
        assert (run_id(other) == run_id(release)) is same
        plans = (plan_and_certify(each).plan for each in (release, other))
        assert compute_plan_digest(next(plans)) != compute_plan_digest(next(plans))


def test_a_sheet_is_of_a_workbook(made):
    place = "".join(f"{line}\n" for line in SPEC.splitlines()[4:8])
    release = made((place, 'path = "t.xlsx"\nsheet = "Data"\n'))
    assert release.data.source.format == "xlsx"
    assert release.data.source.own == (("sheet", "Data"),)
    other = made((place, 'path = "t.xlsx"\nsheet = "More"\n'))
    assert run_id(other) != run_id(release)
