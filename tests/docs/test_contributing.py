"""The worked examples of CONTRIBUTING.md do what is said of them, as they stand there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from doc_pages import ROOT

import dprelease
from dprelease.engines.engine_registry import ENGINES
from dprelease.language import LANGUAGES
from dprelease.mechanisms.mechanism_registry import MECHANISMS

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
    assert len(EXAMPLES) == 8
    assert all(f'"{path}"' in source for path in EXAMPLES)


PACKS = "dprelease/statistics/packs.py"
COMMANDS = """\
import json, sys
from dprelease.cli.guard import execute
for command in json.loads(sys.argv[1]):
    print(">", command[0], execute(command))
"""


def add_text(file: Path, anchor: str, text: str) -> None:
    """Put text behind an anchor that stands once in a file; at the end behind none."""
    content = file.read_text(encoding="utf-8")
    assert not anchor or content.count(anchor) == 1
    end = content.index(anchor) + len(anchor) if anchor else len(content)
    file.write_text(content[:end] + text + content[end:], encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the statistic of the page, not yet defined to certification."""
    folder = tmp_path_factory.mktemp("site")
    package = folder / "dprelease"
    shutil.copytree(ROOT / "dprelease", package)
    (folder / PACKS).write_text(EXAMPLES[PACKS], encoding="utf-8")
    registry = package / "statistics" / "statistic_registry.py"
    imported = "from dprelease.statistics.mode import Mode\n"
    add_text(registry, imported, "from dprelease.statistics.packs import Packs\n")
    add_text(registry, "    Count(),\n", "    Packs(),\n")
    (words,) = re.findall(r"^```toml\n# lines of .*?en.toml\n(.*?)^```$", TEXT, re.M | re.DOTALL)
    for language in LANGUAGES:
        header, lines = words.split("\n", 1)
        add_text(package / "language" / f"{language}.toml", f"\n{header}\n", lines)
    return folder


