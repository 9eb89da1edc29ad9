"""Engines: a request as data in, exact integers out. One line of the registry each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dprelease.engines.engine_registry import ENGINES, ON_CLUSTERS
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.engines.engine_interface import Engine

__all__ = ["ENGINES", "get", "open_for_table", "open_in_session"]


def get(name: str) -> Engine:
    """The engine of that name; raises ValueError for an unknown one."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine


def open_for_table(name: str, format: str, table: object) -> Engine:
    """The engine for a table in memory; raises Failure(SPEC) for a spec that has none."""
    if format != "frame" or name in ON_CLUSTERS:
        message = "a table is handed over, but the spec names its data itself"
        hint = 'write format = "frame" in [data], and no path; or hand over none'
        raise Failure(ExitCode.SPEC, Complaint("E432", message, hint, key="data.format"))
    from dprelease.engines.duckdb.frame_engine import build_engine

    return build_engine(table)


def open_in_session(name: str, session: object) -> Engine:
    """The engine in a session of a cluster; raises Failure(SPEC) for one that works in none."""
    if name not in ON_CLUSTERS:
        message = f'a session of a cluster is given, but the engine is "{name}"'
        hint = f"write engine = {' or '.join(map(repr, sorted(ON_CLUSTERS)))}"
        raise Failure(ExitCode.SPEC, Complaint("E418", message, hint, key="data.engine"))
    engine: Engine = import_module(ENGINES[name]).ENGINE.open_in(session)
    return engine
