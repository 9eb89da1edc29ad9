"""`dprelease report` and the page of a plan."""

import json

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


def test_the_bytes_are_those_of_the_file_whatever_the_stream_is(cli, folder):
    assert cli("run", "small.toml", "-q").code == 0
    for form in ("html", "md"):  # these are not Latin-1, and hold ±
        written = (folder / "out" / FILES[form]).read_bytes()
        assert (
            cli("report", "out", "--format", form, PYTHONIOENCODING="latin-1").out.encode()
            == written
        )


def test_an_edited_report_is_refused(cli, folder):
    cli("run", "small.toml", "-q")
    report = folder / "out" / "report.json"
    honest = report.read_text()
    report.write_text(honest.replace('"epsilon": 1', '"epsilon": 0.001', 1))
    assert report.read_text() != honest
    answer = cli("report", "out", "--format", "html")
    assert answer.code == 2
    assert "E821" in answer.err
    assert "is not the file that was released" in answer.err
    report.write_text(honest)
    assert cli("report", "out", "--format", "html").code == 0
    (folder / "out" / "datapackage.json").unlink()
    assert cli("report", "out", "--format", "html").code == 2


def test_over_disjoint_periods_the_total_is_that_of_the_dearest(cli, spec, folder):
    (folder / "small-2026-01.csv").write_bytes((folder / "small.csv").read_bytes())
    (folder / "small-2026-02.csv").write_bytes((folder / "small.csv").read_bytes())
    spec(("epsilon_cap = 2.5", "disjoint_periods = true\nepsilon_cap = 1"),
         ('path = "small.csv"', 'path = "small-{period}.csv"'),
         ('path = "out"', 'path = "out-{period}"'))  # fmt: skip
    for period in ("2026-01", "2026-02"):
        assert cli("run", "--period", period, "small.toml").code == 0
    place = folder / "out-2026-02"
    history = json.loads((place / "report.json").read_text())["ledger"]["history"]
    assert [each["epsilon"] for each in history] == [1, 1]
    page = (place / "report.html").read_text()
    assert "spent before: 1; this release adds: 0; left under the cap: 0 of 1." in page
    assert "For periods declared disjoint, only the most expensive counts." in page


def test_the_page_of_a_plan_shows_the_ledger(cli, folder):
    assert cli("run", "small.toml", "-q").code == 0
    assert cli("plan", "small.toml", "--new-noise", "--html", "x").code == 2  # no such option
    other = (folder / "small.toml").read_text().replace('name = "visits"', 'name = "all"')
    (folder / "other.toml").write_text(other)
    assert cli("plan", "other.toml", "--html", "plan.html").code == 0
    page = (folder / "plan.html").read_text()
    assert "spent before: 1; this release adds: 1; left under the cap: 0.5 of 2.5" in page


def test_what_is_shared_is_paid_for_once(cli, folder):
    assert cli("run", "small.toml", "-q").code == 0
    page = (folder / "out" / "report.html").read_text()
    assert ">as mean_days<" in page
    entry = cli("report", "out", "--format", "registry").out
    assert "read from the release of mean_days at no further cost" in entry


def test_a_delta_is_told_as_a_slack(cli, spec, folder):
    spec(("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-6"),
         ('name = "visits"\nstatistic = "count"\nby = ["region"]\nepsilon = 0.5',
          'name = "visits"\nstatistic = "count"\nby = ["region"]\nmechanism = "gaussian"'),
         )  # fmt: skip
    assert cli("run", "small.toml", "-q").code == 0
    page = (folder / "out" / "report.html").read_text()
    assert "slack in the chance of every outcome" in page
    assert "whatever it says, they hold" not in page
    assert "but for rare outcomes (delta), they hold" in page


def test_groups_that_nobody_declared_are_no_plain_pass(cli, folder):
    text = (folder / "small.toml").read_text()
    start = text.index("keys = [")
    line = text[start : text.index("\n", start)]
    private = text.replace(line, "").replace('source = "public: map"\n', "").replace(
        'name = "visits"', 'name = "visits"\npartition_selection = { delta = 1e-6 }'
    ).replace('name = "mean_days"', 'name = "mean_days"\ntable = "all"').replace(
        'column = "days"\nby = ["region"]', 'column = "days"'
    ).replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-6")  # fmt: skip
    (folder / "private.toml").write_text(private)
    answer = cli("run", "private.toml", "-q")
    assert answer.code == 0, answer.err
    hazards = json.loads((folder / "out" / "report.json").read_text())["hazards"]
    (found,) = [each for each in hazards if each["hazard"].startswith("bounds and categories")]
    assert "The private keys come from the data" in found["note"]
