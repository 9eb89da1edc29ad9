"""A token in every cell of the data is found nowhere else, whatever becomes of a run."""

from __future__ import annotations

import contextlib
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canary import CELLS, FILES, NUMBER, ROW, TEXT, find_in
from oracle.engine import get
from small import GOOD, HEADER, RECORDS, SPEC, Answer, command, iter_files_below, lines

from dprelease.release.progress import Stages

# What is refused before anything is charged: exit code 4 and no ledger entry.
WRONG: dict[str, bytes] = {
    "no header": ROW + b"\n" + ROW + b"\n",
    "header twice": lines([CELLS], [*HEADER[:-1], HEADER[0]]),
    "header cut short": b'who,"region\n' + ROW,
    "header in UTF-16": ",".join([*CELLS, *HEADER]).encode("utf-16"),
    "header of NULs": b"\0" * 100 + ROW,
    "an endless header": ROW * 20_000,
    "empty": b"",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec; TMPDIR, HOME and the working directory are beside it, and empty."""
    for name in ("work", "tmp", "home", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "work" / "spec.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def find_on_disk(folder: Path) -> list[str]:
    """Files that hold a token, packed ones unpacked; the data themselves don't count."""
    found = []
    for path in iter_files_below(folder):
        with contextlib.suppress(OSError):
            if path.name.startswith("data."):
                continue
            content = path.read_bytes()
            if path.suffix == ".parquet" and content:
                content += str(pq.read_table(io.BytesIO(content)).to_pydict()).encode()
            if path.suffix == ".sqlite":
                start = content.find(b"\x78\x01")  # where a packed payload begins
                while start >= 0:
                    with contextlib.suppress(zlib.error):
                        content += zlib.decompressobj().decompress(content[start:])
                    start = content.find(b"\x78\x01", start + 1)
                    if len(content) > 5_000_000:
                        break
            found += [f"{path.name}: {token}" for token in find_in(content)]
    return found


@pytest.fixture
def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of runs; at each of them nothing on the disk may hold a token."""
    steps: list[str] = []

    begin = Stages.begin

    def look(stages: Stages, step: str) -> None:
        steps.append(step)
        assert find_on_disk(folder) == [], step
        begin(stages, step)

    monkeypatch.setattr(Stages, "begin", look)
    return steps


def clean(answer: Answer, folder: Path) -> None:
    """Nothing of the data was said or written, and nothing written beside spec and output."""
    said = answer.out + answer.err
    assert find_in(said.encode()) == []
    assert "Traceback" not in said
    assert find_on_disk(folder) == []
    assert [each for name in ("tmp", "home", "here") for each in (folder / name).iterdir()] == []


def release(capfd: Any, folder: Path, *options: str) -> Answer:
    answer = command(capfd, "run", *options, str(folder / "work" / "spec.toml"))
    clean(answer, folder)
    return answer


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FILES)
def test_whatever_the_records_hold(
    name: str, folder: Path, watched: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "work" / "data.csv").write_bytes(FILES[name])
    options = ["--json"] if len(name) % 2 else []
    assert release(capfd, folder, *options).code == 0
    assert watched[-1] == "write"
    assert len(list((folder / "work" / "out").iterdir())) == 8


@pytest.mark.one_in(4)
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", FILES)
def test_whatever_records_are_perturbed(
    name: str, form: str, folder: Path, watched: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    content = FILES[name]
    ended = content if content.endswith(b"\n") else content + b"\n"  # as replace-one asks
    (folder / "work" / "data.csv").write_bytes(ended)
    spec = f'{RECORDS}format = "{form}"\n'
    (folder / "work" / "spec.toml").write_text(spec, encoding="utf-8")
    assert release(capfd, folder).code == 0
    assert watched[-1] == "write"
    table = folder / "work" / "out" / f"people.{form}"
    assert len(list(table.parent.iterdir())) == 6
    answer = command(capfd, "estimate", str(table))
    assert answer.code == 0
    clean(answer, folder)
    (kept,) = (folder / "work" / "dprelease-ledger.sqlite.records").iterdir()
    assert kept.read_bytes() == table.read_bytes()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WRONG)
def test_whatever_the_file_is(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "work" / "data.csv").write_bytes(WRONG[name])
    answer = release(capfd, folder)
    assert answer.code == 4
    assert "spec.toml:5:8  E40" in answer.err
    assert "hint: " in answer.err
    assert "epsilon 0 spent" in command(capfd, "plan", str(folder / "work" / "spec.toml")).out


def parquet(folder: Path, **columns: pa.Array) -> Path:
    """The records as Parquet, some of the columns given."""
    arrays = {
        name: columns.get(name, pa.array([good, bad], pa.string()))
        for name, good, bad in zip(HEADER, GOOD, CELLS, strict=True)
    }
    for name, kind in (("paid", pa.float64()), ("age", pa.int64())):
        if name not in columns:
            arrays[name] = arrays[name].cast(kind)
    days = {"day": pa.date32(), "born": pa.timestamp("us")}
    arrays |= {name: arrays[name].cast(kind) for name, kind in days.items() if name not in columns}
    if "ok" not in columns:
        arrays["ok"] = pa.array([True, None])
    path = folder / "work" / "data.parquet"
    pq.write_table(pa.table(arrays), path)
    spec = SPEC.replace("data.csv", "data.parquet")
    if len(columns) % 2 == 0:
        spec += 'format = "parquet"\n'
    (folder / "work" / "spec.toml").write_text(spec, encoding="utf-8")
    return path


def raw(*values: bytes) -> pa.Array:
    """Texts that need not be UTF-8."""
    made = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(made), made.buffers())


def test_parquet(folder: Path, watched: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    parquet(folder)
    assert release(capfd, folder).code == 0
    table = next((folder / "work" / "out").glob("by_region.parquet"))
    footer = pq.read_metadata(table)
    assert set(pq.read_schema(table).metadata or {}) <= {b"name", b"title", b"table_schema"}
    group = footer.row_group(0)
    published = pq.read_table(table).to_pydict()
    for number in range(footer.num_columns):
        column = group.column(number)
        values = [each for each in published[column.path_in_schema] if each is not None]
        encodings = set(column.encodings)
        assert not encodings & {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
        if column.statistics is not None and column.statistics.has_min_max:
            assert column.statistics.min == min(values)
            assert column.statistics.max == max(values)
        assert column.num_values == len(published["region"]) == 3


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("column", "values", "code"),
    [
        ("town", raw(b"ayr", TEXT.encode() + b"\xff"), 0),
        ("paid", pa.array([float("nan"), float(NUMBER)]), 0),
        ("town", pa.array(["ayr", TEXT]).dictionary_encode(), 0),
        ("paid", pa.array(["1", TEXT]), 0),
        ("day", pa.array([1, int(NUMBER)]), 4),
        ("region", pa.array([[TEXT], [TEXT]]), 4),
    ],
)
def test_odd_parquet(
    column: str, values: pa.Array, code: int, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parquet(folder, **{column: values})
    assert release(capfd, folder).code == code


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kept", [4, 200, -4, -9, -300])
def test_parquet_cut_short(kept: int, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = parquet(folder)
    path.write_bytes(path.read_bytes()[:kept])
    assert release(capfd, folder).code == 4
    path.write_bytes(b"PAR1" + TEXT.encode() * 50 + b"PAR1")
    assert release(capfd, folder).code == 4


def test_parquet_with_damaged_pages(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = parquet(folder)
    content = bytearray(path.read_bytes())
    for at in range(4, 400, 3):
        content[at] ^= 0x5A
    path.write_bytes(bytes(content))
    assert release(capfd, folder).code in (0, 5)


# --- packed CSV ----------------------------------------------------------------------------------

PACKED = {"gz": gzip.compress, "zst": lambda content: bytes(pa.Codec("zstd").compress(content))}


def pack(folder: Path, how: str, change: Callable[[bytes], bytes], repeated: int = 1) -> None:
    """The records packed in two members, of which the second is changed."""
    name = f"data.csv.{how}"
    spec = SPEC.replace("data.csv", name)
    (folder / "work" / "spec.toml").write_text(spec, encoding="utf-8")
    first, rest = PACKED[how](lines([CELLS, GOOD])), PACKED[how](ROW * repeated)
    (folder / "work" / name).write_bytes(first + change(rest))


@pytest.mark.parametrize("how", PACKED)
def test_packed_records(
    how: str, folder: Path, watched: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    pack(folder, how, bytes, 5)
    assert release(capfd, folder).code == 0
    assert watched[-1] == "write"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:-20] + bytes(each ^ 0x5A for each in content[-20:]),
        lambda content: content + ROW,
    ],
)
def test_packed_records_cut_short_or_damaged(
    how: str,
    change: Callable[[bytes], bytes],
    folder: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    spec = str(folder / "work" / "spec.toml")
    pack(folder, how, change)
    answer = release(capfd, folder)
    assert (answer.code, "E402" in answer.err) == (4, True)  # all of it is begun with
    assert "epsilon 0 spent" in command(capfd, "plan", spec).out
    pack(folder, how, change, 100_000)
    answer = release(capfd, folder)
    assert (answer.code, "E501" in answer.err) == (5, True)
    assert not (folder / "work" / "out").exists()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", PACKED)
def test_packed_records_that_are_whole_again(
    how: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = str(folder / "work" / "spec.toml")
    pack(folder, how, lambda content: content[:-1], 100_000)
    assert release(capfd, folder).code == 5
    charged = command(capfd, "plan", spec).out
    pack(folder, how, bytes, 100_000)
    assert release(capfd, folder).code == 0  # the retry is free
    assert "epsilon 0 spent" not in charged
    assert [line for line in charged.splitlines() if "spent" in line] == [
        line for line in command(capfd, "plan", spec).out.splitlines() if "spent" in line
    ]


# --- something fails, and says what it was about -------------------------------------------------


class Unheard(BaseException):
    """What no `except Exception` sees, as the panics of other languages are."""


def odd_text() -> Exception:
    kind = type("Odd", (Exception,), {"__str__": lambda self: TEXT, "__repr__": lambda self: TEXT})
    return kind(TEXT)  # type: ignore[no-any-return]


# Where something fails: structure, engine, noise, seal, report, files, last words.
STEPS = [
    *(f"release.run.{step}" for step in ("inspect", "read_aggregates", "privatize", "to_bytes")),
    "release.run.assemble",
    "release.run.publish",
    "cli.run_command._tell",
]
ERRORS: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError(TEXT),
    "OSError": lambda: OSError(5, TEXT, TEXT),
    "MemoryError": lambda: MemoryError(TEXT),
    "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", TEXT.encode(), 0, 1, TEXT),
    "InvalidInputException": lambda: duckdb.InvalidInputException(TEXT),
    "ArrowInvalid": lambda: pa.ArrowInvalid(TEXT),
    "ExceptionGroup": lambda: ExceptionGroup(TEXT, [ValueError(TEXT)]),
    "Odd": odd_text,
    "SystemExit": lambda: SystemExit(TEXT),
    "Unheard": lambda: Unheard(TEXT),
}


def raising(error: BaseException) -> Callable[..., Any]:
    def broken(*_: object, **__: object) -> Any:
        """Raise from within a handler and with a note, so that there is a chain to be shown."""
        hidden = NUMBER
        try:
            raise KeyError(hidden)
        except KeyError as cause:
            error.add_note(hidden)
            raise error from cause

    return broken


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", STEPS)
def test_whatever_fails_is_named_by_its_class(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "work" / "data.csv").write_bytes(FILES["good"])
    monkeypatch.setattr(
        "dprelease.release.run.get", lambda _engine: get("reference")
    )  # it is quick
    for kind, make in ERRORS.items():
        for old in folder.glob("work/*.sqlite*"):
            old.unlink()
        shutil.rmtree(folder / "work" / "out", ignore_errors=True)
        with monkeypatch.context() as patch:
            patch.setattr(f"dprelease.{name}", raising(make()))
            answer = release(capfd, folder)
        assert answer.code in {5, 70}, kind
        assert kind in answer.err
        assert len(answer.err.splitlines()) <= 4
    assert release(capfd, folder).code == 0


def test_the_python_call_shows_nothing_either(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback of what `dprelease.run` raises holds no value, with all its causes."""
    import traceback

    import dprelease

    (folder / "work" / "data.csv").write_bytes(FILES["good"])
    monkeypatch.setattr("dprelease.release.run.read_aggregates", raising(ValueError(TEXT)))
    with pytest.raises(dprelease.Failure) as caught:
        dprelease.run(folder / "work" / "spec.toml")
    shown = "".join(traceback.format_exception(caught.value))
    assert find_in(shown.encode()) == []
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_search_finds_tokens(folder: Path) -> None:
    """Also packed ones: what finds nothing elsewhere is shown to work."""
    work = folder / "work"
    (work / "a.json").write_text(f'"{TEXT}"')
    pq.write_table(pa.table({"x": [TEXT] * 100}), work / "b.parquet", compression="zstd")
    (work / "c.sqlite").write_bytes(b"head" + zlib.compress(f"{NUMBER}".encode() * 9, 1))
    assert len(find_on_disk(folder)) == 3


@pytest.fixture(autouse=True)
def _streams() -> Iterator[None]:
    """What runs change of the standard streams is undone."""
    kept = [(stream, stream.errors) for stream in (sys.stdout, sys.stderr)]
    yield
    for stream, errors in kept:
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors=errors)
