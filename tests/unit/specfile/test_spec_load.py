"""What a good spec becomes."""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction

import pytest
import tomli

from dprelease.errors import ExitCode, Failure, Place
from dprelease.expressions import parse_tree
from dprelease.model import Adjacency, ColumnType, Expression, Grid
from dprelease.specfile import load

SPARK = 'engine = "spark"\n'


def test_the_simple_spec(good, tmp_path):
    release = good()
    assert release.about.name == "staff-pay-2026"
    assert release.data.source.pattern == str(tmp_path / "staff.csv")
    assert release.data.written_path == "staff.csv"
    assert release.data.source.dialect.null_values == ("",)
    assert release.privacy.adjacency is Adjacency.ADD_REMOVE
    assert release.privacy.epsilon == 1
    assert release.privacy.delta == 0
    assert release.ledger.path == str(tmp_path / "dprelease-ledger.sqlite")
    assert release.ledger.dataset == "staff.csv"
    assert release.ledger.epsilon_cap == 2
    assert release.output.path == str(tmp_path / "out" / "staff")
    assert release.output.interval == Fraction(19, 20)
    assert release.columns["salary"].grid == Grid(Fraction(1), 15_000, 120_000)
    headcount, mean = release.queries
    assert headcount.epsilon == Fraction(2, 5)
    assert headcount.table == mean.table == "by_region"
    assert headcount.groups[0].labels == ("north", "south", "east")
    assert (headcount.cells, headcount.number, mean.number) == (3, 0, 1)
    assert mean.column == release.columns["salary"]
    assert release.report_formats == ("html", "md", "json")
    assert release.warnings == ()


def test_places_of_the_release(good):
    release = good()
    file = release.file
    assert release.place("privacy.epsilon") == Place(file, 13, 11)
    assert release.place("query[1].epsilon") == Place(file, 40, 11)
    assert release.place("query[1].by[0]") == Place(file, 39, 7)
    assert release.place("columns.salary") == Place(file, 23, 1)
    assert release.place("ledger.delta_cap") == Place(file, 15, 1)
    assert release.place("report.formats") == Place(file, 1, 1)


def test_a_mapping_loads_as_the_file_does(good, simple, tmp_path):
    from_file = good()
    tree = tomli.loads(simple)
    from_mapping = load(tree, base=str(tmp_path))
    assert from_mapping.place("privacy.epsilon") is None
    for name in ("about", "data", "privacy", "ledger", "columns", "queries", "output"):
        assert getattr(from_mapping, name) == getattr(from_file, name)


