"""Each format of a report has a file and a mark of its own."""

import tomllib

import pytest
from click.testing import CliRunner

import dprelease
from dprelease.cli.app import app
from dprelease.language import LANGUAGES
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.report_formats import is_rendered

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
"""


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
