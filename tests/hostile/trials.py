"""Bad inputs, each a change to a good release, and what must come of it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from small import GOOD, HEADER, SPEC, lines

CANARY = "zqxcanary"
RECORDS = [[CANARY if each == "x" else each for each in GOOD]] * 20
Prepare = Callable[[Path], object]


@dataclass(frozen=True)
class Trial:
    """A spec and what is done to the folder; the exit code and the complaint's code expected."""

    name: str
    spec: str | bytes
    exit_code: int
    code: str
    prepare: Prepare = lambda folder: None
    options: tuple[str, ...] = ()


def put(old: str, new: str) -> str:
    """The good spec with a text replaced, once."""
    assert old in SPEC, old
    return SPEC.replace(old, new, 1)


CONDITION = "ok OR LENGTH(town) > 3 OR paid / age > 1 OR YEAR(day) > 1900 OR born IS NULL"


def where(text: str) -> Trial:
    return Trial(f"where {text[:40]}", put(CONDITION, text), 2, "E215")


def named(text: str) -> list[Trial]:
    """A name that is no file name: of the release, of a query, of a table."""
    places = {
        "release": ('name = "small"', f'name = "{text}"'),
        "query": ('name = "records"', f'name = "{text}"'),
        "table": ('by = ["region"]', f'table = "{text}"\nby = ["region"]'),
    }
    return [
        Trial(f"{place} {text[:20]}", put(*change), 2, "E106") for place, change in places.items()
    ]


def data(content: bytes) -> Prepare:
    return lambda folder: (folder / "data.csv").write_bytes(content)


def parquet(**columns: object) -> Prepare:
    """A Parquet file with other columns than declared."""

    def prepare(folder: Path) -> None:
        arrays = {
            "who": pa.array([CANARY]), "region": pa.array([CANARY]), "town": pa.array([CANARY]),
            "day": pa.array([1], pa.date32()), "born": pa.array([1], pa.timestamp("us")),
            "paid": pa.array([1.0]), "age": pa.array([1]), "ok": pa.array([True]),
        }  # fmt: skip
        arrays |= {name: each for name, each in columns.items() if each is not None}
        for name in [name for name, each in columns.items() if each is None]:
            del arrays[name]
        pq.write_table(pa.table(arrays), folder / "data.parquet")

    return prepare


PARQUET = put("data.csv", "data.parquet")


def damaged(change: Callable[[bytes], bytes]) -> Prepare:
    def prepare(folder: Path) -> None:
        parquet()(folder)
        path = folder / "data.parquet"
        path.write_bytes(change(path.read_bytes()))

    return prepare


def at(place: str, old: str = "data.csv") -> str:
    return put(f'path = "{old}"', f'path = "{place}"\n' + ('format = "csv"\n' * (old != "out")))


def link(name: str, target: str) -> Prepare:
    return lambda folder: os.symlink(target, folder / name)


