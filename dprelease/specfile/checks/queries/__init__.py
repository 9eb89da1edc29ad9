"""Queries: ``query`` makes one; ``output_tables`` and ``key_selectors`` hold them together."""
