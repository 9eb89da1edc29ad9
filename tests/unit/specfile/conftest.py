"""A good spec to spoil, and ways to load it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from builders import edit

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Release
from dprelease.specfile import load

SIMPLE = """\
schema = 1
[release]
name = "staff-pay-2026"
title = "Headcount and mean salary by region, 2026"

[data]
path = "staff.csv"

[privacy]
unit = "row"
unit_description = "one employee"
adjacency = "add-remove"
epsilon = 1.0

[ledger]
epsilon_cap = 2.0

[columns.region]
type = "string"
keys = ["north", "south", "east"]
source = "public: Regions Act 2004"

[columns.salary]
type = "integer"
lower = 15_000
upper = 120_000
source = "public: statutory pay scale 2026"

[[query]]
name = "headcount"
statistic = "count"
by = ["region"]
epsilon = 0.4

[[query]]
name = "mean_salary"
statistic = "mean"
column = "salary"
by = ["region"]
epsilon = 0.6

[output]
path = "out/staff"
"""

Spoil = Callable[..., list[Complaint]]
LoadText = Callable[..., Release]


@pytest.fixture
def simple() -> str:
    return SIMPLE


@pytest.fixture
def load_text(tmp_path: Path) -> LoadText:
    """Load a spec given as text; it stands in ``spec.toml`` of ``tmp_path``."""

    def run(text: str | bytes, period: str | None = None) -> Release:
        file = tmp_path / "spec.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(file, period=period)

    return run


@pytest.fixture
def complaints(load_text: LoadText) -> Spoil:
    """Give all complaints about a text; it must have some."""

    def run(text: str | bytes, period: str | None = None) -> list[Complaint]:
        with pytest.raises(Failure) as caught:
            load_text(text, period)
        assert caught.value.exit_code is ExitCode.SPEC
        assert caught.value.complaints
        return caught.value.complaints

    return run


@pytest.fixture
def spoilt(complaints: Spoil) -> Spoil:
    """Give the complaints about the simple spec after replacing pieces of its text."""

    def run(*edits: tuple[str, str]) -> list[Complaint]:
        return complaints(edit(SIMPLE, *edits))

    return run


@pytest.fixture
def good(load_text: LoadText) -> LoadText:
    """Load the simple spec after replacing pieces of its text."""

    def run(*edits: tuple[str, str], period: str | None = None) -> Release:
        return load_text(edit(SIMPLE, *edits), period)

    return run
