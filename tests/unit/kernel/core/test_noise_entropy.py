from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import dprelease.kernel
from dprelease.kernel.core.entropy import EntropyError, SystemEntropy, read_bits, read_exactly

FORK = """
import os, sys
from fractions import Fraction
from dprelease.model import Noise, NoiseFamily
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.core.entropy import SystemEntropy
entropy = SystemEntropy()
noise = Noise(NoiseFamily.LAPLACE, Fraction(10**9))
sample(noise, 1000, entropy)
for _ in range(3):
    child = os.fork()
    if child == 0:
        drawn = [*sample(noise, 5, entropy), *sample(noise, 200, entropy)[:5]]
        os.write(1, (" ".join(str(each) for each in drawn) + "\\n").encode())
        os._exit(0)
    os.waitpid(child, 0)
drawn = [*sample(noise, 5, entropy), *sample(noise, 200, entropy)[:5]]
os.write(1, (" ".join(str(each) for each in drawn) + "\\n").encode())
"""


@pytest.mark.parametrize("size", [0, 1, 8, 257, 100_000])
def test_system_gives_what_is_asked(size: int) -> None:
    assert len(SystemEntropy().read(size)) == size


def test_system_bytes_are_fresh_and_look_uniform() -> None:
    entropy = SystemEntropy()
    assert entropy.read(32) != entropy.read(32)
    counts = Counter(entropy.read(1 << 18))
    squares = sum((counts[byte] - 1024) ** 2 / 1024 for byte in range(256))
    assert 100 < squares < 500  # chi-square with 255 degrees: beyond ten sigma on either side


@pytest.mark.parametrize("given", [b"", b"123", b"12345"])
def test_short_or_long_reads_are_refused(given: bytes) -> None:
    class Broken:
        def read(self, size: int) -> bytes:
            return given

    with pytest.raises(EntropyError, match="instead of 4"):
        read_exactly(Broken(), 4)


def test_bits_come_from_the_top_of_little_endian_bytes(scripted) -> None:
    assert read_bits(scripted(b"\x34\x12"), 12) == 0x123
    assert read_bits(scripted(b"\xff"), 1) == 1
    assert read_bits(scripted(b"\x7f"), 1) == 0


def test_forked_children_draw_different_noise() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    numbers = [number for line in lines for number in line.split()]
    assert len(numbers) == 40
    assert len(set(numbers)) == 40


def test_no_other_file_can_reach_randomness() -> None:
    folder = Path(dprelease.kernel.__file__ or "").parent
    banned = {"random", "secrets", "uuid", "time", "os"}
    for file in folder.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").split(".")[0])
            elif isinstance(node, ast.Attribute):
                assert node.attr != "random"
        expected = {"os"} if file.name == "entropy.py" else set()
        assert imported & banned == expected, file.name


def test_import_is_light() -> None:
    laws = "dprelease.kernel.distributions.laws"
    code = f"import sys, dprelease.kernel.core.entropy, {laws}; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
