"""The pictures in the documentation show what the tool writes now."""

import pytest
from report_picture import FIRST, PICTURES, digest, kept, page, with_digest, words


@pytest.mark.thorough
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_the_picture_says_what_the_tool_says_now(picture):
    html = page(picture)
    told = digest(html, picture)
    assert kept(picture.file.read_bytes()) == told, "run: python tests/docs/report_picture.py"
    found = words(html, picture)
    assert len(found) > 20
    assert digest(html.replace(picture.end, f"another word {picture.end}"), picture) != told


def test_the_first_picture_shows_the_guarantee_beside_figures_with_intervals():
    html = page(FIRST)
    found = words(html, FIRST)
    for word in ("guarantee", "epsilon", "north", "±"):
        assert word in found
    assert digest(html.replace("guarantee", "promise"), FIRST) != digest(html, FIRST)
    assert kept(with_digest(b"\x89PNG" + bytes(29), digest(html, FIRST))) == digest(html, FIRST)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_the_picture_is_a_png_of_modest_size(picture):
    drawn = picture.file.read_bytes()
    assert drawn[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(drawn[16:20]), int.from_bytes(drawn[20:24])) == picture.size
    assert len(drawn) < 300_000
