"""SmartNoise SQL: one SQL query for each job, over a pandas table with its metadata.

Its groups come from the data, of which it drops those with few rows. `censor_dims` switches that
off, which is right here: the regions are a public list, and each has rows.
"""

from __future__ import annotations

from visits import Figures, measure


def figures() -> Figures:
    # begin: figures
    import pandas as pd
    from snsql import Privacy, from_df

    metadata = {
        "": {
            "main": {
                "visits": {
                    "row_privacy": True,
                    "rows": 200_000,
                    "censor_dims": False,
                    "region": {"type": "string"},
                    "amount": {"type": "int", "lower": 0, "upper": 500},
                }
            }
        }
    }
    visits = pd.read_csv("visits.csv")
    reader = from_df(visits, privacy=Privacy(epsilon=0.5, delta=1e-9), metadata=metadata)
    table = reader.execute_df(
        "SELECT region, COUNT(*) AS visits, SUM(amount) AS total FROM main.visits GROUP BY region"
    )
    table["average"] = table.total / table.visits
    # end
    return {row.region: (row.visits, row.total, row.average) for row in table.itertuples()}


def counts() -> Figures:
    # begin: counts
    import pandas as pd
    from snsql import Privacy, from_df

    metadata = {
        "": {
            "main": {
                "visits": {
                    "row_privacy": True,
                    "rows": 200_000,
                    "censor_dims": False,
                    "region": {"type": "string"},
                }
            }
        }
    }
    visits = pd.read_csv("visits.csv")[["region"]]
    reader = from_df(visits, privacy=Privacy(epsilon=1.0, delta=1e-9), metadata=metadata)
    table = reader.execute_df("SELECT region, COUNT(*) AS visits FROM main.visits GROUP BY region")
    # end
    return {row.region: (row.visits,) for row in table.itertuples()}


def people() -> Figures:
    # begin: people
    import pandas as pd
    from snsql import Privacy, from_df

    metadata = {
        "": {
            "main": {
                "visits": {
                    "max_ids": 6,
                    "sample_max_ids": True,
                    "rows": 200_000,
                    "censor_dims": False,
                    "person": {"type": "int", "private_id": True},
                    "region": {"type": "string"},
                    "amount": {"type": "int", "lower": 0, "upper": 500},
                }
            }
        }
    }
    visits = pd.read_csv("visits.csv")
    reader = from_df(visits, privacy=Privacy(epsilon=0.5, delta=1e-9), metadata=metadata)
    table = reader.execute_df(
        "SELECT region, COUNT(*) AS visits, SUM(amount) AS total FROM main.visits GROUP BY region"
    )
    table["average"] = table.total / table.visits
    # end
    return {row.region: (row.visits, row.total, row.average) for row in table.itertuples()}


if __name__ == "__main__":
    measure("smartnoise-sql", {"figures": figures, "counts": counts, "people": people})
