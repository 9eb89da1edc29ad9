#!/usr/bin/env bash
# OpenDP 0.16.0 (its Polars interface, polars 1.36.1): dp.sum adds the middle of its bounds for each
# null and each NaN, without a warning, and dp.mean divides that sum by the number of all rows. So
# figures depend on how wide the bounds are, also where no value is cut. It is meant (opendp/opendp,
# issue 1701, so that nobody has to write fill_null), but the docstrings of dp.sum and dp.mean don't
# tell: that of dp.sum has noise added to two for [1, 2, None] with bounds 0 and 1, where the middle
# of whole numbers happens to be rounded down to 0. In Polars and in SQL, sums and means pass over
# nulls.
#
# Expected of 10,000 rows, of which 5,000 are 2 and 5,000 null: a sum near 10,000, a mean near 2.
# Seen: 260,000 and 26 with bounds 0 and 100, 2,510,000 and 251 with 0 and 1,000, 10,000 and 1 with
# -100 and 100. With fill_null(0) the sum is 10,000 throughout. Noise has a scale of 200 or less.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet 'opendp[polars]==0.16.0' polars==1.36.1

cat > nulls.py <<'PYTHON'
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
HALF = 5_000
TABLE = pl.LazyFrame(
    {"null": [2] * HALF + [None] * HALF, "nan": [2.0] * HALF + [float("nan")] * HALF}
)


def release(expression):
    context = dp.Context.compositor(
        data=TABLE,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=5.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=2 * HALF)],
    )
    return context.query().select(expression.alias("figure")).release().collect()["figure"][0]


for lower, upper in ((0, 100), (0, 1_000), (-100, 100)):
    seen = HALF * (2 + (lower + upper) // 2)
    for column, filled, kind in (
        (pl.col("null"), pl.col("null").fill_null(0), int),
        (pl.col("nan"), pl.col("nan").fill_null(0.0).fill_nan(0.0), float),
    ):
        bounds = kind(lower), kind(upper)
        total, mean = release(column.dp.sum(bounds)), release(column.dp.mean(bounds))
        with_0 = release(filled.dp.sum(bounds))
        print(f"bounds {bounds}: sum {total:,.0f}, mean {mean:.2f}; filled with 0 {with_0:,.0f}")
        if abs(total - seen) > 5_000 or abs(mean - seen / (2 * HALF)) > 0.5:
            raise SystemExit("changed: nulls add something else")
        if abs(with_0 - 2 * HALF) > 5_000:
            raise SystemExit("changed: filled nulls add something else")
PYTHON
venv/bin/python nulls.py
