"""The HTML report: sound, accessible, self-contained, escaped, small, and the same every time."""

import re
import time
from decimal import Decimal
from html import unescape

import pytest
from pages import HOSTILE, find_problems, parse_page, plan_page, render_html, render_page
from report_specs import DELTA, PEOPLE, SELECTED

from dprelease.model import OutputColumn, OutputTable
from dprelease.reports.renderers.html_page import LOOKS


@pytest.fixture
def many(planned, published):
    """Every form of query at once."""
    plan = planned(
        {"name": "visits", "statistic": "count", "by": ["region"]},
        {"name": "wait", "statistic": "mean", "column": "days", "by": ["region"]},
        {"name": "middle", "statistic": "median", "column": "days"},
        {"name": "commonest", "statistic": "mode", "column": "region"},
        {"name": "rare", "statistic": "count_units", **SELECTED},
        delta=DELTA,
        **PEOPLE,
    )
    return published(plan, 7, ("a", "b"))


def test_the_page_is_sound(many):
    html = render_page(many)
    assert find_problems(html) == []
    for heading in ("guarantee", "meaning", "tables", "reading", "noise", "budget", "hazards",
                    "errata"):  # fmt: skip
        assert f'<h2 id="{heading}">' in html
    assert 'class="status not-checked">not checked<' in html
    assert many.files["report.html"].decode() == html


def test_a_page_that_is_not_sound_is_noticed():
    bad = (
        '<h1>a</h1><h3 id="x">b</h3><p id="x"><svg></svg><script src="//e"></script><table></table>'
    )
    found = " ".join(find_problems(bad))
    for word in (
        "stands twice",
        "h3 after h1",
        "neither told as a whole nor hidden",
        "script",
        "caption",
        "loads",
        "open",
    ):
        assert word in found


def test_all_that_the_report_says_is_on_the_page(many):
    said = " ".join(" ".join(parse_page(render_page(many)).texts).split())
    report = many.report
    lines = [
        report["guarantee"],
        *report["not_protected"],
        *report["bounding"],
        *(row["note"] for row in report["hazards"]),
        *(query["sensitivity"]["derivation"] for query in report["queries"]),
        *(line for query in report["queries"] for line in query["explained"]),
        *report["provenance"]["files"].values(),
        report["provenance"]["run_id"],
    ]
    assert [line for line in lines if " ".join(line.split()) not in said] == []


def test_the_same_release_gives_the_same_bytes(many):
    assert render_page(many) == render_page(many)


def test_no_text_gets_out_of_its_place(many):
    report = dict(many.report)
    report["deployment"] = {
        **report["deployment"],
        "basic": dict.fromkeys(report["deployment"]["basic"], HOSTILE),
    }
    report["guarantee"] = HOSTILE
    report["notes"] = [HOSTILE]
    report["queries"] = [{**query, "name": HOSTILE} for query in report["queries"]]
    columns = (
        OutputColumn("key", "key", [HOSTILE, "k" * 300], HOSTILE),
        OutputColumn(HOSTILE, "integer", [-3, 10**400], HOSTILE, 0, HOSTILE),
        OutputColumn(f"{HOSTILE}_noise_moe", "integer", [2, 2], HOSTILE, 0, HOSTILE),
    )
    html = render_html(report, {HOSTILE: OutputTable(HOSTILE, columns)})
    clean = find_problems(html)
    assert clean == []
    assert html.count("<script") == 1
    assert "<img" not in html
    assert "49" not in re.findall(r"amp;(.{0,6})", html)
    assert "\x00" not in html
    assert "&lt;script&gt;" in html


def test_a_key_cannot_turn_the_text_beside_it(many):
    keys = ["a\u202eb", "plain"]
    columns = (
        OutputColumn("key", "key", keys, "keys"),
        OutputColumn("other", "key", keys, "keys"),
        OutputColumn("visits", "integer", [1, 2], "visits", 0, "visits"),
        OutputColumn("named", "text", keys, "a choice", 0, "named"),
        OutputColumn("named_noise_moe", "integer", [3, 3], "half", 0, "named"),
    )
    html = render_page(many, {"t.csv": OutputTable("t", columns)})
    assert find_problems(html) == []
    left = re.sub("<bdi>[^<]*</bdi>|\u2068[^\u2068\u2069]*\u2069", "", html)
    assert "\u202e" in html
    assert "\u202e" not in left
    assert "<bdi>plain</bdi>" in html
    assert "\u2068plain" not in html
    assert "score up to 3 short of the best one" in html


def test_nothing_is_loaded_and_nothing_runs(many):
    html = render_page(many)
    assert "default-src 'none'" in html
    assert re.findall(r"https?://[^\"]*", html) == ["https://schema.org"]
    assert "javascript:" not in html


