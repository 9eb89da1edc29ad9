"""What a run says when it is done: where the files are, what was spent, what is left."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from dprelease.cli.views.console import answer, answer_json, fold_line
from dprelease.cli.views.ledger_view import describe_accounting, describe_reserve, read_standing
from dprelease.cli.views.text_layout import format_remaining, round_down, round_up
from dprelease.errors import Failure
from dprelease.reports.facts.query_facts import describe_composition
from dprelease.reports.model.json_form import to_json
from dprelease.reports.text.shown_numbers import to_json_number

if TYPE_CHECKING:
    from dprelease import Result

AGAIN = (
    "new data needs a new `snapshot` in [data] or a new --period",
    "--new-noise releases again and spends again",
)


def tell_json(result: Result) -> None:
    """Write the outcome as one object."""
    release = result.plan.release
    answer_json(
        {
            "schema": "dprelease/run/1",
            "exit_code": 0,
            "release": release.about.name,
            "dataset": release.ledger.dataset,
            "already_released": result.already_released,
            "released_at": result.released_at,
            "output": result.output,
            "files": list(result.files),
            "charged": result.charged,
            "loss": to_json(describe_composition(result.plan)),
            "ledger": result.report["ledger"],
            "warnings": [warning.to_dict() for warning in result.warnings],
        }
    )


def tell_text(result: Result) -> None:
    """Write the outcome for people."""
    for line in _build_lines(result):
        answer(fold_line(line, sys.stdout, 9))


def _build_lines(result: Result) -> list[str]:
    name, again = result.plan.release.about.name, result.already_released
    when = f"already released at {result.released_at}; nothing was spent"
    cost = describe_loss(result)
    if again:
        cost = f"nothing now, {cost} then"
    elif not result.charged:
        cost = f"nothing now: {cost} was charged before, or by a run at the same time"
    return [
        f"{name}: {when if again else 'released'}",
        *describe_files(result),
        f"spent    {cost}",
        f"left     {_describe_left(result)}",
        *_describe_records(result),
        *(f"note     {note}" for note in (AGAIN if again else ())),
    ]


def describe_files(result: Result) -> list[str]:
    """List the output folder and what is in it."""
    names = dict.fromkeys(map(_format_file, result.files))
    return [f"output   {_shorten_path(result.output)}", *(f"         {name}" for name in names)]


def _format_file(file: str) -> str:
    """Return a file, or the folder that holds it."""
    folder, slash, _ = file.partition("/")
    return folder + slash


def _describe_records(result: Result) -> list[str]:
    """List the records of each record-level table, and the command that estimates from it."""
    return [
        f"records  {table.stored.tally.rows:,}, and estimates: dprelease estimate "
        + os.path.join(_shorten_path(result.output), table.file)
        for table in result.records
    ]


def _shorten_path(path: str) -> str:
    """Shorten a path to a relative one, if that is shorter."""
    near = os.path.relpath(path)
    return near if len(near) < len(path) else path


def _describe_left(result: Result) -> str:
    """Describe what is left for the dataset; an unreadable ledger undoes no release."""
    dataset = result.plan.release.ledger.dataset
    try:
        ledger, _, _ = read_standing(result.plan)
    except Failure:
        return f'unknown: the ledger of "{dataset}" can\'t be read now'
    rho = ledger.rho
    remaining = [
        f"{name} {round_down(left_after)} of {format_remaining(cap)}{note}"
        for name, cap, left_after, note in (
            ("epsilon", ledger.epsilon_cap, ledger.epsilon_left_after, ""),
            ("delta", ledger.delta_cap, ledger.delta_left_after, describe_reserve(ledger)),
            ("rho", *((None, None) if rho is None else (rho.cap, rho.left_after)), ""),
        )
        if cap is not None
    ]
    return f'{", ".join(remaining) or "no cap is set"} for "{dataset}"'


def describe_loss(result: Result) -> str:
    """Describe the loss of the release and how it was composed."""
    loss = result.plan.loss
    delta = f", delta {round_up(to_json_number(loss.delta))}" if loss.delta else ""
    total_rho = loss.rho if result.plan.release.privacy.rho is not None else None
    rho = f", by rho {round_up(to_json_number(total_rho))}" if total_rho is not None else ""
    added = describe_accounting(result.plan.method)
    return f"epsilon {round_up(to_json_number(loss.epsilon))}{delta}{rho} ({added})"
