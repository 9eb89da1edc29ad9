"""Engines: a request as data in, exact integers out. One line of ``registry`` each."""

from __future__ import annotations

from importlib import import_module

from dprelease.engines.base import Engine
from dprelease.engines.registry import ENGINES

__all__ = ["ENGINES", "Engine", "get"]


def get(name: str) -> Engine:
    """The engine of that name; raises ValueError for an unknown one."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine
