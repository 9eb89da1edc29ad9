"""What the Spark engine refuses, without a Spark: before anything is charged or begun."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from visits import list_charges, write_visits

import dprelease
from dprelease import ExitCode, Failure
from dprelease.engines.spark.spark_session import ENCRYPTION, PLAIN_SHUFFLE, check_settings
from dprelease.planning.planner import make_plan
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.specfile import load

PERTURB = """\
[[perturb]]
name = "people"
columns = ["region"]
epsilon = 1
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a spec, and the data if nothing else is said."""

    def written(path: str = "visits.csv", change: Callable[[str], str] = str) -> Path:
        spec = write_visits(tmp_path, ["north", "south"])
        spec.write_text(change(spec.read_text().replace("visits.csv", path)))
        return spec

    return written


def refused(spec: Path, **named: object) -> tuple[ExitCode, list[str]]:
    """Why the spec is not released; nothing was charged or written."""
    with pytest.raises(Failure) as failed:
        dprelease.run(spec, **named)  # type: ignore[arg-type]
    assert not (spec.parent / "out").exists()
    assert list_charges(spec) == 0
    return failed.value.exit_code, [complaint.code for complaint in failed.value.complaints]


def test_no_spark(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert refused(write()) == (ExitCode.DATA, ["E414"])


def test_a_package_that_spark_connect_needs_is_missing(write: Callable[..., Path]) -> None:
    class Session:
        def addTag(self, _name: str) -> None:
            raise ImportError

    assert refused(write(), spark=Session()) == (ExitCode.DATA, ["E414"])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("file:///tmp/visits.csv", ["E228"]),
        ("local:///tmp/visits.csv", ["E228"]),
        ("s3://key:secret@bucket/visits.csv", ["E228"]),
        ("abfs://a.blob.core.windows.net/c/visits.csv?client_secret=s", ["E228"]),
        ("abfs://a.blob.core.windows.net/c/visits.csv?sv=2022&sig=s", ["E228"]),
        ("s3://bucket/visits.csv?region=eu&Secret%5Fkey=s", ["E228"]),
        ("s3://bucket/visits.csv?endpoint_override=http://user:secret@store", ["E228"]),
        ("abfs://a.blob.core.windows.net/c/visits.csv?account_key", ["E228"]),
        ("abacus://bucket/visits.csv", ["E402"]),
        ("https://127.0.0.1:9/visits.csv", ["E402"]),
        ("absent.csv", ["E401"]),
    ],
)
def test_places_that_are_not_read(write: Callable[..., Path], path: str, code: list[str]) -> None:
    exit_code = ExitCode.SPEC if code == ["E228"] else ExitCode.DATA
    assert refused(write(path), spark=object()) == (exit_code, code)


def test_a_table_of_records_is_not_made_on_a_cluster(write: Callable[..., Path]) -> None:
    def change(text: str) -> str:
        start, end = text.index("[[query]]"), text.index("[output]")
        return text[:start].replace("add-remove", "replace-one") + PERTURB + text[end:]

    exit_code, codes = refused(write(change=change))
    assert (exit_code, codes) == (ExitCode.SPEC, ["E111"])


def test_a_session_is_for_spark_only(write: Callable[..., Path]) -> None:
    spec = write(change=lambda text: text.replace('engine = "spark"\n', ""))
    assert refused(spec, spark=object()) == (ExitCode.SPEC, ["E418"])


def test_one_header_of_a_thousand_differs(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(1000):
        header = "Region" if number == 617 else "region"
        (tmp_path / "many" / f"{number}.csv").write_text(f"{header}\nnorth\n")
    assert refused(write("many/*.csv"), spark=object()) == (ExitCode.DATA, ["E407"])


def test_parquet_files_of_different_types(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number, kind in enumerate((pa.string(), pa.string(), pa.int32())):
        column = pa.array([1, 2]).cast(kind)
        pq.write_table(pa.table({"region": column}), tmp_path / "many" / f"{number}.parquet")
    exit_code, (code,) = refused(write("many/*.parquet"), spark=object())
    assert exit_code is ExitCode.DATA
    assert code in ("E407", "E408", "E412")


@pytest.mark.parametrize(
    "settings",
    [
        {ENCRYPTION: "false"},
        {ENCRYPTION: ""},
        {"spark.log.level": "DEBUG"},
        {"spark.executor.extraJavaOptions": "-Xss4m -XX:+HeapDumpOnOutOfMemoryError"},
    ],
)
def test_settings_that_write_values_down(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PLAIN_SHUFFLE, raising=False)
    all_settings = {ENCRYPTION: "true"} | settings
    with pytest.raises(Failure) as failed:
        check_settings(lambda key: all_settings.get(key, ""))
    assert [complaint.code for complaint in failed.value.complaints] == ["E417"]


def test_plain_shuffles_are_allowed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAIN_SHUFFLE, "1")
    check_settings(lambda _key: "")


def test_a_report_names_a_file_without_the_options_of_its_uri(write: Callable[..., Path]) -> None:
    uri = "s3://bucket/folder/visits.csv.gz?endpoint_override=http://store:9000/v1"
    assert collect_plan_facts(make_plan(load(write(uri)))).data.path == "visits.csv.gz"
