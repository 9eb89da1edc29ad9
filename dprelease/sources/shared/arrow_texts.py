"""Arrow arrays of texts from lists, without pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow


def build_texts(texts: Sequence[str | None]) -> pyarrow.Array:
    """Build an array of texts; None is null.

    It is built from bytes. ``pyarrow.array`` would import pandas to look at a list, if that is
    installed, which takes as long as reading a small table.

    Args:
        texts: Texts without surrogates, of less than 2 GiB together.
    """
    import numpy as np
    import pyarrow as pa

    content = [b"" if text is None else text.encode() for text in texts]
    ends = np.zeros(len(content) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, content), np.int64, len(content)), out=ends[1:])
    valid = np.fromiter((text is not None for text in texts), np.bool_, len(content))
    buffers = (ends, b"".join(content), np.packbits(valid, bitorder="little"))
    return pa.StringArray.from_buffers(len(content), *map(pa.py_buffer, buffers))
