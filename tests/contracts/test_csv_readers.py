"""Which reader takes a CSV file changes no record: the nastiest texts as every type, in every role.

Each file holds a line for each text, and is read fast. Then one line more is bad, so that the
careful reader takes all of them. The answers must be those of the file in which that line is well
written and means the same, to the last bit, and those of the oracle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from oracle.engine import get
from tables import T, by_key, hidden, inputs, keyed, sql
from thorough import some

from dprelease.engines.duckdb import duckdb_engine, record_codes
from dprelease.model import (
    AggregateRequest,
    Bound,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)

M = MeasureKind
TYPES = {
    "s": T.STRING,
    "i": T.INTEGER,
    "x": T.FLOAT,
    "c": T.DECIMAL,
    "b": T.BOOLEAN,
    "d": T.DATE,
    "t": T.TIMESTAMP,
    "o": T.STRING,  # opaque
}
COLUMNS = (*TYPES, "n")  # n is not read

PLAIN = """
0 -0 +0 00 0.0 -0.0 7 +7 -7 +-7 -+7 --7 ++7 007 7. .5 -.5 . - + +. 7.5 12.50 1e3 1E3 1e+3 1e-3 1e
e3 1e+ .e3 7.e2 1e3.5 0x10 0b1 0o7 1,5 1.000,5 1d 1f 7L 7% $7 1_000 1__000 _1 1_ 1_.5 1._5 1e_5
1e1_0 0_0 0.12345678_9 0.123456789_0 123456789012345_6 1234567890123456789_0.5 1_2_3_4_5_6_7_8_9
12345678901234567890_12345678901234567890 9007199254740991 9007199254740992 9007199254740993
-9007199254740993 9007199254740993.0 9.007199254740993e15 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 18446744073709551616 00000000000009007199254740993
1e308 1e309 -1e309 1.7976931348623157e308 1.7976931348623159e308 5e-324 2.47e-324 1e-400 -1e-400
2.2250738585072011e-308 1e99999999999 0.1 0.30000000000000004 1.005 2.675 0.5 1.5 2.5 -0.5 inf -inf
+inf +-inf INF Infinity -infinity infinit nan NaN -nan nan(1) 1#INF \u0661 \u0661\u0662 \xbd \xb2
\uff11 \u22127
true TRUE tRuE t T yes Yes y Y 1 false f F no NO n N 0 on off tru truee
2026-01-31 2026-02-29 2024-02-29 1900-02-29 0001-01-01 0000-12-31 9999-12-31 10000-01-01
-0001-01-01 +2026-01-31 2026-1-31 2026-01-1 26-01-31 2026/01/31 2026-13-01 2026-00-10 2026-01-00
20260131 infinity epoch 5881580-07-10 2026-01-31T00:00:00 2026-01-31T23:59:59 2026-01-31T24:00:00
2026-01-31T23:59:60 2026-01-31T23:60:00 2026-01-31T12:00 2026-01-31T1:02:03 0001-01-01T00:00:00
9999-12-31T23:59:59.999999 9999-12-31T23:59:59.9999999 2026-01-31T12:00:00.1
2026-01-31T12:00:00.123456789 2026-01-31T12:00:00.1234567891 2026-01-31T12:00:00.
2026-01-31T12:00:00Z 2026-01-31T12:00:00+00 2026-01-31T12:00:00+01:00 2026-01-31t12:00:00
2026-01-31_12:00:00 2026-01-3112:00:00 2026-01-31T12:00:0\u0663 10000-01-01T00:00:00
"""
WORDS = [
    "", " ", "  ", "\t", "a", " a", "a ", " a ", "\ta", "a\v", "\fa", "\xa0a", "a\u2003", "null",
    "NULL", "n/a", "\\N", "None", "\\", "\\n", "#", "#a", "--", ";", ",", "a,b", "a;b", "a|b", "'",
    "a'b", "'a'", '"', '""', '"a"', 'a"b', 'a"', ',"', '",', '","', "''", "','", "\x01", "\x1a",
    "\x7f", "\x85", "\u2028", "\ufeff", "\ufffd", "\uffff", "caf\xe9", "cafe\u0301",
    "\U0001f4a9", "\u212b", "\u1100\u1161", "x" * 13, "x" * 1001, "\xe9" * 4001, "other", "=1+1",
    " 7", "7 ", " 7 ", "\t7", "7\t", "\v7", "7\f", "\xa07", "7\xa0", "1 000", "- 7", " true",
    "true ", " 2026-01-31", "2026-01-31 ", "2026-01-31 12:00:00", "2026-01-31  12:00:00",
    "2026-01-31 12:00:00.5", "2026-01-31 12:00:00 UTC", "2026-01-31 24:00:00", "9" * 400,
    "0." + "0" * 400 + "1", "1" + "0" * 308, "1" + "0" * 309, "9" * 1001, "0" * 2000 + "7",
]  # fmt: skip
TEXTS = ["\ufeffa", *PLAIN.split(), *WORDS]

DIALECTS = {
    "usual": Dialect(),
    "stripped": Dialect(strip=True, null_values=("", "n/a", "7")),
    "no null": Dialect(null_values=(), header=False, names=COLUMNS),
    "semicolons": Dialect(";", "'", null_values=("0", "inf", "\\N")),
    "tabs": Dialect("\t", '"', null_values=('"', " ", "")),
    "no quote": Dialect("|", "", null_values=("NULL",)),
}
# The text of the fields that are read in a bad line (none: its record is null), what follows them,
# "," and the quote as in the dialect, and the text that means the same.
BAD = {
    "a field too many": (None, ",x,x"),
    "a field too few": (None, ""),
    "an open quote": (None, ',"x'),
    "text after a quote": (None, ',"x"x'),
    "too long": (None, "," + "x" * (1 << 20)),
    "a NUL": ("7", ",\0"),
    "a return": ("7", ",x\rx"),
    "no UTF-8": ("\udcff", ",x"),
    "blanks about a quote": ("7", ',  "x"'),
}
PAIRS = [("usual", bad) for bad in BAD] + [(name, "a NUL") for name in list(DIALECTS)[1:]]
PAIRS += [("semicolons", "an open quote"), ("no quote", "a field too many")]


def line(dialect: Dialect, fields: tuple[str, ...]) -> str:
    """The fields as a program would write them."""
    delimiter, quote = dialect.delimiter, dialect.quote
    return delimiter.join(
        quote + field.replace(quote, 2 * quote) + quote
        if quote and (delimiter in field or field.lstrip(" \t").startswith(quote))
        else field
        for field in fields
    )


def lines_of(dialect: Dialect) -> list[str]:
    """A line for each text that the dialect can hold, in all columns."""
    texts = [
        text for text in TEXTS
        if dialect.quote or dialect.delimiter not in text
        # what is to be quoted and has blanks about quotes is read with care
        if not (text != text.strip(" \t") and text.strip(" \t").startswith(dialect.quote or "\0"))
    ]  # fmt: skip
    found = [line(dialect, (text,) * len(COLUMNS)) for text in texts]
    if dialect.quote:  # a blank about a quote is none of the text
        one = "".join((dialect.quote, "7.5", dialect.quote))
        found += [dialect.delimiter.join((each,) * len(COLUMNS)) for each in (f" {one}", f"{one} ")]
    return found


def written(path: Path, dialect: Dialect, lines: list[str]) -> Source:
    header = [line(dialect, COLUMNS)] if dialect.header else []
    text = "\n".join([*header, *lines, ""])
    text = text if dialect.header else f"\ufeff{text}"  # which is none of the first field
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return Source(str(path), "csv", dialect)


# --- what is asked -------------------------------------------------------------------------------

DERIVED = (
    InputColumn("h", T.FLOAT, sql("x / 2 + i", "x", "i")),
    InputColumn("y", T.INTEGER, sql("YEAR(d)", "d")),
    InputColumn("k", T.STRING, sql("LOWER(s) || CASE WHEN b THEN '+' ELSE '-' END", "s", "b")),
)
INPUTS = (*inputs(TYPES, "o"), *DERIVED)
KINDS = {**TYPES, **{each.name: each.type for each in DERIVED}}
del KINDS["o"]
CONDITIONS = (
    sql("LENGTH(s) > 3 OR s LIKE '%a%'", "s"),
    sql("i % 2 = 1 OR i > 9007199254740992", "i"),
    sql("x * 3 > c - 1", "x", "c"),
    sql("b", "b"),
    sql("YEAR(d) % 4 = 0", "d"),
    sql("t > TIMESTAMP '2000-01-01 12:00:00' OR HOUR(t) = 0", "t"),
    sql("s IS NULL OR i IS NULL AND x IS NULL", "s", "i", "x"),
)
X = Quantity("x", Grid(Fraction(1, 8), -40, 4000))
FINE = Quantity("c", Grid(Fraction(1, 10**9), -(10**15), 10**15))
WHOLE = Quantity("i", Grid(Fraction(1), -(2**53), 2**62))
HALF = Quantity("h", Grid(Fraction(3, 7), -(10**6), 10**6), null_fill=3)
TRUE = Quantity("b", Grid(Fraction(1), 0, 1))
SUMS = tuple(Measure(M.SUM, each) for each in (X, FINE, WHOLE, HALF, TRUE))
COUNTS = (
    Measure(M.RECORDS),
    *(Measure(M.RECORDS, where=each) for each in CONDITIONS),
    *(Measure(M.VALUES, each) for each in (X, WHOLE)),
)
DISTINCT = tuple(Measure(M.DISTINCT, column=name) for name in KINDS)
PUBLIC = (
    keyed("s", ("a", "caf\xe9", "7"), null="none"),
    keyed("i", ("7", "9007199254740993", "0"), T.INTEGER),
    keyed("x", ("0", "7.5", "0.1"), T.FLOAT, null="none"),
    keyed("b", ("true", "false"), T.BOOLEAN, null="none"),
    keyed("d", ("2026-01-31", "0001-01-01"), T.DATE),
    keyed("t", ("2026-01-31 12:00:00", "2026-01-31 23:59:59"), T.TIMESTAMP),
    Group("c", T.DECIMAL, ("low", "high", "none"), edges=("-1", "0.5", "1e308"), null_label="none"),
    Group("i", T.INTEGER, ("small", "large"), edges=("0", "100", "9007199254740993")),
    Group("t", T.TIMESTAMP, ("old", "new"), edges=("0001-01-01 00:00:00", "2026-01-31 12:00:00",
                                                   "9999-12-31 23:59:59.999999")),
)  # fmt: skip


UNITS = (*TYPES, *(each.name for each in DERIVED))


def requests(units: tuple[str, ...]) -> Iterator[AggregateRequest]:
    """Every column as a private key, a quantity, a value and in conditions; some as the unit."""
    none = Source("", "csv")
    every = tuple(hidden(name, kind) for name, kind in KINDS.items())
    null = tuple(replace(each, null_label="\x02") for each in every)
    yield AggregateRequest(none, INPUTS, null, (*COUNTS, *SUMS))
    yield AggregateRequest(none, INPUTS, every[:2], COUNTS[:1], CONDITIONS[0])
    yield AggregateRequest(none, INPUTS, PUBLIC[-1:], (*COUNTS, *SUMS, *DISTINCT))
    yield AggregateRequest(none, INPUTS, (null[0],), (), points=X)
    for unit in units:
        bound = Bound(unit, 1, 1, 1, leading=0, null_unit=unit in "six", salt=7)
        measures = (Measure(M.UNITS), *SUMS[:2], *DISTINCT[:1])
        yield AggregateRequest(none, INPUTS, (), measures, bound=bound)


RECORDS = (*PUBLIC, *(replace(each, null_fill=1) for each in (X, FINE, WHOLE, HALF, TRUE)))


def answers(engine: str, source: Source, units: tuple[str, ...]) -> list[Any]:
    """What the engine gives for every request, and how often each combination of codes occurs."""
    found: list[Any] = []
    for request in requests(units):
        asked = replace(request, source=source)
        if asked.points is None:
            found.append(by_key(engine, asked))
            continue
        table = get(engine).aggregate(asked)
        keys, triples = table.reveal_keys(), zip(*table.reveal(), strict=True)
        found.append(Counter((keys[cell], k, times) for cell, k, times in triples))
    for bound in (None, Bound(units[0], 1, 1, 1, 0, salt=5)):
        records = RecordRequest(source, INPUTS, RECORDS, bound)
        codes: Counter[tuple[int, ...]] = Counter()
        for batch in get(engine).records(records).reveal():
            codes.update(zip(*(column.tolist() for column in batch), strict=True))
        found.append(codes)
    return found


@contextmanager
def careful() -> Iterator[list[str]]:
    """How often the careful reader is taken."""
    taken: list[str] = []

    def counting(honest: Any) -> Any:
        def reader(*given: Any) -> Any:
            taken.append("")
            return honest(*given)

        return reader

    with pytest.MonkeyPatch.context() as patch:
        for module in (duckdb_engine, record_codes):
            patch.setattr(module, "read_carefully", counting(module.read_carefully))
        yield taken


@pytest.mark.thorough
@pytest.mark.parametrize(("dialect", "bad"), PAIRS, ids=[" and ".join(pair) for pair in PAIRS])
def test_a_bad_line_changes_no_other_record(dialect: str, bad: str, tmp_path: Path) -> None:
    form, (text, tail) = DIALECTS[dialect], BAD[bad]
    null = form.null_values[0] if text is None else ""
    well = line(form, ((text or null).replace("\udcff", "\ufffd"),) * len(TYPES) + ("x",))
    tail = tail.replace(",", form.delimiter).replace('"', form.quote or '"')
    others, units = lines_of(form), some(UNITS[PAIRS.index((dialect, bad)) % 4 :: 4], 5)
    found = []
    for one in (well, line(form, (text or "",) * len(TYPES)) + tail):
        middle = len(others) // 2
        source = written(tmp_path / "t.csv", form, [*others[:middle], one, *others[middle:]])
        with careful() as taken:
            found.append(answers("duckdb", source, units))
        assert len(taken) == (0 if one is well else len(found[1]))
    assert found[0] == found[1]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_text_means_what_the_oracle_says(dialect: str, tmp_path: Path) -> None:
    form = DIALECTS[dialect]
    source, units = written(tmp_path / "t.csv", form, lines_of(form)), some(UNITS, 6)
    assert answers("duckdb", source, units) == answers("reference", source, units)
