"""Survey weights in a spec: which columns can be one, and which queries are weighted."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import builders
import pytest

from dprelease import Failure, load
from dprelease.ledger.identity import build_canonical_form
from dprelease.model import Release
from dprelease.statistics.statistic_registry import STATISTICS

WEIGHT: dict[str, Any] = {
    "type": "decimal", "lower": 0, "upper": 2000, "step": 0.01, "source": "public: design"
}  # fmt: skip
MEAN = {"statistic": "mean", "column": "pay"}


def survey(
    query: dict[str, Any] | None = None,
    weight: dict[str, Any] | None = None,
    name: str | None = "w",
    effect: object = None,
    **columns: Any,
) -> Release:
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv"}
        | ({} if name is None else {"weight": name})
        | ({} if effect is None else {"design_effect": effect}),
        columns={
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "pay": {"type": "integer", "lower": 0, "upper": 9000, "source": "p"},
            "w": weight or WEIGHT,
        }
        | columns,
        query=[{"name": "q"} | (query or MEAN)],
    )
    return load(spec)


def load_refused(**case: Any) -> tuple[str, str]:
    """The one complaint of a spec, with its hint, and the key that it is about."""
    with pytest.raises(Failure) as failed:
        survey(**case)
    (complaint,) = failed.value.complaints
    assert complaint.hint
    return complaint.code, f"{complaint.message}; {complaint.hint}; {complaint.key}"


@pytest.mark.parametrize("effect", [Decimal("1.8"), 1, 1000])
def test_a_design_effect_is_told_and_changes_nothing(effect: object) -> None:
    stated = survey(effect=effect)
    assert stated.data.design_effect == Fraction(str(effect))
    assert build_canonical_form(stated) == build_canonical_form(survey())


NEEDS: dict[str, dict[str, Any]] = {
    "count_distinct": {"column": "pay"},
    "variance": {"column": "pay"},
    "stddev": {"column": "pay"},
    "min": {"column": "pay"},
    "max": {"column": "pay"},
    "density": {"column": "pay"},
    "marginals": {"attributes": [["g"]]},
    "cumulative": {"column": "g"},
    "mode": {"column": "g"},
    "top_k": {"column": "g", "k": 1},
    "best": {"candidates": [1, 2], "score": "pay * candidate", "score_upper": 9},
}
UNWEIGHED = [name for name, statistic in STATISTICS.items() if not statistic.what_weighted]


@pytest.mark.parametrize("statistic", UNWEIGHED)
def test_what_cannot_be_weighted_says_so_or_is_refused(statistic: str) -> None:
    query = {"statistic": statistic} | NEEDS.get(statistic, {})
    code, said = load_refused(query=query)
    assert code == "E265"
    assert "`weight_by_survey = false`, which counts each record once" in said
    made = survey(query | {"weight_by_survey": False})
    assert {query.survey_weight for query in made.queries} == {None}


WEIGHED: dict[str, dict[str, Any]] = {
    "count": {},
    "sum": {"column": "pay"},
    "mean": {"column": "pay"},
    "proportion": {"where": "pay > 9"},
    "ratio": {"numerator": {"column": "pay"}, "denominator": {}},
    "histogram": {"column": "pay", "bins": [0, 9, 9000]},
    "quantile": {"column": "pay", "q": 0.2},
    "median": {"column": "pay"},
}


@pytest.mark.parametrize("statistic", WEIGHED)
@pytest.mark.parametrize("wanted", [None, True, False])
def test_a_query_is_weighted_unless_it_says_otherwise(statistic: str, wanted: bool | None) -> None:
    query = {"statistic": statistic} | WEIGHED[statistic]
    (made,) = survey(query if wanted is None else query | {"weight_by_survey": wanted}).queries
    weight = made.survey_weight
    assert (weight is None) is (wanted is False)
    assert weight is None or weight.name == "w"


def test_all_statistics_are_here() -> None:
    assert {*WEIGHED, *UNWEIGHED} == {*STATISTICS}


def test_to_weight_without_weights_is_refused() -> None:
    code, said = load_refused(query=MEAN | {"weight_by_survey": True}, name=None)
    assert code == "E111"
    assert "needs a column of survey weights in [data]" in said
    (made,) = survey(MEAN | {"weight_by_survey": False}, name=None).queries
    assert made.survey_weight is None


def test_a_spec_without_weights_has_the_identity_that_it_had() -> None:
    """Weights are part of the identity, and nothing else of it is changed by them."""
    plain = survey(name=None)
    assert build_canonical_form(plain) == build_canonical_form(
        survey(MEAN | {"weight_by_survey": False})
    )
    assert "weight" not in build_canonical_form(plain).replace('"w":', "")
    weighted = build_canonical_form(survey())
    assert weighted != build_canonical_form(plain)
    assert weighted != build_canonical_form(survey(weight=WEIGHT | {"upper": 1000}))


def test_keys_are_selected_by_a_count_that_is_not_weighted() -> None:
    privacy = {"partition_selection": {"delta": 1e-8, "epsilon": 0.1}, "by": ["h"]}
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv", "weight": "w"},
        privacy={"epsilon": 1, "delta": 1e-7},
        columns={"h": {"type": "string"}, "w": WEIGHT},
        query=[
            {"name": "weighted", "statistic": "count"} | privacy,
            {"name": "rows", "statistic": "count", "weight_by_survey": False} | privacy,
        ],
    )
    weighted, rows = load(spec).queries
    assert weighted.survey_weight is not None
    assert rows.survey_weight is None
    assert rows.epsilon is not None  # it pays for the selection
    spec["query"].pop()
    implied, weighted = load(spec).queries
    assert implied.implied
    assert implied.survey_weight is None
