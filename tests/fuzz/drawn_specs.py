"""Specs drawn from the whole grammar, each with a small table of data that fits it.

The sections of the schema say which keys there are, and the statistics which of them they take:
``values_of`` has one function for each key, so that a new key is met as soon as it is drawn here.
What does not fit together is found by ``check``, and taken out by whoever draws.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

from dprelease.local.perturb_section import PerturbSection
from dprelease.report_format import list_stated_formats
from dprelease.specfile.keys.section_reader import Key
from dprelease.specfile.schema.sections import (
    ColumnSection,
    PostprocessSection,
    QuerySection,
)
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys

Spec = dict[str, Any]
DAY = datetime.date(2026, 1, 1)
NAMES = (
    "region", "sex", "x", "age", "day", "at", "ok", "id", "n", "value", "count", "x_from", "x_to",
    "sex_state", "n_noise_moe", "n_low", "noise_moe", "candidate", "q50", "Größe", "two words",
    "a.b", "select", "=sum", "N", "overall", "by_sex",
)  # fmt: skip
"""Names of columns: a query may have any of them that is safe as the name of a file."""
SAFE = tuple(name for name in NAMES if name.isascii() and name.replace("_", "").isalnum())
ENDINGS = (
    "", "", "", "_from", "_to", "_state", "_noise_moe", "_rank_moe", "_flag", "_low", "_high",
    "_count", "_mean", "_mean_low", "_1", "_q50", "_q25_low", "_rows", "_units",
)  # fmt: skip
WORDS = ("a", "b", "other", "none", "é", "e\u0301", "1", "true", "=1+1", "x, y", 'say "hi"', " a")
TEXTS = ("Zahl der Fälle", "a | b", "<b>", "100%", "{n}", "$x$", "'", "a\\b", "ok", "*")
NOT_DRAWN = {"keys_file", "candidates_file"}
"""Keys that name files, which other tests draw."""
REQUIRED = {"name", "statistic", "type", "column", "columns", "path", "expression", "adjacency"}


def keys_of(section: type) -> list[str]:
    """The names of the keys of a section of the schema."""
    return [name for name, key in vars(section).items() if isinstance(key, Key)]


@dataclass
class Column:
    """A column of the data: what the spec declares, and values that it may hold."""

    name: str
    declared: Spec
    kind: str
    values: list[Any] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The name in an expression."""
        return '"' + self.name.replace('"', '""') + '"'


