"""The exact JSON form of a plan, from which charges, seals and saved plans take what they hold.

Amounts are texts "p/q" in lowest terms: no floats, one text for one value. What plans and reports
show to people is rounded and worded, and is made elsewhere.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from dprelease.model.plans import Form, Plan, Read, Step
from dprelease.model.record_tables import LaplaceLaw, Law, RecordStep, Response, SubsetLaw, Window
from dprelease.model.strategies import Term

Json = dict[str, object]

_RATIONAL = re.compile(r"(0|[1-9][0-9]*)/([1-9][0-9]*)")


def exact(value: Fraction) -> str:
    """Write an amount as "p/q" in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def read_exact(text: object) -> Fraction:
    """Read the non-negative amount that ``exact`` wrote; raise ValueError for other texts."""
    if not isinstance(text, str):
        raise ValueError("not a rational")
    return _parse_exact(text)


@lru_cache(maxsize=1024)  # charges of one ledger repeat few amounts
def _parse_exact(text: str) -> Fraction:
    parts = _RATIONAL.fullmatch(text)
    if parts is None:
        raise ValueError("not a rational")
    value = Fraction(int(parts[1]), int(parts[2]))
    # Each value has one text: 2/4 is refused.
    if exact(value) != text:
        raise ValueError("not in lowest terms")
    return value


def plan_json(plan: Plan) -> Json:
    """Encode all that a plan does and spends, except what its release states.

    ``records`` is left out if the plan has no record-level tables.
    """
    return {
        "method": plan.method,
        "epsilon": exact(plan.loss.epsilon),
        "delta": exact(plan.loss.delta),
        "steps": list(map(step_json, plan.steps)),
        "reads": list(map(_read, plan.reads)),
        **({"records": list(map(record_json, plan.records))} if plan.records else {}),
    }


def build_charge_json(plan: Plan) -> Json:
    """Encode what a charge notes: the facts of the noise that later accounting needs."""
    steps = [_drop_keys(step_json(step), "transform", "cells") for step in plan.steps]
    return _drop_keys(plan_json(plan), "epsilon", "delta", "reads") | {"steps": steps}


def step_json(step: Step) -> Json:
    """Encode a step: its mechanism, sensitivity and loss, and how the integers are made.

    ``cells`` is None where the keys are private. ``form`` and its parts are there only for choices
    and quantiles, ``threshold`` only for private keys, ``stairs`` only for a staircase, ``groups``
    and ``axes`` only for mixed cells, ``apart`` only where it is true.
    """
    loss, sensitivity = step.loss, step.sensitivity
    return {
        "query": step.query.name,
        "mechanism": str(step.noise.family),
        "parameter": exact(step.noise.parameter),
        "l1": sensitivity.l1,
        "l2_squared": str(sensitivity.l2_squared),
        "coordinates": sensitivity.coordinates,
        "epsilon": exact(loss.epsilon),
        "delta": exact(loss.delta),
        "rho": None if loss.rho is None else exact(loss.rho),
        **({"stairs": [step.noise.stair, step.noise.first]} if step.noise.stair else {}),
        **_describe_selection(step),
        "transform": list(map(list, step.transform)),
        # Private keys have no number of cells before they are selected.
        "cells": None if step.query.private else step.query.cells,
        **_describe_mixing(step),
        **({"apart": True} if step.apart else {}),
    }


def _describe_mixing(step: Step) -> Json:
    """Encode the groups and axes of a step with mixed cells."""
    if not step.axes:
        return {}
    groups = [{"column": group.column, "labels": list(group.labels)} for group in step.query.groups]
    axes = [
        {"kind": str(axis.kind), "entries": list(map(list, axis.entries))} for axis in step.axes
    ]
    return {"groups": groups, "axes": axes}


def _describe_selection(step: Step) -> Json:
    """Encode what choices, quantiles and selected keys have besides noise."""
    parts: Json = {}
    if step.form is Form.CHOICE:
        parts |= {
            "form": str(step.form),
            "picks": step.query.picks,
            "choice_l1": step.sensitivity.choice_l1,
            "monotone": step.sensitivity.monotone,
        }
    if step.scheme is not None:
        selections = [
            {
                "quantile": exact(step.scheme.quantiles[selection.index - 1]),
                "between": [selection.lower, selection.upper],
                "target": exact(selection.target),
                "rate": exact(selection.rate),
            }
            for selection in step.scheme.steps
        ]
        parts |= {"form": str(step.form), "selections": selections}
    if step.threshold is not None:
        parts["threshold"] = step.threshold
    return parts


def _read(read: Read) -> Json:
    """Encode how a query is read from its step."""
    return {
        "query": read.query.name,
        "step": read.step,
        "rows": list(read.rows),
        "reading": str(read.reading),
        "factors": [str(factor) for factor in read.factors],
        "merged": list(read.merged),
        "screened": read.screened,
        **(
            {"terms": list(map(_describe_term, read.terms)), "decimals": read.decimals}
            if read.terms
            else {}
        ),
    }


def _describe_term(term: Term) -> Json:
    return {
        "step": term.step,
        "row": term.row,
        "factor": str(term.factor),
        "groups": list(term.groups),
        **({"part": term.part} if term.part else {}),
    }


def record_json(step: RecordStep) -> Json:
    """Encode a record-level table: its randomizers, domains and loss."""
    return {
        "table": step.perturb.name,
        "rows_per_unit": step.rows,
        "epsilon": exact(step.loss.epsilon),
        "delta": exact(step.loss.delta),
        "columns": [
            {
                "column": response.column.name,
                "mechanism": str(response.mechanism),
                **describe_law(response.law),
                "epsilon": exact(response.loss.epsilon),
                "delta": exact(response.loss.delta),
                "domain": _describe_domain(response),
            }
            for response in step.responses
        ],
    }


def describe_law(law: Law) -> Json:
    """Encode the law of a local randomizer."""
    if isinstance(law, SubsetLaw):
        keep = exact(law.keep)
        return {"law": "subset", "labels": law.labels, "size": law.size, "keep": keep}
    if isinstance(law, LaplaceLaw):
        return {"law": "laplace", "scale": exact(law.scale)}
    windows = [law.first] if law.second is None else [law.first, law.second]
    return {
        "law": "windows",
        "share": exact(law.share),
        "windows": list(map(_describe_window, windows)),
    }


def _describe_window(window: Window) -> Json:
    return {
        "levels": window.levels,
        "width": window.width,
        "ratio": exact(window.ratio),
        "gap": exact(window.gap),
    }


def _describe_domain(response: Response) -> Json:
    """Encode the labels or the grid that a column takes its values from."""
    column = response.column
    if column.group is not None:
        return {"labels": list(column.group.labels)}
    if column.quantity is None or column.quantity.grid is None:
        raise ValueError("a perturbed column has labels or a grid")
    grid = column.quantity.grid
    bounds = {"lower": grid.lower, "upper": grid.upper, "fill": column.quantity.null_fill}
    return {"step": exact(grid.step), **bounds}


def _drop_keys(content: Json, *names: str) -> Json:
    return {name: value for name, value in content.items() if name not in names}
