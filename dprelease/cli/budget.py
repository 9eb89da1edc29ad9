"""``dprelease budget``: what was spent, and whether the ledger is whole. Opens no data."""

from __future__ import annotations

import os

import click

from dprelease.cli.app import JSON, PERIOD
from dprelease.cli.console import answer
from dprelease.errors import ExitCode

DEFAULT = "dprelease-ledger.sqlite"

EPILOG = """\b
Example:
  dprelease budget show release_specs/clinic_visits.toml
  dprelease budget verify ledger.sqlite --against out/clinic/report.json
  dprelease budget export ledger.sqlite -o entries.jsonl"""


def _example(*lines: str) -> str:
    return "\n".join(("\b", "Example:", *(f"  dprelease budget {line}" for line in lines)))


PLACE = click.argument("ledger", type=click.Path(), metavar="[LEDGER]", default=DEFAULT)
WITNESS = click.option(
    "--witness",
    type=click.Path(),
    metavar="FILE",
    help="Where its witness is, if not beside the ledger.",
)


@click.group(epilog=EPILOG)
def budget() -> None:
    """Show what was spent and left; verify and export the ledger.

    Opens no data. LEDGER is dprelease-ledger.sqlite in the current folder if left
    out.
    """


@budget.command(
    epilog=_example(
        "show", "show release_specs/clinic_visits.toml", "show ledger.sqlite --dataset payroll-2026"
    )
)
@click.argument("ledger", type=click.Path(), metavar="[LEDGER|SPEC.toml]", default=DEFAULT)
@click.option("--dataset", metavar="NAME", help="Show this dataset alone.")
@WITNESS
@PERIOD
@JSON
def show(
    ledger: str, dataset: str | None, witness: str | None, period: str | None, as_json: bool
) -> int:
    """Show releases over time, what they cost and what is left.

    Of a spec it is the spec's ledger, dataset and caps.
    """
    from dprelease.cli.views.budget import history, tell
    from dprelease.ledger.privacy_filter import Caps
    from dprelease.ledger.store import Ledger

    caps = None
    path = ledger
    if ledger.endswith(".toml"):
        import dprelease

        # Of lists nothing is shown here, wherever they are.
        settings = dprelease.load(ledger, period=period, allow_outside_lists=True).ledger
        path, witness = settings.path, witness if witness is not None else settings.witness
        dataset = dataset if dataset is not None else settings.dataset
        if dataset == settings.dataset:
            caps = Caps(settings.epsilon_cap, settings.delta_cap)
    with Ledger.read(path, witness=witness) as book:
        facts = history(book, dataset, caps)
    tell(facts, as_json)
    return int(ExitCode.DONE)


@budget.command(epilog=_example("verify", "verify ledger.sqlite --against out/clinic/report.json"))
@PLACE
@click.option(
    "--against",
    "reports",
    type=click.Path(),
    multiple=True,
    metavar="REPORT",
    help="A report.json whose charge the ledger must hold; may be repeated.",
)
@WITNESS
@JSON
def verify(ledger: str, reports: tuple[str, ...], witness: str | None, as_json: bool) -> int:
    """Check that a ledger is whole, and the right one.

    Checks pages, chain of hashes, sealed numbers and witness. With --against also that it holds
    the charge which a published report names: an older copy of the ledger does not. Exits with 6
    when anything is wrong.
    """
    from dprelease.cli.console import answer_json
    from dprelease.cli.views.budget import against
    from dprelease.ledger.store import Ledger

    with Ledger.unguarded(ledger, witness=witness) as book:
        head = book.verify()
        runs = book.entries()
        for report in reports:
            against(report, ledger, runs)
        book.check_guard()
    if as_json:
        answer_json(
            {
                "schema": "dprelease/verified/1",
                "ledger": os.path.abspath(ledger),
                "entries": head.seq,
                "hash": head.hash,
                "runs": len(runs),
                "against": list(reports),
            }
        )
        return int(ExitCode.DONE)
    held = f", reports held: {len(reports)}" if reports else ""
    answer(f"{ledger}: whole; {head.seq} entries, runs: {len(runs)}{held}; head {head.hash[:16]}")
    return int(ExitCode.DONE)


@budget.command(epilog=_example("export ledger.sqlite -o entries.jsonl"))
@PLACE
@click.option("-o", "--out", type=click.Path(), metavar="FILE", help="Write to FILE, not here.")
def export(ledger: str, out: str | None) -> int:
    """Write all entries as JSON lines.

    They hold what is needed to compute their hashes again; of released numbers only hashes are in
    them. Works without a witness.
    """
    from dprelease.cli.views.budget import lines_of, write_lines
    from dprelease.ledger.store import Ledger

    with Ledger.unguarded(ledger) as book:
        lines = lines_of(book.chain())
    write_lines(lines, out)
    return int(ExitCode.DONE)


@budget.command(epilog=_example("witness ledger.sqlite"))
@PLACE
@WITNESS
def witness(ledger: str, witness: str | None) -> int:
    """Write the witness of a ledger anew.

    Everything else is checked before. From then on this file is taken for the true ledger. If it
    is an older copy, what was charged after it is forgotten, and can be spent again: hold it
    against the last report first (dprelease budget verify --against).
    """
    from dprelease.cli.console import remark
    from dprelease.ledger.rollback_guard import guard_path
    from dprelease.ledger.store import Ledger

    head = Ledger.renew_guard(ledger, witness=witness)
    place = witness if witness is not None else guard_path(ledger)
    answer(f"{place}: {head.seq} entries, head {head.hash[:16]}")
    remark(
        f"note: from now on {ledger} counts as the true ledger. What was charged after entry "
        f"{head.seq} in another copy of it is not counted any more."
    )
    return int(ExitCode.DONE)
