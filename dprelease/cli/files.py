"""Files that commands write where the user says: whole or not at all."""

from __future__ import annotations

from collections.abc import Callable

from dprelease.errors import Complaint, ExitCode, Failure


def write_new(file: str, text: str, *, over: Callable[[str], bool] | None = None) -> None:
    """Write a text file whole. What is there is only replaced if ``over`` says so of its text.

    Raises Failure (exit code 2).
    """
    from dprelease.files.atomic import put_file, replaceable

    try:
        put_file(file, text.encode(), mode=0o666, over=over is not None and replaceable(file, over))
    except FileExistsError:
        raise Failure(
            ExitCode.SPEC,
            Complaint("E010", f"{file} is there already", "name another file with -o"),
        ) from None
    except OSError as problem:
        reason = problem.strerror or "it can't be written"
        raise Failure(
            ExitCode.SPEC,
            Complaint("E011", f"{file} can't be written: {reason}", "name another file with -o"),
        ) from None
