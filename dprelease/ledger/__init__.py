"""The ledger of privacy budgets: what was spent on which dataset, never edited nor given back."""

from dprelease.ledger.chain import Head
from dprelease.ledger.entries import Account, Run, Seal, State
from dprelease.ledger.filters import Caps, Parts, Total, parts_of
from dprelease.ledger.identity import run_id
from dprelease.ledger.reservation import Reservation, current_run
from dprelease.ledger.store import WAIT, Ledger, account
from dprelease.ledger.totals import Terms, total

__all__ = [
    "WAIT",
    "Account",
    "Caps",
    "Head",
    "Ledger",
    "Parts",
    "Reservation",
    "Run",
    "Seal",
    "State",
    "Terms",
    "Total",
    "account",
    "current_run",
    "parts_of",
    "run_id",
    "total",
]
