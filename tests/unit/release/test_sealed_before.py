"""What version 0.2 sealed stays free to run again, where it is planned otherwise now."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import pytest
from msgspec.structs import replace

import dprelease
from dprelease.engines import get
from dprelease.errors import Failure
from dprelease.kernel.certification import certify
from dprelease.kernel.core.certify import CertifiedPlan
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.model import AxisKind, Form
from dprelease.release.plan import plan_and_certify, plan_as_charged
from dprelease.release.progress import Stages
from dprelease.release.run import release_plan

NUMBERS = "x\n1\n2\n"


def load(
    folder: Path, content: str, columns: dict[str, Any], *queries: dict[str, Any], **privacy: object
) -> dprelease.Release:
    """Load a release of CSV with this content."""
    (folder / "t.csv").write_text(content)
    spec = builders.spec(
        data={"path": str(folder / "t.csv"), "snapshot": "1", "multiline": True},
        privacy={"epsilon": 1.0, **privacy},
        ledger={"path": str(folder / "ledger"), "dataset": "t", "epsilon_cap": 9.0},
        columns=columns,
        query=list(queries),
        output={"path": str(folder / "out")},
    )
    return dprelease.load(spec)


@pytest.fixture
def release(tmp_path: Path) -> dprelease.Release:
    """A count of all records of CSV over several lines, and one that has noise in any case."""
    return load(
        tmp_path,
        'k,x\na,1\n"b\nb",2\n',
        {"k": {"type": "string"}},
        {"name": "all", "statistic": "count"},
        {"name": "some", "statistic": "count", "where": "k = 'a'"},
        adjacency="replace-one",
    )


def certify_as_before(release: dprelease.Release) -> CertifiedPlan:
    """The plan of version 0.2, which took the number of records for public."""
    fixed = replace(release.privacy, has_fixed_records=True)
    return plan_and_certify(replace(release, privacy=fixed), is_sealed=True)


def run_again(release: dprelease.Release, before: CertifiedPlan) -> dprelease.Result:
    """Release what was planned before, then again: at no cost, and with the same tables."""
    first = release_plan(
        before, get("duckdb"), Stages(None, None), wait=1, new_noise=False, entropy=SystemEntropy()
    )
    tables = {path: Path(first.output, path).read_bytes() for path in first.files if "csv" in path}
    again = dprelease.run(release)
    assert (again.charged, again.already_released) == (False, True)
    assert {path: Path(again.output, path).read_bytes() for path in tables} == tables
    return again


def test_what_is_sealed_is_published_again_at_no_cost(release: dprelease.Release) -> None:
    again = run_again(release, certify_as_before(release))
    assert any("earlier version" in note for note in again.report["notes"])
    assert dprelease.run(release, new_noise=True).charged


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_counts_that_were_planned_apart_are_published_again(tmp_path: Path, delta: float) -> None:
    """Version 0.2 planned fewer counts together."""
    queries = (
        {"name": f"q{limit}", "statistic": "count", "where": f"x > {limit}"}
        for limit in range(1, 5)
    )
    release = load(tmp_path, NUMBERS, {"x": {"type": "integer"}}, *queries, delta=delta)
    before = plan_and_certify(release, jointly=False)
    assert before.plan.steps != plan_and_certify(release).plan.steps
    assert not run_again(release, before).plan.alone


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_cumulative_counts_without_a_tree_are_published_again(tmp_path: Path, delta: float) -> None:
    """Version 0.2 released them as single numbers, or mixed along the whole order."""
    columns = {"x": {"type": "integer", "bins": list(range(401))}}
    query = {"name": "c", "statistic": "cumulative", "column": "x"}
    release = load(tmp_path, NUMBERS, columns, query, delta=delta)
    before = plan_and_certify(release, as_version_02=True)
    (step,) = plan_and_certify(release).plan.steps
    assert step.axes[0].kind is AxisKind.TREE
    kinds = [axis.kind for axis in before.plan.steps[0].axes]
    assert kinds == ([AxisKind.RUNNING] if delta else [])
    again = run_again(release, before)
    assert again.plan.steps == before.plan.steps
    assert not again.charged


def test_a_count_that_selected_keys_is_published_again(tmp_path: Path) -> None:
    """Version 0.2 selected keys by a count of its own where a mean does now."""
    release = load(
        tmp_path,
        "k,x\n" + "a,1\n" * 200,
        {"k": {"type": "string"}, "x": {"type": "integer", "lower": 0, "upper": 3}},
        {"name": "m", "statistic": "mean", "column": "x", "by": ["k"],
         "partition_selection": {"delta": 1e-6}},
        delta=1e-6,
    )  # fmt: skip
    before = plan_and_certify(release, as_version_02=True)
    now = plan_and_certify(release).plan
    assert [step.query.name for step in before.plan.steps] == ["by_k_rows", "m"]
    assert [step.query.name for step in now.steps] == ["m"]
    again = run_again(release, before)
    assert again.plan.steps == before.plan.steps


def test_quantiles_that_were_selected_are_published_again(tmp_path: Path) -> None:
    """Version 0.2 selected long lists too."""
    columns = {"x": {"type": "integer", "lower": 0, "upper": 99}}
    shares = [number / 25 for number in range(1, 25)]
    query = {"name": "p", "statistic": "quantile", "column": "x", "q": shares}
    release = load(tmp_path, NUMBERS, columns, query)
    before = plan_and_certify(release, as_version_02=True)
    assert [step.form for step in before.plan.steps] == [Form.QUANTILES]
    assert [step.form for step in plan_and_certify(release).plan.steps] == [Form.NUMBERS]
    again = run_again(release, before)
    assert again.plan.steps == before.plan.steps
    assert not again.charged


def test_what_is_only_charged_is_drawn_with_noise(release: dprelease.Release) -> None:
    certified = plan_and_certify(release)
    before = certify_as_before(release).plan

    def is_noise_of(plan: object) -> bool:
        return plan == before

    sealed = plan_as_charged(certified, before.loss, is_noise_of, is_sealed=True)
    assert sealed.plan == before
    charged = plan_as_charged(certified, before.loss, lambda _plan: True, is_sealed=False)
    assert all(step.noise.parameter > Fraction(0) for step in charged.plan.steps)


def test_no_other_plan_takes_the_number_for_public(release: dprelease.Release) -> None:
    with pytest.raises(Failure, match="do not change the number of records"):
        certify(certify_as_before(release).plan)
