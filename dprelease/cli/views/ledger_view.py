"""Where the ledger stands, where a run of the plan would leave it, and both in words."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.cli.views.text_layout import format_remaining, round_down, round_up
from dprelease.errors import Complaint, Failure
from dprelease.ledger.guarantee import check_guarantee, describe_guarantee
from dprelease.ledger.ledger_messages import warn_about_new_dataset
from dprelease.ledger.privacy_filter import Total
from dprelease.ledger.reservation import (
    build_terms,
    check_caps,
    check_data_place,
    derive_caps,
    find_current_run,
    read_stated_caps,
)
from dprelease.ledger.store import read_account
from dprelease.ledger.totals import compute_remaining, is_meeting, sum_spent, sum_spent_rho
from dprelease.model import Plan
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import PlannedLedger, PlannedRho, PlannedTotals, Spent
from dprelease.reports.text.shown_numbers import number_or_none, to_json_number, to_json_remaining


def read_standing(plan: Plan) -> tuple[PlannedLedger, Sequence[Complaint], Sequence[Complaint]]:
    """Say where the ledger of the plan's dataset stands, now and after a run.

    And why a run would be refused, and what to be warned of. What is spent is rounded up, what is
    left rounded down. ``composed`` holds the totals that the caps are held against, the others are
    plain sums; what is left is what the period of the release has left. A run that is in the
    ledger costs nothing again. Raises Failure (exit 6) when it can't be read.
    """
    release = plan.release
    settings = release.ledger
    dataset_account = read_account(settings.path, settings.dataset, witness=settings.witness)
    spec_caps = read_stated_caps(settings)
    set_cap = dataset_account.cap
    caps = spec_caps if set_cap is None else set_cap.caps.lower(spec_caps)
    runs = {run.run_id: run for run in dataset_account.runs}
    earlier_run = runs.get(find_current_run(release, runs))
    refusals: list[Complaint] = []
    run_terms = build_terms(plan)
    extra_runs = () if earlier_run else (run_terms,)
    place = release.place("privacy.epsilon")
    try:
        if earlier_run is not None:
            check_data_place(earlier_run, run_terms, place)
        else:
            check_guarantee(
                dataset_account, describe_guarantee(release), release.place("privacy.adjacency")
            )
            derive_caps(dataset_account, spec_caps)
            check_caps(dataset_account, release.about.name, run_terms, caps, place)
    except Failure as refused:
        refusals = release.place_failure(refused).complaints
    plain, after = dataset_account.spent_loss, sum_spent((*dataset_account.terms, *extra_runs))
    current, projected = (
        dataset_account.compute_total(caps),
        dataset_account.compute_total(caps, *extra_runs),
    )
    in_period = [terms for terms in dataset_account.terms if is_meeting(terms, run_terms)]
    left = compute_remaining((*in_period, *extra_runs), caps)
    ledger = PlannedLedger(
        path=settings.path,
        dataset=dataset_account.dataset,
        runs=len(dataset_account.runs),
        epsilon_spent=to_json_number(plain.epsilon),
        epsilon_after=to_json_number(after.epsilon),
        epsilon_cap=number_or_none(caps.epsilon),
        epsilon_left_after=to_json_remaining(left.epsilon),
        delta_spent=to_json_number(plain.delta),
        delta_after=to_json_number(after.delta),
        delta_cap=number_or_none(caps.delta),
        delta_left_after=to_json_remaining(left.delta),
        delta_kept=to_json_number(projected.reserve),
        composed=PlannedTotals(now=_describe_total(current), after=_describe_total(projected)),
        already_charged=earlier_run is not None,
        released_at=earlier_run.sealed_at if earlier_run else None,
        refused=tuple(refusal.to_dict() for refusal in refusals),
        rho=None
        if caps.rho is None
        else PlannedRho(
            spent=number_or_none(sum_spent_rho(dataset_account.terms)),
            after=number_or_none(sum_spent_rho((*dataset_account.terms, *extra_runs))),
            cap=to_json_number(caps.rho),
            left_after=to_json_remaining(left.rho) or 0,
        ),
    )
    return ledger, refusals, warn_about_new_dataset(dataset_account)


def _describe_total(total: Total) -> Spent:
    """State a composed total, rounded up."""
    return Spent(
        epsilon=to_json_number(total.epsilon), delta=to_json_number(total.delta), by=total.by
    )


def describe_ledger(ledger: PlannedLedger) -> list[str]:
    """Say what is spent, what a run adds and what is left."""
    composed = any(total.by == "zCDP" for total in (ledger.composed.now, ledger.composed.after))
    epsilon = _describe_epsilon_left(ledger, ledger.epsilon_after)
    delta = ", no cap" if ledger.rho is None else ""
    if composed and ledger.epsilon_cap is not None:
        epsilon = ", by plain sums"
    if ledger.delta_cap is not None:
        over = ledger.delta_after > ledger.delta_cap or not ledger.delta_left_after
        delta = _describe_left(
            ledger, ledger.delta_cap, ledger.delta_left_after, over
        ) + describe_reserve(ledger)
    lines = [
        f'ledger   {ledger.path}: "{ledger.dataset}"',
        f"         epsilon {_tell(ledger, ledger.epsilon_spent, ledger.epsilon_after)}{epsilon}",
    ]
    if ledger.delta_after:
        lines.append(
            f"         delta {_tell(ledger, ledger.delta_spent, ledger.delta_after)}{delta}"
        )
    if composed:
        current, projected = ledger.composed.now.epsilon, ledger.composed.after.epsilon
        lines.append(
            f"         composed: epsilon {_tell(ledger, current, projected)} at delta "
            f"{round_up(ledger.delta_cap)}{_describe_epsilon_left(ledger, projected)}"
        )
    if ledger.rho is not None:
        rho, after = ledger.rho, ledger.rho.after
        over = after is None or after > rho.cap
        lines.append(
            f"         rho {_tell(ledger, rho.spent, after)}"
            f"{_describe_left(ledger, rho.cap, rho.left_after, over)}"
        )
    if ledger.released_at:
        lines.append(f"         already released at {ledger.released_at}: a run is free")
    elif ledger.already_charged:
        lines.append("         already charged, not yet released: a run is free")
    return lines


_ADDED = {
    "basic": "as a plain sum",
    "mixed": "as zCDP and a plain sum",
    "zcdp": "as zCDP",
    "pld": "numerically",
}


def describe_accounting(method: str) -> str:
    """Say how losses are added up."""
    return f"added {_ADDED[method]}"


def describe_reserve(ledger: PlannedLedger) -> str:
    """Say how much of the delta cap is held in reserve, if any."""
    return f" ({round_up(ledger.delta_kept)} reserved for composition)" if ledger.delta_kept else ""


def _tell(ledger: PlannedLedger, current: Number | None, projected: Number | None) -> str:
    after = "" if ledger.already_charged else f", {round_up(projected)} after a run"
    return f"{round_up(current)} spent{after}"


def _describe_epsilon_left(ledger: PlannedLedger, after: Number) -> str:
    cap = ledger.epsilon_cap
    if cap is None:
        return ", no cap" if ledger.rho is None else ""
    return _describe_left(ledger, cap, ledger.epsilon_left_after, after > cap)


def _describe_left(ledger: PlannedLedger, cap: Number, remaining: Number | None, over: bool) -> str:
    if ledger.refused and over:
        return f", over the cap {format_remaining(cap)}: a run would be refused"
    return f", {round_down(remaining)} left of the cap {format_remaining(cap)}"
