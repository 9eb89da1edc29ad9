"""The picture in the README is what the tool writes now, and needs nothing from elsewhere."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from report_picture import PICTURE, draw

FRAME = re.compile(r"[\u2500-\u257f\u2022•]")


def words(picture: str) -> list[str]:
    """All words of a picture, sorted: versions of the renderer lay them out differently."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL)
    return sorted(FRAME.sub(" ", unescape(" ".join(texts))).split())


@pytest.fixture(scope="module")
def committed() -> str:
    return PICTURE.read_text(encoding="utf-8")


def test_the_picture_says_what_the_tool_says_now(committed):
    assert words(committed) == words(draw()), "run: python tests/docs/report_picture.py"


def test_the_picture_shows_report_and_table(committed):
    found = words(committed)
    for word in ("guarantee", "mean_waiting_days_noise_moe", "islands", "epsilon"):
        assert word in found


def test_the_picture_is_whole_and_fetches_nothing(committed):
    ElementTree.fromstring(committed)
    assert re.findall(r"https?://[^\s\"']+", committed) == ["http://www.w3.org/2000/svg"]
    assert "@import" not in committed
    assert len(committed) < 200_000
