"""Files that commands write where the user says: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable

from dprelease.errors import Complaint, ExitCode, Failure


def write_new(file: str, text: str, *, over: Callable[[str], bool] | None = None) -> None:
    """Write a text file whole. What is there is only replaced if ``over`` says so of its text.

    Raises Failure (exit code 2).
    """
    from dprelease.files.atomic import replaceable

    draft = f"{file}.{os.getpid()}.draft"
    try:
        with open(draft, "x", encoding="utf-8") as stream:
            stream.write(text)
        if over is not None and replaceable(file, over):
            os.replace(draft, file)
        else:
            os.link(draft, file)  # unlike a rename, it fails where something is
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
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)
