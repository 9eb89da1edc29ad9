"""One query as plans and reports state it."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import NoiseFamily, Plan, Step
from dprelease.report.numbers import root, text, upward
from dprelease.statistics.registry import statistic_of

MECHANISM_NAMES = {
    NoiseFamily.NONE: "none",
    NoiseFamily.LAPLACE: "laplace",
    NoiseFamily.GAUSSIAN: "gaussian",
}

MECHANISM_WORDS = {
    NoiseFamily.NONE: "no noise: the same in all neighbouring tables",
    NoiseFamily.LAPLACE: "discrete Laplace noise on every released integer",
    NoiseFamily.GAUSSIAN: "discrete Gaussian noise on every released integer",
}


def scale(step: Step) -> int | float:
    """Scale of the noise in values: b of the Laplace law, sigma of the Gaussian."""
    unit, parameter = step.unit[0], step.noise.parameter
    if step.noise.family is NoiseFamily.GAUSSIAN:
        return root(parameter * unit**2)
    return upward(parameter * unit)


def step_facts(step: Step, interval: Fraction) -> dict[str, object]:
    """State a step in JSON values: mechanism, loss, sensitivity, scale, expected error."""
    query, unit = step.query, step.unit[0]
    statistic = statistic_of(query.statistic)
    half = statistic.halfwidth(step, interval)
    return {
        "name": query.name,
        "statistic": query.statistic,
        "table": query.table,
        "column": query.column.name if query.column else None,
        "by": [group.column for group in query.groups],
        "where": query.where.text if query.where else None,
        "cells": query.cells,
        "mechanism": MECHANISM_NAMES[step.noise.family],
        "epsilon": upward(step.loss.epsilon),
        "epsilon_exact": text(step.loss.epsilon),
        "delta": upward(step.loss.delta),
        "rho": None if step.loss.rho is None else upward(step.loss.rho),
        "sensitivity": {
            "l1": upward(step.sensitivity.l1 * unit),
            "l2": root(step.sensitivity.l2_squared * unit**2),
            "derivation": step.sensitivity.derivation,
        },
        "scale": scale(step),
        "granularity": upward(unit),
        "noise_halfwidth": None if half is None else upward(half),
        "example_halfwidth": statistic.example(step, interval),
        "expected_error": statistic.expected_error(step, interval),
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
    }


def step_detail(step: Step) -> dict[str, object]:
    """State a step for the ledger, exactly: what later accounting needs, no floats."""
    loss, known = step.loss, step.sensitivity
    return {
        "query": step.query.name,
        "mechanism": MECHANISM_NAMES[step.noise.family],
        "parameter": _exact(step.noise.parameter),
        "l1": known.l1,
        "l2_squared": str(known.l2_squared),
        "coordinates": known.coordinates,
        "epsilon": _exact(loss.epsilon),
        "delta": _exact(loss.delta),
        "rho": None if loss.rho is None else _exact(loss.rho),
    }


def _exact(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
