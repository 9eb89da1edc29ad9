"""What runs in a worker of Spark: batches are messages, and nothing is ever raised or printed.

Nothing here imports Spark, nor what has noise.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dprelease.engines.spark.spark_messages import FAILED, Message
from dprelease.engines.spark.versions import compute_text_hash, list_versions
from dprelease.errors import name_kind
from dprelease.sources.shared.data_failures import OUT_OF_MEMORY
from dprelease.sources.shared.locations import open_binary

if TYPE_CHECKING:
    import pyarrow as pa


def probe(paths: Sequence[str], number: int) -> list[Message]:
    """Report the versions of an executor, and if it can open the files."""
    try:
        for path in paths:
            with open_binary(path) as stream:
                stream.read(1)
    except OSError:
        opened = False
    else:
        opened = True
    facts = {"versions": list_versions(), "hash": compute_text_hash(), "opened": opened}
    return [Message(number, 0, json.dumps(facts).encode())]


def run_first_task(
    task: Callable[[int], Iterable[Message]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run a first task on the numbers that it is given."""
    numbers = (number for batch in batches for number in batch.column(0).to_pylist())
    return _guard_messages(message for number in numbers for message in task(number))


def run_later_task(
    task: Callable[[Iterable[Message]], Iterator[Message]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run a later task on the messages that it is given."""
    messages = (
        Message(*row)
        for batch in batches
        for row in zip(*(batch.column(place).to_pylist() for place in range(3)), strict=True)
    )
    return _guard_messages(task(messages))


def _guard_messages(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    """Write one batch for each message; at last a code, if anything was raised.

    What a worker raises or warns of, and what Python's last resorts print, goes to logs, with its
    text and that of all exceptions before it. So nothing is, an interruption included.
    """
    hooks = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for message in messages:
                yield to_batch(message)
            return
    except GeneratorExit:
        del messages  # so that it is closed while nothing is printed
        return
    except MemoryError:
        code = OUT_OF_MEMORY
    except BaseException as problem:
        code = name_kind(problem)
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        _spare_imports()
    yield to_batch(Message(0, FAILED, code.encode()))


@cache
def _spare_imports() -> None:
    """Once in a worker: keep the collector of garbage from what was imported.

    Spark has it look through all that a worker holds after each task: 40 ms, for nothing.
    """
    gc.freeze()


def to_batch(message: Message) -> pa.RecordBatch:
    """Write a message as the batch that Spark moves."""
    import pyarrow as pa

    types = (pa.int64(), pa.int32(), pa.binary())
    columns = [pa.array([value], kind) for value, kind in zip(message, types, strict=True)]
    return pa.record_batch(columns, names=list(Message._fields))
