"""The ledger of privacy budgets: what was spent on which dataset, never edited nor given back."""

from dprelease.ledger.attempts import current_run
from dprelease.ledger.chain import Head
from dprelease.ledger.identity import run_id
from dprelease.ledger.records import Account, Caps, Run, Seal, State, total
from dprelease.ledger.reservation import Reservation
from dprelease.ledger.store import WAIT, Ledger, account

__all__ = [
    "WAIT",
    "Account",
    "Caps",
    "Head",
    "Ledger",
    "Reservation",
    "Run",
    "Seal",
    "State",
    "account",
    "current_run",
    "run_id",
    "total",
]
