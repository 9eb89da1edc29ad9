#!/usr/bin/env bash
# SmartNoise SQL 1.0.10: with its default `censor_dims`, SELECT region, SUM(amount) ... GROUP BY region
# draws a noisy count of the rows of each group too, which nobody asked for, and charges for it.
#
# Expected of one sum at epsilon 1: a cost of epsilon 1.
# Seen, by get_privacy_cost and by the odometer after the query: epsilon 2 for a SUM, 3 for an AVG (a
# sum, a count of values, the hidden count), but 1 for a COUNT, whose own count serves.
# With `censor_dims: False` the three cost 1, 2 and 1. So who compares tools at "epsilon 1" has to
# ask what was charged, not what was passed in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet smartnoise-sql==1.0.10 opendp==0.14.2 pandas==2.3.3

cat > cost.py <<'PYTHON'
import warnings

import pandas as pd

warnings.filterwarnings("ignore")
from snsql import Privacy, from_df

table = pd.DataFrame({"region": ["a", "b"] * 500, "amount": range(1_000)})
EXPECTED = {
    (True, "SUM(amount)"): 2,
    (True, "AVG(amount)"): 3,
    (True, "COUNT(*)"): 1,
    (False, "SUM(amount)"): 1,
    (False, "AVG(amount)"): 2,
    (False, "COUNT(*)"): 1,
}
seen = {}
for censored, figure in EXPECTED:
    columns = {
        "row_privacy": True,
        "rows": len(table),
        "censor_dims": censored,
        "region": {"type": "string"},
        "amount": {"type": "int", "lower": 0, "upper": 1_000},
    }
    reader = from_df(
        table,
        privacy=Privacy(epsilon=1.0, delta=1e-9),
        metadata={"": {"main": {"visits": columns}}},
    )
    query = f"SELECT region, {figure} AS figure FROM main.visits GROUP BY region"
    stated = reader.get_privacy_cost(query)[0]
    reader.execute_df(query)
    spent = reader.odometer.spent[0]
    print(f"censor_dims {censored}: {figure} costs epsilon {stated:g}, and {spent:g} was spent")
    seen[censored, figure] = round(stated, 6)
    if abs(stated - spent) > 1e-6:
        raise SystemExit("changed: what is spent is not what was stated")
if seen != EXPECTED:
    raise SystemExit("changed: the costs are others")
PYTHON
venv/bin/python cost.py
