"""Nothing in the README points to what is not there."""

import re

import pytest
from readme_blocks import README, ROOT, blocks, readme

LANGUAGES = {"console", "toml", "python", "text", "yaml"}  # each is held by a test
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(text: str) -> list[str]:
    """Local links whose target is not there."""
    return [
        target
        for target in LINK.findall(text)
        if not target.startswith("https://")
        and not (target.startswith("#") and target[1:] in anchors(text))
        and not (not target.startswith("#") and (ROOT / target.split("#")[0]).exists())
    ]


def test_every_link_has_a_target():
    assert len(LINK.findall(readme())) > 20
    assert broken(readme()) == []


@pytest.mark.parametrize("text", ["[a](nowhere.md)", "# A\n[a](#b)", "![a](docs/none.svg)"])
def test_a_broken_link_is_seen(text):
    assert broken(text)


def test_every_path_in_code_marks_exists():
    text = re.sub(r"^```.*?^```$", "", readme(), flags=re.MULTILINE | re.DOTALL)
    paths = re.findall(
        r"`((?:dprelease|tests|benchmarks|release_specs|sample_data)/[^`\s]+)`", text
    )
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_block_is_of_a_language_that_is_tested():
    assert {block.language for block in blocks()} == LANGUAGES


def test_lines_are_short_enough_to_read():
    long = [
        number
        for number, line in enumerate(README.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 110 and not line.startswith("|") and "  hint: " not in line
    ]
    assert long == []
