"""The report as PDF: A4, numbered, no word broken or cut, with the sealed figures."""

import os
import re
import subprocess
import sys
from html import unescape
from io import BytesIO
from itertools import accumulate
from pathlib import Path

import pytest
from msgspec.structs import replace
from pages import needs_pdf, write_files
from report_specs import spec

import dprelease
from dprelease.errors import ExitCode, Failure
from dprelease.files.atomic import UnwrittenError, save_file
from dprelease.ledger.store import Ledger
from dprelease.release.payload import from_bytes
from dprelease.reports.report_formats import is_rendered
from dprelease.reports.rerender import rerender

ROOT = Path(__file__).parents[3]
SPECS = sorted(path.stem for path in (ROOT / "release_specs").glob("*.toml"))
A4 = (595.28, 841.89)


def run_spec(name, folder, entropy, *formats):
    release = dprelease.load(ROOT / "release_specs" / f"{name}.toml")
    release = replace(release, report_formats=("json", *formats))
    return dprelease.run(
        release, ledger=folder / "ledger.sqlite", output=folder / "out", entropy=entropy
    )


def read_pages(content):
    from pypdf import PdfReader

    return PdfReader(BytesIO(content)).pages


def read_text(content):
    return "\n".join(page.extract_text() for page in read_pages(content))


def list_words(text):
    """What stands between blanks, marks and underscores: lines may end after an underscore."""
    return set(re.findall(r"[^\W_]+", text))


def read_text_of_html(page):
    text = re.sub(r"<style>.*?</style>", " ", page, flags=re.DOTALL).replace("<wbr>", "")
    return unescape(re.sub(r"<[^>]*>", " ", text))


def list_words_of_html(page):
    return list_words(read_text_of_html(page))


def run_together(page):
    """Whether a text is several whole words of a page: with some fonts, pypdf sees no blanks."""
    words = re.findall(r"[^\W_]+", read_text_of_html(page))
    ends = list(accumulate(map(len, words), initial=0))
    text, borders = "".join(words), set(ends)

    def is_run(found):
        places = (match.start() for match in re.finditer(f"(?={re.escape(found)})", text))
        return any({at, at + len(found)} <= borders for at in places)

    return is_run


@needs_pdf
@pytest.mark.thorough
def test_privacy_facts_are_on_the_first_page_and_nothing_is_left_to_sign(tmp_path, entropy):
    release = dprelease.load(ROOT / "release_specs" / "every_statistic_people.toml")
    release = replace(release, report_formats=("json",), report_language="de")
    dprelease.run(
        release, ledger=tmp_path / "ledger.sqlite", output=tmp_path / "out", entropy=entropy
    )
    first, *others = (page.extract_text() for page in read_pages(
        rerender(str(tmp_path / "out"), "pdf")
    ))  # fmt: skip
    assert "Datenschutz in Kürze" in first
    assert all("Unterschrift" not in page for page in (first, *others))


@needs_pdf
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SPECS)
def test_every_example_has_whole_words_on_numbered_pages_of_a4(name, tmp_path, entropy):
    run = run_spec(name, tmp_path, entropy, "html", "pdf").report["provenance"]["run_id"]
    content = (tmp_path / "out" / "report.pdf").read_bytes()
    pages = read_pages(content)
    texts = [page.extract_text() for page in pages]
    for number, (page, text) in enumerate(zip(pages, texts, strict=True), 1):
        assert [float(side) for side in page.mediabox[2:]] == pytest.approx(A4, abs=0.01)
        assert f"Page {number} of {len(pages)}" in text
        assert f"Run {run}" in text
    numbers = {str(number) for number in range(1, len(pages) + 1)}
    html = (tmp_path / "out" / "report.html").read_text()
    others = list_words("\n".join(texts)) - list_words_of_html(html) - numbers
    is_run = run_together(html)
    assert {word for word in others if not is_run(word)} == {"Page"}


@needs_pdf
def test_a_broken_word_would_be_seen():
    assert list_words("depart\nment") - list_words_of_html("<p>department</p>") == {
        "depart",
        "ment",
    }
    assert list_words("my_\nname") - list_words_of_html("<p>my_<wbr>name</p>") == set()
    is_run = run_together("<p>the department of <b>trade</b></p>")
    assert is_run("departmentof")
    assert is_run("oftrade")
    assert not any(map(is_run, ["depart", "ment", "mentof", "departmenttrade", "thedepart"]))


def most_right(content):
    """The farthest place from the left where a piece of text begins, in points."""
    found = []

    def seen(text, ours, matrix, *_):
        if text.strip():
            found.append(ours[0] * matrix[4] + ours[4])

    for page in read_pages(content):
        page.extract_text(visitor_text=seen)
    return max(found)


