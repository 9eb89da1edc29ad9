"""The run id changes with everything that changes released numbers, and with nothing else."""

import hashlib
import json
from fractions import Fraction

import builders
import pytest
from msgspec import Struct
from msgspec.structs import replace

from dprelease.errors import Complaint, Place
from dprelease.ledger.identity import LEFT_OUT, build_canonical_form, run_id, write_canonical_json
from dprelease.model import (
    About,
    Accuracy,
    Adjacency,
    Bounding,
    Candidates,
    Clip,
    ClipNorm,
    Column,
    ColumnNames,
    ColumnType,
    CurveAxis,
    Data,
    Dialect,
    Expression,
    Finish,
    Grid,
    Group,
    KeySelection,
    LedgerSettings,
    ListFile,
    Mechanism,
    Names,
    Output,
    Part,
    Perturb,
    PerturbedColumn,
    Privacy,
    Quantity,
    Query,
    Release,
    Review,
    Source,
)
from dprelease.model.source_registry import SOURCES
from dprelease.specfile import load

REGION = Group("region", ColumnType.STRING, ("n", "s"), keys=("n", "s"))
COLUMN = Column("pay", ColumnType.INTEGER, grid=Grid(Fraction(1, 2), 0, 20))
BASE = Release(
    file="/a/spec.toml",
    about=About("pay"),
    data=Data(Source("/a/pay.csv", "csv"), "pay.csv"),
    privacy=Privacy("row", Adjacency.ADD_REMOVE, epsilon=Fraction(1)),
    ledger=LedgerSettings("/a/ledger.sqlite", "payroll"),
    columns={"region": Column("region", ColumnType.STRING, keys=("n", "s")), "pay": COLUMN},
    queries=(
        Query("head", "count", "by_region", (REGION,)),
        Query("total", "sum", "overall", column=COLUMN, number=1),
    ),
    output=Output("/a/out"),
)


def changed(**changes: object) -> Release:
    return replace(BASE, **changes)


def with_data(**changes: object) -> Release:
    return changed(data=replace(BASE.data, **changes))


def with_source(**changes: object) -> Release:
    return with_data(source=replace(BASE.data.source, **changes))


def with_dialect(**changes: object) -> Release:
    return with_source(dialect=replace(Dialect(), **changes))


def with_privacy(**changes: object) -> Release:
    return changed(privacy=replace(BASE.privacy, **changes))


def with_column(name: str, **changes: object) -> Release:
    return changed(columns={**BASE.columns, name: replace(BASE.columns[name], **changes)})


def with_query(at: int, **changes: object) -> Release:
    queries = list(BASE.queries)
    queries[at] = replace(queries[at], **changes)
    return changed(queries=tuple(queries))


def with_group(**changes: object) -> Release:
    return with_query(0, groups=(replace(REGION, **changes),))


def with_pay(**changes: object) -> Release:
    return with_query(1, column=replace(COLUMN, **changes))


WHERE = Expression("pay > 3", ("pay",))
CANDIDATES = Candidates(
    ("1", "2"), ColumnType.INTEGER, Expression("pay * candidate", ("pay",)), Grid(Fraction(1), 0, 9)
)

CURVE = CurveAxis(COLUMN, (Fraction(1),), Fraction(1), (Fraction(1),))

