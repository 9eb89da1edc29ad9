"""The output never overwrites, nor publishes, what the release reads."""

from __future__ import annotations

import pytest


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
    assert "holds the data" in found.message


def test_the_keys_file_is_kept_apart(simple, complaints, tmp_path):
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "keys.txt").write_text("north\n")
    text = simple.replace('keys = ["north", "south", "east"]', 'keys_file = "k/keys.txt"')
    (found,) = complaints(text.replace('path = "out/staff"', 'path = "k"'))
    assert 'the keys_file of "region"' in found.message
    (found,) = complaints(text.replace("_cap = 2.0", '_cap = 2.0\npath = "k/keys.txt"'))
    assert found.key == "ledger.path"
