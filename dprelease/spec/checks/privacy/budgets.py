"""Checks of budgets and mechanisms over the privacy section and the queries together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dprelease.spec.complaints.quoting import listed
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.models import PrivacySection, QuerySection
from dprelease.spec.schema.structure import Part
from dprelease.statistics.registry import STATISTICS


def check_budgets(
    privacy: Part[PrivacySection],
    queries: Sequence[Part[QuerySection]],
    paid: Collection[int],
    reporter: Reporter,
) -> None:
    """Check that every query has a budget, in terms that don't contradict each other.

    ``paid`` holds the numbers of the queries that have theirs from elsewhere.
    """
    _check_total(privacy, reporter)
    for number, query in enumerate(queries):
        _check_terms(query, reporter)
        _check_mechanism(query, privacy, reporter)
        if number not in paid:
            _check_stated(query, privacy, reporter)


def _check_total(privacy: Part[PrivacySection], reporter: Reporter) -> None:
    model = privacy.model
    if model.epsilon is not None and model.rho is not None:
        hint = "keep one of them"
        reporter.complain("E224", "both epsilon and rho as the total", ("privacy", "rho"), hint)
    if model.rho is not None and model.accounting == "pure":
        hint = 'accounting = "auto", or a total epsilon'
        reporter.complain("E224", "rho is no pure budget", ("privacy", "rho"), hint)


def _check_terms(query: Part[QuerySection], reporter: Reporter) -> None:
    model = query.model
    stated = [
        key for key in ("epsilon", "rho", "accuracy", "weight") if getattr(model, key) is not None
    ]
    for extra in stated[1:]:
        message = f"both {stated[0]} and {extra}"
        hint = (
            "a query states epsilon, rho, an accuracy, or its weight in what is left of the total"
        )
        reporter.complain("E224", message, (*query.path, extra), hint)
    if model.delta is None:
        return
    path = (*query.path, "delta")
    if model.mechanism == "laplace" and model.delta > 0:
        hint = "leave delta out, or use the gaussian mechanism"
        reporter.complain("E225", "Laplace noise needs no delta", path, hint)
    elif model.rho is not None:
        reporter.complain("E224", "both rho and delta", path, "rho needs no delta")
    elif model.epsilon is None and model.mechanism != "gaussian" and query.sound("epsilon"):
        reporter.complain("E224", "delta without epsilon", path, "state epsilon as well")


def _check_mechanism(
    query: Part[QuerySection], privacy: Part[PrivacySection], reporter: Reporter
) -> None:
    model, total = query.model, privacy.model
    path = (*query.path, "mechanism")
    if total.accounting == "pure" and model.rho is not None:
        hint = 'state epsilon, or accounting = "auto"'
        reporter.complain("E224", "rho is no pure budget", (*query.path, "rho"), hint)
    statistic = STATISTICS.get(model.statistic or "")
    if statistic is not None and model.mechanism not in statistic.keys.mechanisms:
        message = f"{model.statistic} can't use the {model.mechanism} mechanism"
        reporter.complain("E235", message, path, f"use {listed(statistic.keys.mechanisms)}")
        return
    if model.mechanism != "gaussian":
        return
    if total.accounting == "pure":
        message = 'accounting = "pure" has no room for Gaussian noise'
        reporter.complain("E225", message, path, 'mechanism = "laplace", or accounting = "auto"')
    has_delta = bool(model.delta) or bool(total.delta)
    has_rho = model.rho is not None or total.rho is not None
    unknown = not (query.sound("delta", "rho") and privacy.sound("delta", "rho"))
    if not has_delta and not has_rho and not unknown:
        hint = "state a delta above 0 here or in [privacy], or rho"
        reporter.complain("E225", "Gaussian noise needs a delta or rho", path, hint)


def _check_stated(
    query: Part[QuerySection], privacy: Part[PrivacySection], reporter: Reporter
) -> None:
    total, model = privacy.model, query.model
    if total.epsilon is not None or total.rho is not None:
        return
    if model.epsilon is not None or model.rho is not None or model.accuracy is not None:
        return
    if privacy.sound("epsilon", "rho") and query.sound("epsilon", "rho", "accuracy"):
        hint = "state epsilon or rho in [privacy], or epsilon, rho or accuracy in this query"
        message = "the query has no budget, and there is no total to share"
        reporter.complain("E223", message, query.path, hint, "key")
