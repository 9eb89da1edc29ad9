"""``dprelease init``: the names of columns, and not one value."""

import csv
import gzip
import os
import sqlite3
import subprocess
import sys
import zoneinfo
from contextlib import closing

import databases
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli

import dprelease
from dprelease.errors import Failure
from dprelease.model import ColumnType, Dialect, InputColumn, Source
from dprelease.model.date_formats import list_zones
from dprelease.scaffold.file_columns import (
    Csv,
    read_csv_columns,
    read_declared_columns,
    read_header,
)
from dprelease.scaffold.template import MARK
from dprelease.scaffold.toml_text import quote, write_key
from dprelease.sources.shared.files import lay_out
from dprelease.sources.shared.source_format import lay_out as lay_out_any

CANARY = "KANARIENVOGEL"
HEADER = 'region,days,"a ""quoted"", name",Größe\n'

# What a steward writes at each marked place: the marked line's own words -> what replaces them.
FILLED = {
    '# unit = "row"': 'unit = "row"',
    '# unit_description = ""': 'unit_description = "one visit"',
    '# adjacency = "add-remove"': 'adjacency = "add-remove"',
    "# epsilon =\n": "epsilon = 1.0\n",
    "# epsilon_cap =": "epsilon_cap = 4",
    '# [columns.region]\n# type =\n# source = "public: "': (
        '[columns.region]\ntype = "string"\nkeys = ["north"]\nsource = "public: map"'
    ),
    "# [[query]]": "[[query]]",
    '# name = ""   ': 'name = "visits"',
    '# statistic = ""': 'statistic = "count"',
    "# by = []": 'by = ["region"]',
}


# What is stated of an export with decimal commas, days such as 31.12.2025 and blanks about keys.
MESSY = """
privacy = { unit = "row", unit_description = "one visit", adjacency = "add-remove", epsilon = 3000 }
ledger = { dataset = "messy" }
output = { path = "out" }
query = [
  { name = "rows", statistic = "count", by = ["Ort"] },
  { name = "fee", statistic = "sum", column = "Gebühr" },
  { name = "days", statistic = "count", by = ["Tag"] },
]

[columns]
Ort = { type = "string", keys = ["nord", "Süd"], other = "other", source = "public: map" }
"Gebühr" = { type = "decimal", lower = 0, upper = 2000, source = "public: rule" }

[columns.Tag]
type = "date"
format = "%d.%m.%Y"
keys = ["2025-12-01", "2025-12-31"]
source = "public: month"
"""


@pytest.fixture
def data(folder):
    file = folder / "visits.csv"
    file.write_text(HEADER + f"{CANARY},77,x,y\n" * 20, encoding="utf-8")
    return file


def test_the_result_is_sound_once_the_marked_places_are_filled_in(cli, folder, data):
    answer = cli("init", "visits.csv", "-o", "new.toml")
    assert (answer.code, answer.out) == (0, "")
    assert MARK in answer.err
    text = (folder / "new.toml").read_text(encoding="utf-8")
    assert f"{MARK} stands at {text.count(f'# {MARK} ') - 1} places" in text
    assert "bounds" not in tomli.loads(text)
    before = cli("check", "new.toml")
    assert before.code == 2
    for old, new in FILLED.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "new.toml").write_text(text, encoding="utf-8")
    answer = cli("check", "--strict", "new.toml")
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize("how", [".gz", ".zst"])
def test_the_header_of_a_packed_file_is_read(cli, folder, how):
    pack = gzip.compress if how == ".gz" else pa.Codec("zstd").compress
    packed = folder / f"visits.tsv{how}"
    content = f"region\tdays\n{CANARY}\t77\n".encode()
    packed.write_bytes(pack(content))
    found = cli("init", packed.name)
    (folder / "visits.tsv").write_bytes(content)
    expected = cli("init", "visits.tsv")
    assert (found.code, found.err) == (0, expected.err)
    assert found.out == expected.out.replace("visits.tsv", packed.name)
    assert CANARY not in found.out
    packed.write_bytes(packed.read_bytes()[:12])
    found = cli("init", packed.name)
    assert (found.code, found.out) == (2, "")
    assert "E015" in found.err
    assert "it can't be decompressed" in found.err


