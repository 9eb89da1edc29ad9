"""PipelineDP, on its local backend: one aggregation for each job, over public partitions."""

from __future__ import annotations

from visits import Figures, measure


def figures() -> Figures:
    # begin: figures
    import csv

    import pipeline_dp

    regions = open("regions.txt").read().split()
    visits = [
        (number, row["region"], int(row["amount"]))
        for number, row in enumerate(csv.DictReader(open("visits.csv")))
    ]
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    metrics = pipeline_dp.Metrics
    parameters = pipeline_dp.AggregateParams(
        metrics=[metrics.COUNT, metrics.SUM, metrics.MEAN],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=500,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    result = engine.aggregate(visits, parameters, extractors, public_partitions=regions)
    budget.compute_budgets()
    table = dict(result)
    # end
    return {region: (cell.count, cell.sum, cell.mean) for region, cell in table.items()}


def counts() -> Figures:
    # begin: counts
    import csv

    import pipeline_dp

    regions = open("regions.txt").read().split()
    visits = [
        (number, row["region"]) for number, row in enumerate(csv.DictReader(open("visits.csv")))
    ]
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )
    result = engine.aggregate(visits, parameters, extractors, public_partitions=regions)
    budget.compute_budgets()
    table = dict(result)
    # end
    return {region: (cell.count,) for region, cell in table.items()}


def people() -> Figures:
    # begin: people
    import csv

    import pipeline_dp

    regions = open("regions.txt").read().split()
    visits = [
        (row["person"], row["region"], int(row["amount"]))
        for row in csv.DictReader(open("visits.csv"))
    ]
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    metrics = pipeline_dp.Metrics
    parameters = pipeline_dp.AggregateParams(
        metrics=[metrics.COUNT, metrics.SUM, metrics.MEAN],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=2,
        max_contributions_per_partition=3,
        min_value=0,
        max_value=500,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    result = engine.aggregate(visits, parameters, extractors, public_partitions=regions)
    budget.compute_budgets()
    table = dict(result)
    # end
    return {region: (cell.count, cell.sum, cell.mean) for region, cell in table.items()}


if __name__ == "__main__":
    measure("pipeline-dp", {"figures": figures, "counts": counts, "people": people})
