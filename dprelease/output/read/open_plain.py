"""Files of a directory that anybody may have written to: only plain ones are opened."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(file: str | Path) -> BinaryIO:
    """Open a file for reading, but no pipe, which could wait, nor a device, which may never end.

    Raises OSError.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file")
    return os.fdopen(descriptor, "rb")