def test_no_value_is_written_and_every_column_is_there(cli, data):
    answer = cli("init", "visits.csv")
    assert answer.code == 0
    assert CANARY not in answer.out + answer.err
    assert "77" not in answer.out
    for column in ("region", "days", r'"a \"quoted\", name"', '"Größe"'):
        assert f"# [columns.{column}]\n" in answer.out
    assert {"columns", "query"}.isdisjoint(tomli.loads(answer.out))


def test_not_one_byte_after_the_header_is_read(data, monkeypatch):
    taken = []
    read = os.read

    def counting(descriptor, size):
        taken.append(read(descriptor, size))
        return taken[-1]

    monkeypatch.setattr(os, "read", counting)
    read_csv_columns(str(data), Csv())
    assert b"".join(taken) == HEADER.encode()


@pytest.mark.parametrize("header", ["a,b", 'size 5",b', 'a,"b', '"'])
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_the_reader_does_not_wait_for_what_comes_after_the_header(header, end):
    out, into = os.pipe()
    try:
        os.write(into, f"{header}{end}{CANARY}".encode())
        assert read_header(lambda: os.read(out, 1), 0) == (None, header.encode())
        assert os.read(out, 100) == CANARY.encode()
    finally:
        os.close(out)
        os.close(into)


def test_the_process_opens_the_data_for_its_header_alone(folder, data):
    """What the whole process reads of the file, by the place where its reading ended."""
    program = (
        "import os, stat, sys\nkept = []\nclose = os.close\n"
        "is_folder = lambda fd: stat.S_ISDIR(os.fstat(fd).st_mode)\n"
        "note = lambda fd: is_folder(fd) or kept.append(os.lseek(fd, 0, os.SEEK_CUR))\n"
        "os.close = lambda fd: (note(fd), close(fd))[1]\n"
        "opened = []\nsys.addaudithook(lambda event, args: opened.append(args[0])"
        " if event == 'open' and str(args[0]).endswith('.csv') else None)\n"
        "from dprelease.cli.guard import execute\n"
        "execute(['init', '-q', 'visits.csv', '-o', 'n'])\n"
        "os.write(1, f'{opened} {kept}'.encode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"['visits.csv'] [{len(HEADER.encode())}]"


def test_nothing_is_overwritten(cli, folder, data):
    answer = cli("init", "visits.csv", "-o", "small.toml")
    assert (answer.code, answer.out) == (2, "")
    assert "E010" in answer.err
    assert "north" in (folder / "small.toml").read_text()
    assert [each.name for each in folder.iterdir() if "new-" in each.name] == []
    assert cli("init", "visits.csv", "-o", "nowhere/new.toml").code == 2


@pytest.mark.parametrize(
    "line",
    ["1,2,3", f"{CANARY},2024-01-31,x", f"{CANARY},,x", "a,A", f"{CANARY},3.50", "",
     f"{CANARY},true",
     f"{CANARY}@example.org,a", "a,n/a", f"{CANARY},1.234,00 "],
)  # fmt: skip
def test_a_first_line_that_is_no_header_is_refused_and_not_shown(tmp_path, line):
    file = tmp_path / "a.csv"
    file.write_text(f"{line}\nx,y\n")
    with pytest.raises(Failure) as caught:
        read_csv_columns(str(file), Csv())
    assert caught.value.complaints[0].code in {"E015", "E016"}
    assert CANARY not in str(caught.value)


def test_without_a_header_the_data_is_not_opened(cli, folder, data):
    data.unlink()
    answer = cli("init", "--no-header", "visits.csv")
    assert (answer.code, answer.err) == (0, "")
    assert tomli.loads(answer.out)["data"] == {"path": "visits.csv", "header": False}
    assert "# names = []" in answer.out


def test_options_of_csv_go_into_the_spec(cli, folder):
    (folder / "in").mkdir()
    (folder / "in" / "Größen 1.csv").write_bytes("größe;b\nx;y\n".encode("latin-1"))
    arguments = ("--delimiter", ";", "--encoding", "latin-1", "in/Größen 1.csv")
    spec = tomli.loads(cli("init", *arguments).out)
    assert spec["data"] == {"path": "in/Größen 1.csv", "delimiter": ";", "encoding": "latin-1"}
    assert spec["release"]["name"] == "Gr-en-1"
    assert cli("init", *arguments, "-o", "in/new.toml").code == 0
    written = tomli.loads((folder / "in" / "new.toml").read_text(encoding="utf-8"))
    assert written["data"]["path"] == "Größen 1.csv"
    alone = cli("init", "in/Größen 1.csv")
    assert alone.code == 2
    assert cli("init", "--delimiter", ";;", "small.csv").code == 2
    assert "one column" in cli("init", "--delimiter", "|", "small.csv").err


def test_lines_for_a_messy_export_need_but_their_mark_taken_off(cli, folder):
    records = "Süd; 1.003,50;31.12.2025\n nord ;7,5;01.12.2025\nn/a;n/a;n/a\nwest;;01.12.2025\n"
    (folder / "messy.csv").write_bytes(f"Ort;Gebühr;Tag\n{records * 900}".encode("latin-1"))
    arguments = ("--delimiter", ";", "--encoding", "latin-1", "messy.csv", "-o", "new.toml")
    assert cli("init", *arguments).code == 0
    text = (folder / "new.toml").read_text(encoding="utf-8")
    assert "# encoding" not in text
    assert '# encoding = "latin-1" ' in cli("init", "small.csv").out
    for line in ('null_values = ["", "n/a"] ', "strip = true ", 'decimal = "," '):
        assert text.count(f"# {line}") == 1
        text = text.replace(f"# {line}", line)
    text = text.replace("decimal =", 'thousands = "."\ndecimal =')
    said = {line.split(",")[0] for line in text.splitlines() if line.startswith("# ")}
    assert {'# other = "other"', '# format = "%d.%m.%Y"'} <= said
    spec = tomli.loads(text) | tomli.loads(MESSY)
    result = dprelease.run(dprelease.load(spec, base=str(folder)))
    by_place, overall, by_day = (
        result.tables[name].to_pylist() for name in ("by_Ort", "overall", "by_Tag")
    )
    assert [(row["Ort"], row["rows"]) for row in by_place] == [
        ("nord", 900), ("Süd", 900), ("other", 900),
    ]  # fmt: skip
    assert float(overall[0]["fee"]) == pytest.approx(900 * (1003.5 + 7.5), abs=50)
    assert [row["days"] for row in by_day] == [1800, 900]


def test_parquet_gives_types_from_its_schema(cli, folder):
    table = pa.table(
        {
            "k": [CANARY],
            "n": pa.array([77], pa.int16()),
            "x": [1.5],
            "day": pa.array([0], pa.date32()),
            "at": pa.array([0], pa.timestamp("ms")),
            "there": pa.array([0], pa.timestamp("ms", "Europe/Berlin")),
            "utc": pa.array([0], pa.timestamp("ms", "UTC")),
            "offset": pa.array([0], pa.timestamp("ms", "+02:00")),
            "label": pa.array([CANARY]).dictionary_encode(),
            "parts": [[1]],
        }
    )
    pq.write_table(table, folder / "a.parquet")
    source = Source(str(folder / "a.parquet"), "parquet")
    found = read_declared_columns(source)
    types = [each.type for each in found]
    moments = ["timestamp"] * 4
    assert types == ["string", "integer", "float", "date", *moments, "string", None]
    for each in found:  # a run takes what is written
        if each.type is not None:
            kind = ColumnType(each.type)
            lay_out_any(source, [InputColumn(each.name, kind, zone=each.zone)])
    answer = cli("init", "a.parquet")
    assert (answer.code, answer.err) == (0, "")
    assert '# [columns.n]\n# type = "integer"\n' in answer.out
    assert '# type = "timestamp"\n# zone = "Europe/Berlin"\n# source' in answer.out
    assert answer.out.count("# zone") == 1
    assert (
        "# [columns.parts]\n# can't be used: its type can't be declared in a spec\n" in answer.out
    )
    assert CANARY not in answer.out
    with pa.ipc.new_file(folder / "a.feather", table.schema) as writer:
        writer.write_table(table)
    assert cli("init", "a.feather").out == answer.out.replace("a.parquet", "a.feather")
    assert cli("init", "--no-header", "a.parquet").code == 2
    assert cli("init", "--no-header", "a.feather").code == 2
    (folder / "b.arrow").write_bytes(b"ARROW1 not at all")
    assert "is not a readable Arrow file" in cli("init", "b.arrow").err
    (folder / "b.parquet").write_bytes(b"PAR1 not at all")
    for name in ("b.parquet", "c.parquet", "c.csv", "a.xlsx", "."):
        assert cli("init", name).code == 2


def test_zones_are_listed_once_for_all_columns(folder, monkeypatch):
    asked, listed = [], zoneinfo.available_timezones()
    monkeypatch.setattr(zoneinfo, "available_timezones", lambda: asked.append(1) or listed)
    list_zones.cache_clear()
    berlin = pa.timestamp("ms", "Europe/Berlin")
    pq.write_table(pa.table({name: pa.array([0], berlin) for name in "abc"}), folder / "a.parquet")
    found = read_declared_columns(Source(str(folder / "a.parquet"), "parquet"))
    assert [each.zone for each in found] == ["Europe/Berlin"] * 3
    assert len(asked) == 1


@pytest.fixture
def book(folder):
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    workbook.active.append(["region", None, "Größe"])
    workbook.active.append([CANARY, 77, CANARY])
    for row in (["a", 77], ["b", 1]):
        workbook.create_sheet(f"{row[0]} {CANARY}").append(row)
    workbook.save(folder / "a.xlsx")
    for name in workbook.sheetnames[1:]:
        workbook.remove(workbook[name])
    workbook.save(folder / "one.xlsx")


def test_a_workbook_gives_names_from_its_first_row(cli, folder, book, monkeypatch):
    answer = cli("init", "one.xlsx")
    assert answer.code == 0
    assert "the first row" in answer.err
    columns = [line for line in answer.out.splitlines() if line.startswith("# [columns.")]
    assert columns == ["# [columns.region]", '# [columns."Größe"]']
    assert tomli.loads(answer.out)["data"] == {"path": "one.xlsx"}
    named = cli("init", "a.xlsx", "--sheet", "Sheet")
    assert tomli.loads(named.out)["data"] == {"path": "a.xlsx", "sheet": "Sheet"}
    monkeypatch.chdir(folder)
    assert dprelease.init("a.xlsx", sheet="Sheet") == named.out
    assert dprelease.init("one.xlsx", sheet=None) == answer.out
    assert CANARY not in answer.out + answer.err + named.out + named.err


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["a.xlsx"], "E015", "a.xlsx has several sheets"),
        (["a.xlsx", "--sheet", "none"], "E015", 'no sheet "none"'),
        (["a.xlsx", "--sheet", f"a {CANARY}"], "E016", "cell 2 looks like a value"),
        (["one.xlsx", "--delimiter", ";"], "E015", "leave that option out"),
        (["one.xlsx", "--no-header"], "E015", "leave that option out"),
        (["small.csv", "--sheet", "a"], "E015", "leave that option out"),
    ],
)
def test_a_workbook_without_a_header_that_can_be_found(cli, book, arguments, code, word):
    answer = cli("init", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(code)
    assert word in answer.err


def test_a_database_gives_the_columns_of_its_catalogue(cli, folder):
    databases.require("sqlite")
    uri = {databases.VARIABLE: "a.db"}
    with closing(sqlite3.connect(folder / "a.db")) as connection, connection:
        types = (
            "id INTEGER, place VARCHAR(9), day DATE, at DATETIME, paid BOOL, x REAL, fee DECIMAL"
        )
        computed = "twice INT GENERATED ALWAYS AS (2 * id), half AS (id / 2) STORED"
        connection.execute(f'CREATE TABLE "my visits" ({types}, other, {computed})')
        connection.execute(f"INSERT INTO \"my visits\" (place, id) VALUES ('{CANARY}', 77)")
    place = ("--driver", "sqlite", "--uri-env", databases.VARIABLE, "--table", "my visits")
    answer = cli("init", *place, read_late=uri)
    assert (answer.code, answer.err) == (0, "")
    spec = tomli.loads(answer.out)
    assert spec["data"] == {
        "format": "adbc", "driver": "sqlite", "uri_env": databases.VARIABLE, "table": "my visits",
    }  # fmt: skip
    assert spec["ledger"] == {"dataset": "my-visits"}
    kinds = ["integer", "string", "date", "timestamp", "boolean", "float", "decimal"]
    for name, kind in zip(("id", "place", "day", "at", "paid", "x", "fee"), kinds, strict=True):
        assert f'# [columns.{name}]\n# type = "{kind}"\n' in answer.out
    assert "# [columns.other]\n# type =\n" in answer.out
    assert '# [columns.twice]\n# type = "integer"\n' in answer.out
    assert "# [columns.half]\n# type =\n" in answer.out
    assert CANARY not in answer.out
    assert "77" not in answer.out
    for none in ("none", "the"):
        missing = f'of {none} can\'t be read: the database has no table or view "{none}"'
        assert missing in cli("init", *place[:-1], none, read_late=uri).err
    assert f"{databases.VARIABLE} is not set" in cli("init", *place).err


URI = "postgresql://me:KANARIENVOGEL@host/db"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--driver", "sqlite", "--table", "t"],
        ["--uri-env", "V", "--table", "t"],
        ["small.csv", "--driver", "sqlite", "--uri-env", "V", "--table", "t"],
        ["--delimiter", ";", "--driver", "sqlite", "--uri-env", "V", "--table", "t"],
        ["--driver", "sqlite", "--uri-env", URI, "--table", "t"],
        ["--driver", "sqlite", "--uri-env", "V", "--table", "a.b.c"],
        [URI],
    ],
)
def test_one_file_or_one_table_is_named_and_no_uri_is_said_again(cli, folder, arguments):
    answer = cli("init", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert CANARY not in answer.err
    names = {"--driver": "driver", "--uri-env": "uri_env", "--table": "table",
             "--delimiter": "delimiter"}  # fmt: skip
    files = [each for each in arguments[:1] if each not in names]
    rest = arguments[len(files) :]
    options = dict(zip(map(names.get, rest[::2]), rest[1::2], strict=True))
    with pytest.raises((Failure, ValueError)) as caught:
        dprelease.init(*files, **options)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-16", "ascii", "none at all", ""])
def test_an_encoding_that_no_spec_can_name_is_refused(data, encoding):
    with pytest.raises(ValueError, match="encoding is utf-8, latin-1 or cp1252"):
        dprelease.init(str(data / "visits.csv"), encoding=encoding)


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb\t", "ä 𝄞", "\u2028\u00a0", "#"])
def test_names_are_quoted_as_toml_reads_them(text):
    assert tomli.loads(f"{quote(text)} = 1") == {text: 1}


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("line", "names"),
    [(' "a" , "b"', ["a", "b"]), ('size 5",b', ['size 5"', "b"]), ("a],[b", ["a]", "[b"]),
     ("it's,\\u0041", ["it's", "\\u0041"]), ("# a,b # c", ["# a", "b # c"])],
)  # fmt: skip
def test_a_header_falls_into_the_names_that_a_run_finds(tmp_path, line, names, start):
    file = tmp_path / "a.csv"
    file.write_bytes(start + f"{line}\r\n1,2\r\n".encode())
    for encoding in ("utf-8", "latin-1"):
        columns, _ = read_csv_columns(str(file), Csv(",", encoding))
        assert [column.name for column in columns] == names
    dialect = Dialect(encoding="latin-1")
    wanted = [InputColumn(name, ColumnType.STRING) for name in names]
    assert lay_out(Source(str(file), "csv", dialect), wanted).width == 2
    assert tomli.loads("\n".join(f"[{write_key(each)}]" for each in names)).keys() == set(names)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("lines", "form", "names", "delimiter"),
    [
        (["Visits 2025;;", "", "a;b"], Csv(";", skip_rows=2), ["a", "b"], ";"),
        (["sep=;", "a;b"], Csv(), ["a", "b"], ";"),
        (["\ufeffsep=;", "a;b"], Csv(), ["a", "b"], ";"),
        (["Visits", "sep=|", "a|b"], Csv(skip_rows=1), ["a", "b"], "|"),
        ([",a,b"], Csv(), ["", "a", "b"], ","),
        (["a,b,"], Csv(), ["a", "b", ""], ","),
    ],
)
def test_lines_before_the_header_and_fields_without_a_name(
    tmp_path, lines, form, names, delimiter, end
):
    file = tmp_path / "a.csv"
    file.write_text(end.join([*lines, f"{CANARY},{CANARY}", ""]), encoding="utf-8", newline="")
    columns, found = read_csv_columns(str(file), form)
    assert ([column.name for column in columns], found.delimiter) == (names, delimiter)
    text = dprelease.init(file, delimiter=form.delimiter, skip_rows=form.skip_rows)
    kept = "".join(line for line in text.splitlines(keepends=True) if "#" not in line)
    data = tomli.loads(kept)["data"]
    assert data.get("skip_rows", 0) == form.skip_rows
    assert data.get("delimiter", ",") == delimiter
    assert text.count("# [columns.") == 2
    assert CANARY not in text


