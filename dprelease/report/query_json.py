"""One query as plans and reports state it."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Form, NoiseFamily, Plan, Read, Reading, Step
from dprelease.postprocess.number_text import listing, number
from dprelease.report.facts.explanations import candidates_of, explained, threshold_facts
from dprelease.report.numbers import root, text, upward
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared import read_release as reading

MECHANISM_NAMES = {family: str(family) for family in NoiseFamily}


def scale(step: Step, at: int = 0) -> int | float:
    """Scale of the noise in values: b of the Laplace law, sigma of the Gaussian.

    Of a choice it is 1/rate, in scores: P(candidate) is proportional to exp(score/scale), and
    permute-and-flip is exponential noise of that scale on every score. Of quantiles it is 1/rate
    in ranks, the largest where there are several. ``at``: of which released integer.
    """
    if step.scheme is not None:
        return upward(
            1
            / min(selection.rate * selection.target.denominator for selection in step.scheme.steps)
        )
    return _scaled(step, step.unit[at])


def _scaled(step: Step, unit: Fraction) -> int | float:
    parameter = step.noise.parameter
    if step.form is Form.CHOICE:
        return upward(unit / parameter) if parameter else 0
    if step.noise.family is NoiseFamily.GAUSSIAN:
        return root(parameter * unit**2)
    return upward(parameter * unit)


def query_facts(plan: Plan, read: Read) -> dict[str, object]:
    """State a query in JSON values: mechanism, loss, sensitivity, scale, expected error.

    Of a query that shares a release with others, loss, sensitivity and scale are those of that
    release: it is paid for once, for all of ``shares.with``. ``cells`` is None where keys are
    private.
    """
    interval = plan.release.output.interval
    released = plan.step(read)
    step, query = reading.view(read, released), read.query
    linear = read.reading is Reading.LINEAR
    unit = max(map(abs, read.factors)) if linear else step.unit[0]
    half = reading.constant_half(read, released, interval)
    return {
        "name": query.name,
        "statistic": query.statistic,
        "table": query.table,
        "column": query.column.name if query.column else None,
        "by": [group.column for group in query.groups],
        "where": query.where.text if query.where else None,
        **_parts(step),
        "implied": query.implied,
        "cells": None if query.private else query.cells,
        "candidates": candidates_of(step) or None,
        "form": str(step.form),
        "shares": shares_of(plan, read),
        "mechanism": MECHANISM_NAMES[step.noise.family],
        "epsilon": upward(step.loss.epsilon),
        "epsilon_exact": text(step.loss.epsilon),
        "delta": upward(step.loss.delta),
        "rho": None if step.loss.rho is None else upward(step.loss.rho),
        "sensitivity": _sensitivity(step, unit),
        "scale": _scaled(step, unit) if linear else scale(step),
        "granularity": upward(unit),
        "denominator": {"scale": scale(step, 1), "granularity": upward(step.unit[1])}
        if "denominator" in statistic_of(query.statistic).keys.needs
        else None,
        "threshold": threshold_facts(step, interval),
        "accuracy": _target(read),
        "noise_halfwidth": None if half is None else upward(half),
        "example_halfwidth": reading.example(read, released, interval),
        "expected_error": reading.expected_error(read, released, interval),
        "meaningful_from": statistic_of(query.statistic).meaningful_from(step, interval),
        "explained": [*explained(step, interval), *shared_words(plan, read)],
    }


def shares_of(plan: Plan, read: Read) -> dict[str, object] | None:
    """Say with which queries a release is shared, and under whose name; None for one's own."""
    others = [query.name for query in plan.shared_by(plan.step(read)) if query != read.query]
    return {"release": read.step, "with": others} if others else None


def shared_words(plan: Plan, read: Read) -> list[str]:
    """Explain what is read from a release that others share."""
    step = plan.step(read)
    others = [query.name for query in plan.shared_by(step) if query != read.query]
    if not others:
        return []
    said = [
        f"Read from one release, that of {read.step}, together with {listing(others)}: it has the "
        "budget of them all, and is paid for once."
    ]
    if read.merged:
        names = listing([step.query.groups[place].column for place in read.merged])
        said.append(f"Added up from its cells over {names}.")
    if read.screened:
        said.append(
            "Records without a value are counted by a figure of their own. None are expected, as "
            "the spec says nothing of nulls: where that figure is no larger than noise makes it "
            "once in 400 times, it is taken as 0. The interval allows for what may be missed so; "
            'nulls = "drop" in the column has them all counted, with a little more noise.'
        )
    return said


def _target(read: Read) -> dict[str, object] | None:
    wanted = read.query.accuracy
    if wanted is None:
        return None
    return {
        "within": upward(wanted.within),
        "confidence": text(wanted.confidence),
        "records": wanted.records,
    }


def _parts(step: Step) -> dict[str, object]:
    """What only some statistics have: quantiles, picks, the conditions of a share or ratio."""
    query = step.query
    parts: dict[str, object] = {"picks": query.picks}
    if query.quantiles:
        parts["quantiles"] = [text(quantile) for quantile in query.quantiles]
    if query.candidates is not None:
        parts["score"] = query.candidates.score.text
    for name, part in (("numerator", query.numerator), ("denominator_part", query.denominator)):
        if part is not None:
            parts[name] = {
                "column": part.column.name if part.column else None,
                "where": part.where.text if part.where else None,
            }
    return parts


def _sensitivity(step: Step, unit: Fraction) -> dict[str, object]:
    """How far neighbours move what is noised: figures, the scores of a choice, or ranks."""
    sensitivity = step.sensitivity
    if step.form is Form.CHOICE:
        return {
            "l1": upward(sensitivity.choice_l1 * unit),
            "l2": None,
            "of": "score",
            "monotone": sensitivity.monotone,
            "derivation": sensitivity.derivation,
        }
    if step.form is Form.QUANTILES:
        return {
            "l1": sensitivity.l1,
            "l2": None,
            "of": "rows",
            "derivation": sensitivity.derivation,
        }
    grid = step.unit[0]
    steps = "" if grid == 1 or sensitivity.l1 <= 1 else f" (in steps of {number(grid, 6)})"
    return {
        "l1": upward(sensitivity.l1 * unit),
        "l2": root(sensitivity.l2_squared * unit**2),
        "of": "figures",
        "derivation": f"{sensitivity.derivation}{steps}",
    }


def accounting_facts(plan: Plan) -> dict[str, object]:
    """State the composed loss and what plain addition would have charged."""
    return {
        "method": plan.method,
        "epsilon": upward(plan.loss.epsilon),
        "epsilon_exact": text(plan.loss.epsilon),
        "delta": upward(plan.loss.delta),
        "rho": None if plan.loss.rho is None else upward(plan.loss.rho),
        "basic_epsilon": upward(plan.basic.epsilon),
        "basic_delta": upward(plan.basic.delta),
        "advanced_epsilon": None if plan.advanced is None else upward(plan.advanced.epsilon),
    }