@needs_pdf
def test_names_without_end_are_broken_and_not_cut(planned, published, tmp_path):
    name, key = "n" * 60, "k" * 300
    made = spec({"name": name, "statistic": "count", "by": ["region"]})
    made["columns"]["region"]["keys"] = [key, "south"]
    made["release"]["title"] = '"</style><script> \\ ' + "t" * 200
    plan = plan_spec(made)
    write_files(published(plan), tmp_path)
    content = rerender(str(tmp_path), "pdf")
    assert most_right(content) < A4[0] - 40
    together = "".join(read_text(content).split())
    assert key in together
    assert name in together


@needs_pdf
def test_labels_in_charts_are_set_whole_where_letters_join_or_run_left(
    published, tmp_path, monkeypatch
):
    import weasyprint

    joined = ["شمال المدينة", "ירושלים", "उत्तर क्षेत्र", "ภาคเหนือ", "தமிழ்", "বাংলা", "A\u0301da"]
    single = ["北京市", "서울", "Ελλάδα", "Łódź", "Москва"]
    pages, html = [], weasyprint.HTML

    def seen(**said):
        pages.append(said["string"])
        return html(**said)

    monkeypatch.setattr(weasyprint, "HTML", seen)
    made = spec({"statistic": "count", "by": ["region"]})

    def text_with(labels):
        made["columns"]["region"]["keys"] = labels
        write_files(published(plan_spec(made)), tmp_path)
        return read_text(rerender(str(tmp_path), "pdf"))

    text_with(joined + single)
    drawn = [
        re.sub("[\u2068\u2069]", "", each) for each in re.findall(r"<text[^>]*>([^<]*)<", pages[0])
    ]
    above = re.findall(r'<span class="s[^>]*>([^<]*)<', pages[0])
    above = [re.sub("[\u2068\u2069]", "", each) for each in above]
    assert not {*joined} & {*drawn}
    assert [label for label in above if label in joined] == joined
    assert [label for label in drawn if label in single] == single
    text = text_with(joined[:2])  # which the smallest set of fonts has letters of
    for label in joined[:2]:  # in the table and in the chart, and nowhere from its end
        assert text.count(label) >= 2
        assert label[::-1] not in text


def plan_spec(made):
    from dprelease.planning.planner import make_plan

    return make_plan(dprelease.load(made))


@needs_pdf
def test_the_figures_are_the_sealed_ones(tmp_path, entropy):
    result = run_spec("clinic_visits", tmp_path, entropy)
    text = read_text(rerender(str(tmp_path / "out"), "pdf"))
    with Ledger.open(str(tmp_path / "ledger.sqlite")) as book:
        payload = book.read_sealed(result.report["provenance"]["run_id"])
    (sealed,) = from_bytes(result.plan, payload).noisy.values["visits_by_age"]
    table = text[text.index("by_age.csv") :]
    shown = [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) ±", table)]
    assert len(set(sealed)) == len(sealed) == 8
    assert shown[: len(sealed)] == list(sealed)


@needs_pdf
def test_another_process_gives_the_same_bytes(tmp_path, entropy):
    run_spec("best_price", tmp_path, entropy, "pdf")
    out = tmp_path / "out"
    again = subprocess.run(
        [sys.executable, "-m", "dprelease", "report", str(out), "--format", "pdf"],
        env=os.environ | {"PYTHONHASHSEED": "7"}, capture_output=True, check=True,
    )  # fmt: skip
    assert again.stdout == (out / "report.pdf").read_bytes()
    assert again.stderr == b""


@needs_pdf
def test_only_a_pdf_of_ours_is_replaced(tmp_path, entropy):
    run_spec("best_price", tmp_path, entropy, "pdf")
    content = (tmp_path / "out" / "report.pdf").read_bytes()
    for number, there in enumerate((content, b"%PDF-1.7\n\xff another's")):
        file = tmp_path / f"{number}.pdf"
        file.write_bytes(there)
        if there == content:
            save_file(str(file), content, is_rendered)
        else:
            with pytest.raises(UnwrittenError):
                save_file(str(file), content, is_rendered)
        assert file.read_bytes() == there


def test_without_the_extra_a_run_is_refused_before_the_charge(tmp_path, entropy, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(Failure) as refused:
        run_spec("best_price", tmp_path, entropy, "pdf")
    assert refused.value.exit_code is ExitCode.SPEC
    (complaint,) = refused.value.complaints
    assert complaint.code == "E824"
    assert "pip install 'dprelease[pdf]'" in complaint.hint
    assert list(tmp_path.iterdir()) == []
    run_spec("best_price", tmp_path, entropy)
    with pytest.raises(Failure) as refused:
        rerender(str(tmp_path / "out"), "pdf")
    assert refused.value.complaints[0].code == "E824"


def test_a_release_without_a_pdf_imports_nothing_for_it():
    program = "import sys\nfrom dprelease.reports import report_formats as f\n"
    program += "from dprelease.report_format import DEFAULT_REPORT_FORMATS\n"
    program += "f.require(DEFAULT_REPORT_FORMATS); f.prepare(DEFAULT_REPORT_FORMATS)\n"
    program += "print('weasyprint' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert told.stdout == b"False\n"
