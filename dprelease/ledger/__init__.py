"""The ledger of privacy budgets: what was spent on which dataset, never edited nor given back."""