def test_only_released_values_are_shown(planned, published):
    """Two releases that differ in one figure differ in nothing but that figure and its interval."""
    plan = planned({"name": "visits", "statistic": "count"})
    pages = [render_page(published(plan, value)) for value in (70_707, 80_808)]
    pages = [page.replace("<i>", "").replace("</i>", "") for page in pages]
    assert "70,707" in pages[0]
    changing = r"\([78]0,[78]\d\d to [78]0,[78]\d\d\)|7[0,]*7[0,]*7|8[0,]*8[0,]*8|[0-9a-f]{64}"
    shorn = [re.sub(changing, "", page) for page in pages]
    assert shorn[0] == shorn[1]


def big(rows):
    keys = [f"key {number}" for number in range(rows)]
    values = [(number * 7919) % 1000 - 20 for number in range(rows)]
    return OutputTable(
        "by_key",
        (
            OutputColumn("key", "key", keys, "keys"),
            OutputColumn("visits", "integer", values, "visits", 0, "visits"),
            OutputColumn("visits_noise_moe", "integer", [15] * rows, "half", 0, "visits"),
            OutputColumn("visits_flag", "text", ["ok"] * rows, "flag", 0, "visits"),
        ),
    )


def test_ten_thousand_cells_stay_readable(many):
    html = render_page(many, {"by_key.csv": big(10_000)})
    assert find_problems(html) == []
    assert len(html.encode()) < 150_000
    assert "The first 24 of 10,000 rows of by_key.csv" in html
    assert "There is no chart of by_key.csv: no chart suits 10,000 rows of such keys." in html


@pytest.mark.parametrize(
    ("columns", "style", "scrolls"),
    [(2, None, False), (4, "w30", False), (5, "w30", False), (9, "w61", False), (40, "w73", True)],
)
def test_wide_tables_become_cards_and_are_never_cut(many, columns, style, scrolls):
    """In less room than a table needs its rows are cards with names; the widest scroll."""
    names = [f"v_{number}" for number in range(columns)]
    table = OutputTable(
        "t",
        tuple(OutputColumn(each, "integer", [10**8] * 3, "", 0, each) for each in names),
        "Wide",
    )
    html = render_page(many, {"t.csv": table})
    assert find_problems(html) == []
    made = html.partition('<h3 id="table-1">Wide <a href="t.csv">t.csv</a></h3>')[2].partition(
        "</table>"
    )[0]
    page = parse_page(made)
    assert [tag.get("class") for _, tag in page.all("table")] == [style]
    named = [tag["data-name"] for _, tag in page.all("th", "td") if "data-name" in tag]
    broken_after = [name.replace("_", "_\u200b") for name in names]
    assert named == (broken_after * 3 if style else [])
    assert "v_<wbr>0</th>" in made
    assert ('tabindex="0"' in made) == scrolls
    css = html.partition("<style>")[2].partition("</style>")[0]
    if style:
        below = css.partition(f"@container (max-width:{style[1:]}rem)")[2].partition("@")[0]
        assert f".{style} td[data-name]::before{{content:attr(data-name)}}" in below


def test_figures_and_noise_stand_in_columns(many):
    """What follows ± begins at one place in all rows, and a flag stands in the figure's cells."""
    columns = (
        OutputColumn("key", "key", ["a", "b"], "keys"),
        OutputColumn("v", "integer", [1, 2], "", 0, "v"),
        OutputColumn("v_noise_moe", "integer", [3, 1000], "", 0, "v"),
        OutputColumn("v_flag", "text", ["ok", "low_reliability"], "", 0, "v"),
    )
    html = render_page(many, {"t.csv": OutputTable("t", columns)})
    cells = re.findall(r'<td class="n"[^>]*><i>([^<]*)</i></td><td class="m">(.*?)</td>', html)
    flag = ' <span class="flag">low reliability</span>'
    assert cells == [("1", "±\u00a03"), ("2", f"±\u00a01,000{flag}")]
    assert '<th scope="col" colspan="2" class="n">v</th>' in html
    assert ">flag</th>" not in html


