"""Record-level tables: what each column may cost, and what the table costs one unit.

A unit's rows and their columns are answered apart, so their losses add up. A column's share of the
row's epsilon and delta is its weight's.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import (
    LaplaceLaw,
    Loss,
    Perturb,
    PerturbedColumn,
    RecordStep,
    Release,
    Response,
)
from dprelease.model.record_tables import WIDEST_SCALE, WIDEST_VALUE
from dprelease.privacy.zcdp import bound_pure_rho

_ZERO = Fraction(0)


def plan_tables(release: Release) -> tuple[RecordStep, ...]:
    """Plan every ``[[perturb]]``; raise Failure (exit code 2) if a column can't be perturbed so."""
    return tuple(_plan_table(release, perturb) for perturb in release.perturbs)


def _plan_table(release: Release, perturb: Perturb) -> RecordStep:
    bounding = release.privacy.bounding
    rows = 1 if bounding is None else bounding.rows
    whole = sum((column.weight for column in perturb.columns), _ZERO)
    epsilon, delta = perturb.epsilon, perturb.delta
    if epsilon is None and perturb.truth is None:  # nothing else is asked
        epsilon, delta = release.privacy.epsilon, release.privacy.delta
        if release.privacy.accounting in {"pure", "zcdp"}:
            delta = _ZERO
    responses = tuple(
        _plan_response(
            release,
            perturb,
            column,
            (epsilon or _ZERO) * column.weight / whole / rows,
            delta * column.weight / whole / rows,
        )
        for column in perturb.columns
    )
    total = Loss(
        rows * sum((response.loss.epsilon for response in responses), _ZERO),
        rows * sum((response.loss.delta for response in responses), _ZERO),
    )
    rho = bound_pure_rho(total.epsilon) if total.delta == 0 else None
    return RecordStep(perturb, responses, rows, Loss(total.epsilon, total.delta, rho))


def _plan_response(
    release: Release, perturb: Perturb, column: PerturbedColumn, epsilon: Fraction, delta: Fraction
) -> Response:
    # Imported here for start-up: arrays are needed, and most releases have no table of records.
    from dprelease.local.randomizers.calibrate import calibrate_response
    from dprelease.local.store.answer_cells import choose_cells, get_grid

    try:
        response = calibrate_response(column, epsilon, delta, perturb.truth)
        # Refuse answers that can't be drawn or written before a run pays for them.
        if isinstance(response.law, LaplaceLaw) and (
            response.law.scale > WIDEST_SCALE or get_grid(response).magnitude >= WIDEST_VALUE
        ):
            raise ValueError("noisy values that might leave 64 bits")
        choose_cells(response)
    except ValueError:
        key = f"perturb[{perturb.number}]"
        kind = "labels" if column.group is not None else "a grid"
        message = f'"{column.name}" has {kind} that "{column.mechanism}" can\'t perturb'
        complaint = Complaint("E319", message, place=release.place(key), key=key)
        raise Failure(ExitCode.SPEC, complaint) from None
    return response
