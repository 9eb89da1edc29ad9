"""``dprelease check`` through its process."""

import json
from pathlib import Path

import pytest

SPECS = sorted((Path(__file__).parents[2] / "release_specs").glob("*.toml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_every_example_is_sound_and_without_warning(cli, path):
    answer = cli("check", "--strict", str(path))
    assert (answer.code, answer.err) == (0, "")


def test_there_are_examples():
    assert "clinic_visits.toml" in {path.name for path in SPECS}
    assert len(SPECS) >= 7


def test_json_text_is_readable_by_any_parser(cli):
    def refuse(name):
        pytest.fail(name)

    assert json.loads(cli("plan", "--json", "small.toml").out, parse_constant=refuse)
