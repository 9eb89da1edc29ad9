"""Reports: built from the spec, the plan, the ledger and released values only."""
