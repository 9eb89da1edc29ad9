"""The core of the kernel without chapters: it certifies and draws counts and sums, nothing else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import pytest
import strategy_plans
from msgspec.structs import replace

from dprelease import Failure, load
from dprelease.kernel import certification
from dprelease.kernel.core.aggregates import Drawing, privatize
from dprelease.kernel.core.certify import certify
from dprelease.kernel.core.chapters import CONCERNED, Chapters, Matter
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.kernel.core.sample import draw_each
from dprelease.model import ExactTable, Form, Noise, NoiseFamily, Plan
from dprelease.planning.planner import make_plan

SPECS = Path(__file__).parents[4] / "release_specs"
COLUMNS = {
    "s": {"type": "string", "keys": ["u", "v"], "source": "p"},
    "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
}
ALL = certification.CHAPTERS.rules
FIGURES = Chapters({Matter.FIGURES: ALL[Matter.FIGURES]})


def plan_queries(*queries: dict[str, Any]) -> Plan:
    return builders.plan(columns=COLUMNS, query=[{"name": "q", "by": ["s"]} | q for q in queries])


PLANS = {
    Matter.RECORD_TABLES: lambda: make_plan(load(SPECS / "clinic_records.toml")),
    Matter.CHOICES: lambda: plan_queries({"statistic": "median", "column": "x"}),
    Matter.CLIPPED_PEOPLE: lambda: builders.plan(
        columns=COLUMNS,
        privacy={
            "unit": "column",
            "unit_column": "p",
            "epsilon": 1,
            "bounding": {"max_rows_per_unit": 4, "max_groups_per_unit": 2},
        },
        query=[
            {"name": "q", "statistic": "count", "bounding": {"clip": "l1", "bound": 5}},
        ],
    ),
    Matter.STRATEGIES: strategy_plans.build_centred,
    Matter.TOGETHER: strategy_plans.plan_together,
    Matter.PRIVATE_KEYS: lambda: builders.plan(
        columns={"s": {"type": "string"}},
        privacy={"epsilon": 1, "delta": 1e-6},
        query=[
            {
                "name": "q",
                "statistic": "count",
                "by": ["s"],
                "partition_selection": {"delta": 1e-8},
            }
        ],
    ),
    Matter.FIGURES: lambda: plan_queries({"statistic": "count"}),
}


@pytest.mark.parametrize("matter", Matter, ids=lambda matter: matter.name)
def test_a_plan_is_refused_without_the_chapter_on_what_it_has(matter: Matter) -> None:
    made = PLANS[matter]()
    assert CONCERNED[matter](made)
    assert certify(made, certification.CHAPTERS).plan == made
    others = {one: chapter for one, chapter in ALL.items() if one is not matter}
    with pytest.raises(Failure, match=f"has a chapter on {matter.value}"):
        certify(made, replace(certification.CHAPTERS, rules=others))


def test_cut_noise_is_for_the_chapter_on_private_keys() -> None:
    made = plan_queries({"statistic": "count", "mechanism": "laplace"})
    cut = Noise(NoiseFamily.CUT_LAPLACE, Fraction(1), reach=30)
    changed = replace(made, steps=(replace(made.steps[0], noise=cut),))
    with pytest.raises(Failure, match="has a chapter on private keys"):
        certify(changed, FIGURES)


def test_counts_and_sums_need_no_chapter_but_that_on_figures() -> None:
    apart = {"mechanism": "laplace"}
    made = plan_queries(
        {"statistic": "count"} | apart,
        {"name": "sum", "statistic": "sum", "column": "x"} | apart,
    )
    assert certify(made, FIGURES).plan == made


def test_every_matter_has_a_chapter() -> None:
    assert set(ALL) == set(Matter) == set(CONCERNED)


def test_the_core_draws_no_choice_no_private_key_and_nothing_together() -> None:
    for matter in (Matter.CHOICES, Matter.PRIVATE_KEYS, Matter.TOGETHER):
        made = PLANS[matter]()
        for job in build_jobs(made.release, made.steps):
            number = 1 if matter is Matter.TOGETHER else 2
            cells = ExactTable(tuple((0,) * number for _ in job.request.measures or [None] * 3))
            with pytest.raises(ValueError, match="without it"):
                privatize(cells, job, SystemEntropy(), {}, Drawing())


def test_the_core_draws_noise_on_counts() -> None:
    made = plan_queries({"statistic": "count"})
    (job,) = build_jobs(made.release, made.steps)
    drawn = privatize(ExactTable(((5, 7),)), job, SystemEntropy(), {}, Drawing())
    assert made.steps[0].form is Form.NUMBERS
    assert [len(row) for row in drawn.values["q"]] == [2]


def test_the_core_draws_no_law_that_it_does_not_know() -> None:
    stairs = Noise(NoiseFamily.STAIRCASE, Fraction(1), 2, 1)
    with pytest.raises(ValueError, match="another law"):
        draw_each(stairs, 1, SystemEntropy())
