"""Markdown of strangers on pages: what may be there, what may not, and how long it gets."""

import re

import pytest

from bot.web.site.markdown import GROWTH, MAX_CHARS, SPARE, TAGS, render


def inside(text: str) -> str:
    """Return the text's HTML without the element around it, which is the only one of its kind."""
    html = render(text)
    assert (html.count("<article"), html.count("</article>")) == (1, 1)
    return html.removeprefix('<article class="md">').removesuffix("</article>")


@pytest.mark.parametrize(
    "text",
    ["said\n\n<li>12:01 alice approved", "</article></div><li>x", "<dd>x<td>y<option>z", "&lt;li>" * 999],
)
def test_no_element_of_a_stranger_leaves_its_text(text: str) -> None:
    html = render(text)
    assert html.startswith('<article class="md">')
    assert html.endswith("</article>")
    assert "article" not in inside(text).replace("&lt;/article", "")


def test_what_people_write_looks_like_on_github() -> None:
    html = render(
        "# Ready when\n\n- [x] free\n- [ ] **not** below\n\n`code`\n\n| a |\n|---|\n| 1 |\n\nline\nbreak"
    )
    for part in (
        "<p><strong>Ready when</strong></p>",
        '<li class="task">☑ free</li>',
        '<li class="task">☐ <strong>not</strong> below</li>',
        "<code>code</code>",
        "<td>1</td>",
        "line<br>",
    ):
        assert part in html


def test_a_picture_is_a_link_and_only_links_to_elsewhere_lead_anywhere() -> None:
    html = render("![a cat](https://e.example/cat.png) [in](/act) [js](javascript:alert(1)) [up](#x)")
    assert html.count("href") == 1
    assert '<a href="https://e.example/cat.png" rel="nofollow noopener noreferrer">a cat</a>' in html
    assert "<img" not in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<b onclick=alert(1) style=position:fixed id=panel class=primary>x</b>",
        "<form action=/act><input name=card><button>Approve</button></form>",
        "<iframe src=https://e.example></iframe><object data=x></object><embed src=x>",
        "<svg><style>*{display:none}</style><a xlink:href=javascript:alert(1)>x</a></svg>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<a href='  java\nscript:alert(1)'>x</a><a href=//e.example>y</a><base href=//e.example>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
        '![x](x" onerror="alert(1))',
        "<meta http-equiv=refresh content='0;url=//e.example'>",
    ],
)
def test_no_markup_of_a_stranger_acts_loads_or_looks_like_the_page(text: str) -> None:
    for tag, attributes in re.findall(r"<(\w+)([^>]*)>", html := inside(text)):
        assert tag in TAGS, html
        assert re.fullmatch(
            r'( (href="https?://[^"]*"|rel="[a-z ]+"|class="task"|start="\d+"))*', attributes
        ), html


def test_what_nobody_sees_is_not_there() -> None:
    assert "\u202e" not in render("a\u202eb\u200b <!-- hidden -->c")
    assert "hidden" not in render("<!-- hidden -->c")


@pytest.mark.parametrize(
    "text", [">" * 20_000, "[" * 20_000, "|a" * 900 + "\n" + "|-" * 900 + "\n|\n" * 3_000, "![a](b)" * 9_000]
)
def test_no_text_makes_a_page_long(text: str) -> None:
    assert len(render(text)) <= GROWTH * MAX_CHARS + SPARE


def test_a_long_text_is_cut_where_it_says_so() -> None:
    html = render("w " * 10_000)
    assert "…" in html
    assert len(html) < MAX_CHARS + 100
