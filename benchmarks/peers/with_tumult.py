"""Tumult Analytics, on Spark in this process: two queries, half of the budget for each."""

from __future__ import annotations

from visits import Figures, measure


def figures() -> Figures:
    # begin: figures
    import os

    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.getOrCreate()
    visits = spark.read.csv(os.path.abspath("visits.csv"), header=True, inferSchema=True)
    regions = KeySet.from_dict({"region": open("regions.txt").read().split()})
    session = Session.from_dataframe(
        PureDPBudget(1), "visits", visits, protected_change=AddOneRow()
    )
    groups = QueryBuilder("visits").groupby(regions)
    count = session.evaluate(groups.count(name="count"), PureDPBudget(0.5))
    total = session.evaluate(groups.sum("amount", low=0, high=500, name="sum"), PureDPBudget(0.5))
    table = count.join(total, "region").selectExpr("*", "sum / count AS mean")
    # end
    return {row["region"]: (row["count"], row["sum"], row["mean"]) for row in table.collect()}


def counts() -> Figures:
    # begin: counts
    import os

    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.getOrCreate()
    visits = spark.read.csv(os.path.abspath("visits.csv"), header=True, inferSchema=True)
    regions = KeySet.from_dict({"region": open("regions.txt").read().split()})
    session = Session.from_dataframe(
        PureDPBudget(1), "visits", visits, protected_change=AddOneRow()
    )
    query = QueryBuilder("visits").groupby(regions).count(name="count")
    table = session.evaluate(query, PureDPBudget(1))
    # end
    return {row["region"]: (row["count"],) for row in table.collect()}


def people() -> Figures:
    # begin: people
    import os

    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    spark = SparkSession.builder.getOrCreate()
    visits = spark.read.csv(os.path.abspath("visits.csv"), header=True, inferSchema=True)
    regions = KeySet.from_dict({"region": open("regions.txt").read().split()})
    session = Session.from_dataframe(
        PureDPBudget(1), "visits", visits, protected_change=AddRowsWithID("person")
    )
    groups = (
        QueryBuilder("visits")
        .enforce(MaxGroupsPerID("region", 2))
        .enforce(MaxRowsPerGroupPerID("region", 3))
        .groupby(regions)
    )
    count = session.evaluate(groups.count(name="count"), PureDPBudget(0.5))
    total = session.evaluate(groups.sum("amount", low=0, high=500, name="sum"), PureDPBudget(0.5))
    table = count.join(total, "region").selectExpr("*", "sum / count AS mean")
    # end
    return {row["region"]: (row["count"], row["sum"], row["mean"]) for row in table.collect()}


if __name__ == "__main__":
    measure("tmlt-analytics", {"figures": figures, "counts": counts, "people": people})
