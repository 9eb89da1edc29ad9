"""The output never overwrites, nor publishes, what the release reads."""

from __future__ import annotations

import os

import pytest

from dprelease.specfile.complaints.spec_paths import relocate


@pytest.mark.parametrize(
    ("data", "output", "fine"),
    [
        ("in/staff.csv", "out", True),
        ("in/staff.csv", "in", False),
        ("in/staff.csv", "in/out", True),
        ("in/deep/staff.csv", "in", False),
        ("in/staff.csv", "in/staff.csv", False),
        ("in/staff.csv", "out/../in/staff.csv", False),
        ("in/*.csv", "in", False),
        ("in/*.csv", "in/out", True),
        ("in/**/*.csv", "in/out", False),
        ("in", "in", False),
        ("in", "in/out", False),
        ("in", "inside", True),
    ],
)
def test_output_and_data(simple, load_text, complaints, data, output, fine):
    text = simple.replace('path = "staff.csv"', f'path = "{data}"\nformat = "csv"')
    text = text.replace('path = "out/staff"', f'path = "{output}"')
    if fine:
        assert load_text(text).output.path.endswith(output)
    else:
        (found,) = complaints(text)
        assert (found.code, found.key) == ("E227", "output.path")


def test_links_are_followed(simple, complaints, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "in")
    text = simple.replace('path = "staff.csv"', 'path = "in/staff.csv"')
    (found,) = complaints(text.replace('path = "out/staff"', 'path = "out"'))
    assert "contains the data" in found.message


def test_another_ledger_has_its_own_witness(simple, load_text):
    release = load_text(simple.replace("_cap = 2.0", '_cap = 2.0\nwitness = "far/w"'))
    assert release.ledger.witness.endswith("far/w")
    assert relocate(release, "other.sqlite", None).ledger.witness is None
    assert relocate(release, None, "other").ledger.witness == release.ledger.witness
    assert relocate(release, release.ledger.path, None) == release


def test_another_place_is_written_as_the_spec_would_write_it(simple, load_text, monkeypatch):
    release = load_text(simple)
    folder = os.path.dirname(os.path.abspath(release.file))
    assert (release.ledger.written_path, release.ledger.written_witness) == (
        "dprelease-ledger.sqlite",
        None,
    )
    os.mkdir(os.path.join(folder, "in"))
    monkeypatch.chdir(os.path.join(folder, "in"))
    moved = relocate(release, "l.sqlite", "../far//out")
    assert (moved.ledger.path, moved.ledger.written_path) == (
        f"{folder}/in/l.sqlite",
        "in/l.sqlite",
    )
    assert (moved.output.path, moved.output.written_path) == (f"{folder}/far/out", "far/out")
    rooted = relocate(release, None, f"{folder}/far/out")
    assert rooted.output.written_path == f"{folder}/far/out"
