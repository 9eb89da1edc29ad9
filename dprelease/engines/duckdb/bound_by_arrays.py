"""Bounding of units by sorted arrays: each row is a few integers, and each unit has a number.

A row is packed into one or more integers. Each counted column is a field of bits, the first column
in the highest bits; a null is stored as 0. Above the fields of the first integer stands the number
of the row's unit. So sorting the integers sorts the rows by unit, and within a unit in canonical
order (``request_content``). A table holds the packed rows of all units, eight bytes for each
integer. A range of units at a time is read from it, sorted, and cut by ``duckdb.bounding_rule``.

Guarantee. Units are identified by their exact value: a table assigns one number to each value, and
each row looks up the number of its own value. A cut depends on the unit's own rows and the salt
alone. Rows equal in all counted columns are interchangeable, so the sort may order them in any way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dprelease.engines.duckdb.bounding_rule import Cut, compute_number, hash_unit
from dprelease.engines.duckdb.duckdb_session import get_memory_limit
from dprelease.engines.duckdb.field_reader import FieldReader
from dprelease.engines.duckdb.record_cells import Cells, count_public_cells, name_firsts
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import COUNT_ALL, STAR, Sql, call, case, col, drop, literal
from dprelease.model import AggregateRequest, Bound
from dprelease.sources.shared.request_content import count_leading_groups

if TYPE_CHECKING:
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

    Integers = npt.NDArray[Any]

BITS = 63  # bits of an integer without its sign
WIDEST = 62  # most bits of a field
MOST_CELLS = 1 << 31  # leaves bits of the first integer for the number of the unit
AT_ONCE = 1 << 21  # rows sorted and cut at once, on average; a unit is never split
SORTED = 80  # bytes of memory for each of these rows

UNITS, PACKED, SLICE, SAMPLE = "units", "packed", "slice", "sample"  # tables of a connection


class Field(Struct, frozen=True):
    """A column of integers from ``lowest`` to ``lowest + size - 1``, or null."""

    column: str
    lowest: int
    size: int
    nullable: bool = True
    truth: bool = False  # a condition: 1 where it is true, else 0

    @property
    def bits(self) -> int:
        """Width of the field in bits."""
        return (self.size + self.nullable - 1).bit_length()

    def encode(self) -> Sql:
        """Encode the value as a nonnegative integer of the field's width."""
        value = col(self.column)
        if self.truth:
            return case([(value, 1)], 0)
        return call("COALESCE", value - self.lowest + 1, 0) if self.nullable else value


