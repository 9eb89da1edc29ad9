"""Files in a store that speaks S3: a server on this machine, and pyarrow's own client of it."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest
from msgspec.structs import replace
from oracle.engine import get
from tables import T, inputs, keyed, written

from dprelease import Failure
from dprelease.model import AggregateRequest, Bound, Measure, MeasureKind, Source
from dprelease.sources.shared.files import resolve

TYPES = {"p": T.INTEGER, "g": T.STRING}
ROWS = [(n * n % 23, "abc"[n % 3]) for n in range(200)]


class Bucket(BaseHTTPRequestHandler):
    """What reading wants of S3: the names in a folder, an object's size, and a range of it."""

    protocol_version = "HTTP/1.1"

    def __init__(self, objects: dict[str, bytes], *others: object) -> None:
        self.objects = objects
        super().__init__(*others)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        """The size of an object."""
        content = self.objects.get(unquote(urlsplit(self.path).path))
        self._answer(404 if content is None else 200, content or b"", with_content=False)

    def do_GET(self) -> None:
        """A range of an object, or the names below a prefix."""
        place = urlsplit(self.path)
        content = self.objects.get(unquote(place.path))
        if content is not None:
            start, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
            self._answer(206, content[int(start) : int(end) + 1])
            return
        asked = parse_qs(place.query)
        (prefix,) = asked.get("prefix", [""])
        whole = unquote(place.path).rstrip("/") + "/"
        sizes = {
            name.removeprefix(whole): len(content)
            for name, content in self.objects.items()
            if name.startswith(whole + prefix)
        }
        inside = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for name, size in sizes.items()
        )
        head = f"<KeyCount>{len(sizes)}</KeyCount><IsTruncated>false</IsTruncated>"
        listing = f"<ListBucketResult>{head}{inside}</ListBucketResult>"
        self._answer(200, f'<?xml version="1.0"?>{listing}'.encode())

    def _answer(self, code: int, content: bytes, with_content: bool = True) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", formatdate(0, usegmt=True))
        self.end_headers()
        if with_content:
            self.wfile.write(content)


Put = Callable[[str, Path], Source]


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Puts files into a folder of the bucket, and says where they are."""
    for name, value in (("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", "s")):
        monkeypatch.setenv(f"AWS_{name}", value)
    objects: dict[str, bytes] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Bucket, objects))
    options = f"?endpoint_override=http://127.0.0.1:{server.server_port}&region=us-east-1"

    def put_into(name: str, folder: Path) -> Source:
        for path in folder.iterdir():
            objects[f"/bucket/{name}/{path.name}"] = path.read_bytes()
        kind = "parquet" if "parquet" in name else "csv"
        return Source(f"s3://bucket/{name}{options}", kind)

    thread = Thread(target=server.serve_forever)
    thread.start()
    yield put_into
    server.shutdown()
    thread.join()
    server.server_close()


def packed(folder: Path) -> None:
    for path in list(folder.iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ["csv files", "parquet files", "packed files"])
def test_integers_are_those_of_the_same_files_here(put: Put, tmp_path: Path, form: str) -> None:
    here = written(tmp_path / "t", TYPES, ROWS, form.replace("packed", "csv"))
    if form == "packed files":
        packed(tmp_path / "t")
    (tmp_path / "t" / "part3.txt").write_text("no part of the table")
    for path in list((tmp_path / "t").glob("part1*")):
        path.rename(path.with_name(path.name.replace("part1", "part1 +%41")))
    there = put(form.replace(" ", "-"), tmp_path / "t")
    bound = Bound("p", 3, 2, 2, leading=1, salt=5)
    measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.UNITS))
    request = AggregateRequest(here, inputs(TYPES), (keyed("g", "ab"),), measures, bound=bound)
    expected = [list(column) for column in get("duckdb").aggregate(request).reveal()]
    place, options = there.pattern.split("?")
    for pattern in (there.pattern, f"{place}/part[0-2]*.{here.format}*?{options}"):
        source = replace(there, pattern=pattern)
        get("spark").inspect(source, request.inputs)
        found = get("spark").aggregate(replace(request, source=source)).reveal()
        assert [list(column) for column in found] == expected


@pytest.mark.parametrize(
    ("place", "code"),
    [("/none.csv", "E401"), ("/part*.parquet", "E401"), ("/*/part0.csv", "E402")],
)
def test_what_is_not_in_a_store(put: Put, tmp_path: Path, place: str, code: str) -> None:
    written(tmp_path / "t", TYPES, ROWS, "csv")
    there = put("table.csv", tmp_path / "t")
    folder, options = there.pattern.split("?")
    with pytest.raises(Failure) as failed:
        resolve(replace(there, pattern=f"{folder}{place}?{options}"))
    assert [complaint.code for complaint in failed.value.complaints] == [code]


@pytest.mark.thorough
def test_a_store_that_does_not_answer() -> None:
    options = "?endpoint_override=http://127.0.0.1:1&region=us-east-1"
    with pytest.raises(Failure) as failed:
        resolve(Source(f"s3://bucket/t.csv{options}", "csv"))
    assert [complaint.code for complaint in failed.value.complaints] == ["E402"]
