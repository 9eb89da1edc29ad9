"""diffprivlib: a loop over the regions, which are disjoint. It has no bounds on people."""

from __future__ import annotations

from visits import Figures, measure


def figures() -> Figures:
    # begin: figures
    import pandas as pd
    from diffprivlib import tools

    regions = open("regions.txt").read().split()
    visits = pd.read_csv("visits.csv")
    table = {}
    for region in regions:
        rows = (visits.region == region).to_numpy()
        count = tools.count_nonzero(rows, epsilon=0.5)
        total = tools.sum(visits.amount[rows].to_numpy(), epsilon=0.5, bounds=(0, 500))
        table[region] = count, total, total / count
    # end
    return table


def counts() -> Figures:
    # begin: counts
    import pandas as pd
    from diffprivlib import tools

    regions = open("regions.txt").read().split()
    visits = pd.read_csv("visits.csv")
    table = {}
    for region in regions:
        rows = (visits.region == region).to_numpy()
        table[region] = (tools.count_nonzero(rows, epsilon=1.0),)
    # end
    return table


if __name__ == "__main__":
    measure("diffprivlib", {"figures": figures, "counts": counts})
