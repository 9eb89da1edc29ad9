"""Engines: one aggregate request as data in, exact integers out. One registry line each."""

from __future__ import annotations

from importlib import import_module

from dprelease.engines.base import Engine

__all__ = ["ENGINES", "Engine", "get"]

# name in [data] engine -> module that holds ENGINE; imported only when asked for
ENGINES = {
    "duckdb": "dprelease.engines.duckdb.engine",
}


def get(name: str) -> Engine:
    """The engine of that name; raises ValueError for an unknown one."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine
