#!/usr/bin/env bash
# diffprivlib 0.6.6: tools.count_nonzero cuts its noisy count to between 0 and the number of values
# that it was given. So a count of all rows is never too large, is exact more than half of the
# time, and tells how many rows there are as its largest result: the number of rows is taken for
# public, also where it is what is counted.
#
# Expected of a count of 1,000 rows with geometric noise at epsilon 0.1: above 1,000 in about 47 of
# 100 draws, mean error 0.
# Seen in 4,000 draws: never above 1,000, exactly 1,000 in about 52 of 100, mean error about -5.0.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet diffprivlib==0.6.6 scikit-learn==1.6.1

cat > count.py <<'PYTHON'
import numpy as np
from diffprivlib import tools

ROWS, DRAWS = 1_000, 4_000
everybody = np.ones(ROWS, dtype=bool)
counts = np.array([tools.count_nonzero(everybody, epsilon=0.1) for _ in range(DRAWS)])
exact, bias = (counts == ROWS).mean(), (counts - ROWS).mean()
print(f"largest {counts.max()}, exactly {ROWS}: {exact:.2f} of the draws, mean error {bias:.2f}")
# Geometric noise with a = exp(-0.1): P(noise >= 0) = 1 / (1 + a), and its mean below 0.
if counts.max() > ROWS or not 0.48 < exact < 0.57 or not -5.6 < bias < -4.2:
    raise SystemExit("changed: counts go beyond the number of rows")
PYTHON
venv/bin/python count.py
