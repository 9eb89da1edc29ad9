"""The DuckDB engine: exact aggregates and codes of records on one machine.

From top to bottom: ``engine`` takes a request and opens a ``session`` over its ``sources``.
``execute`` has ``typed_rows`` made of the fields (``group_keys`` gives them keys and labels) and
puts them into ``cells``. Where units are bounded, ``bounding`` takes the sample by its ``rule``,
``by_arrays`` or ``by_windows``, in ``hash_parts`` that fit into memory. ``measures`` counts, and
``results`` adds up what the parts give. ``record_codes`` goes the same way up to the sample, and
hands on codes instead of counts. ``errors`` says what an error of DuckDB means.
"""
