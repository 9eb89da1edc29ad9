"""Translation of DuckDB's errors by their exact class. Their text is never read.

The text quotes lines and values of the data, so no message may contain any of it. A class that is
not known to come from the data or the machine counts as a bug of this tool: a statement that DuckDB
refuses to parse or bind must not look like a damaged disk, and a slower reader that asks in another
way must not hide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from dprelease.errors import ExitCode, Failure, InternalError
from dprelease.files.system import NoMoreThreads
from dprelease.model import Source
from dprelease.sources.shared.data_failures import build_lost_failure, build_memory_failure
from dprelease.sources.shared.files import read_marks, resolve

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

CSV_LINES = frozenset(
    {"Error", "InternalException", "InvalidInputException", "NotImplementedException"}
)
"""Errors of DuckDB's CSV reader at a line that is no record, or where its threads disagree.

They include C++ exceptions and its failed internal checks: only the content of its buffers leads to
these. An error that the statement itself causes, the careful reader's statement causes too.
"""

PACKED_LINES = CSV_LINES | {"IOException"}
"""The same errors, and that of a packed file that DuckDB can't unpack."""

PARQUET_VALUES = CSV_LINES | {
    "ConversionException",
    "IOException",  # an unknown compression raises it, too
    "OutOfMemoryException",
    "OutOfRangeException",
}
"""Errors of DuckDB's Parquet reader at a value, a page or another column."""

OF_THE_SPEC = frozenset({"E410", "E411", "E413"})
"""Codes of refusals that no change of the files can cause."""


def is_of_class(problem: duckdb.Error, classes: frozenset[str]) -> bool:
    """Tell if the error is of exactly one of the classes of DuckDB."""
    import duckdb

    return any(type(problem) is getattr(duckdb, name, None) for name in classes)


def explain_error(problem: duckdb.Error, source: Source) -> Failure | InternalError:
    """Translate an error that no other reader can help with.

    Args:
        problem: The error; its text is not read.
        source: The source that was read.

    Returns:
        A Failure (exit 5) for memory and files that can't be read; an InternalError for any other.
    """
    if is_of_class(problem, frozenset({"OutOfMemoryException"})):
        return build_memory_failure()
    if is_of_class(problem, frozenset({"IOException"})):
        return build_lost_failure()
    # DuckDB takes the path of a missing file for a folder, which it may not read.
    if is_of_class(problem, frozenset({"PermissionException"})) and not _is_there(source):
        return build_lost_failure()
    return InternalError(type(problem).__name__)


def explain_later_error(problem: Failure) -> Failure | InternalError:
    """Translate a Failure that belongs to the inspection but came up after the charge.

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
        # DuckDB raises this for Ctrl-C; those of Python are of a subclass, or have a context.
        if type(problem) is RuntimeError and problem.__context__ is None:
            raise KeyboardInterrupt from None
        raise InternalError(type(problem).__name__) from None


@contextmanager
def require_unchanged(paths: Sequence[str]) -> Iterator[None]:
    """Raise Failure(AFTER_CHARGE) at the end if a file is not as it was at the beginning.

    Files that are read more than once, or by two readers, must be the same each time. An error that
    DuckDB raises for a file that changes meanwhile is not a bug of this tool either.
    """
    import duckdb

    before = read_file_marks(paths)
    try:
        yield
    except duckdb.Error:
        if read_file_marks(paths) == before:
            raise
        raise build_changed_failure() from None
    if read_file_marks(paths) != before:
        raise build_changed_failure()


def read_file_marks(paths: Sequence[str]) -> list[tuple[int, ...] | None]:
    """Read the marks of all files; raises OSError if one is gone."""
    return list(map(read_marks, paths))


def build_changed_failure() -> Exception:
    """Build the failure for two readings that differ."""
    return build_lost_failure("the files changed while they were read")


def _is_there(source: Source) -> bool:
    try:
        return bool(resolve(source))
    except Failure:
        return False


class Stream:
    """Record of what stopped a Python stream that DuckDB reads.

    DuckDB raises one class of error for whatever a stream raised, even for an interruption.
    """

    raised: BaseException | None = None

    @contextmanager
    def raise_cause(self) -> Iterator[None]:
        """Raise what stopped the stream, if anything did, in place of DuckDB's error."""
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
        """Iterate over the batches; remember what stops them."""
        try:
            yield from batches
        except GeneratorExit:
            raise
        except BaseException as problem:
            self.raised = problem
            raise
