"""How far the released integers of two neighbouring tables can be apart."""

from __future__ import annotations

from msgspec import Struct

MAX_SHAPES = 6  # beyond, the general bound is as good and its cost does not grow


class Shift(Struct, frozen=True):
    """The set of vectors v in Z^n by which neighbours' released integers can differ.

    Every such v has squared length at most ``l2_squared`` and at most ``coordinates`` entries
    that are not zero. If ``shapes`` is not empty it promises more: each v is, up to order and
    signs of its entries, entry by entry at most one of the shapes in absolute value. Shapes of
    one or two entries let the loss be summed exactly; without them the general bound is used.
    """

    l2_squared: int
    coordinates: int
    shapes: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.l2_squared < 0 or (self.l2_squared > 0 and self.coordinates < 1):
            raise ValueError("a shift needs a length >= 0 and, unless it is 0, a coordinate")
        for shape in self.shapes:
            if not shape or min(shape) < 0 or len(shape) > max(1, self.coordinates):
                raise ValueError("a shape holds entries >= 0, at most one per coordinate")
            if sum(entry * entry for entry in shape) > self.l2_squared:
                raise ValueError("a shape can't be longer than the declared length")


def build_zero_shift() -> Shift:
    """Build the shift of integers that are equal in all neighbouring tables."""
    return Shift(0, 0)


def build_general_shift(l2_squared: int, coordinates: int) -> Shift:
    """Build a shift of which only bounds are known.

    Args:
        l2_squared: Bound on the squared length.
        coordinates: Bound on the number of entries that are not zero.
    """
    return Shift(l2_squared, coordinates) if l2_squared else build_zero_shift()


def build_single_shift(size: int) -> Shift:
    """Build the shift of one integer: a count or sum under add/remove.

    Args:
        size: Most that the integer moves by.
    """
    return Shift(size * size, 1, ((size,),)) if size else build_zero_shift()


def build_pair_shift(first: int, second: int) -> Shift:
    """Build the shift of two integers.

    It covers a replace-one move between two cells, and two sums of one record's replacement.

    Args:
        first: Most that one of the integers moves by.
        second: Most that the other one moves by.
    """
    if not first or not second:
        return build_single_shift(first or second)
    return Shift(first * first + second * second, 2, ((first, second),))


def split(width: int) -> Shift:
    """Build the shift of two sums that one record moves by (t, width - t): a mean under add/remove.

    Args:
        width: Sum of both moves; t is any integer from 0 to it.
    """
    if width < 2:
        return build_single_shift(width)
    # The longest such vector is (0, width). Exact shapes are listed while they are few.
    if width // 2 + 1 > MAX_SHAPES:
        return build_general_shift(width * width, 2)
    shapes = tuple((t, width - t) if t else (width,) for t in range(width // 2 + 1))
    return Shift(width * width, 2, shapes)
