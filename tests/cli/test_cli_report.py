"""`dprelease report` and the page of a plan."""

import pytest

FILES = {"html": "report.html", "md": "report.md", "json": "report.json"}


def test_reports_again_and_pages_of_plans(cli, folder):
    assert cli("plan", "small.toml", "--html", "plan.html").code == 0
    assert "<h1>small</h1>" in (folder / "plan.html").read_text()
    assert not (folder / "out").exists()
    assert cli("run", "small.toml", "-q").code == 0
    for form, file in FILES.items():
        answer = cli("report", "out", "--format", form)
        assert answer.out.encode() == (folder / "out" / file).read_bytes()
        assert answer.err == ""
    assert cli("report", "out", "--format", "registry", "-o", "entry.yaml").code == 0
    assert (folder / "entry.yaml").read_text().startswith('url_slug: "small"\n')
    # nothing else is read: neither spec nor ledger nor data
    for each in folder.iterdir():
        if each.is_file():
            each.unlink()
    assert cli("report", "out").out == (folder / "out" / "report.md").read_text()


@pytest.mark.parametrize("arguments", [["nowhere"], ["out", "-o", "no/where.html"]])
def test_what_cannot_be_read_or_written(cli, arguments):
    cli("run", "small.toml", "-q")
    answer = cli("report", *arguments)
    assert answer.code == 2
    assert answer.err.startswith("E82")


def test_formats_are_those_of_the_spec(cli, folder):
    spec = folder / "small.toml"
    spec.write_text(spec.read_text() + '[report]\nformats = ["registry"]\n')
    assert cli("run", "small.toml").code == 0
    assert {each.name for each in (folder / "out").iterdir()} == {
        "by_region.csv",
        "datapackage.json",
        "registry.yaml",
    }
