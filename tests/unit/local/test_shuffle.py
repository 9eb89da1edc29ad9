"""Rows in a random order: all there, each whole, every order as likely as any other."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dprelease.local.store.shuffle import Shuffler


class Stream:
    """Bytes by counter, the same in every run."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def read(self, size: int) -> bytes:
        self.count += 1
        return hashlib.shake_256(f"{self.name}:{self.count}".encode()).digest(size)


def columns(rows: int, start: int = 0) -> tuple[np.ndarray, ...]:
    numbers = np.arange(start, start + rows, dtype=np.int64)
    sets = np.stack([numbers % 7, numbers % 11], axis=1).astype(np.uint16)
    return numbers, sets, (numbers % 5).astype(np.int16)


@pytest.mark.parametrize("room", [1, 1000, 10**9])
def test_every_row_comes_out_once_and_whole(tmp_path: Path, room: int) -> None:
    shuffler = Shuffler(Stream("rows"), str(tmp_path), room)
    for start in range(0, 3000, 300):
        shuffler.add(columns(300, start))
    shuffler.add(columns(0))
    batches = list(shuffler.drain())
    numbers, sets, small = (np.concatenate(each) for each in zip(*batches, strict=True))
    assert sorted(numbers.tolist()) == list(range(3000))
    assert numbers.tolist() != list(range(3000))
    expected = columns(3000)
    assert (sets == expected[1][numbers]).all()
    assert (small == expected[2][numbers]).all()
    assert [each.dtype for each in batches[0]] == [each.dtype for each in expected]
    assert list(tmp_path.iterdir()) == []  # the file that it waited in has no name


def test_many_rows_come_heap_by_heap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dprelease.local.store.shuffle.FEW", 100)
    shuffler = Shuffler(Stream("heaps"), str(tmp_path))
    for start in range(0, 3000, 300):
        shuffler.add(columns(300, start))
    batches = [batch[0] for batch in shuffler.drain()]
    assert len(batches) > 200
    numbers = np.concatenate(batches)
    assert sorted(numbers.tolist()) == list(range(3000))
    assert not (np.diff(numbers) > 0).all()


def test_nothing_comes_of_nothing(tmp_path: Path) -> None:
    assert list(Shuffler(Stream("none"), str(tmp_path)).drain()) == []


def test_batches_of_other_types_are_refused(tmp_path: Path) -> None:
    shuffler = Shuffler(Stream("types"), str(tmp_path))
    shuffler.add(columns(3))
    with pytest.raises(ValueError, match="same types"):
        shuffler.add((np.zeros(2), *columns(2)[1:]))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("room", "few", "draws"), [(1, 9, 90), (10**9, 9, 3000), (10**9, 1, 120)])
def test_all_orders_are_alike(
    tmp_path: Path, room: int, few: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 rows have 6 orders: chi-square with 5 degrees of freedom, false alarm below 1e-6."""
    monkeypatch.setattr("dprelease.local.store.shuffle.FEW", few)
    seen: Counter[tuple[int, ...]] = Counter()
    for draw in range(draws):
        shuffler = Shuffler(Stream(f"{room}:{few}:{draw}"), str(tmp_path), room)
        for row in range(3):
            shuffler.add((np.array([row]),))
        seen[tuple(int(row) for batch in shuffler.drain() for row in batch[0])] += 1
    assert set(seen) == set(itertools.permutations(range(3)))
    even = draws / 6
    assert sum((each - even) ** 2 / even for each in seen.values()) < 38


def test_equal_sort_keys_are_drawn_again(tmp_path: Path) -> None:
    class Twice:
        def __init__(self) -> None:
            self.reads = 0

        def read(self, size: int) -> bytes:
            self.reads += 1
            if self.reads == 1:
                return bytes(size)
            return np.array([2, 1], dtype=np.uint64).tobytes()

    source = Twice()
    shuffler = Shuffler(source, str(tmp_path))
    shuffler.add((np.array([10, 20]),))
    ((order,),) = shuffler.drain()
    assert order.tolist() == [20, 10]
    assert source.reads == 2


class Short(Stream):
    """Gives less than it is asked for."""

    def read(self, size: int) -> bytes:
        return super().read(size)[:-8]


@pytest.mark.parametrize("room", [1, 10**9])
def test_a_short_read_loses_no_row(tmp_path: Path, room: int) -> None:
    def shuffled() -> None:
        shuffler = Shuffler(Short("short"), str(tmp_path), room)
        shuffler.add(columns(300))
        list(shuffler.drain())

    with pytest.raises(ValueError, match="buffer"):
        shuffled()
