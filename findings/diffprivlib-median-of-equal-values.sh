#!/usr/bin/env bash
# diffprivlib 0.6.6: tools.median, quantile and percentile choose one of the gaps between
# neighbouring values, then a number within it. Equal values have no gap, so a value can't be chosen
# however many rows have it: the median of rows that are all equal is anywhere between the bounds, as
# if there were no data, and where most rows are equal it is that of the others. The noise that
# epsilon asks for doesn't explain it, and neither a warning nor the documentation tells.
#
# Expected of 1,000 rows at epsilon 0.1 between 0 and 100: near 5, where all of them, or 600, are 5.
# Weighing the whole numbers from 0 to 100 by the same ranks gives 5 in all draws, or nearly so.
# Seen in 2,000 draws: uniform from 0 to 100 where all are 5, half of them above 50. Where 600 are 5
# and the others are evenly spread, half of the draws are above 8.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet diffprivlib==0.6.6 scikit-learn==1.6.1

cat > median.py <<'PYTHON'
import numpy as np
from diffprivlib import tools

DRAWS, EPSILON = 2_000, 0.1


def by_candidates(values):
    """How likely 5 is where whole numbers are weighed by how far they are from the middle rank."""
    numbers = np.arange(101)
    below = (values[:, None] < numbers).sum(axis=0)
    above = (values[:, None] > numbers).sum(axis=0)
    middle = len(values) / 2
    away = np.maximum(0, np.maximum(below, above) - middle)
    weights = np.exp(-EPSILON / 2 * away)
    return weights[5] / weights.sum()


seen = {}
for name, others in (("all", 0), ("600", 400)):
    values = np.concatenate([np.full(1_000 - others, 5.0), np.arange(others) % 100])
    medians = [tools.median(values, epsilon=EPSILON, bounds=(0, 100)) for _ in range(DRAWS)]
    seen[name] = np.quantile(medians, [0.25, 0.5, 0.75])
    quarters = ", ".join(f"{quarter:.1f}" for quarter in seen[name])
    print(f"{name} of 1,000 rows are 5: quarters of the medians at {quarters};", end=" ")
    print(f"by candidates 5 is drawn with probability {by_candidates(values):.4f}")
if np.abs(seen["all"] - [25, 50, 75]).max() > 6 or not 7 < seen["600"][1] < 11:
    raise SystemExit("changed: the medians are others")
PYTHON
venv/bin/python median.py