@pytest.mark.parametrize("lines", [1, 2, 3, 9])
@pytest.mark.parametrize("end", ["", "\n"])
def test_no_line_that_is_skipped_is_the_header(cli, folder, lines, end):
    (folder / "short.csv").write_text(f"{CANARY},b{end}" if lines == 1 else f"a\n{CANARY},b{end}")
    answer = cli("init", "short.csv", "--skip-rows", str(lines))
    assert (answer.code, answer.out) == (2, "")
    assert f"no header after its first {lines} lines" in answer.err
    assert CANARY not in answer.err


def test_what_no_header_may_be_comes_with_what_to_do(cli, folder):
    (folder / "tabs.csv").write_text("a\tb\n1\t2\n")
    (folder / "latin.csv").write_bytes("größe\n".encode("latin-1"))
    (folder / "lines.csv").write_text(f'a,"b\nc"\n{CANARY},1\n')
    (folder / "odd.csv").write_text("a\u2028b\n")
    for name, word in (("tabs", "--delimiter tab"), ("latin", "--encoding"),
                       ("lines", "one line"), ("odd", "control")):  # fmt: skip
        answer = cli("init", f"{name}.csv")
        assert (answer.code, answer.out) == (2, "")
        assert word in answer.err
        assert CANARY not in answer.err
    assert cli("init", "tabs.csv", "--delimiter", "\t").code == 0


