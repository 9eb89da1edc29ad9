"""An engine is one line of the registry: spec, schema and run know it from there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import builders
import pytest
from oracle import engine as oracle

import dprelease
from dprelease.engines import get
from dprelease.engines.engine_registry import ENGINES
from dprelease.errors import Failure
from dprelease.model import AggregateRequest, ExactTable
from dprelease.sources.shared.data_failures import Share
from dprelease.specfile.schema.json_schema import schema_text


class Toy(oracle.Reference):
    """Answers as the oracle does."""

    name = "toy"

    def __init__(self) -> None:
        self.requests = 0

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """See ``Engine``."""
        self.requests += 1
        return super().aggregate(request, share)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("g\n" + "a\n" * 900 + "b\n" * 100)
    return builders.spec(
        data={"path": "t.csv", "engine": "toy"},
        columns={"g": {"type": "string", "keys": ["a", "b"]}},
        query=[{"name": "count", "statistic": "count", "by": ["g"]}],
    )


def test_an_engine_that_is_in_no_registry_can_not_be_named(spec: dict[str, Any]) -> None:
    with pytest.raises(Failure) as caught:
        dprelease.load(spec)
    assert [complaint.code for complaint in caught.value.complaints] == ["E105"]
    assert '"toy"' not in schema_text()


def test_an_engine_is_one_line_of_the_registry(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, toy = ModuleType("toy_engine"), Toy()
    module.ENGINE = toy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_engine", module)
    monkeypatch.setitem(ENGINES, "toy", "toy_engine")
    assert get("toy") is toy
    assert '"toy"' in schema_text()
    assert dprelease.load(spec).data.engine == "toy"
    assert dprelease.run(spec).charged
    assert toy.requests == 1


def test_no_spec_names_the_oracle() -> None:
    assert oracle.ENGINE.name not in ENGINES


def test_every_engine_is_found_by_its_name() -> None:
    assert [get(name).name for name in ENGINES] == list(ENGINES)
    with pytest.raises(ValueError, match="unknown engine"):
        get("abacus")


def test_clean_csv_needs_no_arrow(tmp_path: Path) -> None:
    path = tmp_path / "clean.csv"
    path.write_text("s,x,n\na,b,1\n")
    code = (
        "import sys; from dprelease.engines import get; assert 'duckdb' not in sys.modules\n"
        "from dprelease.model import *\n"
        f"source = Source({str(path)!r}, 'csv')\n"
        "count = (Measure(MeasureKind.RECORDS),)\n"
        "table = get('duckdb').aggregate(AggregateRequest(source, (), (), count))\n"
        "assert list(table.reveal()[0]) == [1]\n"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