def execute(site: Path, *commands: list[str]) -> str:
    """Run commands of the copy, and give all that is printed, with the exit codes."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=site, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_the_statistic(site: Path, tmp_path: Path) -> None:
    """A statistic with a key of its own is what the page shows, from the spec to the figures."""
    spec = written(tmp_path, STATISTIC="packs", EPSILON="900", FORMATS='["html", "md", "json"]')
    keyless, file = str(spec), tmp_path / "sized.toml"
    file.write_text(spec.read_text().replace('column = "v"', 'column = "v"\nsize = 12'))
    sized, other = str(file), tmp_path / "other.toml"
    other.write_text(file.read_text().replace("size = 12", "size = 6"))

    said = execute(site, ["check", keyless], ["plan", sized], ["schema"])
    assert "packs has no `size`" in said
    assert "such as size = 12" in said
    assert "> check 2" in said
    assert "E702" in said  # it is not defined to certification
    assert '"description": "how many are in a pack"' in said
    schema = json.loads(said[said.index("{") : said.rindex("}") + 1])
    packs = {"properties": {"statistic": {"const": "packs"}}, "required": ["statistic"]}
    rules = schema["$defs"]["query"]["allOf"]
    assert [rule["then"]["required"] for rule in rules if rule["if"] == packs] == [
        ["column", "size"]
    ]

    definitions = site.joinpath("dprelease", "kernel", "chapters", "figures", "definitions.py")
    add_text(
        definitions,
        "",
        EXAMPLES["an entry of DEFINITIONS in dprelease/kernel/chapters/figures/definitions.py"],
    )
    said = execute(
        site,
        ["check", sized],
        ["plan", "--json", sized],
        ["diff", sized, str(other)],
        ["run", sized],
    )
    assert "> check 0" in said
    assert '"l1": 12' in said
    assert "query figure: size 12 -> 6" in said
    assert "> run 0" in said
    assert figures(tmp_path) == ["480", "180"]
    assert "12 times the number of values" in (tmp_path / "out" / "datapackage.json").read_text()

    for report in ("report.html", "report.md"):
        text = (tmp_path / "out" / report).read_text()
        assert "12 times the number of values of v." in text
        assert "Each value is counted once for each thing in a pack." in text

    # What the page says of a wrong sensitivity.
    packs = site / PACKS
    packs.write_text(packs.read_text().replace("Scalar(size, size,", "Scalar(1, 1,"))
    assert "E702" in execute(site, ["plan", sized])


def test_the_mechanism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dyadic = example("dprelease/mechanisms/dyadic.py").Dyadic()
    monkeypatch.setattr("dprelease.mechanisms.mechanism_registry.MECHANISMS", [*MECHANISMS, dyadic])
    spec = written(tmp_path, EPSILON="1")
    (step,) = dprelease.plan(spec).steps
    assert (step.noise.parameter, step.loss.epsilon) == (16, Fraction(9, 16))
    dprelease.run(spec)
    assert len(figures(tmp_path)) == 2


JSON_LINES = "dprelease/sources/json_lines.py"
LINE_OF_SOURCE = "an entry of SOURCES in dprelease/model/source_registry.py"


def test_the_source(tmp_path: Path) -> None:
    """A source with a key of its own is what the page shows: a file and a line."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "dprelease", site / "dprelease")
    (site / JSON_LINES).write_text(EXAMPLES[JSON_LINES], encoding="utf-8")
    registry = site / "dprelease" / "model" / "source_registry.py"
    add_text(registry, "}  # fmt: skip\n\n", EXAMPLES[LINE_OF_SOURCE])

    spec = written(tmp_path)
    lines = ['{"r": {"v": 1, "g": "a"}}'] * 40 + ['{"r": {"v": "2", "g": "b"}}'] * 15
    lines += ["", "[", "[]", '{"r": 1}', '{"r": {"v": NaN, "g": "b"}}', "9" * 5000, "[" * 100_000]
    lines += ['{"r": {"v": true, "g": "\\ud800"}}']
    (tmp_path / "data.jsonl").write_text("\n".join(lines) + "\n")
    text = spec.read_text().replace('"data.csv"', '"data.jsonl"\nmember = "r"')
    spec.write_text(text)
    other, wrong = tmp_path / "other.toml", tmp_path / "wrong.toml"
    other.write_text(text.replace('member = "r"', 'member = "s"'))
    wrong.write_text(text.replace("data.jsonl", "data.csv"))

    said = execute(
        site, ["run", str(spec)], ["diff", str(spec), str(other)], ["check", str(wrong)], ["schema"]
    )
    assert "> run 0" in said
    assert figures(tmp_path) == ["40", "30"]
    assert "~ member: r -> s" in said
    assert "member is an option of JSON Lines, the data is CSV" in said
    assert "the member of each line that holds the record" in said
    assert ".jsonl is JSON Lines" in said


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


OUTLINE = "dprelease/reports/renderers/outline.py"


def test_the_report_format(tmp_path: Path) -> None:
    """A format is a file and a line: runs, the data package, `report` and the schema know it."""
    site, out, again = (tmp_path / name for name in ("site", "out", "again"))
    shutil.copytree(ROOT / "dprelease", site / "dprelease")
    (site / OUTLINE).write_text(EXAMPLES[OUTLINE], encoding="utf-8")
    line = EXAMPLES["a line of dprelease/report_format.py"]
    registry = site / "dprelease" / "report_format.py"
    add_text(registry, "    for form in (\n", f"        {line.strip()},\n")

    spec = written(tmp_path, FORMATS='["outline", "json"]')
    report = ["report", str(out), "--format", "outline", "-o", str(again)]
    # the second time a file of ours is replaced
    said = execute(site, ["run", str(spec)], report, report, ["schema"])
    assert "> run 0" in said
    assert said.count("> report 0") == 2
    assert '"outline"' in said
    outline = (out / "report.txt").read_text()
    assert outline.startswith("Outline by dprelease\ntoy\n\nEverything in this release")
    assert "\nTHE FIGURES\n" in outline
    assert again.read_text() == outline
    listed = json.loads((out / "datapackage.json").read_text())["resources"]
    (told,) = [resource for resource in listed if resource["path"] == "report.txt"]
    assert (told["mediatype"], told["encoding"]) == ("text/plain", "utf-8")
