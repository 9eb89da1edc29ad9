"""Any lines as records of CSV files: every reader makes the same of each of them.

python tests/fuzz/fuzz_csv_readers.py --lines 1000000 --seed 1

DuckDB's reader and the careful one are compared with the oracle, by the texts of fields and by all
that a statement knows of a record: typed values, private keys, bins, grid integers, conditions,
units. What the oracle makes of a line follows from that line alone, so what the others make of it
does too. Where DuckDB's reader doesn't answer for some lines, it is tried with each half of them:
all that it answers for is compared. So is what it answers where it may leave lines out, which the
careful reader adds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from csv_asked import facts_of, request_of  # noqa: E402
from csv_lines import Form, forms, lines  # noqa: E402
from oracle import engine as reference  # noqa: E402

from dprelease.engines.duckdb.duckdb_errors import Stream  # noqa: E402
from dprelease.engines.duckdb.duckdb_session import open_session  # noqa: E402
from dprelease.engines.duckdb.field_reader import read_stream  # noqa: E402
from dprelease.engines.duckdb.group_keys import put_labels  # noqa: E402
from dprelease.engines.duckdb.typed_rows import build_rows  # noqa: E402
from dprelease.expressions.sqltext import col, literal  # noqa: E402
from dprelease.model import AggregateRequest, ColumnType, InputColumn, Source  # noqa: E402
from dprelease.sources.csv.csv_source import SOURCE, CsvTable  # noqa: E402
from dprelease.sources.shared.read_share import UNTOLD  # noqa: E402
from dprelease.sources.shared.record_stream import Fields  # noqa: E402

# Lines of a file, and how many of them are damaged.
SIZES = ((4000, 0.0), (4000, 0.0), (400, 0.01), (30, 0.5))

Found = Counter[str]  # how often each record occurs


class DiffersError(AssertionError):
    """Two readers make different records of the same lines."""


@dataclass(frozen=True)
class Asked:
    """What is wanted of the files: some fields as texts, or all roles of a request."""

    source: Source
    table: CsvTable
    inputs: tuple[InputColumn, ...]
    request: AggregateRequest | None = None

    @property
    def places(self) -> list[int]:
        """Of the fields that are read."""
        return sorted(self.table.layout.position.values())


def told(rows: Iterable[Iterable[Any]]) -> Found:
    """Rows as texts that tell all values apart; 0.0 and -0.0 are one."""
    return Counter(
        repr([each + 0.0 if isinstance(each, float) else each for each in row]) for row in rows
    )


def by_oracle(asked: Asked) -> Found:
    """The records as the oracle has them."""
    if asked.request is not None:
        return told(map(facts_of(asked.request), reference._records(asked.request)))
    return told(
        [fields[place] for place in asked.places] or [0]
        for path in asked.table.paths
        for fields in reference._file_records(path, asked.table.layout, asked.source.dialect)
    )


def by_statement(
    connection: Any, asked: Asked, fields: Fields, *, has_labels: bool = False
) -> Found:
    """The records as a statement over the fields has them; raises duckdb.Error."""
    relation = fields.relation
    names = [f"f{place}" for place in asked.places]
    if asked.request is not None:
        if not has_labels:
            put_labels(connection, asked.request.groups)
        rows = build_rows(asked.request, fields)
        relation = rows.relation.layer({"unit": rows.unit})
        columns = (rows.quantities, rows.conditions, rows.values)
        names = [*rows.groups, *(name for each in columns for name in each.values()), "unit"]
    query = relation.select([col(each) for each in names] or [literal(0)])
    return told(connection.execute(str(query)).fetchall())


def by_duckdb(connection: Any, asked: Asked, leaving: bool = False) -> Found | None:
    """The records by DuckDB's reader, if it answers for them; it may be one ``leaving`` lines."""
    own = asked.table.fast()
    if own is None:
        return None
    own = own.leave_out_lines() if leaving else own

    def read() -> Found:
        found = by_statement(cursor, asked, own.fields)
        splits = own.find_left_out(cursor)
        if splits:
            rest = asked.table.stream(splits)
            read_stream(rest, cursor, Stream()).renew({}, None)
            found += by_statement(cursor, asked, rest.fields, has_labels=True)
        return found

    with closing(connection.cursor()) as cursor:
        found, confirms = own.read_checked(cursor, read, UNTOLD)
    return found if found is not None and confirms(found.total()) else None


