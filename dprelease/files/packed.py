"""Files that are compressed by themselves, by the last part of their names: read as a stream."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED = {".gz": "gzip", ".zst": "zstd"}
"""The last part of a name, and what packed the file."""

BUFFER = 1 << 18  # unpacked bytes that are held; a reader of more gets them without a copy


def detect_packing(name: str) -> str:
    """Return the suffix of compression of a name, in lower case; "" for none."""
    last = os.path.splitext(name)[1].lower()
    return last if last in PACKED else ""


def strip_packing(name: str) -> str:
    """Remove the suffix of compression from a name."""
    return name[: len(name) - len(detect_packing(name))]


def get_suffix(name: str) -> str:
    """Return the suffix in lower case, with that of compression: ``.csv.gz``."""
    return os.path.splitext(strip_packing(name))[1].lower() + detect_packing(name)


def decompress(
    file: BinaryIO, packed: str, count: Callable[[int], None] | None = None
) -> io.BufferedReader:
    """Open a compressed file, all its members one after another.

    Args:
        file: The compressed file; it is closed with the reader.
        packed: Its suffix, a key of ``PACKED``.
        count: Is told of the compressed bytes that were read.

    Returns:
        A reader that raises OSError for a file that is damaged, cut short or not packed so.
    """
    try:
        return io.BufferedReader(_Unpacked(file, PACKED[packed], count), BUFFER)
    except BaseException:
        file.close()
        raise


class _Unpacked(io.RawIOBase):
    """Goes forward only; its place is counted in unpacked bytes."""

    def __init__(self, file: BinaryIO, kind: str, count: Callable[[int], None] | None) -> None:
        super().__init__()
        self._file = file
        if kind == "gzip":
            from isal.igzip import IGzipFile  # a third of the processor time that Arrow takes
            from isal.igzip_lib import IsalError

            self._stream: Any = IGzipFile(None, "rb", fileobj=file)
            self._damage: Any = (OSError, EOFError, OverflowError, IsalError)
        else:
            import pyarrow as pa

            self._stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), kind)
            self._damage = (OSError, ValueError)
        self._count = count or (lambda _size: None)
        self._at = self._told = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        try:
            size: int = self._stream.readinto(buffer)
        except self._damage:
            raise OSError("a compressed file is damaged or incomplete") from None
        read = self._file.tell()
        if not read:
            raise OSError("a compressed file is empty")  # no program packs nothing into no bytes
        self._count(read - self._told)
        self._told = read
        self._at += size
        return size

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
