"""The product as ``python -O`` compiles it, with the tests' own asserts alive.

Under ``python -O`` pytest's asserts vanish too, and a suite that asserts nothing passes. Here only
the modules of ``dprelease`` are compiled with optimisation, in this process; processes that tests
start run under ``PYTHONOPTIMIZE``. Switched on by ``DPRELEASE_TEST_OPTIMIZED=1``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

SWITCH = "DPRELEASE_TEST_OPTIMIZED"
LEVEL = 1  # as -O: no asserts, and __debug__ is false


class OptimizedLoader(SourceFileLoader):
    """Compiles a module from its source, whatever is cached, without asserts."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(self.get_data(path), path, "exec", dont_inherit=True, optimize=LEVEL)


class OptimizedFinder(MetaPathFinder):
    """Finds the modules of one package, and has them compiled with optimisation."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.loaded: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self.package:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = OptimizedLoader(found.loader.name, found.loader.path)
            found.cached = None
            self.loaded.append(fullname)
        return found


def optimize(package: str = "dprelease") -> OptimizedFinder:
    """From now on the package's modules are compiled with optimisation; none may be loaded yet."""
    if any(name.partition(".")[0] == package for name in sys.modules):
        raise RuntimeError(f"{package} was imported before it could be optimised")
    finder = OptimizedFinder(package)
    sys.meta_path.insert(0, finder)
    return finder


@contextmanager
def passed_on(environment: MutableMapping[str, str]) -> Iterator[None]:
    """For a while processes to come are optimised too, if the switch asks for it.

    Not before tests are run: what runs them would be optimised, and its asserts gone.
    """
    if not environment.get(SWITCH):
        yield
        return
    environment["PYTHONOPTIMIZE"] = str(LEVEL)
    try:
        yield
    finally:
        del environment["PYTHONOPTIMIZE"]
