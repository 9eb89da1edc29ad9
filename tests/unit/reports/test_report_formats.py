"""A format of a report is one file and one line of the registry."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import dprelease
from dprelease.cli.app import app
from dprelease.language import LANGUAGES
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.report_formats import is_rendered

TOY = """
from dprelease.reports.sections.document import Paragraph


def render(document, facts):
    lines = [document.title, facts.guarantee]
    for section in document.sections:
        lines.append(section.title)
        lines += [part.text for part in section.parts if isinstance(part, Paragraph)]
    return "\\n".join(lines) + "\\n"
"""
LINE = '        ReportFormat("toy", "report.toy", "text/plain", "toy", ("\\nsmall\\n",)),\n'
SPEC = """
[release]
name = "small"
[data]
path = "small.csv"
[privacy]
unit = "row"
adjacency = "add-remove"
[[query]]
name = "visits"
statistic = "count"
epsilon = 1
[output]
path = "out"
[report]
formats = ["toy", "json"]
"""


@pytest.mark.thorough
def test_a_new_format_is_one_file_and_one_line(tmp_path):
    package = tmp_path / "place" / "dprelease"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(dprelease.__file__).parent, package, ignore=ignored)
    (package / "reports" / "toy.py").write_text(TOY)
    registry = package / "report_format.py"
    before, mark, after = registry.read_text().partition("    for form in (\n")
    registry.write_text(before + mark + LINE + after)
    (tmp_path / "small.csv").write_text("a\n1\n2\n")
    (tmp_path / "small.toml").write_text(SPEC)

    def command(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "dprelease", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(package.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    command("run", "small.toml")
    published = (tmp_path / "out" / "report.toy").read_text()
    assert published.startswith("small\nEverything in this release together satisfies")
    assert "\nThe figures\n" in published
    assert command("report", "out", "--format", "toy") == published
    command("report", "out", "--format", "toy", "-o", "again.toy")
    command("report", "out", "--format", "toy", "-o", "again.toy")  # a file of ours is replaced
    listed = json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"]
    toy = next(resource for resource in listed if resource["path"] == "report.toy")
    assert (toy["mediatype"], toy["format"], toy["encoding"]) == ("text/plain", "toy", "utf-8")
    assert '"toy"' in command("schema")


def test_no_two_formats_share_a_file_or_a_mark():
    for name in ("file", "module", "marks"):
        assert len({getattr(form, name) for form in REPORT_FORMATS.values()}) == len(REPORT_FORMATS)
    marks = [mark for form in REPORT_FORMATS.values() for mark in form.marks]
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_of_any_language_bears_the_mark_of_its_format(tmp_path, language):
    (tmp_path / "small.csv").write_text("a\n1\n2\n")
    formats = [name for name, form in REPORT_FORMATS.items() if not (form.extra or form.of_tables)]
    spec = tomllib.loads(SPEC)
    spec["data"]["path"] = str(tmp_path / "small.csv")
    spec["output"]["path"] = str(tmp_path / "out")
    spec["ledger"] = {"path": str(tmp_path / "ledger.sqlite")}
    spec["report"] = {"formats": formats, "language": language}
    dprelease.run(spec)
    for name in formats:
        form = REPORT_FORMATS[name]
        text = (tmp_path / "out" / form.file).read_text()
        assert is_rendered(text), name
        command = ["report", str(tmp_path / "out"), "--format", name, "-o", str(tmp_path / "again")]
        for _ in range(2):  # the second time a file of ours is replaced
            assert CliRunner().invoke(app, command).exit_code == 0, name
        (tmp_path / "again").unlink()
