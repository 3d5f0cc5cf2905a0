"""Markdown by strangers: what is kept, what is dropped, and which line a tick changes."""

import pytest

from forge.pages.markdown import ChangedMeanwhileError, render, with_tick


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**a** <b>b</b>", "<strong>a</strong> <b>b</b>"),
        ("see #12", 'href="/acme/shop/issues/12"'),
        ("see acme/board#3", 'href="/acme/board/issues/3"'),
        ("ask @alice", "<strong>@alice</strong>"),
        ("~~no~~", "<s>no</s>"),
        ("|a|\n|-:|\n|1|", '<td class="right">1</td>'),
        ("<details><summary>s</summary>\n\n*t*\n\n</details>", "<details><summary>s</summary>"),
        ("```python\nx\n```", '<code class="language-python">'),
    ],
)
def test_what_people_write_on_github_is_shown(text: str, html: str) -> None:
    assert html in render(text, "acme/shop")


def test_an_alert_has_its_title_and_icon() -> None:
    for between in ("\n> ", "\n>\n> "):
        html = str(render(f"> [!IMPORTANT]{between}Half up?\n> - [ ] yes\n"))
        assert '<blockquote class="alert important">\n<p class="alert-title"><svg' in html
        assert "</svg>Important</p>" in html
        assert "<p>Half up?" in html
        assert "[!" not in html


@pytest.mark.parametrize(
    "text",
    [
        "> [!NOTE]",
        "> [!NOTE] words",
        "> [!OTHER]\n> x",
        "> > [!NOTE]\n> > x",
        "[!NOTE]\nx",
        "> `[!NOTE]`\n> x",
    ],
)
def test_what_github_shows_as_no_alert_is_none(text: str) -> None:
    assert "alert" not in render(text)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "<a href='JaVaScRiPt:alert(1)'>a</a>",
        "[a](data:text/html,<script>alert(1)</script>)",
        "<svg><script>alert(1)</script></svg>",
        "<p style='background:url(//evil.example)'>a</p>",
        "<input type='checkbox' class='task' data-line='1'>",
        "<!-- a marker that people do not see -->",
        "<form action=/x><button>a</button></form>",
        "<a class='button primary' id='x'>a</a>",
    ],
)
def test_what_could_act_or_pretend_is_dropped(text: str) -> None:
    html = str(render(text)).replace("&lt;", "").replace("&gt;", "")
    for bad in ("<script", "onerror=", 'href="javascript', 'href="data', "style=", "<input", "<!--", "<form"):
        assert bad not in html
    assert 'class="button' not in html
    assert "id=" not in html


def test_a_task_inside_an_unclosed_attribute_makes_no_checkbox() -> None:
    html = render('<div title="\n\n- [ ] x" onclick="alert(1)\n', may_tick=True)
    assert "<input" not in html
    assert "onclick=" not in html.replace("&quot;", '"').split("<p>")[0]


@pytest.mark.parametrize(
    "body", ["- [ ] a\n- [ ] b", "1. [ ] a\n2. [ ] b", "> * [ ] a\n> * [ ] b", "- x\n  - [ ] a\n  - [ ] b"]
)
def test_a_tick_changes_its_own_line_only(body: str) -> None:
    html = str(render(body, may_tick=True))
    lines = [int(part.split('"', 1)[0]) for part in html.split('data-line="')[1:]]
    assert with_tick(body, lines[1], "b", True) == body.replace("[ ] b", "[x] b")
    assert with_tick(with_tick(body, lines[0], "a", True), lines[0], "a", False) == body


def test_of_two_tasks_with_the_same_words_the_line_decides() -> None:
    assert with_tick("- [ ] a\n\nand\n\n- [ ] a", 4, "a", True) == "- [ ] a\n\nand\n\n- [x] a"


def test_a_task_that_is_gone_is_an_error_and_not_another_task() -> None:
    with pytest.raises(ChangedMeanwhileError):
        with_tick("- [ ] approve\n- [ ] cancel", 0, "raise the budget", True)
    with pytest.raises(ChangedMeanwhileError):
        with_tick("- [ ] a\n- [ ] a", 7, "a", True)


def test_a_label_with_quotes_and_tags_stays_text() -> None:
    html = render('- [ ] "><img src=x onerror=alert(1)>', may_tick=True)
    assert 'data-label="&#34;&gt;&lt;img' in html
    assert "<img src=x" not in html.replace('<img src="x">', "")


def test_very_deep_nesting_is_shown_in_time() -> None:
    assert render(">" * 20_000 + "a")