@pytest.mark.parametrize("name", [b"v-{period}.csv", b"v\nq.csv", b"v\x1b.csv", b"v\xff.csv"])
def test_a_path_that_no_spec_can_hold_is_refused(cli, folder, name):
    with open(os.path.join(os.fsencode(folder), name), "wb") as file:
        file.write(HEADER.encode())
    answer = cli("init", os.fsdecode(name), "-o", "new.toml")
    assert (answer.code, answer.out) == (2, "")
    assert "rename it" in answer.err
    assert not (folder / "new.toml").exists()


def test_columns_of_parquet_that_no_spec_can_name_or_read_are_said_to_be_so(tmp_path):
    file = str(tmp_path / "a.parquet")
    zoned, spans = pa.array([0], pa.timestamp("us", "UTC")), pa.array([0], pa.duration("us"))
    names = ["a", "A", "", "b\n", "at", "c", "span"]
    pq.write_table(pa.table([["x"], ["x"], ["x"], ["x"], zoned, ["x"], spans], names=names), file)
    source = Source(file, "parquet")
    found = {each.name: each.unread for each in read_declared_columns(source)}
    assert found["a"] == found["A"] == "its name stands there twice"
    assert "empty" in found[""]
    assert "control" in found["b\n"]
    assert found["at"] == ""
    assert found["c"] == ""
    assert "type" in found["span"]
    pq.write_table(pa.table({}), file)
    with pytest.raises(Failure):
        read_declared_columns(source)


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.parquet"])
def test_a_pipe_is_not_waited_for(cli, folder, name):
    os.mkfifo(folder / name)
    answer = cli("init", name)
    assert answer.code == 2
    assert "it is not a regular file" in answer.err


