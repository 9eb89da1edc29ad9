"""Checks what record-level tables may cost, by which law, and under which neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import Mechanism, PerturbedColumn
from dprelease.spec.complaints.quoting import show, show_fraction
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.models import PerturbSection, PrivacySection
from dprelease.spec.schema.structure import Part, Parts

_ADJACENCY = ("privacy", "adjacency")


def check_adjacency(parts: Parts, reporter: Reporter) -> None:
    """A table of records shows how many there are: only replace-one is then protected."""
    if parts.privacy.model.adjacency != "add-remove":
        return
    shown = "a table of records shows how many there are, which add-remove would protect"
    if parts.perturbs_only:
        message = f'{shown}: adjacency is taken as "replace-one"'
        reporter.warn("W215", message, _ADJACENCY, 'write adjacency = "replace-one"')
    else:
        hint = 'adjacency = "replace-one"; or two specs, one of them with all [[perturb]]'
        reporter.complain("E242", shown, _ADJACENCY, hint)


def check_budget(
    part: Part[PerturbSection],
    privacy: Part[PrivacySection],
    reporter: Reporter,
    *,
    alone: bool,
) -> None:
    """Check that the table has a budget, in terms that don't contradict each other.

    ``alone``: nothing else is asked, so that the table may have the total.
    """
    model, total = part.model, privacy.model
    if model.truth is not None:
        _check_truth_alone(part, reporter)
    elif model.delta and model.epsilon is None and part.sound("epsilon", "truth"):
        path = (*part.path, "delta")
        reporter.complain("E224", "delta without epsilon", path, "state epsilon as well")
    if model.delta and total.accounting == "pure":
        message = 'accounting = "pure" has no room for the delta of a table'
        hint = 'leave delta out, or accounting = "auto"'
        reporter.complain("E225", message, (*part.path, "delta"), hint)
    elif model.delta and (total.rho is not None or total.accounting == "zcdp"):
        hint = 'leave delta out; or accounting = "auto" and a total epsilon with a delta'
        message = "a table with a delta has no rho"
        reporter.complain("E225", message, (*part.path, "delta"), hint)
    if model.epsilon is None and model.truth is None and part.sound("epsilon", "truth"):
        _check_total(part, privacy, reporter, alone=alone)


def _check_truth_alone(part: Part[PerturbSection], reporter: Reporter) -> None:
    if part.model.epsilon is not None:
        hint = "keep one: epsilon, or the chance of the true answer, which fixes epsilon"
        reporter.complain("E224", "both epsilon and truth", (*part.path, "truth"), hint)
    if part.model.delta:
        hint = "leave delta out; or state epsilon instead of truth"
        reporter.complain("E224", "both truth and delta", (*part.path, "delta"), hint)
    if part.model.weights is not None:
        hint = "leave weights out: truth is that of every column"
        reporter.complain("E224", "both truth and weights", (*part.path, "weights"), hint)


def _check_total(
    part: Part[PerturbSection],
    privacy: Part[PrivacySection],
    reporter: Reporter,
    *,
    alone: bool,
) -> None:
    if not alone:
        message = "the table has no budget, and takes no share of the total beside others"
        hint = "state epsilon, or truth, in this [[perturb]]"
    elif privacy.model.epsilon is not None or not privacy.sound("epsilon", "rho"):
        return
    elif privacy.model.rho is not None:
        message = "the table has no budget, and a total rho is none for answers of records"
        hint = "state epsilon, or truth, in this [[perturb]]; or a total epsilon"
    else:
        message = "the table has no budget, and there is no total"
        hint = "state epsilon in [privacy], or epsilon or truth in this [[perturb]]"
    reporter.complain("E223", message, part.path, hint, "key")


def check_truth(
    part: Part[PerturbSection], columns: Sequence[PerturbedColumn], reporter: Reporter
) -> None:
    """Check that a chance of the true answer says something, and of columns that have answers."""
    truth, path = part.model.truth, (*part.path, "truth")
    if truth is None:
        return
    for column in columns:
        if column.group is None:
            message = f"truth, but {show(column.name)} is a number, which has no true answer"
            hint = "state epsilon instead, or declare bins; or make two tables"
            reporter.complain("E248", message, path, hint)
        elif column.mechanism is Mechanism.SUBSET_SELECTION:
            message = f"truth, but {show(column.name)} is answered by a set of labels"
            hint = 'mechanism = "randomized-response"; or state epsilon instead of truth'
            reporter.complain("E248", message, path, hint)
        elif truth * len(column.group.labels) == 1:
            labels = len(column.group.labels)
            message = (
                f"truth {show_fraction(truth)} is that of a pure guess among the {labels} labels "
                f"of {show(column.name)}: the answers would say nothing"
            )
            reporter.complain("E248", message, path, "more than that, such as truth = 0.75")