def bound_socket(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as each:
            each.bind("odd.csv")
    finally:
        os.chdir(here)


def linked_into(name: str) -> Prepare:
    """A link inside the output, to a file that must stay as it is."""

    def prepare(folder: Path) -> None:
        (folder / "out").mkdir()
        os.symlink(folder / "data.csv", folder / "out" / name)

    return prepare


def ledger(path: str) -> str:
    return put("[ledger]", f'[ledger]\npath = "{path}"')


EXPRESSIONS = [
    where(text)
    for text in (
        "read_csv('/etc/passwd') > 1", "LENGTH(read_text('/etc/passwd')) > 0",
        "(SELECT COUNT(*) FROM 'data.csv') > 3", "EXISTS (FROM glob('/*'))",
        "town IN (SELECT town FROM 'data.csv')", "getenv('HOME') = 'x'", "ok; ATTACH '/tmp/x'",
        "ok; COPY data TO '/tmp/x'", "ok; INSTALL httpfs; LOAD httpfs", "PRAGMA database_list",
        "ATTACH '/tmp/x.db'", "ok -- hidden", "ok /* hidden */", "current_setting('threads') > 1",
        "query('SELECT 1') > 0", "pg_sleep(1000)", "repeat(town, 1000000000) = 'x'",
        "LENGTH(rpad(town, 1000000000, 'x')) > 3", "regexp_matches(town, '(a+)+b')",
        "town SIMILAR TO '(a|a)*b'", "(" * 1900 + "ok" + ")" * 1900, "(" * 4999 + ")" * 4999,
        "NOT " * 900 + "ok", "CASE " * 500 + "ok", "-" * 1500 + "age > 1", "+".join(["age"] * 900),
        "paid > 1e400", "paid > " + "9" * 3000, "1 = " + "9" * 30, "sum(paid) > 1",
        "row_number() OVER () = 1", "random() > 0.5", "error(town)", "unread = 'x'",
        "LENGTH(" + "||".join(["town"] * 50) + ") > 3", "||".join(["town"] * 500) + " = 'x'",
        "ok\\u202e", "ok\\u00a0\\ufeff OR ok", "nextval('s') = 1", "COLUMNS('.*') IS NULL", "",
    )
    if text
]  # fmt: skip

NAMES = [
    each
    for text in ("../up", "a/b", "/abs", "..", "\\u0000", "\\n", "x" * 100_000, "CON", "aux.csv",
                 "a\\\\b", "-rf", "$(id)", "\\u202e", "~")
    for each in named(text)
]  # fmt: skip

SPECS = [
    Trial("empty", "", 2, "E110"),
    Trial("no TOML", "what is this", 2, "E001"),
    Trial("unclosed", SPEC.replace('"small"', '"small', 1), 2, "E001"),
    Trial("not UTF-8", SPEC.encode() + b"# \xff", 2, "E005"),
    Trial("byte order mark", b"\xef\xbb\xbf" + SPEC.encode(), 2, "E006"),
    Trial("UTF-16", SPEC.encode("utf-16"), 2, "E006"),
    Trial("NUL", SPEC.encode() + b"\0", 2, "E001"),
    Trial("returns alone", SPEC.replace("\n", "\r"), 2, "E001"),
    Trial("a key twice", put('name = "small"', 'name = "small"\nname = "small"'), 2, "E002"),
    Trial("a section twice", SPEC + "[ledger]\n", 2, "E002"),
    Trial("unknown key", put("epsilon_cap", "epsilon_cup"), 2, "E102"),
    Trial("unknown section", SPEC + "[exec]\nrun = 'x'\n", 2, "E102"),
    Trial("deep arrays", SPEC + "x = " + "[" * 100_000, 2, "E004"),
    Trial("closed deep arrays", SPEC + "x = " + "[" * 500 + "]" * 500, 2, "E004"),
    Trial("deep tables", SPEC + "x = " + "{a=" * 100_000, 2, "E004"),
    Trial("deep keys", SPEC + "a." * 50_000 + "b = 1", 2, "E004"),
    Trial("many keys", SPEC + "".join(f"k{n}=1\n" for n in range(20_000)), 2, "E102"),
    Trial("a long text", put('"one person"', f'"{"x" * 3_000_000}"'), 2, "E107"),
    Trial("too large", SPEC + "#" * 5_000_000, 2, "E008"),
    Trial("a long integer", put("delta = 1e-8", "delta = " + "9" * 100_000), 2, "E003"),
    Trial("a huge exponent", put("delta = 1e-8", "delta = 1e99999999999999999999"), 2, "E204"),
    Trial("a tiny exponent", put("epsilon = 1", "epsilon = 1e-99999999999999999999"), 2, "E203"),
    Trial("epsilon 0", put("epsilon = 1", "epsilon = 0"), 2, "E203"),
    Trial("epsilon < 0", put("epsilon = 1", "epsilon = -1"), 2, "E203"),
    Trial("epsilon inf", put("epsilon = 1", "epsilon = inf"), 2, "E203"),
    Trial("epsilon nan", put("epsilon = 1", "epsilon = nan"), 2, "E203"),
    Trial("epsilon huge", put("epsilon = 1", "epsilon = 1e30"), 2, "E203"),
    Trial("epsilon a text", put("epsilon = 1", 'epsilon = "1"'), 2, "E203"),
    Trial("delta 1", put("delta = 1e-8", "delta = 1"), 2, "E204"),
    Trial("cap nan", put("epsilon_cap = 10", "epsilon_cap = nan"), 2, "E203"),
    Trial("over the cap", put("epsilon_cap = 10", "epsilon_cap = 0.1"), 3, "E301"),
    Trial("huge bounds", put("upper = 100", "upper = 1e300"), 2, "E205"),
    Trial("infinite bounds", put("upper = 100", "upper = inf"), 2, "E205"),
    Trial("bounds of digits", put("upper = 100", "upper = " + "9" * 4000), 2, "E205"),
    Trial("bounds crossed", put("upper = 100", "upper = -1"), 2, "E206"),
    Trial("a fine step", put("upper = 100", "upper = 100\nstep = 1e-300"), 2, "E20"),
    Trial("no bounds", put("lower = 0\nupper = 100\n", ""), 2, "E201"),
    Trial("many rows a unit", put("max_rows_per_unit = 2", "max_rows_per_unit = 1e40"), 2, "E"),
    Trial("bins crossed", put("bins = [0, 18, 65]", "bins = [0, 65, 18]"), 2, "E213"),
    Trial("a key that is nan", put("bins = [0, 18, 65]", "bins = [0, nan]"), 2, "E213"),
    Trial("keys twice", put('"north", "south"', '"north", "north"'), 2, "E211"),
    Trial("keys with a control character", put('"north"', '"no\\u0007rth"'), 2, "E"),
    Trial("keys of a device", put('keys = ["north", "south"]', 'keys_file = "/dev/zero"'), 2,
          "E251"),
    Trial("keys of a device, allowed", put('keys = ["north", "south"]', 'keys_file = "/dev/zero"'),
          2, "E112", options=("--allow-outside-lists",)),
    Trial("keys of the system", put('keys = ["north", "south"]', 'keys_file = "/etc/passwd"'), 2,
          "E251"),
    Trial("keys of a link", put('keys = ["north", "south"]', 'keys_file = "k.txt"'), 2, "E251",
          lambda folder: os.symlink("/etc/passwd", folder / "k.txt")),
    Trial("keys of the data", put('keys = ["north", "south"]', 'keys_file = "k.txt"'), 2, "E227",
          lambda folder: os.link(folder / "data.csv", folder / "k.txt")),
    Trial("keys of a pipe", put('keys = ["north", "south"]', 'keys_file = "odd.csv"'), 2, "E112",
          lambda folder: os.mkfifo(folder / "odd.csv")),
    Trial("keys of nothing", put('keys = ["north", "south"]', 'keys_file = "gone"'), 2, "E112"),
    Trial("no public keys", put('keys = ["north", "south"]\nother = "elsewhere"\n', ""), 2, "E202"),
    Trial("unknown statistic", put('statistic = "sum"', 'statistic = "__import__"'), 2, "E101"),
    Trial("unknown column", put('column = "day"', 'column = "nobody"'), 2, "E216"),
    Trial("a column of 100,000 letters", put('column = "day"', f'column = "{"x" * 100_000}"'), 2,
          "E"),
    Trial("a column that is a path", SPEC + '[columns."../../x"]\ntype = "txt"\n', 2, "E105"),
    Trial("unknown engine", put('path = "data.csv"', 'path = "data.csv"\nengine = "os"'), 2,
          "E105"),
    Trial("the tester's engine", put('path = "data.csv"', 'path = "data.csv"\nengine="reference"'),
          2, "E105"),
    Trial("a delimiter of two", put('path = "data.csv"', 'path = "data.csv"\ndelimiter = "ab"'),
          2, "E229"),
    Trial("odd encoding", put('path = "data.csv"', 'path = "data.csv"\nencoding = "utf-7"'), 2,
          "E229"),
    Trial("no text encoding", put('path = "data.csv"', 'path = "data.csv"\nencoding = "zlib"'), 2,
          "E229"),
    Trial("interval 1", SPEC + "interval = 1\n", 2, "E230"),
    Trial("odd format", SPEC + 'format = "exe"\n', 2, "E105"),
    Trial("a period that climbs", put('"data.csv"', '"{period}.csv"'), 2, "E226",
          options=("--period", "../../etc")),
    Trial("no period", put('"data.csv"', '"{period}.csv"'), 2, "E226"),
]  # fmt: skip


def table(text: str) -> str:
    """The good spec with a table of records, of neighbours that go with one."""
    return put("add-remove", "replace-one").replace("[output]", f"[[perturb]]\n{text}\n[output]")


REGION = 'name = "t"\ncolumns = ["region"]\n'
PAID = 'name = "t"\ncolumns = ["paid"]\n'
TABLES = [
    Trial(f"table of records {number}", table(text), 2, code)
    for number, (text, code) in enumerate(
        (
            ("", "E110"), ("epsilon = 1", "E110"), (REGION, "E223"),
            (REGION + "epsilon = 0", "E203"),
            (REGION + "epsilon = nan", "E203"), (REGION + "epsilon = 1e30", "E203"),
            (REGION + 'epsilon = "1"', "E203"), (REGION + "rho = 1", "E102"),
            (REGION + "epsilon = 1\ndelta = 1", "E204"), (REGION + "delta = 1e-9", "E224"),
            (REGION + "epsilon = 1\ntruth = 0.5", "E224"), (REGION + "truth = 0", "E248"),
            (REGION + "truth = 1", "E248"), (REGION + "truth = -1e400", "E248"),
            (PAID + "truth = 0.5", "E248"), (REGION + "weight = 1", "E102"),
            (REGION + "epsilon = 1\nwhere = 'ok'", "E102"),
            (REGION + 'epsilon = 1\nmechanism = "none"', "E105"),
            (REGION + 'epsilon = 1\nmechanism = "laplace"', "E243"),
            (REGION + 'epsilon = 1\nmechanism = ["auto"]', "E105"),
            (REGION + 'epsilon = 1\nmechanism = { who = "auto" }', "E244"),
            (REGION + "epsilon = 1\nweights = { region = 1e99 }", "E203"),
            (REGION + "epsilon = 1\nweights = 3", "E103"),
            (PAID + 'epsilon = 1\nmechanism = "subset-selection"', "E243"),
            ('name = "t"\nepsilon = 1\ncolumns = []', "E249"),
            ('name = "t"\nepsilon = 1\ncolumns = ["who"]', "E246"),
            ('name = "t"\nepsilon = 1\ncolumns = ["town"]', "E245"),
            ('name = "t"\nepsilon = 1\ncolumns = ["day"]', "E245"),
            ('name = "t"\nepsilon = 1\ncolumns = ["ok", "ok"]', "E231"),
            ('name = "t"\nepsilon = 1\ncolumns = ["' + "x" * 100_000 + '"]', "E216"),
            ('name = "t"\nepsilon = 1\ncolumns = ' + "[" * 500 + "]" * 500, "E004"),
            ('name = "../t"\nepsilon = 1\ncolumns = ["ok"]', "E106"),
            ('name = "report"\nepsilon = 1\ncolumns = ["ok"]', "E220"),
            ('name = "BY_REGION"\nepsilon = 1\ncolumns = ["ok"]', "E250"),
            ('name = "records"\nepsilon = 1\ncolumns = ["ok"]', "E250"),
        )
    )
] + [
    Trial("table of records, add-remove", table(REGION + "epsilon = 1").replace(
        "replace-one", "add-remove"), 2, "E242"),
    Trial("table of one label", table(REGION + "epsilon = 1").replace(
        '"north", "south"]\nother = "elsewhere"', '"north"]'), 2, "E247"),
]  # fmt: skip

PLACES = [
    *(
        Trial(f"data at {place[:20]}", at(place), code, complaint, prepare)
        for place, code, complaint, prepare in (
            ("http://127.0.0.1:9/x.csv", 2, "E228", None), ("s3://bucket/x.csv", 2, "E228", None),
            ("file:///etc/passwd", 2, "E228", None), ("/dev/zero", 4, "E402", None),
            ("/dev/null", 4, "E402", None), ("/dev/stdin", 4, "E402", None),
            ("/proc/self/environ", 4, "E405", None), ("/etc/passwd", 4, "E40", None),
            ("odd.csv", 4, "E402", lambda folder: os.mkfifo(folder / "odd.csv")),
            ("odd.csv", 4, "E402", bound_socket),
            ("odd.csv", 4, "E402", link("odd.csv", "odd.csv")),
            ("odd.csv", 4, "E402", link("odd.csv", "gone")), ("gone.csv", 4, "E401", None),
            ("g*ne*.csv", 4, "E401", None), (".", 2, "E227", None), ("**/*.csv", 2, "E227", None),
            ("x" * 5000 + ".csv", 4, "E401", None), ("a\\u0000.csv", 2, "E107", None),
            ("|cat data.csv", 4, "E401", None), ("", 2, "E107", None),
        )
        for prepare in [prepare or (lambda folder: None)]
    ),
    *(
        Trial(f"output at {place[:20]}", at(place, "out"), 2, complaint, prepare)
        for place, complaint, prepare in (
            ("/", "E227", None), (".", "E227", None), ("/dev/null", "E801", None),
            ("data.csv", "E227", None), ("spec.toml", "E227", None), ("/dev/full/x", "E801", None),
            ("/proc/x", "E801", None), ("a/" * 1900, "E801", None), ("x" * 300, "E801", None),
            ("a/" + "x" * 300 + "/o", "E801", None), ("o\\u0000", "E107", None),
            ("o", "E227", link("o", ".")), ("o", "E801", link("o", "/var")),
            ("o", "E801", link("o", "gone")),
            ("o", "E801", link("o", "o")), ("o", "E801", lambda folder: os.mkfifo(folder / "o")),
            ("out", "E805", linked_into("by_region.csv")),
            ("out", "E805", linked_into("datapackage.json")),
            ("out", "E805", linked_into("report.md")),
            ("out", "E805", lambda folder: os.makedirs(folder / "out" / "report.json")),
        )
        for prepare in [prepare or (lambda folder: None)]
    ),
    Trial("ledger at /dev/null", ledger("/dev/null"), 6, "E602"),
    Trial("ledger at a folder", ledger("."), 6, "E602"),
    Trial("ledger in no folder", ledger("gone/l"), 6, "E602"),
    Trial("ledger is the data", ledger("data.csv"), 2, "E227"),
    Trial("ledger is a link to the data", ledger("l"), 2, "E227", link("l", "data.csv")),
    Trial("ledger is a link to nothing", ledger("l"), 6, "E602", link("l", "gone")),
    Trial("ledger is a pipe", ledger("l"), 6, "E602", lambda folder: os.mkfifo(folder / "l")),
    Trial("ledger is empty", ledger("l"), 6, "E603", lambda folder: (folder / "l").touch()),
    Trial("ledger is no ledger", ledger("l"), 6, "E603",
          lambda folder: (folder / "l").write_bytes(b"SQLite format 3\0" + b"x" * 5000)),
    Trial("ledger in the output", ledger("out/l"), 2, "E227"),
]  # fmt: skip

HEAD = ",".join(HEADER).encode()
DATA = [
    Trial("empty file", SPEC, 4, "E403", data(b"")),
    Trial("no header", SPEC, 4, "E405", data(lines(RECORDS[1:], RECORDS[0]))),
    Trial("a column less", SPEC, 4, "E405", data(HEAD.replace(b"paid,", b"") + b"\n")),
    Trial("other case", SPEC, 4, "E405", data(HEAD.replace(b"paid", b"Paid") + b"\n")),
    Trial("a column twice", SPEC, 4, "E406", data(HEAD + b",paid\n")),
    Trial("an open quote in the header", SPEC, 4, "E404", data(b'"' + HEAD + b"\nzqxcanary")),
    Trial("a header that is not UTF-8", SPEC, 4, "E404", data(b"zqxcanary\xff," + HEAD)),
    Trial("an endless header", SPEC, 4, "E404", data(b"zqxcanary," * 200_000)),
    Trial("UTF-16", SPEC, 4, "E404", data(lines(RECORDS).decode().encode("utf-16"))),
    Trial("packed", SPEC, 4, "E404", data(b"\x1f\x8b\x08\0zqxcanary\xff\xff" * 99)),
    Trial("another delimiter", SPEC, 4, "E405", data(lines(RECORDS).replace(b",", b";"))),
    Trial("no Parquet", PARQUET, 4, "E409",
          lambda folder: (folder / "data.parquet").write_bytes(b"zqxcanary" * 99)),
    Trial("Parquet cut short", PARQUET, 4, "E409", damaged(lambda old: old[:-9])),
    Trial("Parquet without a footer", PARQUET, 4, "E409", damaged(lambda old: old[:200])),
    Trial("Parquet with a huge footer", PARQUET, 4, "E409",
          damaged(lambda old: old[:-8] + b"\xff\xff\xff\x7fPAR1")),
    Trial("Parquet without a column", PARQUET, 4, "E405", parquet(paid=None)),
    Trial("Parquet of bytes", PARQUET, 4, "E412", parquet(paid=pa.array([CANARY.encode()]))),
    Trial("Parquet of lists", PARQUET, 4, "E412", parquet(region=pa.array([[CANARY]]))),
    Trial("Parquet of structures", PARQUET, 4, "E412", parquet(town=pa.array([{"a": CANARY}]))),
    Trial("Parquet of numbers", PARQUET, 4, "E412", parquet(day=pa.array([86420975]))),
]  # fmt: skip

TRIALS = [*EXPRESSIONS, *NAMES, *SPECS, *TABLES, *PLACES, *DATA]
