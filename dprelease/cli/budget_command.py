"""``dprelease budget``: what was spent, and whether the ledger is whole. Opens no data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import JSON, PERIOD
from dprelease.cli.views.console import answer
from dprelease.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction


DEFAULT = "dprelease-ledger.sqlite"

EPILOG = """\b
Example:
  dprelease budget show release_specs/clinic_visits.toml
  dprelease budget verify ledger.sqlite --against out/clinic/report.json
  dprelease budget export ledger.sqlite -o entries.jsonl"""


def _build_example(*lines: str) -> str:
    return "\n".join(("\b", "Example:", *(f"  dprelease budget {line}" for line in lines)))


PLACE = click.argument("ledger", type=click.Path(), metavar="[LEDGER|SPEC.toml]", default=DEFAULT)
WITNESS = click.option(
    "--witness",
    type=click.Path(),
    metavar="FILE",
    help="The path of its witness, if not the default.",
)


@click.group(epilog=EPILOG)
def budget() -> None:
    """Show what was spent; set caps; verify, move the ledger.

    Opens no data. LEDGER is dprelease-ledger.sqlite in the current folder if left
    out; SPEC.toml stands for the one that a spec names. env:NAME is one on a server,
    whose URL the variable NAME holds.
    """


@budget.command(
    epilog=_build_example(
        "show", "show release_specs/clinic_visits.toml", "show ledger.sqlite --dataset payroll-2026"
    )
)
@PLACE
@click.option("--dataset", metavar="NAME", help="Show only this dataset.")
@click.option(
    "--by",
    type=click.Choice(["year", "period", "snapshot"]),
    help="Sum releases by year of charge, by period or by snapshot.",
)
@click.option(
    "--last", type=click.IntRange(min=1), metavar="N", help="List only the last N, or groups."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write the list as CSV.")
@WITNESS
@PERIOD
@JSON
def show(  # noqa: PLR0913, PLR0917 - one parameter for each option
    ledger: str,
    dataset: str | None,
    by: str | None,
    last: int | None,
    as_csv: bool,
    witness: str | None,
    period: str | None,
    as_json: bool,
) -> int:
    """Show releases over time, what they cost and what is left.

    Of a spec it is the spec's ledger, dataset and caps; all periods of it. With --period what is
    left is that of a release of the period.
    """
    from dprelease.cli.views.budget_view import tell, tell_csv

    if as_csv and as_json:
        raise click.UsageError("--csv and --json can't be combined: choose one")
    facts = dprelease.budget(
        ledger, dataset=dataset, by=by, last=last, period=period, witness=witness
    ).to_dict()
    if as_csv:
        tell_csv(facts)
    else:
        tell(facts, as_json)
    return int(ExitCode.DONE)


def _build_amount_reader(
    read: str,
) -> Callable[[click.Context, click.Parameter, str | None], Fraction | str | None]:
    # Reads an amount as a spec has it, by the reader of that name, or "none".
    def convert(
        _context: click.Context, _parameter: click.Parameter, value: str | None
    ) -> Fraction | str | None:
        from decimal import Decimal, InvalidOperation

        from dprelease.specfile.complaints.reporter import Refused
        from dprelease.specfile.keys import number_texts

        if value is None or value == NO_CAP:
            return value
        try:
            number: Fraction = getattr(number_texts, read)(Decimal(value))
        except InvalidOperation:
            raise click.BadParameter(f'{value!r} is neither a number nor "{NO_CAP}"') from None
        except Refused as refused:
            raise click.BadParameter(f"{refused.message}: {refused.hint}") from None
        return number

    return convert


NO_CAP = "none"


@budget.command(
    epilog=_build_example(
        'cap payroll --epsilon 10 --reason "board, 2026-03-02"',
        'cap payroll --delta none --reason "pure releases only"',
    )
)
@click.argument("dataset", metavar="DATASET")
@PLACE
@click.option(
    "--epsilon",
    metavar="E",
    callback=_build_amount_reader("read_budget"),
    help="The cap on epsilon, or none.",
)
@click.option(
    "--delta",
    callback=_build_amount_reader("read_probability"),
    metavar="D",
    help="The cap on delta, or none.",
)
@click.option(
    "--rho",
    callback=_build_amount_reader("read_budget"),
    metavar="R",
    help="The cap on rho, or none.",
)
@click.option("--reason", required=True, metavar="TEXT", help="The reason, and who decided.")
@WITNESS
@JSON
def cap(  # noqa: PLR0913, PLR0917 - one parameter for each option
    dataset: str,
    ledger: str,
    epsilon: Fraction | str | None,
    delta: Fraction | str | None,
    rho: Fraction | str | None,
    reason: str,
    witness: str | None,
    as_json: bool,
) -> int:
    """Set the cap of a dataset in the ledger, for all specs.

    A spec may state a lower cap, and is refused with a higher one. What is not named stays as it
    was. Each change is an entry of its own, with the reason and the time. A cap below what was
    spent is taken: then nothing is left. Makes the ledger if there is none.
    """
    from dprelease.cli.views.budget_view import tell_cap
    from dprelease.cli.views.complaints_view import complain
    from dprelease.cli.views.console import write_remark
    from dprelease.ledger.ledger_messages import warn_about_new_dataset
    from dprelease.ledger.store import Ledger
    from dprelease.release.budget_status import find_ledger

    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
    changes = {
        name: None if isinstance(amount, str) else amount
        for name, amount in amounts.items()
        if amount is not None
    }
    if not changes:
        raise click.UsageError("no cap is given: use --epsilon, --delta or --rho")
    for option, text in (("DATASET", dataset), ("--reason", reason)):
        if not text.strip() or not text.isprintable():
            raise click.UsageError(f"{option} must be a line of text")
    ledger, witness = find_ledger(ledger, witness)
    with Ledger.open(ledger, witness=witness) as book:
        is_new = not book.read_head().seq
        warnings = warn_about_new_dataset(book.read_account(dataset))
        account = book.set_cap(dataset, changes, reason)
    complain(warnings, "warning")
    if is_new:
        write_remark(f"note: {ledger} is a new ledger, which held no other entry.")
    if note := tell_cap(ledger, account, warnings, as_json):
        write_remark(f"note: {note}")
    return int(ExitCode.DONE)


@budget.command(
    epilog=_build_example("verify", "verify ledger.sqlite --against out/clinic/report.json")
)
@PLACE
@click.option(
    "--against",
    "reports",
    type=click.Path(),
    multiple=True,
    metavar="FILE",
    help="A report.json, a copy or a witness of the ledger, that it must hold; may be repeated.",
)
@WITNESS
@JSON
def verify(ledger: str, reports: tuple[str, ...], witness: str | None, as_json: bool) -> int:
    """Check that a ledger is whole, and the right one.

    Checks pages, chain of hashes, sealed numbers and witness. With --against also that it holds
    the charge which a published report names, all entries of a copy, or the entry that another
    machine's witness has seen. An older copy of the ledger does not. Then it may lack a witness.
    Exits with 6 when anything is wrong.
    """
    from dprelease.cli.views.console import answer_json, write_remark
    from dprelease.ledger.connection import is_database
    from dprelease.ledger.published_charge import check_report
    from dprelease.ledger.rollback_guard import is_guard
    from dprelease.ledger.store import Ledger
    from dprelease.release.budget_status import find_ledger, format_place

    ledger, witness = find_ledger(ledger, witness)
    with Ledger.open_unguarded(ledger, witness=witness) as book:
        head = book.verify()
        runs = book.list_runs()
        for report in reports:
            if is_database(report):
                with Ledger.open_unguarded(report) as copy:
                    book.check_holds(copy)
            elif is_guard(report):
                book.check_seen(report)
            else:
                check_report(report, ledger, runs)
        if reports and not os.path.lexists(book.witness):
            write_remark(f"note: no witness at {book.witness}: later changes can't be checked.")
        else:
            book.check_guard()
    if as_json:
        answer_json(
            {
                "schema": "dprelease/verified/1",
                "ledger": format_place(ledger),
                "entries": head.seq,
                "hash": head.hash,
                "runs": len(runs),
                "against": list(reports),
            }
        )
        return int(ExitCode.DONE)
    note = f", reports held: {len(reports)}" if reports else ""
    answer(f"{ledger}: whole; {head.seq} entries, runs: {len(runs)}{note}; head {head.hash[:16]}")
    return int(ExitCode.DONE)


@budget.command(epilog=_build_example("export ledger.sqlite -o entries.jsonl"))
@PLACE
@click.option(
    "-o", "--out", type=click.Path(), metavar="FILE", help="Write to FILE, not to standard output."
)
def export(ledger: str, out: str | None) -> int:
    """Write all entries as JSON lines.

    They hold what is needed to compute their hashes again; of released numbers only hashes are in
    them. Works without a witness.
    """
    from dprelease.cli.views.budget_view import format_lines, write_lines
    from dprelease.ledger.store import Ledger
    from dprelease.release.budget_status import find_ledger

    with Ledger.open_unguarded(find_ledger(ledger, None)[0]) as book:
        lines = format_lines(book.chain())
    write_lines(lines, out)
    return int(ExitCode.DONE)


@budget.command(epilog=_build_example("move dprelease-ledger.sqlite /srv/ledgers/clinic.sqlite"))
@click.argument("ledger", type=click.Path(), metavar="LEDGER|SPEC.toml")
@click.argument("new", type=click.Path(), metavar="NEW")
@WITNESS
def move(ledger: str, new: str, witness: str | None) -> int:
    """Move a ledger to another file, with its witness and its tables of records.

    The old place refuses from then on, and says where the ledger is. Specs have to name the new
    place. A witness that is elsewhere stays there. A move that was stopped is finished by the same
    command.
    """
    from dprelease.cli.views.console import write_remark
    from dprelease.ledger.moving import move_ledger
    from dprelease.local.store.table_store import get_directory
    from dprelease.model import is_server
    from dprelease.release.budget_status import find_ledger

    ledger, witness = find_ledger(ledger, witness)
    if is_server(ledger) or is_server(new):
        raise click.UsageError("move a ledger on a server with the server's own tools")
    folders = (get_directory(os.path.abspath(ledger)), get_directory(os.path.abspath(new)))
    head = move_ledger(ledger, new, folders, witness=witness)
    answer(f"{ledger} -> {new}: {head.seq} entries, head {head.hash[:16]}")
    write_remark(f"note: name {new} in [ledger] path of all specs.")
    return int(ExitCode.DONE)


@budget.command(epilog=_build_example("witness ledger.sqlite"))
@PLACE
@WITNESS
def witness(ledger: str, witness: str | None) -> int:
    """Write the witness of a ledger anew.

    Everything else is checked before. From then on this file is taken for the true ledger. If it
    is an older copy, what was charged after it is forgotten, and can be spent again: hold it
    against the last report first (dprelease budget verify --against).
    """
    from dprelease.cli.views.console import write_remark
    from dprelease.ledger.rollback_guard import guard_path
    from dprelease.ledger.store import Ledger
    from dprelease.release.budget_status import find_ledger

    ledger, witness = find_ledger(ledger, witness)
    head = Ledger.renew_guard(ledger, witness=witness)
    place = witness if witness is not None else guard_path(ledger)
    answer(f"{place}: {head.seq} entries, head {head.hash[:16]}")
    write_remark(
        f"note: from now on {ledger} is the valid ledger. What was charged after entry "
        f"{head.seq} in another copy of it is not counted any more."
    )
    return int(ExitCode.DONE)