CODEBOOK = """\
column;type;lower;upper;step;keys;bins;other;label;source
region;string;;;;north = The North|south;;elsewhere;Health region;public: map
days;integer;0;180;;;;;"Days; all of them";
fee;decimal;0;2000;0.01;;;;;
age;integer;;;;;0|18|65|100;;;
urgent;boolean;;;;true = ja|false = nein;;;;
kind;integer;;;;1 = one|2 = two;;;;
at;date;;;;;2025-01-01|2025-07-01|2025-12-31;;;
"""
STATED = """
privacy = { unit = "row", unit_description = "one visit", adjacency = "add-remove", epsilon = 1 }
ledger = { dataset = "visits", epsilon_cap = 1 }
query = [
  { name = "a", statistic = "count", by = ["region", "urgent"] },
  { name = "b", statistic = "mean", column = "days", by = ["kind"] },
  { name = "c", statistic = "sum", column = "fee", by = ["age"] },
  { name = "d", statistic = "count", by = ["at"] },
]
"""


@pytest.fixture
def described(folder):
    (folder / "visits.csv").write_text("id,region,days,fee,age,urgent,kind,at\n1,2,3,4,5,6,7,8\n")
    (folder / "book.csv").write_text(CODEBOOK, encoding="utf-8-sig")
    return folder