CHANGES = {
    "rehearsal": changed(rehearsal=True),
    "release name": changed(about=About("pay-2")),
    "norm of totals": with_query(1, clip=Clip(ClipNorm.L1, 5)),
    "bound of that norm": with_query(1, clip=Clip(ClipNorm.L1, 6)),
    "kind of norm": with_query(1, clip=Clip(ClipNorm.L2, 5)),
    "survey weight": with_query(0, survey_weight=COLUMN),
    "key of a new statistic": with_query(0, own=Accuracy(Fraction(1), Fraction(1, 2))),
    "value of that key": with_query(0, own=Accuracy(Fraction(2), Fraction(1, 2))),
    "dataset": changed(ledger=LedgerSettings("/a/ledger.sqlite", "other")),
    "period": changed(period="2026"),
    "written path": with_data(written_path="pay-2.csv"),
    "snapshot": with_data(snapshot="v1"),
    "format": with_source(format="parquet"),
    "delimiter": with_dialect(delimiter=";"),
    "quote": with_dialect(quote="'"),
    "decimal mark": with_dialect(decimal=","),
    "mark of thousands": with_dialect(thousands="'"),
    "lines of a record": with_dialect(max_lines=2),
    "lines before the header": with_dialect(skip_rows=1),
    "a field without a name": with_dialect(unnamed_field="first"),
    "encoding": with_dialect(encoding="latin-1"),
    "null values": with_dialect(null_values=("", "?")),
    "header": with_dialect(header=False),
    "names": with_dialect(names=("region", "pay")),
    "strip": with_dialect(strip=True),
    "sheet of a workbook": with_source(own=(("sheet", "Data"),)),
    "unit": with_privacy(unit="column"),
    "adjacency": with_privacy(adjacency=Adjacency.REPLACE_ONE),
    "epsilon": with_privacy(epsilon=Fraction(11, 10)),
    "delta": with_privacy(delta=Fraction(1, 10**6)),
    "rho": with_privacy(rho=Fraction(1, 2)),
    "accounting": with_privacy(accounting="zcdp"),
    "column type": with_column("pay", type=ColumnType.DECIMAL),
    "column grid": with_column("pay", grid=Grid(Fraction(1, 2), 0, 21)),
    "column step": with_column("pay", grid=Grid(Fraction(1, 4), 0, 20)),
    "column keys": with_column("region", keys=("s", "n")),
    "column edges": with_column("pay", edges=("0", "1")),
    "column other": with_column("region", other="rest"),
    "format of a date": with_column("pay", format="%d.%m.%Y"),
    "zone of a column": with_column("pay", zone="Europe/Berlin"),
    "column nulls": with_column("pay", null_value="0"),
    "nulls stated": with_column("pay", nulls_stated=True),
    "column expression": with_column("pay", expression=WHERE),
    "state of a field": with_column("pay", expression=replace(WHERE, state_of=COLUMN)),
    "column added": changed(columns={**BASE.columns, "x": Column("x", ColumnType.STRING)}),
    "query name": with_query(0, name="heads"),
    "query statistic": with_query(1, statistic="mean"),
    "query table": with_query(0, table="t"),
    "query groups": with_query(0, groups=()),
    "query column": with_pay(null_value="0"),
    "query column grid": with_pay(grid=Grid(Fraction(1, 2), 0, 22)),
    "query where": with_query(0, where=WHERE),
    "query epsilon": with_query(0, epsilon=Fraction(1, 3)),
    "query delta": with_query(0, delta=Fraction(1, 3)),
    "query rho": with_query(0, rho=Fraction(1, 3)),
    "query weight": with_query(0, weight=Fraction(2)),
    "query accuracy": with_query(0, accuracy=Accuracy(Fraction(10), Fraction(19, 20))),
    "accuracy within": with_query(0, accuracy=Accuracy(Fraction(9), Fraction(19, 20))),
    "accuracy level": with_query(0, accuracy=Accuracy(Fraction(10), Fraction(9, 10))),
    "accuracy records": with_query(0, accuracy=Accuracy(Fraction(10), Fraction(19, 20), 9)),
    "query mechanism": with_query(0, mechanism="laplace"),
    "query dropped": changed(queries=BASE.queries[:1]),
    "group labels": with_group(labels=("n", "s", "rest")),
    "group keys": with_group(keys=("s", "n")),
    "group edges": with_group(edges=("0", "1")),
    "group other": with_group(other="s"),
    "group null label": with_group(null_label="s"),
    "group private": with_group(private=True),
    "unit column": with_privacy(unit_column="person"),
    "bounding": with_privacy(bounding=Bounding(3, 2, 3)),
    "bounding rows": with_privacy(bounding=Bounding(4, 2, 3)),
    "bounding groups": with_privacy(bounding=Bounding(3, 1, 3)),
    "bounding per group": with_privacy(bounding=Bounding(3, 2, 2)),
    "query quantiles": with_query(1, quantiles=(Fraction(1, 2),)),
    "query points": with_query(1, points=(1, 2)),
    "query picks": with_query(1, picks=2),
    "query axis": with_query(1, axis=REGION),
    "query candidates": with_query(1, candidates=CANDIDATES),
    "query candidate texts": with_query(1, candidates=replace(CANDIDATES, texts=("1",))),
    "query candidate type": with_query(1, candidates=replace(CANDIDATES, type=ColumnType.STRING)),
    "query score": with_query(1, candidates=replace(CANDIDATES, score=WHERE)),
    "query score bound": with_query(
        1, candidates=replace(CANDIDATES, grid=Grid(Fraction(1), 0, 8))
    ),
    "query curve": with_query(1, curve=(CURVE,)),
    "curve column": with_query(1, curve=(replace(CURVE, column=replace(COLUMN, other="o")),)),
    "curve centres": with_query(1, curve=(replace(CURVE, centres=(Fraction(2),)),)),
    "curve bandwidth": with_query(1, curve=(replace(CURVE, bandwidth=Fraction(2)),)),
    "curve points": with_query(1, curve=(replace(CURVE, points=(Fraction(2),)),)),
    "query numerator": with_query(1, numerator=Part(None, WHERE)),
    "query numerator column": with_query(1, numerator=Part(COLUMN, WHERE)),
    "query denominator": with_query(1, denominator=Part(None, WHERE)),
    "query key selection": with_query(1, key_selection=KeySelection(Fraction(1, 10**6))),
    "query key selection epsilon": with_query(
        1, key_selection=KeySelection(Fraction(1, 10**6), Fraction(1))
    ),
    "query implied": with_query(1, implied=True),
}