class Packing(Struct, frozen=True):
    """Layout of a row in nonnegative integers ``x0``, ``x1``, ...: as many as its fields take.

    The fields are in canonical order: the cell, the cell among later groups if there are any, and
    the counted columns. Above the fields of ``x0`` stands a number of ``above`` bits.
    """

    fields: tuple[Field, ...]
    above: int = 0

    @property
    def bits(self) -> int:
        """Width of all fields in bits."""
        return sum(field.bits for field in self.fields)

    @property
    def words(self) -> tuple[tuple[Field, ...], ...]:
        """Fields of each integer."""
        words: list[list[Field]] = [[]]
        room = BITS - self.above
        for field in self.fields:
            if field.bits > room:
                words.append([])
                room = BITS
            words[-1].append(field)
            room -= field.bits
        return tuple(map(tuple, words))

    @property
    def number_low_bit(self) -> int:
        """Position of the number's lowest bit in the first integer."""
        return sum(field.bits for field in self.words[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that hold the integers."""
        return tuple(f"x{index}" for index in range(len(self.words)))

    def place(self, column: str) -> tuple[int, int]:
        """Find the integer that holds the column's field, and the position of its lowest bit."""
        for index, word in enumerate(self.words):
            low = sum(field.bits for field in word)
            for field in word:
                low -= field.bits
                if field.column == column:
                    return index, low
        raise KeyError(column)

    def pack(self, number: Sql | None = None) -> dict[str, Sql]:
        """Pack a row into integers, the number in the highest bits; null where the cell is null."""
        columns = {}
        for index, (name, word) in enumerate(zip(self.names, self.words, strict=True)):
            whole = literal(0).cast("BIGINT") if index or number is None else number
            for field in word:
                whole = (whole << field.bits).bits_or(field.encode().cast("BIGINT"))
            columns[name] = whole
        return columns

    def decode(self, column: str) -> Sql:
        """Decode a column from its field."""
        (field,) = (field for field in self.fields if field.column == column)
        index, low = self.place(column)
        value = col(self.names[index])
        bits = (value >> low if low else value).bits_and((1 << field.bits) - 1).cast("BIGINT")
        if field.truth:
            return bits.equals(1)
        return call("NULLIF", bits, 0) + (field.lowest - 1) if field.nullable else bits

    def extract_bits(self, column: str, words: Sequence[Integers]) -> Integers:
        """Extract the bits of a field in each row."""
        (field,) = (field for field in self.fields if field.column == column)
        index, low = self.place(column)
        return (words[index] >> low) & ((1 << field.bits) - 1)

    def find_beginnings(self, column: str, words: Sequence[Integers]) -> Integers:
        """Mark rows that differ from the one before in this field or higher bits, and the first."""
        import numpy as np

        index, low = self.place(column)
        new = np.ones(len(words[0]), bool)
        new[1:] = words[index][1:] >> low != words[index][:-1] >> low
        for word in words[:index]:
            new[1:] |= word[1:] != word[:-1]
        return new


def forget(connection: DuckDBPyConnection) -> None:
    """Drop the tables of an earlier part, which may have run out of memory at any point."""
    for table in (UNITS, PACKED, SAMPLE):
        connection.execute(str(drop(table)))
    # Last: DuckDB can't unregister while a failed answer is open, and a statement closes it.
    connection.unregister(SLICE)


def plan_packing(request: AggregateRequest, rows: Rows) -> Packing | None:
    """Plan how to pack the rows of a bounded request; None if they can't be packed."""
    bound = request.bound
    if bound is None or bound.clip is not None or request.private or rows.values:
        return None
    leading, end = count_leading_groups(request), len(request.groups)
    fields = [Field("c", 0, count_public_cells(request, 0, leading), nullable=False)]
    if leading < end:
        fields.append(Field("a", 0, count_public_cells(request, leading, end)))
    for quantity, key in rows.quantities.items():
        fields.append(Field(key, quantity.grid.lower, quantity.grid.width + 1))
    for key in rows.conditions.values():
        fields.append(Field(key, 0, 2, nullable=False, truth=True))
    fits = fields[0].size <= MOST_CELLS and max(field.bits for field in fields) <= WIDEST
    return Packing(tuple(fields)) if fits else None


class SortedBounding(NamedTuple):
    """Sampler of the rows of units by sorted arrays.

    If the reader wants everything, one row in no cell accounts for all records, and the rows of the
    sample account for none.
    """

    request: AggregateRequest
    bound: Bound
    cells: Cells
    packing: Packing
    reader: FieldReader

    def sample(self) -> Cells:
        """Store the rows of the sample in a table; raises duckdb.Error."""
        import numpy as np

        readings = self.reader.share.readings
        self.reader.share.begin(readings + 1)
        count, rows = self._number_units()
        packing = replace(self.packing, above=count.bit_length())
        self.reader.share.begin(readings)
        records = self._pack_rows(packing)
        parts = max(1, -(-rows // AT_ONCE))
        for part in range(parts):
            first, end = part * count // parts, (part + 1) * count // parts
            words = self._keep_sampled(packing, self._sort_rows(packing, first, end), first, end)
            columns = dict(zip(packing.names, words, strict=True)) | self._find_firsts(
                packing, words
            )
            if not part and self.reader.everything and records:
                # the row in no cell: its x0 is minus the number of all records
                last = dict.fromkeys(columns, 0) | {"x0": -records}
                columns = {name: np.append(columns[name], last[name]) for name in columns}
            self._keep(columns, new=not part)
        for table in (UNITS, PACKED):
            self._query(drop(table))
        firsts = name_firsts(self.request)
        decoded = {field.column: packing.decode(field.column) for field in packing.fields}
        decoded |= {key: col(key).equals(1) for key in firsts.values()}
        if self.reader.everything:
            none = col("x0") < 0
            # Null in that row: the bits of its x0 may decode to numbers beyond a grid, whose
            # squares overflow.
            decoded = {key: case([(~none, value)]) for key, value in decoded.items()}
            decoded["n"] = case([(none, -col("x0"))], 0)
        weight = "n" if self.reader.everything else None
        relation = col(SAMPLE).layer(decoded, keep=False)
        return replace(self.cells, relation=relation, firsts=firsts, weight=weight)

    def _query(self, sql: Sql) -> DuckDBPyConnection:
        """Execute a statement that reads no records."""
        return self.reader.connection.execute(str(sql))

    def _number_units(self) -> tuple[int, int]:
        """Store each unit with its number and its count of rows; return how many of both exist."""
        import duckdb

        unit, only = col("u"), None
        source = self.cells.filter(col("c").not_null()).relation
        if self.cells.units is not None:
            only = frozenset([self.bound.column])
            source = self.cells.units.only(None if self.bound.null_unit else unit.not_null())
        units = source.select([unit, COUNT_ALL.alias("rows")], [unit]).subquery("inside")
        units = units.layer({"number": call("ROW_NUMBER").over([]) - 1})
        self.reader.fetch_rows(units.select([STAR]).create(UNITS), only)
        sizes = [call("SUM", col("rows")).cast("BIGINT"), call("MAX", col("rows"))]
        ((count, rows, largest),) = self._query(col(UNITS).select([COUNT_ALL, *sizes])).fetchall()
        memory = get_memory_limit(self.reader.connection)
        # One unit's rows are sorted at once. ``run_in_parts`` catches this and splits the part.
        if memory is not None and (largest or 0) * SORTED > memory:
            raise duckdb.OutOfMemoryException
        return count, rows or 0

    def _pack_rows(self, packing: Packing) -> int:
        """Store the packed rows in a table; return their number."""
        columns = {field.column: col(field.column) for field in packing.fields}
        rows = self.cells.relation.layer({**columns, "u": col("u")}, keep=False)
        rows = rows.join("LEFT JOIN", col(UNITS), col("u", "inside").same(col("u", UNITS)))
        packed = rows.layer(packing.pack(col("number")), keep=False)
        ((records,),) = self.reader.fetch_rows(packed.select([STAR]).create(PACKED))
        return int(records)

    def _sort_rows(self, packing: Packing, first: int, end: int) -> list[Integers]:
        """Read the packed rows of the units from ``first`` to ``end - 1``, sorted."""
        import numpy as np

        low = packing.number_low_bit
        where = col("x0").between(first << low, (end << low) - 1)
        table = self._query(col(PACKED).select(map(col, packing.names), where=where)).fetchnumpy()
        words = [np.asarray(table[name]) for name in packing.names]
        if len(words) == 1:
            words[0].sort()
            return words
        order = np.lexsort(words[::-1])
        return [word[order] for word in words]

    def _keep_sampled(
        self, packing: Packing, words: list[Integers], first: int, end: int
    ) -> list[Integers]:
        """Cut the sorted rows of these units to the sample."""
        import numpy as np

        low, bound = packing.number_low_bit, self.bound
        starts = self._compute_starts(first, end)

        def find_unit(rows: Integers) -> Integers:
            return (words[0][rows] >> low) - first

        runs = _find_runs(np.diff(words[0] >> low, prepend=-1) != 0)
        index = choose_places(runs, bound.rows, starts[Cut.ROWS][find_unit(runs[0])])
        words = [word[index] for word in words]
        if bound.groups < min(bound.rows, packing.fields[0].size):
            cells = _find_runs(packing.find_beginnings("c", words))
            owners = find_unit(cells[0])
            runs = _find_runs(np.diff(owners, prepend=-1) != 0)
            chosen = np.zeros(len(owners), bool)
            chosen[choose_places(runs, bound.groups, starts[Cut.CELLS][owners[runs[0]]])] = True
            index = np.repeat(chosen, cells[1])
            words = [word[index] for word in words]
        if bound.per_group < bound.rows:
            cells = _find_runs(packing.find_beginnings("c", words))
            index = choose_places(cells, bound.per_group, starts[Cut.WITHIN][find_unit(cells[0])])
            words = [word[index] for word in words]
        return words

    def _compute_starts(self, first: int, end: int) -> list[Integers]:
        """Compute each unit's number for each cut; 0 for a unit too small to be cut."""
        import numpy as np

        bound, number = self.bound, col("number")
        smallest = min(bound.rows, bound.groups, bound.per_group)
        is_cut = (col("rows") > smallest) & (number >= first) & (number < end)
        units = col(UNITS).select(
            [number, hash_unit(bound.salt, self.cells.rows.unit).alias("d")], where=is_cut
        )
        columns = [compute_number(col("d"), cut).alias(f"start{cut:d}") for cut in Cut]
        table = self._query(units.subquery("inside").select([number, *columns])).fetchnumpy()
        starts = []
        for cut in Cut:
            starts.append(np.zeros(end - first, np.int64))
            starts[-1][table["number"] - first] = table[f"start{cut:d}"]
        return starts

    def _find_firsts(self, packing: Packing, words: list[Integers]) -> dict[str, Integers]:
        """Mark for each condition the first row of each unit in each cell that meets it."""
        import numpy as np

        whole = "a" if self.cells.later else "c"
        firsts = {}
        for where, key in name_firsts(self.request).items():
            holds = np.ones(len(words[0]), bool)
            if self.cells.later:
                holds &= packing.extract_bits("a", words) > 0
            if where is not None:
                holds &= packing.extract_bits(self.cells.rows.conditions[where], words) > 0
            firsts[key] = np.zeros(len(holds), np.int8)
            firsts[key][holds] = packing.find_beginnings(whole, [word[holds] for word in words])
        return firsts

    def _keep(self, columns: dict[str, Integers], new: bool) -> None:
        """Append rows to the table of the sample; create it if ``new``."""
        import pyarrow as pa

        connection = self.reader.connection
        connection.register(SLICE, pa.table(columns))
        rows = col(SLICE).select([STAR])
        self._query(rows.create(SAMPLE) if new else rows.insert(SAMPLE))
        connection.unregister(SLICE)


def _find_runs(begins: Integers) -> tuple[Integers, Integers]:
    """Find where runs begin, and how long they are."""
    import numpy as np

    places = np.flatnonzero(begins)
    return places, np.diff(places, append=len(begins))


def choose_places(runs: tuple[Integers, Integers], limit: int, unit_numbers: Integers) -> Integers:
    """Choose the items kept of each run, by the rule of ``duckdb.bounding_rule``.

    Args:
        runs: Where each run begins, and the number of its items.
        limit: Most items kept of a run.
        unit_numbers: The number of each run's unit for this cut.

    Returns:
        The indices of the kept items, in order.
    """
    import numpy as np

    starts, sizes = runs
    taken = np.minimum(sizes, limit)
    run_of = np.repeat(np.arange(len(sizes)), taken)
    rank = np.arange(len(run_of)) - (np.cumsum(taken) - taken)[run_of]
    size = sizes[run_of]
    place = (rank * size + (unit_numbers % sizes)[run_of]) // limit
    kept_places: Integers = starts[run_of] + np.where(size > limit, place, rank)
    return kept_places