def test_what_a_codebook_says_is_filled_in_and_is_sound(cli, described, monkeypatch):
    answer = cli("init", "visits.csv", "--codebook", "book.csv")
    assert answer.code == 0
    spec = tomli.loads(answer.out)
    assert spec["columns"]["region"] == {
        "type": "string", "keys": ["north", "south"], "labels": {"north": "The North"},
        "other": "elsewhere", "label": "Health region", "source": "public: map",
    }  # fmt: skip
    assert spec["columns"]["days"]["label"] == "Days; all of them"
    assert spec["columns"]["days"]["source"] == "public: book.csv"
    assert "# [columns.id]" in answer.out
    release = dprelease.load(spec | tomli.loads(STATED), base=str(described))
    assert [len(query.groups) for query in release.queries] == [2, 1, 1, 1]
    monkeypatch.chdir(described)
    assert dprelease.init("visits.csv", codebook=described / "book.csv") == answer.out
    unopened = cli("init", "visits.csv", "--no-header", "--codebook", "book.csv").out
    assert tomli.loads(unopened)["columns"] == spec["columns"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("1 = Men|2=Women", {"keys": ["1", "2"], "labels": {"1": "Men", "2": "Women"}}),
        ("<=5|>= 6 = old|!=", {"keys": ["<=5", ">= 6", "!="], "labels": {">= 6": "old"}}),
        (
            "a=b = A = 1|a==b|=a|a=",
            {"keys": ["a=b", "a==b", "=a", "a="], "labels": {"a=b": "A = 1"}},
        ),
    ],
)
def test_a_sign_of_a_key_begins_no_label(cli, described, keys, expected):
    (described / "book.csv").write_text(f"column,type,keys\nregion,string,{keys}\n")
    spec = tomli.loads(cli("init", "visits.csv", "--codebook", "book.csv").out)
    column = spec["columns"]["region"]
    assert {key: column[key] for key in ("keys", "labels")} == expected


