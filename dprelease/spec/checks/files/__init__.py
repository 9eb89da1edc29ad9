"""Checks of the files that a spec names: its data, ledger and output."""