class Draw:
    """One spec with its data; all of it follows from the generator."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.columns: list[Column] = []
        self.queries: list[Spec] = []
        self.unit: Column | None = None

    # --- choices ----------------------------------------------------------------------------------

    def often(self, share: float) -> bool:
        return self.rng.random() < share

    def one(self, values: Any) -> Any:
        return self.rng.choice(list(values))

    def some(self, values: Any, most: int, least: int = 0) -> list[Any]:
        values = list(values)
        number = self.rng.randint(min(least, len(values)), min(most, len(values)))
        return self.rng.sample(values, number)

    def of_kind(self, *kinds: str) -> list[Column]:
        return [column for column in self.columns if column.kind in kinds]

    def in_file(self, *kinds: str) -> list[Column]:
        """Columns that expressions may read: the data holds them."""
        return [column for column in self.of_kind(*kinds) if "expression" not in column.declared]

    def named(self, *kinds: str) -> str:
        """A column of one of the kinds; any other one where there is none, or now and then."""
        fitting = self.of_kind(*kinds) if not self.often(0.03) else []
        return str(self.one(fitting or self.columns).name)

    # --- data -------------------------------------------------------------------------------------

    def column(self, name: str, kind: str) -> Column:
        declared: Spec = {"type": kind}
        column = Column(name, declared, kind)
        plain = _PLAIN[kind](self)
        if kind in {"integer", "float", "decimal"} and self.often(0.8):
            low = self.one((0, 0, -5, 10))
            declared |= {"lower": low, "upper": low + self.one((1, 7, 20, 1000))}
            if self.often(0.2):
                declared["step"] = self.one((1, 1, Decimal("0.5"), Decimal("0.25")))
        roll = self.rng.random()
        if kind == "boolean":
            plain = [True, False]
        elif roll < 0.45 and kind not in {"float", "decimal"}:
            declared["keys"] = list(dict.fromkeys(plain))[: self.rng.randint(1, 4)]
        elif roll < 0.75 and kind != "string":
            declared["bins"] = sorted(set(plain))[: self.rng.randint(2, 6)]
        for key in keys_of(ColumnSection):
            if key not in column_values_of:
                continue
            share, draw = column_values_of[key]
            if self.often(share) and (value := draw(self, column)) is not None:
                declared[key] = value
        column.values = plain
        return column

    def derived(self, name: str, kind: str) -> Column:
        """A column that is computed from others."""
        column = self.column(name, kind)
        for key in ("format", "zone"):
            column.declared.pop(key, None)
        column.declared["expression"] = self.expression(kind)
        return column

    # --- expressions ------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int = 0) -> str:
        """An expression of a kind over the columns."""
        if kind == "boolean":
            return self.condition(depth)
        columns = self.in_file(*(_NUMBERS if kind in _NUMBERS else [kind]))
        leaf = self.one(columns).sql if columns else _LITERALS[kind]
        if depth > 2 or self.often(0.3):
            return str(leaf)
        shape = str(self.one(_SHAPES[kind]))
        return shape.format(
            x=leaf,
            n=self.expression("integer", depth + 1) if "{n}" in shape else "",
            s=self.expression("string", depth + 1) if "{s}" in shape else "",
            d=self.expression("date", depth + 1) if "{d}" in shape else "",
            t=self.expression("timestamp", depth + 1) if "{t}" in shape else "",
            b=self.condition(depth + 1) if "{b}" in shape else "",
        )

    def condition(self, depth: int = 0) -> str:
        shape = str(self.one(_CONDITIONS))
        if depth > 2:
            return "TRUE"
        flags = self.in_file("boolean")
        return shape.format(
            x=self.one(flags).sql if flags else "TRUE",
            n=self.expression("integer", depth + 1) if "{n}" in shape else "",
            s=self.expression("string", depth + 1) if "{s}" in shape else "",
            d=self.expression("date", depth + 1) if "{d}" in shape else "",
            b=self.condition(depth + 1) if "{b}" in shape else "",
        )

    # --- queries ----------------------------------------------------------------------------------

    def query(self, number: int) -> Spec:
        name = f"{self.one(SAFE)}{self.one(ENDINGS)}" if self.often(0.7) else f"q{number}"
        statistic = str(self.one(STATISTICS))
        takes = STATISTICS[statistic].keys
        query: Spec = {"name": name, "statistic": statistic}
        wanted = {key.name for key in (*takes.needs, *self.some(takes.may, 2))}
        if takes.where_is_numerator:
            wanted.add("where")
        never = (
            {"by", "table", "partition_selection"}
            if takes.tables_of or "levels" in wanted
            else set()
        )
        if STATISTICS[statistic].names:
            never |= {"unit", "decimals"}
        if takes.column is not ColumnUse.NONE:
            wanted.add("column")
        if "columns" in wanted and "attributes" in wanted:
            wanted.discard(self.one(("columns", "attributes")))
        if "columns" in wanted:
            wanted.discard("column")
        if statistic == "marginals" and "columns" in wanted:
            wanted.add("ways")
        elif statistic == "marginals":
            wanted.discard("ways")
        for key in keys_of(QuerySection):
            if key in query or key not in values_of or (key in never and self.often(0.97)):
                continue
            share, draw = values_of[key]
            own = key in list_own_keys() or key == "column"
            if key in wanted or (not own and self.often(share)):
                query[key] = draw(self, statistic)
        if query.get("column") in query.get("by", ()):
            query["by"].remove(query["column"])
        if any(not _is_public(column) for column in self._grouping(query)) and self.often(0.9):
            query.setdefault("partition_selection", {"delta": Decimal("1e-7")})
            query["statistic"] = "count" if self.unit is None else "count_units"
            query = {
                key: value
                for key, value in query.items()
                if key not in {"column", *list_own_keys()}
            }
        return query

    def _grouping(self, query: Spec) -> list[Column]:
        by = query.get("by") or ()
        return [column for column in self.columns if column.name in by]

    def groups(self, most: int, least: int = 0) -> list[str]:
        public = [column.name for column in self.columns if _is_public(column)]
        private = [column.name for column in self.columns if not _is_public(column)]
        return self.some(public if self.often(0.93) or not private else private, most, least)

    # --- the whole --------------------------------------------------------------------------------

    def spec(self) -> Spec:
        kinds = self.some((*_PLAIN, "string"), 7, 3)
        names = self.rng.sample(NAMES, len(kinds) + 3)
        self.columns = [self.column(name, kind) for name, kind in zip(names, kinds, strict=False)]
        weight = None
        if self.often(0.12):
            weight = Column(
                names[-1],
                {"type": "decimal", "lower": 0, "upper": 4, "step": Decimal("0.5")},
                "decimal",
                [Decimal("0.5"), Decimal(1), Decimal(4), Decimal(9)],
            )
        if self.often(0.25):
            self.unit = Column("pupil", {"type": "string"}, "unit", ["p1", "p2", "p3", "p4"])
        self.fields = [*self.columns, *(extra for extra in (weight, self.unit) if extra)]
        for name in names[len(kinds) : len(kinds) + self.rng.randint(0, 2)]:
            self.columns.append(self.derived(name, self.one(_KINDS)))
        self.rows = [
            {column.name: self.cell(column) for column in self.fields}
            for _ in range(self.one((0, 1, 2, 5, 20, 60)))
        ]
        declared = [*self.columns, *(extra for extra in (weight,) if extra)]
        spec: Spec = {
            "schema": 1,
            "release": {"name": "drawn"} | self.words("title", "purpose", "curator", "contact"),
            "data": {"path": "data.csv"},
            "privacy": self.privacy(),
            "ledger": self.ledger(),
            "columns": {column.name: column.declared for column in declared},
            "output": {"path": "out"},
        }
        if weight is not None:
            spec["data"]["weight"] = weight.name
        number = self.one((2, 3, 3, 4, 5, 6, 8))
        self.queries = spec["query"] = [self.query(at) for at in range(number)]
        if self.often(0.2):
            spec["postprocess"] = {
                key: values_of[key][1](self, "count")
                for key in self.some(keys_of(PostprocessSection), 3, 1)
            }
        if self.often(0.1):
            spec["perturb"] = [self.perturb(at) for at in range(self.one((1, 1, 2)))]
            spec["privacy"]["adjacency"] = "replace-one"
            if self.often(0.2):
                del spec["query"]
        self.budgets(spec)
        self.publishing(spec)
        return spec

    def cell(self, column: Column) -> Any:
        roll = self.rng.random()
        if roll < 0.08:
            return None
        return self.one(_EXTREME.get(column.kind, WORDS) if roll < 0.11 else column.values)

    def words(self, *keys: str) -> Spec:
        return {key: self.one(TEXTS) for key in keys if self.often(0.2)}

    def privacy(self) -> Spec:
        privacy: Spec = {
            "unit": "row",
            "unit_description": "one person",
            "adjacency": self.one(("add-remove", "replace-one")),
        }
        if self.unit is not None:
            limits = {"max_rows_per_unit": self.one((1, 2, 5)), "max_groups_per_unit": 1}
            limits["max_groups_per_unit"] = self.rng.randint(1, limits["max_rows_per_unit"])
            if self.often(0.3):
                limits["max_rows_per_unit_per_group"] = 1
            privacy |= {"unit": "column", "unit_column": "pupil", "bounding": limits}
        if self.often(0.3):
            privacy["accounting"] = self.one(("auto", "pure", "zcdp", "pld"))
        if self.often(0.1):
            privacy["population"] = 1000
        return privacy

    def ledger(self) -> Spec:
        ledger: Spec = {"path": "ledger.sqlite", "dataset": "drawn"}
        if self.often(0.3):
            ledger |= {"epsilon_cap": 10**6, "delta_cap": Decimal("0.5")}
        return ledger

    def budgets(self, spec: Spec) -> None:
        privacy, roll = spec["privacy"], self.rng.random()
        if roll < 0.6:
            privacy["epsilon"] = self.one((Decimal("0.1"), 1, 1, 3, 50))
            if self.often(0.5):
                privacy["delta"] = self.one((Decimal("1e-5"), Decimal("1e-9")))
        elif roll < 0.8:
            privacy["rho"] = self.one((Decimal("0.05"), 1))
            if self.often(0.5):
                privacy["delta"] = Decimal("1e-6")
        else:
            for query in spec.get("query", ()):
                query.pop("weight", None)
                if "accuracy" not in query:
                    query["epsilon"] = self.one((Decimal("0.1"), 1, 2))
        if any("partition_selection" in query for query in spec.get("query", ())):
            privacy.setdefault("delta", Decimal("1e-5"))

    def publishing(self, spec: Spec) -> None:
        spec["output"]["format"] = self.one(("csv", "csv", "parquet"))
        if "perturb" not in spec and self.often(0.3):
            spec["output"] |= self.one(({"format": "xlsx"}, {"layout": "long"}, {"layout": "wide"}))
        if self.often(0.2):
            spec["output"]["interval"] = self.one((Decimal("0.5"), Decimal("0.9"), Decimal("0.99")))
        if self.often(0.2):
            spec["output"]["titles"] = {"overall": self.one(TEXTS)}
        formats = [name for name in list_stated_formats() if name != "pdf"]
        spec["report"] = {"formats": ["json", *self.some([f for f in formats if f != "json"], 9)]}
        if self.often(0.4):
            spec["report"]["language"] = self.one(("en", "de", "fr"))

    def perturb(self, number: int) -> Spec:
        table: Spec = {"name": f"records{number}", "columns": self.groups(3, 1)}
        for key in keys_of(PerturbSection):
            if key not in table and self.often(perturb_values_of[key][0]):
                table[key] = perturb_values_of[key][1](self, table)
        if "epsilon" not in table and "truth" not in table:
            table["epsilon"] = 2
        return table


def _is_public(column: Column) -> bool:
    declared = column.declared
    return column.kind == "boolean" or "keys" in declared or "bins" in declared


_NUMBERS = ("integer", "float", "decimal")
_KINDS = ("integer", "integer", "float", "decimal", "string", "boolean", "date", "timestamp")
_LITERALS = {
    "integer": "3",
    "float": "2.5",
    "decimal": "0.25",
    "string": "'a'",
    "date": "DATE '2026-01-05'",
    "timestamp": "TIMESTAMP '2026-01-05 12:00:00'",
}
_NUMERIC = (
    "{x} + {n}", "{x} * {n}", "{x} / {n}", "{x} % 7", "ABS({n})", "ROUND({n} / 3)", "FLOOR({n})",
    "LENGTH({s})", "YEAR({d})", "DATE_DIFF('day', {d}, {d})", "CASE WHEN {b} THEN {n} ELSE {x} END",
    "ISODOW({d})",
    "COALESCE({n}, 1)", "CAST({s} AS integer)", "GREATEST({n}, {x})", "NULLIF({n}, 0)", "-{n}",
    "CAST({n} AS float)", "HOUR({t})", "CASE WHEN {b} THEN 1 END", "{x} * {x} * {x}",
)  # fmt: skip
_SHAPES: Mapping[str, tuple[str, ...]] = {
    "integer": _NUMERIC,
    "float": _NUMERIC,
    "decimal": _NUMERIC,
    "string": (
        "{s} || {x}", "LOWER({s})", "UPPER(TRIM({s}))", "SUBSTRING({s}, 1, 2)",
        "REPLACE({s}, 'a', 'bb')", "CONCAT({s}, '-', {x})", "CASE WHEN {b} THEN {s} ELSE 'b' END",
        "COALESCE({s}, 'none')", "NULLIF({s}, 'a')",
    ),
    "date": ("COALESCE({d}, DATE '2026-01-01')", "CAST({s} AS date)", "CAST({t} AS date)",
             "CASE WHEN {b} THEN {d} END", "GREATEST({d}, {x})"),
    "timestamp": ("CAST({s} AS timestamp)", "CAST({d} AS timestamp)",
                  "CASE WHEN {b} THEN {x} END", "LEAST({t}, {x})"),
}  # fmt: skip
_CONDITIONS = (
    "{n} > 3", "{n} <= {n}", "{n} BETWEEN 1 AND 5", "{n} IN (1, 2, 3)", "{s} = 'a'",
    "{s} LIKE '%a%'", "{s} IS NULL", "{d} > DATE '2026-01-05'", "NOT {b}", "{b} AND {b}",
    "{b} OR {n} = 1", "{x}", "{x} IS NOT NULL", "{n} <> 2", "{s} IN ('a', 'b')",
)  # fmt: skip
_PLAIN: Mapping[str, Callable[[Draw], list[Any]]] = {
    "integer": lambda draw: draw.some((0, 1, 2, 3, 5, 7, 10, 12, 20, 999), 9, 4),
    "float": lambda draw: draw.some((0.0, 0.5, 1.25, 2.0, 7.0, 10.0, 12.5, 20.0), 8, 4),
    "decimal": lambda draw: draw.some(
        list(map(Decimal, ("0", "0.5", "1.25", "7", "10", "12"))), 6, 4
    ),
    "string": lambda draw: draw.some(WORDS, 8, 3),
    "boolean": lambda draw: [True, False],
    "date": lambda draw: [DAY + datetime.timedelta(days=n) for n in draw.some(range(60), 8, 4)],
    "timestamp": lambda draw: [
        datetime.datetime(2026, 1, 1 + n, n, 0, 0) for n in draw.some(range(20), 8, 4)
    ],
}


_EXTREME: Mapping[str, tuple[Any, ...]] = {
    "integer": (2**63 - 1, -(2**63), 2**53 + 1),
    "float": (1e308, -1e308, 5e-324, float("inf"), float("nan"), -0.0),
    "decimal": (Decimal("999999999.999"), Decimal("-999999999.999")),
    "string": ("b" * 200_000, "é" * 5_000, "", "\x00", "\u2028", "%_\\", "2026-13-01", "1e999"),
    "boolean": (True, False),
    "date": (datetime.date.min, datetime.date.max),
    "timestamp": (datetime.datetime.min, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)),
}
"""Values at the ends of what a type holds."""


def _is_grouped(column: Column) -> bool:
    return "keys" in column.declared or "bins" in column.declared


def _other(draw: Draw, column: Column) -> str | None:
    return draw.one(("other", "none", "é", "rest")) if _is_grouped(column) else None


def _null(draw: Draw, column: Column) -> Any:
    declared = column.declared
    inside = [declared[end] for end in ("lower", "upper") if end in declared and draw.often(0.5)]
    known = [*declared.get("keys", inside), declared.get("other", "drop"), "drop"]
    return draw.one(known)


column_values_of: Mapping[str, tuple[float, Callable[[Draw, Column], Any]]] = {
    "other": (0.3, _other),
    "nulls": (0.3, _null),
    "source": (0.5, lambda draw, column: "public: list"),
    "label": (0.2, lambda draw, column: draw.one(TEXTS)),
    "labels": (
        0.2,
        lambda draw, column: (
            {str(key): draw.one(TEXTS) for key in draw.some(column.declared.get("keys", ()), 2)}
            or None
        ),
    ),
    "format": (
        0.1,
        lambda draw, column: {"date": "%Y-%m-%d", "timestamp": "%Y-%m-%d %H:%M:%S"}.get(
            column.kind
        ),
    ),
    "zone": (0.1, lambda draw, column: "Europe/Berlin" if column.kind == "timestamp" else None),
}
NOT_BY_CHANCE = {"type", "lower", "upper", "step", "keys", "bins", "expression"}
"""Keys of a column that are drawn with its kind."""


def _accuracy(draw: Draw, statistic: str) -> Spec:
    target = {"within": draw.one((Decimal("0.5"), 5, 100)), "confidence": Decimal("0.9")}
    if statistic in {"mean", "proportion", "ratio", "variance", "stddev"}:
        target["records"] = 1000
    return target


def _half(draw: Draw, statistic: str) -> Any:
    roll = draw.rng.random()
    if roll < 0.3:
        return draw.condition()
    half: Spec = {"column": draw.named(*_NUMBERS)} if roll < 0.8 else {}
    if draw.often(0.3):
        half["where"] = draw.condition()
    return half


def _column(draw: Draw, statistic: str) -> str:
    takes = STATISTICS[statistic].keys
    if takes.column.is_numeric:
        return draw.named(*_NUMBERS)
    if takes.column.has_bins:
        public = [column.name for column in draw.columns if _is_public(column)]
        return str(draw.one(public or [column.name for column in draw.columns]))
    return str(draw.one(draw.columns).name)


def _candidates(draw: Draw, statistic: str) -> list[Any]:
    if statistic == "best":
        return draw.one(([1, 2, 3], ["a", "b"], [Decimal("0.5"), 2]))
    return sorted(draw.some(range(8), 6, 2))


def _published_if(draw: Draw, statistic: str) -> str:
    names = [query["name"] for query in draw.queries] or ["n"]
    return str(
        draw.one(
            ("value > 3", "count >= 5", "noise_moe < 10", "value >= 2 * noise_moe", "value > 1e30",
             f'"{draw.one(names)}" > 1', f'"{draw.one(names)}_count" > 1')
        )
    )  # fmt: skip


def _own_bins(draw: Draw, statistic: str) -> list[int]:
    return sorted(draw.some((0, 1, 2, 5, 10, 20), 5, 2))


values_of: Mapping[str, tuple[float, Callable[[Draw, str], Any]]] = {
    "by": (0.6, lambda draw, statistic: draw.groups(2)),
    "column": (0.0, _column),
    "bins": (0.02, _own_bins),
    "where": (0.2, lambda draw, statistic: draw.condition()),
    "levels": (0.0, lambda draw, statistic: draw.groups(3, 1)),
    "attributes": (
        0.0,
        lambda draw, statistic: [draw.groups(2) for _ in range(draw.one((1, 3)))],
    ),
    "columns": (
        0.0,
        lambda draw, statistic: (
            [draw.named(*_NUMBERS), draw.named(*_NUMBERS)]
            if statistic == "density"
            else draw.groups(3, 1)
        ),
    ),
    "max_unreadable": (0.0, lambda draw, statistic: Decimal("0.5")),
    "ways": (0.0, lambda draw, statistic: draw.one((0, 1, 2, [2], [0, 1]))),
    "weigh": (0.0, lambda draw, statistic: draw.one(("cells", "tables"))),
    "bounding": (
        0.02,
        lambda draw, statistic: {
            "clip": draw.one(("l1", "l2")),
            "bound": draw.one((1, 5, Decimal("0.5"))),
        },
    ),
    "bandwidth": (0.0, lambda draw, statistic: draw.one((1, 2, [1, 2]))),
    "points": (0.0, lambda draw, statistic: draw.one((2, 5, [0, 1, 2], [3, 3]))),
    "q": (
        0.0,
        lambda draw, statistic: draw.one(
            (Decimal("0.5"), [Decimal("0.5")], [Decimal("0.25"), Decimal("0.75")], Decimal("0.001"))
        ),
    ),
    "k": (0.0, lambda draw, statistic: draw.one((1, 2, 3))),
    "candidates": (0.0, _candidates),
    "score": (
        0.0,
        lambda draw, statistic: draw.one(
            (
                "candidate",
                f"candidate * {draw.expression('integer')}",
                f"CASE WHEN candidate = {draw.expression('string')} THEN 1 ELSE 0 END",
                f"ABS({draw.expression('integer')} - candidate)",
            )
        ),
    ),
    "score_upper": (0.0, lambda draw, statistic: draw.one((1, 10, Decimal("2.5")))),
    "score_step": (0.0, lambda draw, statistic: draw.one((1, Decimal("0.5")))),
    "numerator": (0.0, _half),
    "denominator": (0.0, _half),
    "partition_selection": (0.01, lambda draw, statistic: {"delta": Decimal("1e-7")}),
    "epsilon": (0.05, lambda draw, statistic: draw.one((Decimal("0.01"), Decimal("0.3"), 1))),
    "delta": (0.01, lambda draw, statistic: Decimal("1e-7")),
    "rho": (0.02, lambda draw, statistic: Decimal("0.02")),
    "weight": (0.1, lambda draw, statistic: draw.one((2, Decimal("0.1"), 100))),
    "accuracy": (0.07, _accuracy),
    "mechanism": (0.15, lambda draw, statistic: draw.one(("auto", "laplace", "gaussian"))),
    "table": (0.15, lambda draw, statistic: draw.one(("t", "by_sex", "overall", "x", "T2"))),
    "weight_by_survey": (0.05, lambda draw, statistic: draw.often(0.3)),
    "title": (0.15, lambda draw, statistic: draw.one(TEXTS)),
    "unit": (0.1, lambda draw, statistic: draw.one(("days", "EUR", "%"))),
    "decimals": (0.1, lambda draw, statistic: draw.one((0, 2, 12))),
    "description": (0.1, lambda draw, statistic: draw.one(TEXTS)),
    "consistent": (0.1, lambda draw, statistic: True),
    "nonnegative": (0.1, lambda draw, statistic: True),
    "integer": (0.1, lambda draw, statistic: True),
    "publish_if": (0.07, _published_if),
    "hide_below": (0.07, lambda draw, statistic: draw.one((1, 5, Decimal("2.5")))),
    "round_to": (0.07, lambda draw, statistic: draw.one((1, 5, Decimal("0.1")))),
    "flag_unreliable_at": (0.05, lambda draw, statistic: Decimal("0.1")),
}
"""Of each key of a query how often it is there where it need not be, and what it may be."""

perturb_values_of: Mapping[str, tuple[float, Callable[[Draw, Spec], Any]]] = {
    "mechanism": (
        0.3,
        lambda draw, table: draw.one(
            ("auto", "randomized-response", "subset-selection", "laplace", "piecewise")
        ),
    ),
    "epsilon": (0.7, lambda draw, table: draw.one((1, 4))),
    "delta": (0.1, lambda draw, table: Decimal("1e-6")),
    "truth": (0.1, lambda draw, table: Decimal("0.75")),
    "weights": (0.2, lambda draw, table: {table["columns"][0]: 2} if table["columns"] else {}),
}