def test_a_mapping_starts_at_the_current_directory(simple, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load(tomli.loads(simple)).output.path == str(tmp_path / "out" / "staff")


def test_floats_of_a_mapping_are_what_they_print_as(simple):
    tree = tomli.loads(simple)
    tree["privacy"] |= {"epsilon": 0.1, "delta": Fraction(1, 10**9)}
    tree["privacy"]["adjacency"] = Adjacency.ADD_REMOVE
    tree["query"][0]["by"] = ("region",)
    privacy = load(tree).privacy
    assert (privacy.epsilon, privacy.delta) == (Fraction(1, 10), Fraction(1, 10**9))


def test_mistakes_of_a_mapping_have_keys_but_no_places(simple):
    tree = tomli.loads(simple)
    tree["privacy"]["epsilon"] = float("nan")
    tree["query"][1]["column"] = object()
    with pytest.raises(Failure) as caught:
        load(tree)
    assert {(each.code, each.key, each.place) for each in caught.value.complaints} == {
        ("E203", "privacy.epsilon", None),
        ("E103", "query[1].column", None),
    }


def test_odd_mappings_are_refused():
    cyclic: dict[str, object] = {}
    cyclic["release"] = cyclic
    for tree, code in ((cyclic, "E004"), ({1: 2}, "E103"), ({"a\ud800": 1}, "E102")):
        with pytest.raises(Failure) as caught:
            load(tree)
        assert caught.value.exit_code is ExitCode.SPEC
        assert code in {each.code for each in caught.value.complaints}
        str(caught.value).encode()


def test_the_period_is_filled_in(good, tmp_path):
    edits = (
        ('path = "staff.csv"', 'path = "in/{period}/s.csv"\nsnapshot = "v{period}"'),
        ('path = "out/staff"', 'path = "out/{period}"'),
    )
    release = good(*edits, period="2026-01")
    assert release.data.written_path == "in/2026-01/s.csv"
    assert release.data.snapshot == "v2026-01"
    assert release.output.path == str(tmp_path / "out" / "2026-01")
    assert release.period == "2026-01"


def test_a_period_without_use_is_a_warning(good):
    assert [each.code for each in good(period="2026").warnings] == ["W204"]


@pytest.mark.parametrize("period", ["../x", "", "a/b", "a\x00", "x" * 101])
def test_unsafe_periods_are_refused(complaints, simple, period):
    found = complaints(simple.replace('"staff.csv"', '"{period}.csv"'), period=period)
    assert [each.code for each in found] == ["E226"]


def test_totals_may_be_left_out_when_every_query_has_its_own(good):
    assert good(("epsilon = 1.0\n", "")).privacy.epsilon is None


def test_rho_and_weights(good):
    release = good(
        ("epsilon = 1.0", "rho = 0.5"), ("epsilon = 0.4", "weight = 3"), ("epsilon = 0.6", "")
    )
    assert release.privacy.rho == Fraction(1, 2)
    assert [query.weight for query in release.queries] == [3, 1]


def test_a_gaussian_with_the_total_delta(good):
    release = good(
        ("epsilon = 1.0", "epsilon = 1\ndelta = 1e-9"),
        ("epsilon = 0.4", 'mechanism = "gaussian"\ndelta = 5e-10'),
    )
    assert release.queries[0].delta == Fraction(1, 2 * 10**9)


def test_warnings(load_text, simple):
    text = simple.replace("[ledger]\nepsilon_cap = 2.0\n", "")
    text = text.replace('unit_description = "one employee"\n', "")
    text = text.replace('source = "public: Regions Act 2004"\n', "")
    text = text.replace('"east"]', '"", " x", "east"]'.replace('"", ', '"NA", '))
    text = text.replace('"staff.csv"', '"staff.csv"\nnull_values = ["NA"]\nstrip = true')
    warnings = load_text(text).warnings
    assert {(each.code, each.key) for each in warnings} == {
        ("W201", "ledger"),
        ("W202", "privacy"),
        ("W203", "columns.region"),
        ("W205", "columns.region.keys[2]"),
        ("W205", "columns.region.keys[3]"),
    }
    assert all(each.hint and each.place for each in warnings)


def test_data_options(good):
    release = good(
        (
            'path = "staff.csv"',
            'path = "d/part-*.tsv"\nquote = ""\nencoding = "ISO-8859-1"\nnull_values = ["?", ""]\n'
            'header = false\nnames = ["region", "salary"]\nstrip = true',
        )
    )
    dialect = release.data.source.dialect
    assert (dialect.delimiter, dialect.quote, dialect.encoding) == ("\t", "", "latin-1")
    assert dialect.names == ("region", "salary")
    assert (dialect.header, dialect.strip, dialect.null_values) == (False, True, ("?", ""))
    assert release.ledger.dataset == "d"


@pytest.mark.parametrize(
    ("path", "extra", "kind", "dataset"),
    [
        ("a/b.PARQUET", "", "parquet", "b.PARQUET"),
        ("a/b.pq", "", "parquet", "b.pq"),
        ("a/b.txt", "", "csv", "b.txt"),
        ("a/b/", 'format = "csv"', "csv", "b"),
        ("a/*/x-?.csv", "", "csv", "a"),
        ("a/[0-9]", 'format = "parquet"', "parquet", "a"),
        ("s3://a/b.csv.gz?region=eu", SPARK, "csv", "b.csv.gz"),
        ("s3://a/b/?endpoint_override=http://c/d", f'{SPARK}format = "csv"', "csv", "b"),
        ("s3://a/b/*.pq?region=eu", SPARK, "parquet", "b"),
        ("gs://a/b*?c=d", f'{SPARK}format = "csv"', "csv", "a"),
        ("gs://a?c=d", f'{SPARK}format = "csv"', "csv", "a"),
    ],
)
def test_formats_and_data_set_names(good, path, extra, kind, dataset):
    release = good(('path = "staff.csv"', f'path = "{path}"\n{extra}'))
    assert (release.data.source.format, release.ledger.dataset) == (kind, dataset)


def test_a_histogram_groups_by_its_column(good):
    release = good(
        ('statistic = "count"', 'statistic = "histogram"\ncolumn = "salary"\nbins = [0, 10, 20]')
    )
    query = release.queries[0]
    assert [group.column for group in query.groups] == ["region", "salary"]
    assert query.groups[1].labels == ("[0, 10)", "[10, 20]")
    assert (query.table, query.cells) == ("by_region_salary", 6)


def test_expressions_go_through_the_whitelist(complaints, simple, good, monkeypatch):
    def spy(text, types, want):
        calls.append((text, dict(types), want))
        return parse_tree(text, types, want)

    calls = []
    monkeypatch.setattr("dprelease.expressions.parse_tree", spy)
    derived = '[columns.pay]\ntype = "integer"\nexpression = "salary * 2"\nlower = 0\nupper = 9\n'
    release = good(
        ("[output]", f"{derived}[output]"),
        ("epsilon = 0.4", 'epsilon = 0.4\nwhere = "salary > 5"'),
    )
    types = {"region": ColumnType.STRING, "salary": ColumnType.INTEGER}
    assert calls == [("salary * 2", types, "value"), ("salary > 5", types, "condition")]
    assert release.columns["pay"].expression == Expression("salary * 2", ("salary",))
    assert release.warnings == ()
    (found,) = complaints(simple.replace("epsilon = 0.4", 'epsilon = 0.4\nwhere = "1 < evil()"'))
    assert (found.code, found.key) == ("E215", "query[0].where")
    assert (found.place.line, found.place.column) == (34, 9)
    assert "at character 5" in found.message


def test_loading_is_fast(good):
    good()
    started = time.process_time()
    good()
    assert time.process_time() - started < 0.15


def test_loading_imports_no_engine(simple, tmp_path):
    file = tmp_path / "spec.toml"
    file.write_text(simple)
    program = (
        "import sys; import dprelease.specfile as s; "
        "light = 'dprelease.specfile.keys.section_reader' not in sys.modules; "
        "s.load(sys.argv[1]); heavy = {'duckdb', 'pyarrow', 'numpy', 'sqlglot', 'rich'}; "
        "sys.exit(bool(heavy & set(sys.modules)) or not light)"
    )
    assert subprocess.run([sys.executable, "-c", program, file], check=False).returncode == 0


def test_loading_imports_nothing_that_only_planning_or_mistakes_need(simple, tmp_path):
    file = tmp_path / "spec.toml"
    file.write_text(simple)
    program = (
        "import sys; before = set(sys.modules); import dprelease; dprelease.load(sys.argv[1]); "
        "late = {'dprelease.planning', 'dprelease.kernel.core', "
        "'dprelease.reports.facts', 'dprelease.reports.sections', "
        "'dprelease.kernel.certification', 'dprelease.kernel.privatization', "
        "'difflib', 'json', 'statistics', 'email', 'importlib.metadata', 'sqlite3'}; "
        "print(*sorted(late & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, file], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == ""
