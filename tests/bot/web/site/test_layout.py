"""What stands between backticks is code on a page, and nothing else in it is HTML."""

import pytest

from bot.web.site.layout import inline_code


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("r1 has the workflow `docs`.", "r1 has the workflow <code>docs</code>."),
        ("`a` and `b", "<code>a</code> and `b"),
        ("`<b>` & \u202e", "<code>&lt;b&gt;</code> &amp; "),
    ],
)
def test_words_between_backticks_are_code(text: str, html: str) -> None:
    assert str(inline_code(text)) == html
