"""Checks of queries: groups, candidates, private keys and output tables."""
