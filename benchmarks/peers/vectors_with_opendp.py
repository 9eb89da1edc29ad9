"""Errors of OpenDP's noise on vectors of integers, measured; ``workloads.py`` runs it.

    python vectors_with_opendp.py '[{"length": 10, "l1": 10, "l2": 3.2, "epsilon": 1}, ...]'

Each job is a vector that one unit moves by at most l1 and l2, with an epsilon, an epsilon and a
delta, or a rho. Prints OpenDP's version and the root mean square error of each job, of "running"
ones that of all sums of integers up to each. Noise is Laplace for an epsilon alone, else Gaussian,
of the least scale that OpenDP itself says is enough.
"""

from __future__ import annotations

import json
import math
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp

LEAST_DRAWS = 50_000


def mechanism(job: dict[str, Any]) -> Any:
    """The measurement with the least noise that keeps the job's loss."""
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=job["length"])
    if "rho" not in job and "delta" not in job:
        inputs = space, dp.l1_distance(T="i64")
        return dp.binary_search_chain(
            lambda scale: dp.m.make_laplace(*inputs, scale=scale), job["l1"], job["epsilon"]
        )
    inputs = space, dp.l2_distance(T="f64")
    if "rho" in job:
        return dp.binary_search_chain(
            lambda scale: dp.m.make_gaussian(*inputs, scale=scale), job["l2"], job["rho"]
        )
    return dp.binary_search_chain(
        lambda scale: dp.c.make_fix_delta(
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*inputs, scale=scale)), job["delta"]
        ),
        job["l2"],
        (job["epsilon"], job["delta"]),
    )


def main() -> None:
    """Measure each job."""
    dp.enable_features("contrib")
    errors = []
    for job in json.loads(sys.argv[1]):
        release = mechanism(job)
        zeros = [0] * job["length"]
        draws = math.ceil(LEAST_DRAWS / job["length"])
        noise = np.array([release(zeros) for _ in range(draws)], dtype=float)
        if job["running"]:
            noise = noise.cumsum(axis=1)
        errors.append(math.sqrt(float(np.mean(noise**2))))
    print(json.dumps({"version": version("opendp"), "errors": errors}))


if __name__ == "__main__":
    main()
