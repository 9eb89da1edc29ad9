"""Store of drawn record-level tables: beside the ledger, named by run and digest.

A table of records is too large to be sealed in the ledger. Its file is kept here before its digest
is sealed there, so that a sealed run can be published as often as needed. Every cell of it is
perturbed. But before the seal it is a draw that nobody may see beside the one that will be sealed:
that would be a second look for one charge. So it goes when its run fails, and what a killed process
has left goes when the run is tried again.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from types import TracebackType

from msgspec.structs import replace

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import (
    close_lock,
    lock,
    open_lock,
    open_plain,
    replace_file,
    sync_directory,
)
from dprelease.model import StoredTable

_OURS = re.compile(r"[0-9a-f]{64}-[0-9a-f]{64}(\.(csv|parquet)){1,2}")


def get_directory(ledger: str) -> str:
    """Name the folder of the record-level tables of a ledger's runs.

    Args:
        ledger: Path of the ledger.

    Returns:
        A path beside the ledger.
    """
    return f"{ledger}.records"


def make_directory(ledger: str) -> str:
    """Create that folder, for this user alone, before anything is charged.

    Args:
        ledger: Path of the ledger.

    Returns:
        The folder.

    Raises:
        Failure: Exit code 2, if it can't be used.
    """
    directory = get_directory(ledger)
    try:
        with suppress(FileExistsError):
            # The ledger's own folder is never made: a path that is mistyped or not mounted must
            # not begin another ledger.
            os.mkdir(directory, 0o700)
            sync_directory(os.path.dirname(os.path.abspath(directory)))
        if not os.path.isdir(directory):
            raise NotADirectoryError(20, os.strerror(20))
        if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))
    except FileNotFoundError:
        return directory  # opening the ledger says what is missing
    except OSError as problem:
        message = f"the folder {directory} can't be used: {problem.strerror or 'unknown'}"
        raise Failure(ExitCode.SPEC, Complaint("E616", message)) from None
    return directory


def set_path(ledger: str, run_id: str, stored: StoredTable) -> StoredTable:
    """Set the path at which a table is kept.

    Args:
        ledger: Path of the ledger.
        run_id: Identity of the run.
        stored: The table, with its SHA-256.

    Returns:
        The table with the path set.
    """
    name = f"{run_id}-{stored.sha256}.{stored.format}"
    return replace(stored, path=os.path.join(get_directory(ledger), name))


class Unsealed:
    """Tables that a process has drawn and not sealed yet; they are locked as long as it might.

    Left by an exception before ``settle``, it removes them.
    """

    def __init__(self) -> None:
        self._handles = ExitStack()
        self._paths: list[str] = []
        self._settled = False

    def __enter__(self) -> Unsealed:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._handles:
            for path in self._paths if kind is not None and not self._settled else ():
                with suppress(OSError):  # then the next attempt does it
                    os.unlink(path)

    def keep(self, draft: str, path: str) -> None:
        """Move a table to its place. Raises OSError."""
        _lock(draft, path, self._handles)
        self._paths.append(path)
        replace_file(draft, path)

    def settle(self) -> None:
        """Keep the tables whatever is raised from now on: they may be sealed."""
        self._settled = True


def clear(ledger: str, run_id: str, is_sealed: Callable[[], bool]) -> None:
    """Remove the tables of a run that was never sealed and that no living process can seal.

    Args:
        ledger: Path of the ledger.
        run_id: Identity of the run.
        is_sealed: Returns True if the run is sealed; called while the tables are locked.
    """
    with ExitStack() as handles:
        orphans = []
        for path in _list_run(ledger, run_id):
            with suppress(OSError):
                if _lock(path, path, handles):
                    orphans.append(path)
        if orphans and not is_sealed():  # asked when nobody can seal them any more
            for path in orphans:
                with suppress(OSError):
                    os.unlink(path)


def _list_run(ledger: str, run_id: str) -> list[str]:
    directory = get_directory(ledger)
    names = (name for name in os.listdir(directory) if _OURS.fullmatch(name))
    return [os.path.join(directory, name) for name in names if name.startswith(run_id)]


def _lock(path: str, name: str, handles: ExitStack) -> bool:
    """Lock a file under a name until the handles are closed; return False if it is in use.

    It also returns False where the file system has no locks: then nobody can tell.
    """
    handle = open_lock(path, name)
    handles.callback(close_lock, handle, name)
    try:
        lock(handle)
    except OSError:
        return False
    return True


def remove_run_leftovers(ledger: str, run_id: str, sealed: Iterable[StoredTable]) -> None:
    """Remove what killed or overtaken processes have left of a run.

    Args:
        ledger: Path of the ledger.
        run_id: Identity of the run.
        sealed: The run's tables, which stay.
    """
    names = {os.path.basename(table.path) for table in sealed}
    for path in _list_run(ledger, run_id):
        if os.path.basename(path) not in names:
            os.unlink(path)


def compute_digest(path: str) -> str | None:
    """Compute the SHA-256 of a plain file in hex; None if there is none."""
    try:
        with open_plain(path, follow=False) as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError:
        return None


def find_whole_table(stored: StoredTable, published: str) -> StoredTable:
    """Find an unchanged copy of a table, in the store or where it was published.

    Args:
        stored: The table, with its path and SHA-256.
        published: Path of the published file.

    Returns:
        The table with the path of the copy.

    Raises:
        Failure: Exit code 6, if both are missing or changed.
    """
    for path in (stored.path, published):
        if compute_digest(path) == stored.sha256:
            return replace(stored, path=path)
    message = f"the record-level table that was released is missing or was changed: {stored.path}"
    raise Failure(ExitCode.LEDGER, Complaint("E617", message))
