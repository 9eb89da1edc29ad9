"""The worked examples of CONTRIBUTING.md do what is said of them, as they stand there."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from doc_pages import ROOT

import dprelease
from dprelease.engines.engine_registry import ENGINES
from dprelease.kernel.certify import definitions
from dprelease.language import catalogue
from dprelease.mechanisms.mechanism_registry import MECHANISMS
from dprelease.reports.report_formats import FORMATS, ReportFormat
from dprelease.statistics.statistic_registry import STATISTICS

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^```python\n# (.*?)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
SPEC = """\
[release]
name = "toy"
[data]
path = "data.csv"
ENGINE
[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = EPSILON
[ledger]
path = "ledger.db"
dataset = "toy"
epsilon_cap = 1000
[columns.v]
type = "integer"
lower = 0
upper = 9
[columns.g]
type = "string"
keys = ["a", "b"]
[[query]]
name = "figure"
statistic = "STATISTIC"
by = ["g"]
column = "v"
[output]
path = "out"
[report]
formats = FORMATS
"""


def example(path: str) -> ModuleType:
    """The module that the example's file would be."""
    module = ModuleType(path.removesuffix(".py").replace("/", "."))
    exec(compile(EXAMPLES[path], f"CONTRIBUTING.md: {path}", "exec"), module.__dict__)
    return module


def written(folder: Path, **changes: str) -> Path:
    """A spec with its data: 40 rows of a, 15 of b, five of b without a value."""
    values = {"STATISTIC": "sum", "EPSILON": "200", "ENGINE": "", "FORMATS": '["json"]', **changes}
    text = SPEC
    for name, value in values.items():
        text = text.replace(name, value)
    (folder / "data.csv").write_text("v,g\n" + "1,a\n" * 40 + "2,b\n" * 15 + ",b\n" * 5)
    (folder / "toy.toml").write_text(text)
    return folder / "toy.toml"


def figures(folder: Path) -> list[str]:
    rows = (folder / "out" / "by_g.csv").read_text().splitlines()[1:]
    return [row.split(",")[1] for row in rows]


def test_every_example_is_tried_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert len(EXAMPLES) == 6
    assert all(f'"{path}"' in source for path in EXAMPLES)


@pytest.fixture
def dozens_words() -> Iterator[None]:
    """The example's sentences, in the catalogue."""
    (text,) = re.findall(r"^```toml\n# lines of .*?en.toml\n(.*?)^```$", TEXT, re.M | re.DOTALL)
    words = {
        f"statistics.dozens.{name}": sentence
        for name, sentence in tomllib.loads(text)["statistics"]["dozens"].items()
    }
    catalogue("en").update(words)
    yield
    for name in words:
        del catalogue("en")[name]


@pytest.mark.usefixtures("dozens_words")
def test_the_statistic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dozens = example("dprelease/statistics/dozens.py").Dozens()
    monkeypatch.setitem(STATISTICS, dozens.name, dozens)
    with pytest.raises(dprelease.Failure, match="E702"):  # it is not defined to certification
        dprelease.plan(written(tmp_path, STATISTIC="dozens", EPSILON="1200"))
    names = dict(vars(definitions))
    exec(EXAMPLES["an entry of DEFINITIONS in dprelease/kernel/certify/definitions.py"], names)
    entry = names["entry"]["dozens"]
    monkeypatch.setitem(definitions.DEFINITIONS, "dozens", entry)
    spec = written(tmp_path, STATISTIC="dozens", EPSILON="1200")
    (step,) = dprelease.plan(spec).steps
    assert (step.sensitivity.l1, step.loss.epsilon) == (12, 1200)
    monkeypatch.setattr(type(dozens), "sensitivity", STATISTICS["count"].sensitivity.__func__)
    with pytest.raises(Exception, match=r"(?i)certif|sensitivity"):  # what the page says of it
        dprelease.plan(spec)
    monkeypatch.undo()
    monkeypatch.setitem(STATISTICS, dozens.name, dozens)
    monkeypatch.setitem(definitions.DEFINITIONS, "dozens", entry)
    text = spec.read_text().replace("epsilon = 1200", "epsilon = 900")
    spec.write_text(text)
    dprelease.run(spec)
    assert figures(tmp_path) == ["480", "180"]


def test_the_mechanism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dyadic = example("dprelease/mechanisms/dyadic.py").Dyadic()
    monkeypatch.setattr("dprelease.mechanisms.mechanism_registry.MECHANISMS", [*MECHANISMS, dyadic])
    spec = written(tmp_path, EPSILON="1")
    (step,) = dprelease.plan(spec).steps
    assert (step.noise.parameter, step.loss.epsilon) == (16, Fraction(9, 16))
    dprelease.run(spec)
    assert len(figures(tmp_path)) == 2


def test_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("dprelease/engines/patient.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(ENGINES, "patient", module.__name__)
    spec = written(tmp_path, ENGINE='engine = "patient"')
    dprelease.run(spec)
    assert figures(tmp_path) == ["40", "30"]
    monkeypatch.setattr(module.Patient, "longest", 0.2)
    (tmp_path / "data.csv").unlink()
    with pytest.raises(dprelease.Failure) as caught:
        module.ENGINE.inspect(dprelease.load(spec).data.source, ())
    assert caught.value.exit_code is not None


def test_the_report_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("dprelease/reports/outline.py")
    line = eval(
        EXAMPLES["a line of dprelease/reports/report_formats.py"], {"ReportFormat": ReportFormat}
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(FORMATS, line.name, line)
    dprelease.run(written(tmp_path, FORMATS='["outline", "json"]'))
    outline = (tmp_path / "out" / line.file).read_text()
    assert outline.startswith("toy\n\nEverything in this release")
    assert "\nTHE FIGURES\n" in outline
