"""Failures of sources and engines, with fixed sentences; and the lists of columns that are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import InputColumn

OUT_OF_MEMORY = "E510"

Share = Callable[[float], None]
"""A function that is told how much of a request's data was read, from 0 to 1."""


def build_data_failure(code: str, message: str, hint: str = "", key: str = "data.path") -> Failure:
    """Report data of another shape than declared, before anything was charged."""
    return Failure(ExitCode.DATA, Complaint(code, message, hint, key=key))


def build_lost_failure(message: str = "the data could not be read to its end") -> Failure:
    """Report that reading failed after the charge. The charge stands; a retry is free."""
    return Failure(ExitCode.AFTER_CHARGE, Complaint("E501", message, key="data.path"))


def build_unended_failure() -> Failure:
    """Report a compressed file whose last line has no end, after the charge."""
    message = "the last line of a compressed file has no line feed, or return where these end lines"
    return Failure(ExitCode.AFTER_CHARGE, Complaint("E502", message, key="data.path"))


def build_cluster_failure() -> Failure:
    """Report a cluster that failed after the charge; a retry is free."""
    message = "the cluster failed before all data was read"
    return Failure(ExitCode.AFTER_CHARGE, Complaint("E511", message, key="data.engine"))


def build_memory_failure(setting: str = "DPRELEASE_MEMORY") -> Failure:
    """Report that memory ran out after the charge; a retry, with a higher limit, is free."""
    hint = f"give it more, such as {setting}=2GB, and run the same spec again: it is free"
    message = "the available memory was too small to read the data"
    complaint = Complaint(OUT_OF_MEMORY, message, hint, key="data.path")
    return Failure(ExitCode.AFTER_CHARGE, complaint)


def list_read_columns(inputs: Sequence[InputColumn]) -> tuple[InputColumn, ...]:
    """List the inputs that come from the file."""
    return tuple(column for column in inputs if column.expression is None)


def list_derived_columns(inputs: Sequence[InputColumn]) -> tuple[InputColumn, ...]:
    """List the inputs that are computed, each after those it reads."""
    waiting = {column.name: column for column in inputs if column.expression is not None}
    ordered: list[InputColumn] = []
    while waiting:
        ready = [
            column
            for column in waiting.values()
            if column.expression and not set(column.expression.columns) & set(waiting)
        ]
        if not ready:
            names = ", ".join(f'"{name}"' for name in waiting)
            raise build_data_failure("E410", f"{names} are computed from each other")
        for column in ready:
            ordered.append(waiting.pop(column.name))
    return tuple(ordered)
