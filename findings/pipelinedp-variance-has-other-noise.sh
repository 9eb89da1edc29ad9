#!/usr/bin/env bash
# PipelineDP 0.3.1 (with python-dp 1.1.5): a VARIANCE adds up squares of the distance of each value
# from the middle of its bounds, but draws their noise for half the range that squares of the
# values themselves have. So the noise depends on where the bounds are, not on how wide they are.
#
# Expected of a sum of squares at epsilon 1, one value a person, bounds 10 below and above a middle:
# a person changes it by up to 10^2, so Laplace noise of scale 100, wherever the middle is.
# Seen, 2,000 draws each: scale 50 with bounds -10 and 10. That is half of what epsilon asks for: a
# variance, of a count, a sum and a sum of squares at epsilon 1 each, costs who has a value at a bound
# epsilon 4, not 3. With bounds 0 and 20 the scale is 200, with 990 and 1,010 it is 20,000: 2 and 200
# times too much.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pipeline-dp==0.3.1 python-dp==1.1.5 dp-accounting==0.6.0

cat > variance.py <<'PYTHON'
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import pipeline_dp

REGIONS, PEOPLE, HALF = 2_000, 50, 10.0  # as many people in each region


def scale(middle):
    """Scale of the noise of sums of squares, at epsilon 1, where all values are the middle."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=3, total_delta=1e-9)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        # All three are made of a count, a sum and a sum of squares, at a third of epsilon each.
        metrics=[
            pipeline_dp.Metrics.VARIANCE,
            pipeline_dp.Metrics.MEAN,
            pipeline_dp.Metrics.COUNT,
        ],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=middle - HALF,
        max_value=middle + HALF,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda person: person,
        partition_extractor=lambda person: person % REGIONS,
        value_extractor=lambda person: middle,
    )
    regions = engine.aggregate(
        range(REGIONS * PEOPLE), parameters, extractors, public_partitions=list(range(REGIONS))
    )
    accountant.compute_budgets()
    # The noisy sum of squares, of the figures that are made of it; without noise it is 0.
    sums = [
        figures.count * (figures.variance + (figures.mean - middle) ** 2) for _, figures in regions
    ]
    return np.abs(sums).mean()


for middle, seen in ((0.0, 50), (10.0, 200), (1_000.0, 20_000)):
    noise = scale(middle)
    print(f"bounds {middle - HALF:g} and {middle + HALF:g}: noise has scale {noise:,.0f}, not 100")
    if not 0.85 < noise / seen < 1.15:
        raise SystemExit("changed: the noise is another")
PYTHON
venv/bin/python variance.py
