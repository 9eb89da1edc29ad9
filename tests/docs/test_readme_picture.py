"""The picture in the README shows what the tool writes now."""

import pytest
from report_picture import PICTURE, SIZE, digest, kept, page, with_digest, words


@pytest.fixture(scope="module")
def html():
    return page()


def test_the_picture_says_what_the_tool_says_now(html):
    assert kept(PICTURE.read_bytes()) == digest(html), "run: python tests/docs/report_picture.py"


def test_other_words_would_be_noticed(html):
    assert digest(html.replace("guarantee", "promise")) != digest(html)
    assert kept(with_digest(b"\x89PNG" + bytes(29), digest(html))) == digest(html)


def test_the_picture_shows_the_guarantee_and_what_it_means(html):
    found = words(html)
    for word in ("guarantee", "epsilon", "protected", "belief", "100"):
        assert word in found


def test_the_picture_is_a_png_of_modest_size():
    picture = PICTURE.read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == SIZE
    assert len(picture) < 300_000
