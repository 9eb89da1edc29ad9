"""What an error of DuckDB means, by its exact class. Its text is never looked at.

The text quotes lines and values of the data, so nothing of it may reach a message. Every class that
is not known to come of the data or the machine is taken for a bug of ours: a statement that
DuckDB refuses to parse or bind must not look like a damaged disk, nor be hidden by a
slower reader that happens to ask in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from dprelease.errors import ExitCode, Failure, InternalError
from dprelease.files.system import NoMoreThreads
from dprelease.model import Source
from dprelease.sources.shared.data_failures import build_lost_failure, build_memory_failure
from dprelease.sources.shared.files import resolve

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

CSV_LINES = frozenset(
    {"Error", "InternalException", "InvalidInputException", "NotImplementedException"}
)
"""A line that is no record to DuckDB's CSV reader, or one at which its threads don't meet.

An exception of C++ and a failed check of its own are included: only its buffers and what is in them
lead there. What the statement itself leads to, the careful reader's statement does too.
"""

PACKED_LINES = CSV_LINES | {"IOException"}
"""The same, or what DuckDB can't unpack."""

PARQUET_VALUES = CSV_LINES | {
    "ConversionException",
    "IOException",  # a compression that it doesn't know is one, too
    "OutOfMemoryException",
    "OutOfRangeException",
}
"""A value, a page or another column that DuckDB's reader of Parquet takes for an error."""

OF_THE_SPEC = frozenset({"E410", "E411", "E413"})
"""Refusals that no change of the files brings about."""


def is_of_class(problem: duckdb.Error, classes: frozenset[str]) -> bool:
    """Tell if the error is of exactly one of the classes of DuckDB."""
    import duckdb

    return any(type(problem) is getattr(duckdb, name, None) for name in classes)


def explain_error(problem: duckdb.Error, source: Source) -> Failure | InternalError:
    """Translate an error that no other reader can help with.

    Args:
        problem: The error; its text is not looked at.
        source: The source that was read.

    Returns:
        A Failure (exit 5) for memory and files that can't be read; an InternalError for any other.
    """
    if is_of_class(problem, frozenset({"OutOfMemoryException"})):
        return build_memory_failure()
    if is_of_class(problem, frozenset({"IOException"})):
        return build_lost_failure()
    # DuckDB takes the name of a file that is gone for that of a folder, which it may not look into.
    if is_of_class(problem, frozenset({"PermissionException"})) and not _is_there(source):
        return build_lost_failure()
    return InternalError(type(problem).__name__)


def explain_later_error(problem: Failure) -> Failure | InternalError:
    """Translate a Failure of the inspection that came up after the charge.

    Returns:
        The Failure itself if it is one after the charge; a Failure (exit 5) if the files changed;
        an InternalError if the spec is refused, which the inspection should have done.
    """
    if problem.exit_code is ExitCode.AFTER_CHARGE:
        return problem
    of_spec = any(complaint.code in OF_THE_SPEC for complaint in problem.complaints)
    return InternalError(type(problem).__name__) if of_spec else build_lost_failure()


@contextmanager
def translate_after_charge(source: Source) -> Iterator[None]:
    """Translate what reading raises after the charge into a Failure or InternalError."""
    import duckdb

    try:
        yield
    except duckdb.Error as problem:
        raise explain_error(problem, source) from None
    except Failure as problem:
        raise explain_later_error(problem) from None
    except NoMoreThreads:
        raise
    except OSError:
        raise build_lost_failure() from None
    except MemoryError:
        raise build_memory_failure() from None
    except RuntimeError as problem:
        # What DuckDB makes of Ctrl-C; Python's own are of other classes, or come of another.
        if type(problem) is RuntimeError and problem.__context__ is None:
            raise KeyboardInterrupt from None
        raise InternalError(type(problem).__name__) from None


def _is_there(source: Source) -> bool:
    try:
        return bool(resolve(source))
    except Failure:
        return False


class Stream:
    """Remembers what stopped a stream of ours that DuckDB reads.

    DuckDB makes one class of error out of whatever a stream raises, an interruption included.
    """

    raised: BaseException | None = None

    @contextmanager
    def raise_cause(self) -> Iterator[None]:
        """Raise what stopped the stream, if anything did, in place of what DuckDB makes of it."""
        try:
            yield
        except (Exception, KeyboardInterrupt):
            problem = self.raised
            if problem is None:
                raise
            if isinstance(problem, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            if isinstance(problem, Failure):
                raise problem from None
            if isinstance(problem, MemoryError):
                raise build_memory_failure() from None
            if isinstance(problem, OSError):
                raise build_lost_failure() from None
            raise InternalError(type(problem).__name__) from None

    def watch(self, batches: Iterator[T]) -> Iterator[T]:
        """Iterate over the same batches; remember what stops them."""
        try:
            yield from batches
        except GeneratorExit:
            raise
        except BaseException as problem:
            self.raised = problem
            raise
