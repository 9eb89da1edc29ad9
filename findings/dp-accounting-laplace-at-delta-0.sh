#!/usr/bin/env bash
# dp-accounting 0.6.0 (numpy 2.4.6, scipy 1.17.1): Laplace noise guarantees epsilon 1 / scale at delta
# 0, but whether PLDAccountant has a finite epsilon for it depends on the scale. Up to 20 it
# cuts tails of 1e-15 (its losses are on a grid of 1e-4, and there are many of them), which count as
# probability that everything is lost; at some larger scales a rounding error of 5.6e-17 does.
# calibrate_dp_mechanism takes what is finite: at delta 0 it asks for one scale, whatever the epsilon,
# without a warning.
#
# Expected: epsilon 1 / scale, or a little more, and a scale of 1 / epsilon.
# Seen at delta 0: infinity for scales 1, 10, 20, 40 and 100, 1 / scale for 25 and 30. Scale 20.04 for
# epsilons 0.1, 0.5 and 2, which is 2, 10 and 40 times too much noise. With delta 1e-10 all is well.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet dp-accounting==0.6.0 numpy==2.4.6 scipy==1.17.1

cat > laplace.py <<'PYTHON'
import math

import dp_accounting

for scale, finite in (
    (1, False),
    (10, False),
    (20, False),
    (25, True),
    (30, True),
    (40, False),
    (100, False),
):
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.LaplaceDpEvent(float(scale)))
    epsilon, near = accountant.get_epsilon(0), accountant.get_epsilon(1e-10)
    print(f"scale {scale}: epsilon {epsilon:.4f} at delta 0, {near:.4f} at 1e-10")
    if math.isfinite(epsilon) is not finite:
        raise SystemExit("changed: other scales have a finite epsilon")
    if abs(near - 1 / scale) > 2e-4 or (finite and abs(epsilon - 1 / scale) > 2e-4):
        raise SystemExit("changed: another epsilon")

for epsilon in (0.1, 0.5, 2.0):
    found = {
        delta: dp_accounting.calibrate_dp_mechanism(
            dp_accounting.pld.PLDAccountant, dp_accounting.LaplaceDpEvent, epsilon, delta
        )
        for delta in (0.0, 1e-10)
    }
    print(f"epsilon {epsilon}: scale {found[0.0]:.3f} at delta 0, {found[1e-10]:.3f} at 1e-10")
    if abs(found[1e-10] - 1 / epsilon) > 1e-3:
        raise SystemExit("changed: another scale at delta 1e-10")
    if abs(found[0.0] - 20.04) > 0.01:
        raise SystemExit("changed: another scale at delta 0")
PYTHON
venv/bin/python laplace.py
