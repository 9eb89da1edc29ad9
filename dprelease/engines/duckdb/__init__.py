"""The DuckDB engine: exact aggregates and codes of records on one machine.

From top to bottom: ``duckdb_engine`` takes a request and opens a ``duckdb_session`` over the files.
``execute`` builds ``typed_rows`` from the fields (``group_keys`` gives their keys and labels) and
locates them in ``record_cells``. Where units are bounded, ``bound_by_arrays`` or
``bound_by_windows`` samples their rows by ``bounding_rule``, in ``hash_parts`` that fit into
memory. ``measures`` writes the statements that count, and ``results`` adds up the answers of the
parts. ``record_codes`` goes the same way up to the sample, and returns codes instead of counts.
``duckdb_errors`` translates the errors of DuckDB.
"""