SAME = {
    "file": changed(file="/b/spec.toml"),
    "texts": changed(about=About("pay", "T", "C", "c@d.e", "P", "R", "S", "A", "CC0-1.0", "out/r")),
    "names for people": changed(
        names=Names(
            {"region": ColumnNames("Region", labels={"n": "North"})},
            {"n": ColumnNames("People", "persons", 0)},
            {"by_region": "By region"},
        )
    ),
    "place of the data": with_source(pattern="/b/pay.csv"),
    "engine": with_data(engine="reference"),
    "design effect": with_data(design_effect=Fraction(3, 2)),
    "place of the ledger": changed(ledger=LedgerSettings("/b/l.sqlite", "payroll")),
    "caps": changed(ledger=LedgerSettings("/a/ledger.sqlite", "payroll", Fraction(3), Fraction(0))),
    "witness and periods": changed(
        ledger=LedgerSettings(
            "/a/ledger.sqlite",
            "payroll",
            witness="/c/w",
            disjoint_periods=True,
            rho_cap=Fraction(1),
        )
    ),
    "output": changed(output=Output("/b/out", "parquet", Fraction(1, 2))),
    "reports": changed(report_formats=("html",)),
    "language": changed(report_language="de"),
    "review": changed(
        review=Review(
            "A", "dpo", "approved", "2026-01-01", "12", "law", "need", {"side_channels": "s"}
        )
    ),
    "list files": changed(lists=(ListFile("keys_file", "region", "k.txt", "0"),)),
    "warnings": changed(warnings=(Complaint("W1", "no cap"),)),
    "places": changed(places={"release": Place("/a/spec.toml", 2, 1)}),
    "unit described": with_privacy(unit_description="one employee"),
    "population": with_privacy(population=3_000_000),
    "source of bounds": with_column("pay", source="a law"),
    "source in a query": with_pay(source="a law"),
    "chosen step": with_column("pay", step_chosen=True),
    "order of columns": changed(columns=dict(reversed(list(BASE.columns.items())))),
    "order of queries": changed(queries=BASE.queries[::-1]),
    "number of a query": with_query(0, number=7),
    "what is done to figures afterwards": with_query(0, finish=Finish(nonnegative=True)),
    "what a run makes of quality": with_query(0, max_unreadable=Fraction(1, 2)),
    "what a share is among, which its condition says": with_query(
        0, among=Expression("(x > 1) IS NOT NULL", ("x",))
    ),
    "fractions alike": with_privacy(epsilon=Fraction(10, 10)),
    "columns of an expression": BASE,
}