def find_table(html, name):
    """The heads, and the cells of each row, of a published table."""
    made = html.partition(f'aria-labelledby="{name}">')[2].partition("</table>")[0]
    rows = [
        [unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", made, re.DOTALL)
    ]
    return rows[0], rows[1:]


def test_few_rows_of_many_figures_are_turned(many):
    names = [f"v{number}" for number in range(5)]
    figures = [OutputColumn(each, "integer", [1, 2], "", 0, each) for each in names]
    half = OutputColumn("v4_noise_moe", "integer", [3, 4], "", 0, "v4")
    key = OutputColumn("k", "key", ["a", "b"], "keys")
    table = OutputTable("t", (key, *figures, half))
    head, rows = find_table(render_page(many, {"t.csv": table}), "table-1")
    assert head == ["Figure", "a", "b"]
    assert rows[0] == ["v0", "1", "", "2", ""]
    assert rows[4] == ["v4", "1", "±\u00a03", "2", "±\u00a04"]
    less = OutputTable("t", (key, *figures[:4]))
    assert find_table(render_page(many, {"t.csv": less}), "table-1")[0] == ["k", *names[:4]]


def test_what_all_rows_have_alike_is_said_once(many):
    """The score of a choice in its head, and a quantile of running counts below the table."""
    chosen = ["x", "y", "z"]
    table = OutputTable(
        "t",
        (
            OutputColumn("k", "key", ["a", "b", "c"], "keys"),
            OutputColumn("best", "text", chosen, "", 0, "best"),
            OutputColumn("best_noise_moe", "integer", [7] * 3, "", 0, "best"),
            OutputColumn("up_to", "integer", [1, 2, 3], "", 0, "up_to"),
            OutputColumn("up_to_q50", "integer", [49] * 3, "", 0, "up_to"),
            OutputColumn("up_to_q50_noise_moe", "integer", [5] * 3, "", 0, "up_to"),
        ),
    )
    html = render_page(many, {"t.csv": table})
    head, rows = find_table(html, "table-1")
    assert head == ["k", "best score up to 7 short of the best one's", "up_to"]
    assert rows == [["a", "x", "1"], ["b", "y", "2"], ["c", "z", "3"]]
    made = html.partition('<table aria-labelledby="table-1">')[2].partition("</table>")[0]
    assert made.count("short of the best one") == 1
    assert "<p>up_to_q50: 49 ± 5</p>" in html


def test_ten_queries_stay_small_and_quick(planned, published):
    names = [f"query_number_{number}" for number in range(10)]
    plan = planned(*({"name": name, "statistic": "count", "by": ["region"]} for name in names))
    made = published(plan, 3)
    wide = {f"{name}.csv": big(40) for name in names}
    render_page(made, wide)
    started = time.process_time()
    html = render_page(made, wide)
    assert time.process_time() - started < 1
    assert len(html.encode()) < 600_000


def test_a_plan_has_the_page_of_what_needs_no_data(planned):
    plan = planned({"name": "visits", "statistic": "count", "by": ["region"]}, delta=Decimal(0))
    html = plan_page(plan)
    assert find_problems(html) == []
    for chart in ("chart-budget", "chart-beliefs", "chart-people-1", "chart-dots", "chart-errors"):
        assert f'<figure class="chart" id="{chart}">' in html
    assert 'id="tables"' not in html
    assert "chart-ledger" not in html


def compute_luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(first, second):
    low, high = sorted((compute_luminance(first), compute_luminance(second)))
    return (high + 0.05) / (low + 0.05)


def read_palettes():
    css = (LOOKS / "report.css").read_text(encoding="utf-8")
    found = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in found]


@pytest.mark.parametrize("palette", read_palettes(), ids=("light", "dark", "paper"))
def test_contrast(palette):
    texts = [("ink", "paper"), ("soft", "paper"), ("ink", "card"), ("soft", "card"),
             ("link", "paper"), ("link", "card"), ("good", "good-back"), ("warn", "warn-back"),
             ("calm", "calm-back"),
             ("soft", "shade")]  # fmt: skip
    marks = [(each, "paper") for each in ("bar", "bar-soft", "two", "three", "four", "quiet")]
    low = [(a, b) for a, b in texts if compute_contrast(palette[a], palette[b]) < 4.5]
    low += [(a, b) for a, b in marks if compute_contrast(palette[a], palette[b]) < 3]
    assert low == []
    assert compute_contrast("#777777", "#ffffff") < 4.5


@pytest.mark.parametrize("shown", [390, 390 - 15, 360])
def test_text_of_charts_is_never_below_eleven_pixels(shown):
    """On a phone a drawing is as wide as the page without its margins; a scroll bar takes 15."""
    css = (LOOKS / "report.css").read_text(encoding="utf-8").partition("@media print")[0]
    sizes = dict(re.findall(r"\n(svg text[.\w]*) \{[^}]*font-size: ([\d.]+)px", css))
    width, selectors, size = re.findall(
        r"@media \(max-width: (\d+)rem\) \{\n  (svg text[^{]*) \{ font-size: ([\d.]+)px", css
    )[-1]
    assert shown <= int(width) * 16
    sizes |= dict.fromkeys(selectors.split(", "), size)
    assert set(sizes) == {"svg text", "svg text.s", "svg text.b"}
    assert min(map(float, sizes.values())) * (shown - 2 * 16) / 360 >= 11


def test_pale_digits_are_explained_where_there_are_some(many):
    """What is copied or read aloud is the figure; a page without noise tells of no pale digits."""
    key = OutputColumn("key", "key", ["a", "b"], "keys")
    figure = OutputColumn("v", "integer", [1620, 2], "", 0, "v")
    half = OutputColumn("v_noise_moe", "integer", [15, 15], "", 0, "v")
    html = render_page(many, {"t.csv": OutputTable("t", (key, figure, half))})
    assert "1,6<i>20</i></td>" in html
    assert "Pale digits" in html
    html = render_page(many, {"t.csv": OutputTable("t", (key, figure))})
    assert "<i>" not in html.partition("The figures")[2]
    assert "Pale digits" not in html
