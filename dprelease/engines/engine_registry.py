"""Registry of engines: the one list, which spec, schema and run read.

Modules are named, and imported only when they are asked for.
"""

# name in [data] engine -> module that holds ENGINE
ENGINES = {
    "duckdb": "dprelease.engines.duckdb.duckdb_engine",
    "spark": "dprelease.engines.spark.spark_engine",
}

ON_CLUSTERS = frozenset({"spark"})
"""Those that work in a session of a cluster, and read from URIs too."""

WITHOUT_RECORDS = frozenset({"spark"})
"""Those that don't give the codes of single records, for record-level tables."""