def test_how_a_curve_is_read_changes_nothing() -> None:
    smooth = with_query(1, curve=(replace(CURVE, smooth=True),))
    assert run_id(smooth) == run_id(with_query(1, curve=(CURVE,)))


PAY = Quantity("pay", Grid(Fraction(1, 2), 0, 20), 10)


def perturb_release(*columns: PerturbedColumn, **changes: object) -> Release:
    """A release of one record-level table of these columns; by default of two."""
    chosen = columns or (PerturbedColumn("region", REGION), PerturbedColumn("pay", None, PAY))
    table = Perturb("rows", chosen, Fraction(1))
    return changed(perturbs=(replace(table, **changes),))


def load_columns(region: dict[str, object], pay: dict[str, object] | None = None) -> Release:
    """Changes of the two columns."""
    first, second = perturb_release().perturbs[0].columns
    return perturb_release(replace(first, **region), replace(second, **(pay or {})))


SECOND = Perturb("more", (PerturbedColumn("pay", None, PAY),), Fraction(1), number=1)
PERTURBED = {
    "none": BASE,
    "name": perturb_release(name="other"),
    "epsilon": perturb_release(epsilon=Fraction(2)),
    "the total": perturb_release(epsilon=None),
    "delta": perturb_release(delta=Fraction(1, 10**6)),
    "truth": perturb_release(epsilon=None, truth=Fraction(3, 4)),
    "column dropped": perturb_release(PerturbedColumn("region", REGION)),
    "order of columns": perturb_release(*perturb_release().perturbs[0].columns[::-1]),
    "column name": load_columns({"name": "place"}),
    "labels": load_columns({"group": replace(REGION, other="rest")}),
    "null label": load_columns({"group": replace(REGION, null_label="s")}),
    "no labels": load_columns({"group": None}),
    "no number": load_columns({}, {"quantity": None}),
    "number": load_columns({}, {"quantity": replace(PAY, column="wage")}),
    "grid": load_columns({}, {"quantity": replace(PAY, grid=Grid(Fraction(1, 2), 0, 21))}),
    "nulls": load_columns({}, {"quantity": replace(PAY, null_fill=9)}),
    "mechanism": load_columns({"mechanism": Mechanism.SUBSET_SELECTION}),
    "weight": load_columns({"weight": Fraction(2)}),
    "weights": load_columns({"weight": Fraction(2)}, {"weight": Fraction(3)}),
    "second table": replace(perturb_release(), perturbs=(*perturb_release().perturbs, SECOND)),
}
PERTURBED_SAME = {
    "again": perturb_release(),
    "number": perturb_release(number=7),
    "who chose what stands for nulls": load_columns({}, {"null_chosen": True}),
    "weights in the same ratio": load_columns({"weight": Fraction(5)}, {"weight": Fraction(5)}),
    "mechanism as written": load_columns({"mechanism": Mechanism("auto")}),
}


@pytest.mark.parametrize("what", PERTURBED)
def test_what_changes_a_table_of_records_changes_the_id(what: str) -> None:
    assert run_id(PERTURBED[what]) != run_id(perturb_release())


def test_no_two_tables_of_records_share_an_id() -> None:
    assert len({run_id(each) for each in PERTURBED.values()}) == len(PERTURBED)


@pytest.mark.parametrize("what", PERTURBED_SAME)
def test_what_leaves_a_table_of_records_alone_leaves_the_id(what: str) -> None:
    assert run_id(PERTURBED_SAME[what]) == run_id(perturb_release())


