#!/usr/bin/env bash
# OpenDP 0.16.0 (its Polars interface, polars 1.36.1): truncate_num_groups(k) keeps k - 1 groups of
# each person, and draws noise for k. With k = 1 nothing is left of anybody, without a warning.
#
# Expected of 2,000 people with a row in each of 4 regions, k = 2: 2 rows a person are counted.
# Seen: 0, 1, 2 and 3 rows for k = 1, 2, 3 and 4, at noise scales of k / epsilon. With keep="first";
# the noise (scale at most 0.04) can't explain it.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet 'opendp[polars]==0.16.0' polars==1.36.1

cat > groups.py <<'PYTHON'
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
PEOPLE, REGIONS = 2_000, ["a", "b", "c", "d"]
table = pl.LazyFrame(
    {
        "person": [person for person in range(PEOPLE) for _ in REGIONS],
        "region": REGIONS * PEOPLE,
    }
)
kept = {}
for k in (1, 2, 3, 4):
    context = dp.Context.compositor(
        data=table,
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=100.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["region"], max_length=10_000)],
    )
    query = (
        context.query()
        .truncate_num_groups(k, keep="first", by=["region"])
        .truncate_per_group(1, by=["region"])
        .group_by("region")
        .agg(dp.len(signed=True))
        .with_keys(pl.LazyFrame({"region": REGIONS}))
    )
    scale = query.summarize()["scale"][0]
    kept[k] = round(query.release().collect()["len"].sum() / PEOPLE)
    print(f"k = {k}: {kept[k]} rows of each person are counted, noise has scale {scale:.2f}")
    if abs(scale - k / 100) > 1e-9:
        raise SystemExit("changed: the noise is another")
if kept != {1: 0, 2: 1, 3: 2, 4: 3}:
    raise SystemExit("changed: another number of groups is kept")
PYTHON
venv/bin/python groups.py
