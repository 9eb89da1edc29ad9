"""Which run of a release comes next: the same one again, or one that is paid for anew."""

from __future__ import annotations

from collections.abc import Mapping

from dprelease.ledger.entries import Run, State
from dprelease.ledger.identity import run_id
from dprelease.model import Release


def current_run(release: Release, runs: Mapping[str, Run], *, new_noise: bool = False) -> str:
    """The identity of the run that a run of the release would be.

    It is the last one that was sealed, whose numbers are given again. If there is none, or with
    ``new_noise``, it is the first that is open: charged but not sealed, as a kill or a full
    disk leaves it, which is free; or not there yet, which is charged. Runs that were burnt are
    passed over, so that what was looked at is never drawn again at no cost.
    """
    attempt, name = 0, run_id(release)
    last: str | None = None
    while (run := runs.get(name)) is not None and run.state is not State.CHARGED:
        last = name if run.state is State.SEALED else last
        attempt += 1
        name = run_id(release, attempt)
    return name if new_noise or last is None else last
