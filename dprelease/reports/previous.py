"""The last release that a spec names: read and verified before anything is charged."""

from __future__ import annotations

import os

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Release
from dprelease.reports.facts.change_facts import PreviousRelease
from dprelease.reports.rerender import REPORT, read_release


def read_previous_release(release: Release, place: str) -> PreviousRelease:
    """Read the release with which the spec compares this one.

    Args:
        release: The release.
        place: Path of the earlier report.json, as the spec writes it.

    Raises:
        Failure: Exit code 2, if a file is not as it was released, or the release is of another
            dataset or lies where this one is written.
    """
    base = os.path.dirname(os.path.abspath(release.file)) if release.places else os.getcwd()
    path = os.path.normpath(os.path.join(base, place.replace("{period}", release.period or "")))
    folder = os.path.dirname(path)
    if os.path.basename(path) != REPORT:
        raise _build_refusal(
            release, f"{path} is not a {REPORT}", "name the report.json of a release"
        )
    if os.path.realpath(folder) == os.path.realpath(release.output.path):
        raise _build_refusal(
            release,
            "the previous release is in the output folder of this one",
            "give each release an output of its own",
        )
    try:
        facts, published = read_release(folder)
    except Failure as failure:
        raise Failure(
            failure.exit_code,
            [
                complaint._replace(place=release.place("release.previous"), key="release.previous")
                for complaint in failure.complaints
            ],
        ) from None
    if facts.ledger.dataset != release.ledger.dataset:
        message = f'{path} is a report on the dataset "{facts.ledger.dataset}"'
        hint = f'name a release of "{release.ledger.dataset}"'
        raise _build_refusal(release, message, hint)
    return PreviousRelease(facts, published)


def check_other_run(release: Release, previous: PreviousRelease, run_id: str) -> None:
    """Refuse a previous release that is the run itself, with the same noise.

    Raises:
        Failure: Exit code 2.
    """
    if previous.facts.provenance.run_id == run_id:
        raise _build_refusal(
            release,
            "the previous release is this run itself: its noise is the same",
            "name the release before this one",
        )


def _build_refusal(release: Release, message: str, hint: str) -> Failure:
    place = release.place("release.previous")
    return Failure(ExitCode.SPEC, Complaint("E850", message, hint, place, "release.previous"))