def by_care(connection: Any, asked: Asked) -> Found:
    """The records by the careful reader."""
    records = asked.table.stream()
    with closing(connection.cursor()) as cursor:
        read_stream(records, cursor, Stream()).renew({}, None)
        return by_statement(cursor, asked, records.fields)


@dataclass
class Compared:
    """How many lines of all were read by DuckDB too: as texts, and in roles."""

    lines: int = 0
    texts: int = 0
    roles: int = 0
    files: int = 0
    left: int = 0  # by DuckDB where it may leave lines out


class Comparison:
    """Compares the readers on the files of one form after the other, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done = Compared()

    def of(self, form: Form, some: Sequence[bytes], rng: Random) -> None:
        """Compare texts on all lines, then roles on those that DuckDB's reader answers for.

        Raises DiffersError.
        """
        for old in self.folder.iterdir():
            old.unlink()
        with open_session(
            [str(self.folder / f"{number}.csv") for number in range(form.files)]
        ) as opened:
            names = [name for name in form.columns if name != "n"]
            if rng.random() < 0.2:  # fewer are read: the others may hold anything
                names = rng.sample(names, rng.randint(0, min(2, len(names))))
            texts = tuple(InputColumn(name, ColumnType.STRING) for name in names)
            self.done.files += form.files
            self.done.lines += len(some)
            easy = self._answered(opened, form, some, texts)
            self.done.texts += len(easy)
            request = request_of(self.folder, form, rng)
            self.done.roles += len(self._answered(opened, form, easy, request.inputs, request))

    def _answered(
        self,
        connection: Any,
        form: Form,
        some: Sequence[bytes],
        inputs: tuple[InputColumn, ...],
        request: AggregateRequest | None = None,
    ) -> list[bytes]:
        """The lines that DuckDB's reader answers for, all of them compared."""
        if not form.written(self.folder, some):
            return []
        source = Source(str(self.folder), "csv", form.dialect)
        table = SOURCE.lay_out(source, inputs)
        asked = Asked(source, table, inputs, request)
        known = by_oracle(asked)
        self._compare("the careful reader", form, some, by_care(connection, asked), known)
        left = by_duckdb(connection, asked, leaving=True)
        if left is not None:
            self.done.left += len(some)
            self._compare("DuckDB's reader that leaves lines", form, some, left, known)
        found = by_duckdb(connection, asked)
        if found is not None:
            self._compare("DuckDB's reader", form, some, found, known)
            return list(some)
        if len(some) < 2 or table.fast() is None:
            return []
        half = len(some) // 2
        first, second = (
            self._answered(connection, form, part, inputs, request)
            for part in (some[:half], some[half:])
        )
        return first + second

    def _compare(
        self, name: str, form: Form, some: Sequence[bytes], found: Found, known: Found
    ) -> None:
        if found != known:
            sides = [list(one - other)[:3] for one, other in ((found, known), (known, found))]
            few = some if len(some) < 10 else f"{len(some)} lines"
            raise DiffersError(f"{name} has {sides[0]}, not {sides[1]}: {few!r} in {form}")


def run(folder: Path, size: int, seed: int) -> Compared:
    """Compare at least so many lines in roles; raises DiffersError."""
    comparison = Comparison(folder)
    turn = 0
    while comparison.done.roles < size:
        rng = Random(f"{seed} {turn}")
        form = forms(rng)
        some = lines(rng, form, *rng.choice(SIZES))
        try:
            comparison.of(form, some, rng)
        except DiffersError as problem:
            raise DiffersError(f"seed {seed}, turn {turn}: {problem}") from None
        turn += 1
    return comparison.done


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="lines of CSV files")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        done = run(Path(made), given.lines, given.seed)
    sys.stdout.write(f"{done}, all alike, from seed {given.seed}\n")


if __name__ == "__main__":
    main()
