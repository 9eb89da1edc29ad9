"""Frozen dataclasses that are made faster than those of the standard library.

A run makes about 260 of them while it starts, and the standard library compiles six methods for
each, which took a tenth of the processor time of a small run. Here nothing is compiled: methods
are functions that all classes share the code of.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as made
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - what type checkers know

if not TYPE_CHECKING:

    def dataclass(*, frozen: bool, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """The decorator of this name of the standard library, for frozen classes.

        Instances are equal, and have the hash and the text, as they would there.
        """
        plain = made(init=False, eq=False, repr=False, slots=slots)
        return lambda cls: _complete(plain(cls), eq=eq, own=dict(vars(cls)))


def _complete(cls: Any, *, eq: bool, own: dict[str, Any]) -> Any:
    """Give a class the shared methods that it doesn't define itself."""
    methods: dict[str, Any] = {"__init__": _init(cls), "__repr__": _repr, "__reduce__": _reduce}
    if eq:
        values = _values([field.name for field in fields(cls) if field.compare])
        methods |= {"__eq__": _eq(values), "__hash__": lambda self: hash(values(self))}
    for name, method in methods.items():
        # a class that defines __eq__ alone has None for its __hash__
        if own.get(name) is None:
            setattr(cls, name, method)
    cls.__setattr__, cls.__delattr__, cls.__signature__ = _refuse, _refuse, _Signature()
    return cls


def _init(cls: Any) -> Callable[..., None]:
    """From values by place or by name to an instance."""
    names = {field.name: None for field in fields(cls)}
    defaults = {one.name: one.default for one in fields(cls) if one.default is not MISSING}
    makers: dict[str, Any] = {
        one.name: one.default_factory for one in fields(cls) if one.default_factory is not MISSING
    }
    check, put = getattr(cls, "__post_init__", None), object.__setattr__

    def init(self: Any, *values: Any, **named: Any) -> None:
        every = dict(zip(names, values, strict=False))
        if named or len(values) != len(names):
            twice = len(values) > len(every) or not every.keys().isdisjoint(named)
            every = defaults | every | named
            for name in makers.keys() - every.keys():
                every[name] = makers[name]()
            if twice or every.keys() != names.keys():
                raise TypeError(f"{cls.__name__} takes {', '.join(names)}")
        for name, value in every.items():
            put(self, name, value)
        if check is not None:
            check(self)

    return init


class _Signature:
    """The arguments of a class, for ``help``: found when they are asked for."""

    def __get__(self, _instance: object, cls: Any) -> Any:
        from inspect import Parameter, Signature

        return Signature(
            [
                Parameter(
                    field.name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=Parameter.empty if field.default is MISSING else field.default,
                    annotation=field.type,
                )
                for field in fields(cls)
            ],
            __validate_parameters__=False,
        )


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """From an instance to the tuple of its values of these names."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], Any]:
    """Equality of instances of the same class."""

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    return equal


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    # pickle and copy would set attributes
    return type(self), tuple(getattr(self, field.name) for field in fields(self))


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"{name} of {type(self).__name__} can't be changed")
