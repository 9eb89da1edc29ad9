"""Registry of engines: the one list of them, which spec, schema and run read."""

from __future__ import annotations

# name in [data] engine -> module that holds ENGINE; imported only when asked for
ENGINES = {
    "duckdb": "dprelease.engines.duckdb.engine",
    "spark": "dprelease.engines.spark.engine",
}

ON_CLUSTERS = frozenset({"spark"})
"""Those that work in a session of a cluster, and read from URIs too."""

WITHOUT_RECORDS = frozenset({"spark"})
"""Those that don't give the codes of single records, for record-level tables."""
