#!/usr/bin/env bash
# SmartNoise SQL 1.0.10 (with opendp 0.14.2): a noisy COUNT is continuous Laplace noise rounded
# down, so that it is half too small on average.
#
# Expected of a count with noise of scale 1: no bias, and a root mean square error of 1.36
# (discrete Laplace noise) or 1.41 (continuous Laplace noise).
# Seen, 20,000 counts of 50 rows each at epsilon 1: mean error -0.50, root mean square error 1.53,
# which are the figures of floor(Laplace(1)): -1/2 and sqrt(2 + 1/12 + 1/4) = 1.53.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet smartnoise-sql==1.0.10 opendp==0.14.2 pandas==2.3.3

cat > count.py <<'PYTHON'
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
from snsql import Privacy, from_df

GROUPS, ROWS, DRAWS = 2_000, 50, 10
table = pd.DataFrame({"region": np.repeat([f"r{i:04}" for i in range(GROUPS)], ROWS)})
columns = {"row_privacy": True, "rows": len(table), "censor_dims": False, "region": {"type": "string"}}
reader = from_df(
    table,
    privacy=Privacy(epsilon=1.0, delta=1e-9),
    metadata={"": {"main": {"visits": columns}}},
)
errors = np.concatenate(
    [
        reader.execute_df("SELECT region, COUNT(*) AS n FROM main.visits GROUP BY region").n - ROWS
        for _ in range(DRAWS)
    ]
).astype(float)
bias, rmse = errors.mean(), float(np.sqrt((errors**2).mean()))
print(f"{len(errors)} counts: mean error {bias:.2f}, root mean square error {rmse:.2f}")
# One deviation of the mean is 0.01, and one of the root mean square error about 0.015.
if not (-0.56 < bias < -0.44 and 1.46 < rmse < 1.6):
    raise SystemExit("changed: the count is no longer Laplace noise rounded down")
PYTHON
venv/bin/python count.py
