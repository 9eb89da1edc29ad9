"""Charts of a report as SVG, drawn from the spec, the ledger and released values only."""
