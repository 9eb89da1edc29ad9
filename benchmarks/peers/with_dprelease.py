"""dprelease: a spec for each job, run as `dprelease run` runs it."""

from __future__ import annotations

import csv
from pathlib import Path

from visits import Figures, measure

# begin: figures
FIGURES = """
[release]
name = "visits"
[data]
path = "visits.csv"
[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 1
[columns.region]
type = "string"
keys_file = "regions.txt"
[columns.amount]
type = "integer"
lower = 0
upper = 500
[[query]]
name = "visits"
statistic = "count"
by = ["region"]
[[query]]
name = "total"
statistic = "sum"
column = "amount"
by = ["region"]
[[query]]
name = "average"
statistic = "mean"
column = "amount"
by = ["region"]
[output]
path = "out"
"""
# end

# begin: counts
COUNTS = """
[release]
name = "visits"
[data]
path = "visits.csv"
[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 1
[columns.region]
type = "string"
keys_file = "regions.txt"
[[query]]
name = "visits"
statistic = "count"
by = ["region"]
[output]
path = "out"
"""
# end

# begin: people
PEOPLE = """
[release]
name = "visits"
[data]
path = "visits.csv"
[privacy]
unit = "column"
unit_column = "person"
adjacency = "add-remove"
epsilon = 1
[privacy.bounding]
max_rows_per_unit = 6
max_groups_per_unit = 2
max_rows_per_unit_per_group = 3
[columns.region]
type = "string"
keys_file = "regions.txt"
[columns.amount]
type = "integer"
lower = 0
upper = 500
[[query]]
name = "visits"
statistic = "count"
by = ["region"]
[[query]]
name = "total"
statistic = "sum"
column = "amount"
by = ["region"]
[[query]]
name = "average"
statistic = "mean"
column = "amount"
by = ["region"]
[output]
path = "out"
"""
# end


def released(spec: str, *columns: str) -> Figures:
    """Release a spec and read the published table."""
    import dprelease

    Path("visits.toml").write_text(spec)
    dprelease.run("visits.toml")
    with Path("out", "by_region.csv").open() as file:
        return {
            row["region"]: [float(row[name]) for name in columns] for row in csv.DictReader(file)
        }


if __name__ == "__main__":
    measure(
        "dprelease",
        {
            "figures": lambda: released(FIGURES, "visits", "total", "average"),
            "counts": lambda: released(COUNTS, "visits"),
            "people": lambda: released(PEOPLE, "visits", "total", "average"),
        },
    )
