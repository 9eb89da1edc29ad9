"""Totals of units scaled to a norm, in exact integers: see ``Clip``.

Sums of 64-bit integers are 128 bits wide, and more than 2^60 rows would be needed to exceed them.
Each total is then held within 2^50 of 0. So squares have 100 bits, sums of squares over a million
cells 120, and a total times the bound, which is at most 2^50, has 100: nothing overflows, whatever
the data holds.

The root is an integer: the least whose square is at least the sum of squares S. Newton's steps
x -> (x + S // x) // 2 begin at a power of 2 with sqrt(S) < x <= 2 sqrt(S). A step never falls below
the root rounded down, and leaves at most (x - sqrt(S))^2 / (2 x) above it. As a share of sqrt(S)
the distance is at most 1, 1/4, 1/40, 1/3,280, then 1/2^24, 1/2^49 and 1/2^99, which is less than 1
for any S here. So after ``NEWTON_STEPS`` x is the root rounded down, or up.
"""

from __future__ import annotations

from dprelease.engines.duckdb.measures import aggregate
from dprelease.engines.duckdb.record_cells import Cells, compute_cell_number
from dprelease.expressions.sqltext import COUNT_ALL, Sql, call, case, col
from dprelease.model import MOST_CLIPPED, AggregateRequest, Clip, ClipNorm

NEWTON_STEPS = 6
LARGEST_ROOT = 63  # bits of the root of a sum of squares
CELL, TOTAL = col("cell"), col("total")


def sum_clipped(request: AggregateRequest, cells: Cells, clip: Clip) -> Sql:
    """Write SQL of the sums of scaled totals: cell, records, the one measure.

    Args:
        request: Has one measure and public groups.
        cells: All rows of the units, none left out.
        clip: What each unit's totals are scaled to.
    """
    (measure,) = request.measures
    number = call("COALESCE", compute_cell_number(request, cells), -1)
    rows = cells.relation.layer({"cell": number})
    own = [col("u"), CELL]
    columns = [*own, COUNT_ALL.alias("records"), aggregate(measure, cells.rows).alias("whole")]
    totals = rows.select(columns, own).subquery("inside")
    # A unit without rows in a cell, or without values there, has a total of 0.
    whole = call("COALESCE", col("whole").cast("HUGEINT"), 0)  # LEAST would ignore a null
    held = call("GREATEST", call("LEAST", whole, MOST_CLIPPED), -MOST_CLIPPED)
    totals = totals.layer({"total": case([(CELL >= 0, held)], 0).cast("HUGEINT")})
    is_long, norm, totals = _measure_units(totals, clip)
    size = (call("ABS", TOTAL) * clip.bound) // norm
    scaled = case([(~is_long, TOTAL), (TOTAL < 0, -size)], size)
    sums = [call("SUM", col("records")).cast("BIGINT"), call("SUM", col("scaled"))]
    return totals.layer({"scaled": scaled}).select([CELL, *sums], [CELL])


def _measure_units(totals: Sql, clip: Clip) -> tuple[Sql, Sql, Sql]:
    """Give whether a unit's norm exceeds the bound, that norm, and the relation that has both."""
    if clip.norm is ClipNorm.L1:
        norm = call("SUM", call("ABS", TOTAL)).over([col("u")])
        totals = totals.layer({"norm": call("GREATEST", norm, 1)})
        return col("norm") > clip.bound, col("norm"), totals
    squares = call("SUM", TOTAL * TOTAL).over([col("u")])
    totals = totals.layer({"squares": call("GREATEST", squares, 1)})
    powers = ((col("squares") < 4**bits, 2**bits) for bits in range(1, LARGEST_ROOT))
    totals = totals.layer({"root0": case(powers, 2**LARGEST_ROOT).cast("HUGEINT")})
    for step in range(NEWTON_STEPS):
        root = col(f"root{step}")
        totals = totals.layer({f"root{step + 1}": (root + col("squares") // root) // 2})
    root = col(f"root{NEWTON_STEPS}")
    up = case([(root * root < col("squares"), root + 1)], root)
    totals = totals.layer({"norm": up})
    return col("squares") > clip.bound**2, col("norm"), totals
