"""How far a run is, for whoever waits for it.

Shares, and the times at which they are told, say something of the size of the data. They are for
the one who runs the release, who may see the data: nothing of them is written to a file.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace


class Stage(Struct, frozen=True):
    """Present step of a run.

    ``step`` says it in words that come of the spec alone. It is step ``number``, from 1, of
    ``steps``, which is None until the plan is made. ``share``, from 0 to 1, is how much of what
    this step reads was read; None before that is known, and where a step reads nothing.
    """

    step: str
    number: int
    steps: int | None = None
    share: float | None = None


class Stages:
    """Counts the steps of a run, and tells ``progress`` and ``watcher`` of them (see ``run``)."""

    def __init__(
        self, progress: Callable[[str], None] | None, watcher: Callable[[Stage], None] | None
    ) -> None:
        self._progress = progress
        self._watcher = watcher
        self._stage = Stage("", 0)

    def expect(self, steps: int) -> None:
        """Set the number of steps, those before included."""
        self._stage = replace(self._stage, steps=steps)

    def begin(self, step: str) -> None:
        """Begin the next step and report it."""
        self._stage = replace(self._stage, step=step, number=self._stage.number + 1, share=None)
        if self._progress is not None:
            self._progress(step)
        self._show()

    @property
    def share(self) -> Callable[[float], None] | None:
        """Callback for an engine to report the share it has read; None if nobody watches."""
        return None if self._watcher is None else self._read

    def _read(self, share: float) -> None:
        self._stage = replace(self._stage, share=share)
        self._show()

    def _show(self) -> None:
        """Call the watcher; drop it if it fails."""
        if self._watcher is None:
            return
        try:
            self._watcher(self._stage)
        except Exception:  # a watcher must not cost a paid run
            self._watcher = None
