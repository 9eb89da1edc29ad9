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
    """Neighbours never differ."""
    return Shift(0, 0)


def build_general_shift(l2_squared: int, coordinates: int) -> Shift:
    """Nothing is known but the length and the number of entries that are not zero."""
    return Shift(l2_squared, coordinates) if l2_squared else build_zero_shift()


def build_single_shift(size: int) -> Shift:
    """One released integer moves by at most ``size``: a count or sum under add/remove."""
    return Shift(size * size, 1, ((size,),)) if size else build_zero_shift()


def build_pair_shift(first: int, second: int) -> Shift:
    """Two released integers move, by at most ``first`` and ``second``.

    A replace-one move between two cells, or two sums of one record's replacement.
    """
    if not first or not second:
        return build_single_shift(first or second)
    return Shift(first * first + second * second, 2, ((first, second),))


def split(width: int) -> Shift:
    """Two sums to which one record adds (t, width - t) for some t: a mean under add/remove.

    The longest such vector is (0, width). Exact shapes are listed while they are few.
    """
    if width < 2:
        return build_single_shift(width)
    if width // 2 + 1 > MAX_SHAPES:
        return build_general_shift(width * width, 2)
    shapes = tuple((t, width - t) if t else (width,) for t in range(width // 2 + 1))
    return Shift(width * width, 2, shapes)