def test_bounds_beside_a_type_to_be_written_are_numbers(cli, described):
    (described / "book.csv").write_text("column,lower,upper\ndays,0,1.5\n")
    column = tomli.loads(cli("init", "visits.csv", "--codebook", "book.csv").out)["columns"]["days"]
    assert (column["lower"], column["upper"]) == (0, 1.5)


@pytest.mark.parametrize(
    ("line", "zone"), [("there,,Hour", "Europe/Berlin"), ("there,string,Text", None)]
)
def test_a_zone_stands_beside_what_a_codebook_says(cli, folder, line, zone):
    there = pa.array([0], pa.timestamp("ms", "Europe/Berlin"))
    pq.write_table(pa.table({"there": there}), folder / "a.parquet")
    (folder / "book.csv").write_text(f"column,type,label\n{line}\n")
    spec = tomli.loads(cli("init", "a.parquet", "--codebook", "book.csv").out)
    assert spec["columns"]["there"].get("zone") == zone


@pytest.mark.parametrize(
    ("content", "place", "word"),
    [
        (CODEBOOK.replace("days;", "Days;"), ":3", 'no column "Days"'),
        (CODEBOOK.replace("days;", "region;"), ":3", "twice"),
        (CODEBOOK.replace("upper", "most"), ":1", "its header"),
        (CODEBOOK.replace("upper", "lower"), ":1", "its header"),
        (CODEBOOK.replace("column;", "name;"), ":1", "its header"),
        (CODEBOOK.replace("days;integer;", "days;"), ":3", "9 fields, where the header has 10"),
        (CODEBOOK.replace("days;", ";"), ":3", "without the name"),
        (CODEBOOK.replace('of them"', "of them"), ":", "not a line of CSV"),
        ("", ":1", "its header"),
        (b"column;label\nregion;\xff\n", "", "not in UTF-8"),
        (None, "", "No such file"),
    ],
)
def test_what_is_no_codebook_of_the_data_is_refused(cli, described, content, place, word):
    file = described / "book.csv"
    file.unlink()
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = cli("init", "visits.csv", "--codebook", "book.csv")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"E019 the codebook can't be used: book.csv{place}")
    assert word in answer.err


