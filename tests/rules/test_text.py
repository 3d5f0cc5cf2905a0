"""Outside text in one line: what people see of it, and nothing that acts on where it is shown."""

import pytest

from rules.text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" a\n\n\tb\u3000c\u2028d\x1ce ", "a b c d e"),
        ("a\x00\x1b\x7f\u200b\u202e\ufeff\ud800\ue000\u0378\U0010ffffb \u200d c", "ab c"),
        ("é漢🙂<b>`@al`", "é漢🙂<b>`@al`"),
        ("\u200b \u202e", ""),
        ("twelve chars", "twelve chars"),
        ("thirteen char", "thirteen ch…"),
        ("a " + " " * 100 + "b", "a…"),  # it was cut first
    ],
)
def test_a_line_has_what_people_see_and_no_more_than_fits(text: str, shown: str) -> None:
    assert plain(text, 12) == shown
