"""How fast the codes of all records come, and in how much memory, at two sizes.

Four columns of a made-up Parquet file: a text of ten keys (and forty that are not declared), an
amount on a grid of hundredths, and an integer and a truth computed from it. All records, and at
most five of each person. Each figure is of a whole process. Targets: 10 million cells a second of
all records; as much memory for 20 million records as for a tenth of them, and less than 400 MiB;
with a bound less than 1 GiB. On a busy machine look at processor time instead.

Run: python benchmarks/records.py FOLDER [ROWS] [csv]
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from big_table import ROWS, write_table
from processes import Cost, measure, verdict

from dprelease.engines import get
from dprelease.model import (
    Bound,
    ColumnType,
    Expression,
    Grid,
    Group,
    InputColumn,
    Quantity,
    RecordRequest,
    Source,
)

KEYS = tuple(f"region_{number:02d}" for number in range(10))
SLOWEST = 10e6  # cells a second
MOST_MEMORY, MOST_BOUNDED = 400.0, 1024.0
BOUND = Bound("user_id", rows=5, groups=1, per_group=5, leading=0, salt=1)


def request(table: Path, bounded: bool) -> RecordRequest:
    """Four columns, whose values are the codes."""
    whole = Expression("CAST(amount AS INTEGER)", ("amount",))
    high = Expression("amount > 50", ("amount",))
    people = (InputColumn(BOUND.column, ColumnType.STRING),)
    return RecordRequest(
        Source(str(table), table.suffix.removeprefix(".")),
        (
            InputColumn("region", ColumnType.STRING),
            InputColumn("amount", ColumnType.FLOAT),
            InputColumn("whole", ColumnType.INTEGER, whole),
            InputColumn("high", ColumnType.BOOLEAN, high),
            *(people if bounded else ()),
        ),
        (
            Group("region", ColumnType.STRING, KEYS, keys=KEYS),
            Quantity("amount", Grid(Fraction(1, 100), 0, 200_000), null_fill=0),
            Quantity("whole", Grid(Fraction(1), 0, 2_000), null_fill=0),
            Group("high", ColumnType.BOOLEAN, ("false", "true"), keys=("false", "true")),
        ),
        BOUND if bounded else None,
    )


def read(table: Path, bounded: bool) -> None:
    """Take all batches, in this process, and print how many records came."""
    stream = get("duckdb").records(request(table, bounded)).reveal()
    print(sum(len(batch[0]) for batch in stream))


def cost(table: Path, how: str) -> Cost:
    """A process of its own that reads once."""
    command = [sys.executable, str(Path(__file__).resolve()), str(table), how]
    return measure(command, table.parent)


def main() -> None:
    """Print a line for each size, and one for bounded records."""
    folder = Path(sys.argv[1]).resolve()
    rows = int(sys.argv[2]) if sys.argv[2:] else ROWS
    form = sys.argv[3] if sys.argv[3:] else "parquet"
    print(f"{'rows':>11} {'':9} {'seconds':>8} {'cpu':>6} {'peak':>9} {'cells a second':>15}")
    for size, how in ((rows // 10, "all"), (rows, "all"), (rows, "bounded")):
        own = cost(write_table(folder, form, size), how)
        pace = 4 * size / own.seconds
        most = MOST_BOUNDED if how == "bounded" else MOST_MEMORY
        line = (
            f"{size:11,} {how:9} {own.seconds:8.1f} {own.cpu:6.1f} {own.mebibytes:5.0f} MiB"
            f" {pace / 1e6:13.1f} M  <= {most:.0f} MiB {verdict(own.mebibytes, most)}"
        )
        if how == "all" and size == rows and form == "parquet":
            line += f", >= {SLOWEST / 1e6:.0f} M {verdict(SLOWEST, pace)}"
        print(line)


if __name__ == "__main__":
    if sys.argv[2:] and sys.argv[2] in ("all", "bounded"):
        read(Path(sys.argv[1]), sys.argv[2] == "bounded")
    else:
        main()
