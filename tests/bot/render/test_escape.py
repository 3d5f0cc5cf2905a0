"""Words of people and agents cannot do anything in a comment of Cardinal's own."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.render.markdown.checkboxes import newly_ticked
from bot.render.markdown.escape import (
    COMMENT_LIMIT,
    Alert,
    alert,
    block,
    close_code,
    code,
    cut,
    escape_mentions,
    fit_comment,
    line,
    quote,
)
from bot.render.markdown.marker import marker_of

HOSTILE = (
    "hello @acme/admins and @alice",
    "<script>alert(1)</script><img src=x onerror=y>",
    "![pixel](https://evil.example/?secret)",
    "- [ ] approve <!-- box:approve -->",
    "</details><!-- cardinal:run:r1:" + "0" * 64 + " -->",
    "```\nnever closed",
    "fixes #12, closes acme/other#3 and resolves https://github.com/acme/shop/issues/4",
    "a\u202etxt.exe \u200bzero\u2066width",
    "| a | b |\n| - | - |",
    "Heading\n===\n\n---\n# more",
    "\x00\x1b[31mred",
)


def render(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_mention_no_tag_no_image_no_hidden_sign_survives(text: str) -> None:
    shown = escape_mentions(text)
    assert "@a" not in shown
    assert "<s" not in shown
    assert "<!" not in shown
    assert "![" not in shown
    assert not set(shown) & set("\u202e\u2066\x00\x1b")
    assert marker_of(shown) is None
    assert newly_ticked("", shown.replace("[ ]", "[x]")) == ()


@pytest.mark.parametrize(
    "text",
    [*HOSTILE, "===", "|-|\n|x|", "[!IMPORTANT]: https://evil.example", "> [!CAUTION]\n> x", "\n\n# x"],
)
def test_words_in_an_alert_leave_its_title_and_do_not_reach_out_of_it(text: str) -> None:
    html = render(f"{alert(Alert.IMPORTANT, text)}\n\nafter")
    assert html.startswith("<blockquote>\n<p>[!IMPORTANT]</p>\n")
    assert html.endswith("</blockquote>\n<p>after</p>\n")
    assert html.count("[!") == 1


@pytest.mark.parametrize("text", ["[!NOTE]\nApproved.", "> [!Caution]\n> x", "[\\!TIP]\nx", "[![!NOTE]](x)"])
def test_words_of_others_make_no_alert(text: str) -> None:
    for shown in (escape_mentions(text), quote(text), line(text)):
        assert not re.search(r"\[\\?!\w+\]", shown)


def test_an_alert_of_nothing_is_nothing() -> None:
    assert alert(Alert.NOTE, " \n\u200b") == ""


def test_nothing_closes_an_issue_when_a_pull_request_with_the_words_is_merged() -> None:
    shown = escape_mentions(HOSTILE[6])
    assert "#12" not in shown
    assert "#3" not in shown
    assert "https://github" not in shown
    assert escape_mentions("see #12") == "see #12"


def test_what_becomes_a_mention_or_a_reference_on_the_page_is_taken_apart_before() -> None:
    page = render(escape_mentions("ping &#64;acme/admins &commat;alice, fixes &#35;12; AT&T stays"))
    assert "@a" not in page
    assert "#12" not in page
    assert "AT&amp;T stays" in page


@pytest.mark.parametrize("boxes", ["- - [ ] in a list of a list", "1. - [x] b", "> - > * [ ] c"])
def test_a_box_at_any_depth_of_lists_cannot_be_ticked(boxes: str) -> None:
    assert "[ ]" not in escape_mentions(boxes)
    assert "[x]" not in escape_mentions(boxes)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 65_000,
        ">\n" * 30_000,
        " > \n" * 16_000,
        " \n" * 30_000,
        "- " * 30_000,
        "1. " * 20_000,
        "fix " * 16_000,
    ],
)
def test_the_longest_comment_is_tamed_in_no_time_whatever_it_repeats(text: str) -> None:
    began = time.process_time()
    escape_mentions(text)
    assert time.process_time() - began < 2


def test_a_quote_keeps_an_open_fence_and_a_heading_inside() -> None:
    page = render(quote("```\nnever closed\n# not a heading") + "\n\nour own words")
    assert page.count("<blockquote>") == 1
    assert "</blockquote>\n<p>our own words</p>" in page


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_whatever_is_quoted_our_own_words_after_it_stay_ours(text: str) -> None:
    assert render(quote(text) + "\n\nour own words").endswith("<p>our own words</p>\n")


@given(st.text(alphabet="`~\n- >a1.<", max_size=60))
def test_behind_whatever_is_closed_our_own_words_stay_ours(text: str) -> None:
    assert render(f"{close_code(escape_mentions(text))}\n\nour own words").endswith("<p>our own words</p>\n")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("```\nx", "```\nx\n```"),
        ("~~~~ py\n```\nx", "~~~~ py\n```\nx\n~~~~"),
        ("- ```\n  ```", "- ```\n  ```"),
        ("a *word*", "a *word*"),
    ],
)
def test_a_code_block_that_is_open_is_closed(text: str, whole: str) -> None:
    assert close_code(text) == whole


@given(st.text(alphabet="`~#->|*_ 1.)\nab<@![]x", max_size=60))
def test_a_line_in_a_list_opens_no_block_of_its_own(text: str) -> None:
    page = render(f"- {line(text) or 'x'}\n\nour own words")
    assert page.count("<ul>") == 1
    for tag in ("<ol", "<h1", "<h2", "<pre", "<blockquote", "<hr", "<table"):
        assert tag not in page
    assert page.endswith("<p>our own words</p>\n")


@given(st.text(alphabet="`a b\n|<", max_size=30))
def test_a_code_span_and_a_code_block_show_any_backticks_and_end_where_they_should(text: str) -> None:
    assert render(f"{code(text)} end").count("<code>") == 1
    page = render(f"{block(text)}\n\nour own words")
    assert page.count("<pre>") == 1
    assert page.endswith("<p>our own words</p>\n")


def test_what_is_cut_is_said() -> None:
    assert cut("x" * 1_000, 10) == "xxxxxxxxxx…"
    assert cut("the checks did not pass", 14) == "the checks did…"
    assert cut("the checks did not pass", 16) == "the checks did…"
    assert cut("the checks did not pass", 16, "see r1") == "the checks did… (see r1)"
    assert cut("the checks did not pass", 23) == "the checks did not pass"
    assert "cut: 90 characters before this" in block("x" * 100, 10)


def test_a_comment_of_a_megabyte_fits_and_says_what_is_missing() -> None:
    text = fit_comment((quote("x" * 1_000_000), "needed"), ("y" * 1_000_000, "small"))
    assert len(text) < COMMENT_LIMIT
    assert "needed" in text
    assert "small" in text
    assert "1 part(s) left out" in text
