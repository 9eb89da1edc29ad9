"""One made-up data set, released again and again: its figures without noise, and with new noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dprelease import load
from dprelease.engines import get
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.kernel.core.entropy import Entropy
from dprelease.kernel.privatization import prepare, privatize
from dprelease.ledger.entries import Account, Run, State
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.reservation import Reservation, build_terms
from dprelease.model import Loss, NoisyTable, OutputTable, Plan
from dprelease.release.bundle import assemble, build_tables
from dprelease.release.payload import Sealed
from dprelease.release.plan import plan_and_certify
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.model.report_model import ReportFacts

Json = dict[str, Any]
REGIONS = ("north", "south", "east", "west")
SIZES = (60, 60, 75, 200)
DAYS = (4, 4, 5, 9)  # the mean in each region


def build_spec(queries: Sequence[Json], privacy: Json) -> Json:
    """A spec over the made-up data."""
    return {
        "release": {"name": "made-up"},
        "data": {"path": "made_up.csv"},
        "privacy": {"unit": "row", "adjacency": "add-remove"} | privacy,
        "columns": {
            "region": {"type": "string", "keys": list(REGIONS)},
            "sex": {"type": "string", "keys": ["f", "m"]},
            "days": {"type": "integer", "lower": 0, "upper": 20},
        },
        "query": list(queries),
        "output": {"path": "out"},
    }


def read_rows() -> Iterator[tuple[str, str, int]]:
    """The records; in each region the mean of days is that of ``DAYS``."""
    for region, size, days in zip(REGIONS, SIZES, DAYS, strict=True):
        for number in range(size):
            spread = (
                0 if number == size - 1 and size % 2 else (-1) ** number * (1 + number // 2 % 2)
            )
            yield region, "fm"[number % 3 == 0], days + spread


class Redrawn:
    """A plan over the made-up data, and its exact integers; nothing is published."""

    def __init__(self, folder: Path, queries: Sequence[Json], **privacy: Any) -> None:
        """Plan, and read the data once."""
        lines = "".join(f"{region},{sex},{days}\n" for region, sex, days in read_rows())
        (folder / "made_up.csv").write_text(f"region,sex,days\n{lines}", encoding="utf-8")
        release = load(build_spec(queries, privacy or {"epsilon": 1.0}))
        self.plan: Plan = plan_and_certify(release).plan
        prepare(self.plan.steps)
        engine = get("duckdb")
        self.jobs = [
            (job, engine.aggregate(job.request, lambda _: None))
            for job in build_jobs(release, self.plan.steps, 0)
        ]

    def noisy(self, entropy: Entropy) -> NoisyTable:
        """Noisy integers, drawn anew."""
        values: dict[str, tuple[tuple[int, ...], ...]] = {}
        for job, exact in self.jobs:
            values |= privatize(exact, job, entropy, {}).values
        return NoisyTable(values, {})

    def facts(self, entropy: Entropy) -> ReportFacts:
        """The report of one release; but for its figures it is that of any."""
        zero, terms = Loss(Fraction(0)), build_terms(self.plan)
        run = Run(1, "e" * 64, "f" * 64, "made-up", "made-up", terms, Caps(), {}, "now")
        account = Account("made-up", ())
        totals = account.compute_total(Caps()), account.compute_total(Caps(), terms)
        reservation = Reservation(run, State.CHARGED, True, zero, self.plan.loss, *totals)
        sealed = Sealed(self.noisy(entropy), {"dprelease": "1"}, {})
        return read_report_json(assemble(self.plan, reservation, sealed, "now").report)

    def tables(self, entropy: Entropy) -> Mapping[str, OutputTable]:
        """The tables of another release, by file name."""
        return {
            f"{table.name}.csv": table for table in build_tables(self.plan, self.noisy(entropy))
        }