def test_tables_of_records_have_no_order() -> None:
    both = PERTURBED["second table"]
    assert run_id(replace(both, perturbs=both.perturbs[::-1])) == run_id(both)


def test_a_table_of_records_keeps_its_id_between_versions() -> None:
    assert (
        run_id(perturb_release())
        == "e05e1e17640ef88b10398a22280038d1924735da318385f43521a1ae47768f1b"
    )


def test_a_key_of_one_format_counts_by_its_name() -> None:
    """Plans and charges of version 0.2 hold the sheet of a workbook so."""
    canonical = json.loads(build_canonical_form(with_source(own=(("sheet", "Data"),))))
    plain = json.loads(build_canonical_form(BASE))
    source = plain["release"]["data"].get("source", {})
    assert canonical["release"]["data"]["source"] == source | {"sheet": "Data"}
    assert "own" not in source


def test_the_id_is_a_sha256_of_the_canonical_form() -> None:
    assert run_id(BASE) == hashlib.sha256(build_canonical_form(BASE).encode()).hexdigest()


def test_the_id_of_a_release_never_changes_between_versions() -> None:
    # If this fails, everybody's next run would spend anew: only for a reason, with a new FORMAT.
    assert run_id(BASE) == "6fc3d64c4a9865cbccf8ee1f97c62c00e9903195166a55fb3fc02d9b3c1a04a1"


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_numbers_changes_the_id(what: str) -> None:
    assert run_id(CHANGES[what]) != run_id(BASE)


def test_no_two_changes_share_an_id() -> None:
    assert len({run_id(each) for each in CHANGES.values()}) == len(CHANGES)


@pytest.mark.parametrize("what", SAME)
def test_what_leaves_numbers_alone_leaves_the_id(what: str) -> None:
    assert run_id(SAME[what]) == run_id(BASE)


def test_columns_read_by_an_expression_follow_from_its_text() -> None:
    one = with_query(0, where=Expression("a = b", ("a", "b")))
    other = with_query(0, where=Expression("a = b", ("b", "a")))
    assert run_id(one) == run_id(other)


@pytest.mark.parametrize("form", sorted(SOURCES))
def test_how_texts_are_read_counts_for_every_format_that_may_say_so(form: str) -> None:
    source = Source("/a/pay", form)
    nulls = replace(source, dialect=Dialect(null_values=("", "-")))
    assert run_id(with_data(source=source)) != run_id(with_data(source=nulls))


def test_what_a_name_says_of_delimiters_is_of_csv_alone() -> None:
    spec: dict[str, object] = builders.spec(
        release={"name": "pay"},
        data={"path": "pay.tsv", "format": "parquet"},
        query=[{"name": "n", "statistic": "count"}],
    )
    assert load(spec).data.source.dialect == Dialect()


def test_each_attempt_at_new_noise_has_its_id() -> None:
    assert run_id(BASE, 0) == run_id(BASE)
    assert len({run_id(BASE, attempt) for attempt in range(4)}) == 4


def test_every_field_left_out_exists() -> None:
    for kind, names in LEFT_OUT.items():
        assert issubclass(kind, Struct)
        assert names <= {*kind.__struct_fields__}


def test_every_field_is_tried_above() -> None:
    # A new field of the model must be put on one of the two lists on purpose.
    tried = {
        Release: 18,
        Review: 8,
        About: 10,
        Data: 5,
        Source: 6,
        Dialect: 12,
        Privacy: 11,
        Bounding: 3,
        Column: 13,
        Grid: 3,
        Query: 29,
        CurveAxis: 5,
        Accuracy: 3,
        Candidates: 4,
        Part: 2,
        KeySelection: 2,
        Group: 8,
        Expression: 3,
        LedgerSettings: 9,
        Perturb: 6,
        PerturbedColumn: 6,
        Quantity: 3,
    }
    assert {kind: len(kind.__struct_fields__) for kind in tried} == tried


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError):
        run_id(with_query(0, epsilon=0.5))
    with pytest.raises(TypeError):
        write_canonical_json({"a": [1, {"b": 0.5}]})
