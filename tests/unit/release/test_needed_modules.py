"""Nothing of ours is opened between the charge and the end: a disk that fails is found before."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import dprelease
from dprelease.errors import REPORT, ExitCode, Failure
from dprelease.ledger.single_draw import DrawAborted, NoiseDraw

ROOT = Path(__file__).resolve().parents[3]
SPECS = sorted(path.stem for path in (ROOT / "release_specs").glob("*.toml"))
OF_THE_SYSTEM = [ModuleNotFoundError("x"), ImportError("x"), OSError(errno.EIO, "x"), MemoryError()]
PROGRAM = """
import sys
import dprelease
from dprelease.language import load_catalogue
from dprelease.release import run

def charge(*given):
    global before, read
    before, read = set(sys.modules), load_catalogue.cache_info().misses
    return original(*given)

original, run._charge = run._charge, charge
dprelease.run(sys.argv[1], ledger=sys.argv[2], output=sys.argv[3])
print(*sorted(name for name in set(sys.modules) - before if name.startswith("dprelease")))
print("sentences" * (load_catalogue.cache_info().misses - read))
"""


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", SPECS)
def test_a_run_opens_no_module_and_no_sentences_after_its_charge(name: str, tmp_path: Path) -> None:
    spec = ROOT / "release_specs" / f"{name}.toml"
    places = [str(tmp_path / "ledger.sqlite"), str(tmp_path / "out")]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(spec), *places],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.split() == []


@pytest.mark.parametrize("problem", OF_THE_SYSTEM, ids=lambda problem: type(problem).__name__)
def test_a_module_that_can_not_be_opened_is_no_bug(
    problem: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr("dprelease.release.run.draw_once", fail)
    spec = ROOT / "release_specs" / "best_price.toml"
    with pytest.raises(Failure, match="E597") as caught:
        dprelease.run(spec, ledger=tmp_path / "ledger.sqlite", output=tmp_path / "out")
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert REPORT not in str(caught.value)
    draw = NoiseDraw(SimpleNamespace(read=os.urandom))
    draw.read(1)
    with pytest.raises(DrawAborted) as aborted, draw.guard():
        raise problem
    assert aborted.value.advice != REPORT
