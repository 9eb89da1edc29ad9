"""Every release spec runs, with noise injected, and gives the tables that are kept here.

After a change that is meant to change them: DPRELEASE_UPDATE_GOLDEN=1 pytest tests/golden
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import frictionless
import pytest
import yaml
from hashed_bytes import HashedEntropy
from registry_schema import find_refusals
from shown_figures import check_shown

import dprelease
from dprelease.cli.guard import execute
from dprelease.ledger.identity import run_id
from dprelease.output.csv_table import write_csv
from dprelease.reports.rerender import rerender

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"
IDENTITIES = Path(__file__).parent / "identities.json"
SPECS = sorted(path.stem for path in (ROOT / "release_specs").glob("*.toml"))
RECORDS_KEPT = 12
MOST_OF_PAGE = {"clinic_visits": 120_000}
"""How many bytes a page may have: what is shown of the main example holds for all."""
CHECKED = {"every_statistic_people", "every_statistic_rows", "clinic_records"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("release_specs", "sample_data"):
        ignored = shutil.ignore_patterns("*.sqlite*")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    return tmp_path


def _short(number: str) -> float:
    return float(f"{float(number):.6g}")


def records_of(result: dprelease.Result) -> dict[str, bytes]:
    """Of a table of records its beginning, with the digest of all, and what it tells."""
    found = {}
    for part in result.report.get("perturb", ()):
        content = (Path(result.output) / part["file"]).read_bytes()
        assert part["sha256"] == hashlib.sha256(content).hexdigest()
        beginning = b"".join(content.splitlines(keepends=True)[:RECORDS_KEPT])
        found[f"{part['name']}.csv"] = beginning + f"... {part['sha256']}\n".encode()
        told = json.dumps(json.loads(json.dumps(part["estimates"]), parse_float=_short), indent=1)
        found[f"{part['name']}.json"] = f"{told}\n".encode()
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPECS)
def test_release_spec(name: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100000")  # no table is shown in parts
    spec = checkout / "release_specs" / f"{name}.toml"
    result = dprelease.run(spec, entropy=HashedEntropy(name))
    assert not result.already_released
    found = {f"{table.name}.csv": write_csv(table) for table in result.output_tables}
    found |= records_of(result)
    kept = EXPECTED / name
    if os.environ.get("DPRELEASE_UPDATE_GOLDEN"):
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for file, content in found.items():
            (kept / file).write_bytes(content)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == found

    again = dprelease.run(spec)
    assert again.already_released
    assert again.report == result.report
    output = Path(result.output)
    assert (output / "report.html").stat().st_size < MOST_OF_PAGE.get(name, 250_000)
    published = [path for path in output.rglob("*") if path.is_file()]
    assert {path.relative_to(output).as_posix() for path in published} == set(result.files)
    assert json.loads((output / "report.json").read_bytes()) == result.report
    assert check_shown(result.output_tables, output) > 0 or not result.output_tables
    assert find_refusals(yaml.safe_load(rerender(result.output, "registry"))) == []
    if name in CHECKED:  # private keys and records too
        checked = frictionless.validate(str(output / "datapackage.json"))
        assert checked.flatten(["taskNumber", "type", "message"]) == []
        assert len(checked.tasks) == len(result.files) - 1


def test_plans_and_run_identities_are_kept(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change of the code alone leaves every plan as it is, and every sealed run free.

    The digests are of what ``dprelease plan --json`` prints: compare that to see what differs.
    """
    monkeypatch.chdir(checkout)
    found = {}
    for name in SPECS:
        spec = f"release_specs/{name}.toml"
        assert execute(["plan", "--json", spec]) == 0
        printed = capsys.readouterr().out.replace(str(checkout), "")  # another in each run
        found[name] = {
            "plan": hashlib.sha256(printed.encode()).hexdigest(),
            "run": run_id(dprelease.load(spec)),
        }
    if os.environ.get("DPRELEASE_UPDATE_GOLDEN"):
        IDENTITIES.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(IDENTITIES.read_text())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SPECS)
def test_a_release_spec_can_be_rehearsed(name: str, tmp_path: Path) -> None:
    """Without its data, on few records and skewed ones."""
    spec = ROOT / "release_specs" / f"{name}.toml"
    result = dprelease.rehearse(spec, rows=150, distribution="skewed", output=tmp_path / "out")
    assert result.report["rehearsal"] is True
    assert result.tables


def test_there_are_no_golden_tables_without_a_spec() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(SPECS)
