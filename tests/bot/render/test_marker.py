"""Cardinal knows its own comments again by their last line."""

from hypothesis import given
from hypothesis import strategies as st

from bot.render.markdown.marker import mark, marker_of, text_digest
from ledger.ids import EntryKey


@given(
    st.text(min_size=1, max_size=60, alphabet=st.characters(exclude_categories=["Cs"])), st.text(max_size=80)
)
def test_any_key_comes_back_with_the_digest_of_the_text(key: str, text: str) -> None:
    found = marker_of(mark(text, EntryKey(key)))
    assert found is not None
    assert found.key == key
    assert found.digest == text_digest(text)


def test_the_marker_does_not_show_and_cannot_be_broken_by_its_key() -> None:
    body = mark("hello", EntryKey("say:c:--> <b>x</b>"))
    assert body.count("-->") == 1
    assert body.endswith(" -->")


def test_a_marker_that_somebody_quotes_is_not_ours() -> None:
    body = mark("hello", EntryKey("run:r1"))
    assert marker_of(f"{body}\nand a reply") is None
    assert marker_of("> " + body.splitlines()[-1]) is None
    assert marker_of("") is None