def test_the_data_is_no_codebook_and_nothing_of_it_is_shown(cli, data):
    answer = cli("init", "visits.csv", "--codebook", "visits.csv")
    assert (answer.code, answer.out) == (2, "")
    assert CANARY not in answer.err
    several = cli("init", "visits.csv", "--codebook", "visits.csv", "--codebook", "small.csv")
    assert (several.code, several.out) == (2, "")
    assert "names one file" in several.err


@pytest.mark.parametrize("name", ["example.toml", "try it/first.toml"])
def test_an_example_runs_as_it_stands(cli, folder, name):
    (folder / "try it").mkdir()
    named = [] if name == "example.toml" else ["-o", name]
    answer = cli("init", "--example", *named)
    assert (answer.code, answer.out) == (0, "")
    assert f"dprelease run {name}" in answer.err
    assert cli("check", "--strict", name).code == 0
    answer = cli("run", "-q", name)
    assert (answer.code, answer.err) == (0, "")
    with open((folder / name).with_suffix(".csv"), encoding="utf-8") as file:
        header, *records = file.read().splitlines()
    assert (header, len(records)) == ("visit,region,urgent,waiting_days", 1200)
    table = (folder / name).parent / "out" / "example" / "by_region.csv"
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        assert abs(int(row["visits"]) - sum(f",{row['region']}," in each for each in records)) < 60


@pytest.mark.parametrize("name", ["example.csv", "{period}.toml"])
def test_an_example_that_could_not_run_is_not_written(cli, folder, name):
    before = sorted(folder.iterdir())
    answer = cli("init", "--example", "-o", name)
    assert (answer.code, answer.out) == (2, "")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("there", ["example.toml", "example.csv"])
def test_an_example_overwrites_nothing(cli, folder, there):
    (folder / there).write_text("mine")
    answer = cli("init", "--example")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"E010 {there} is there already")
    assert sorted(each.name for each in folder.glob("example*")) == [there]
    assert (folder / there).read_text() == "mine"


@pytest.mark.parametrize("more", [["small.csv"], ["--delimiter", ","], ["--skip-rows", "0"]])
def test_an_example_is_of_no_data(cli, more):
    answer = cli("init", "--example", *more)
    assert (answer.code, answer.out) == (2, "")
    assert "goes with -o and -q alone" in answer.err
