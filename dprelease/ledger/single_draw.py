"""One charge pays for one draw of the noise.

What is charged is the loss of a release whose noise is drawn once. Should the draw be thrown away
and made again, that costs nothing as long as nobody learns anything of the first one: a kill
or a full disk strikes whatever the numbers are. A mistake of ours may not. Say that some code
fails for noise above a million: that a run failed then tells of its noise, and so of the data, and
numbers that are drawn again and published are a second draw, for which nobody has paid.

Three ways out were weighed.

* *Nothing may fail after the draw.* It is tried: what follows is short, defined for every integer,
  and ends in the seal; post-processing and writing come later, work on sealed numbers, and give the
  same again however often they are repeated. But that it never fails is a hope, not a proof.
* *The same noise again*, from a seed that is stored before the draw. But the seed beside the
  published figures gives away the exact ones: the ledger would have to be guarded like the data,
  in every backup. And the same noise over data that were changed meanwhile shows the change.
* *The charge of an aborted draw is void.* An exception raised by code that has seen noise uses the
  run up: the ledger notes that it will never have numbers (it is burnt), its charge stands, and
  whoever runs the release again draws new noise under a new charge. The failure is then one more
  outcome of a release that is paid for (one bit computed from its noise), and the two compose like
  any two.

The last one is what is done, with the first as far as it goes. What that means in each case:

* Before the first random byte is read for noise nothing was drawn: a retry is free.
* Engines see neither noise nor entropy, and their requests are made before any is drawn. Whether
  they fail (files, memory, a bug) can't depend on it, so that their failures void nothing, also
  those at a second table, when the first one has its noise.
* From the first byte to the seal every exception of ours voids the charge, an exhausted memory too,
  or that no thread is to be had: how much is needed depends, if only a little, on the numbers.
* That the seal can't be written (disk full, ledger locked) voids nothing. The number of its bytes
  depends on the numbers by a few, so on a disk that is full to the page it could matter; that much
  is let pass, or nobody could repeat a run free of charge after a full disk.
* Kills and interruptions void nothing: they come from outside, where nothing is known of the noise.
* Several processes may be at one run. If another one has sealed it, its numbers are published, and
  the failure is not told: nobody learns of the second draw, just as if the race had been lost.
  If another one has burnt it, this one ends with the same words whether its own draw was
  aborted or not, and what it has drawn is thrown away.
* Where the ledger can't note it, somebody has to count the loss twice by hand, and the complaint
  says so. To note the draw beforehand instead would charge for every kill.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from dprelease.errors import REPORT, SYSTEM, Complaint, ExitCode, Failure, name_kind
from dprelease.ledger.ledger_messages import used_up
from dprelease.ledger.reservation import Reservation
from dprelease.ledger.store import Ledger


class Bytes(Protocol):
    """A source of random bytes, as ``core.entropy`` has it."""

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` fresh bytes."""
        ...


class DrawAborted(Exception):
    """Code that has seen noise failed.

    ``kind`` is the class of the exception, ``advice`` what to do about it.
    """

    def __init__(self, kind: str, advice: str = REPORT) -> None:
        super().__init__(kind)
        self.kind, self.advice = kind, advice


class NoiseDraw:
    """The one draw of noise that a charge pays for: entropy that knows whether it was used."""

    def __init__(self, entropy: Bytes) -> None:
        self._entropy = entropy
        self.taken = False

    @property
    def entropy(self) -> Bytes:
        """Source itself, for random bytes that are not noise."""
        return self._entropy

    def read(self, size: int) -> bytes:
        """Return ``size`` fresh bytes; from now on the draw is taken."""
        fresh = self._entropy.read(size)
        self.taken = True
        return fresh

    @contextmanager
    def guard(self, *free: type[Exception]) -> Iterator[None]:
        """Turn exceptions of code that may have seen noise into ``DrawAborted``.

        Args:
            *free: Classes of exceptions that come from outside: they are raised as they are, and so
                is any exception before the draw is taken.
        """
        try:
            yield
        except Exception as problem:
            if not self.taken or isinstance(problem, free):
                raise
            of_system = isinstance(problem, OSError | MemoryError | ImportError)
            raise DrawAborted(name_kind(problem), SYSTEM if of_system else REPORT) from None


def void_charge(book: Ledger, reservation: Reservation, kind: str, advice: str) -> bytes:
    """Void the charge of an aborted draw.

    Args:
        book: The ledger.
        reservation: The charge.
        kind: Class of the exception that aborted the draw.
        advice: What to do about it.

    Returns:
        The bytes to publish if another process has sealed the run.

    Raises:
        Failure: Exit code 70 in all other cases.
    """
    reason = f"internal error ({kind}) after noise was drawn; nothing was released"
    try:
        burnt = book.burn(reservation)
    except Exception as trouble:
        causes = trouble.complaints if isinstance(trouble, Failure) else []
        hint = (
            "do not run this release again before its epsilon (and delta) is counted once more: "
            "lower the caps by it; the ledger does not know that its charge is used up"
        )
        unnoted = Complaint("E596", f"{reason}, and the ledger could not be updated", hint)
        # Their own hints say that running again is free, which does not hold here.
        also = [Complaint(cause.code, cause.message, "first lower the caps") for cause in causes]
        raise Failure(ExitCode.INTERNAL, [unnoted, *also]) from None
    if burnt:
        hint = f"its charge is void, and running again is charged again; {advice}"
        raise Failure(ExitCode.INTERNAL, Complaint("E598", reason, hint))
    sealed = book.read_sealed(reservation.run_id)
    if sealed is None:
        raise used_up(reservation.run.release)
    return sealed
