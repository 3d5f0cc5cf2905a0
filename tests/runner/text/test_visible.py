"""What reaches a model is the text of the page that GitHub shows: all of it, and nothing else."""

import html
import re
from pathlib import Path

import nh3
import pytest
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st

from runner.text.visible import MAX_CHARACTERS, clean_line, clean_markup, strip_hidden

EVIL = "EVIL"
_MARKED = re.compile(r"\(image\)|\(…\)")
_OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
_OWN = {"image", "formula", "mermaid", "diagram", "folded", "end", "of", "what", "is", "suggestion"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a<!-- EVIL -->b", "ab"),
        (
            "a<!-- EVIL\nto the end",
            "a<!-- EVIL\nto the end",
        ),  # GitHub shows what it cannot take for a comment
        ("<!-- EVIL\n\nto the end", ""),
        ("- <!-- EVIL\n\nEVIL to the end", "- "),
        ("a<?EVIL?>b<![CDATA[EVIL]]>c<!EVIL x>d", "abcd"),
        ("```python EVIL words\nx\n```", "```\nx\n```"),
        ("~~~ EVIL\nx\n~~~", "```\nx\n```"),
        ("<ruby>a<rp>EVIL</rp><rt>b</rt></ruby>", "a (b)"),
        ("a</EVIL>b</p >", "ab"),
        ("<div>\n</div EVIL>\n</ EVIL>", ""),
        ("| a | b |\n|---|---|\n| 1 | 2 | EVIL | EVIL |", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("$x % EVIL$ b", "(formula) b"),
        ("$\\phantom{*EVIL*}$ b", "(formula) b"),
        ("$\\phantom{`EVIL`}$ b", "(formula) b"),
        ("$`\\phantom{EVIL}`$ b", "(formula) b"),
        ("$$\n\\phantom{EVIL}\n$$", "(formula)"),
        ("$a&#92;phantom{EVIL}$ b", "(formula) b"),
        ("```math\nEVIL\n```", "(formula)"),
        ("```mermaid\naccDescr: EVIL\n%% EVIL\n```", "(mermaid diagram)"),
        ("```Mer&#109;aid EVIL\nEVIL\n```", "(mermaid diagram)"),
        ("```geojson\nEVIL\n```", "(geojson diagram)"),
        ('<pre lang="mermaid">EVIL</pre>', "(mermaid diagram)"),
        ("[](https://x/EVIL) b", "b"),
        ('<a href="https://x/EVIL"> </a>b', "b"),
        ("[a](https://x/EVIL 'EVIL')", "[a](…)"),
        ("[a](<EVIL words>)", "[a](…)"),
        ("[a][EVIL words]\n\n[EVIL words]: http://x", "[a](…)"),
        ("[//]: # (EVIL)\nb", "b"),
        ("[EVIL words]: #\nb", "b"),
        ("- [EVIL]: #\n- b", "- \n- b"),
        ("> [a]: <EVIL words>\n> b", "> b"),
        ("b\n\n[^1]: EVIL", "b"),
        ("a[^1]\n\n[^1]: seen\n\n[^1]: EVIL", "a[1]\n\n1. seen"),
        ("`[^1]`\n\n[^1]: EVIL\n\n    EVIL", "`[^1]`"),
        ("![EVIL](https://x/EVIL.png 'EVIL')", "(image)"),
        ("![a [b](c) EVIL](d)", "(image)"),
        ('<img alt="EVIL" src="https://x/EVIL"> b', "(image) b"),
        ('<p title="EVIL" id=EVIL data-EVIL aria-label="EVIL">b</p>', "b"),
        ('<a title="> EVIL">x</a>', "x"),
        ('<abbr title="EVIL">b</abbr>', "b"),
        ("<EVIL> <ignore> <all> b", "b"),
        ("a <svg><desc>EVIL</desc></svg> b", "a b"),
        ("a <math><mtext>EVIL</mtext></math> b", "a b"),
        ("a <template>EVIL</template> b", "a b"),
        ("a <noscript>EVIL</noscript> b", "a b"),
        ("a <video>EVIL</video> b", "a b"),
        ("<bdo dir=rtl>EVIL</bdo> b", "b"),
        ("<sub><sup><small>EVIL</small></sup></sub>b", "b"),
        ("```mermaid{x}\nEVIL\n```", "(mermaid diagram)"),
        ("| a |\n|---|\n| $\\color{white}EVIL$ |", "| a |\n| --- |\n| (formula) |"),
        ("a\ufdd0\U0001fffeb", "ab"),
        ("https://github.com/a/b/issues/3?q=EVIL#EVIL b", "https://github.com/a/b/issues/3 b"),
        ("https://github.com/a/b/blob/1f/c.md?EVIL#L1-L5 b", "https://github.com/a/b/blob/1f/c.md#L1-L5 b"),
        ("http://git.acme.org:8080/a/b/pull/3/files?EVIL b", "http://git.acme.org:8080/a/b/pull/3 b"),
        ("https://git.acme.org/a/b/compare/x...y?EVIL b", "https://git.acme.org/a/b/compare/x...y b"),
        ("https://acme.org/static/app.js?v=3#x b", "https://acme.org/static/app.js?v=3#x b"),
        (
            "https://github.com/user-attachments/assets/1f#EVIL",
            "https://github.com/user-attachments/assets/1f",
        ),
        ("<pre>a<sub><sub><sub>EVIL</sub></sub></sub></pre>", "```\na\n```"),
        ("<p>a&#2;b&#1;c&#x2;</p>", "abc"),  # characters that stand for others while the page is read
        ("a\u200b\u200e\u202e\u2066\ufeff\u00adb", "ab"),
        ("a" + "".join(chr(0xE0000 + ord(char)) for char in EVIL) + "b", "ab"),
        ("a\U000e0101\U000e01efb\ufe00c", "abc"),
        ("a\u3164\u115f\u2800b", "ab"),
        ("a\ufe0f\ufe0e\ufe0fb", "a\ufe0fb"),
        ("a\u200d\u200db\u200d", "ab"),
        ("a&#x200b;&ZeroWidthSpace;&#917569;b", "ab"),
        ("`a\u200bb`", "`ab`"),
    ],
)
def test_what_the_page_does_not_show_does_not_get_through_and_is_counted(text: str, seen: str) -> None:
    cleaned = clean_markup(text)
    assert cleaned.text == seen
    assert cleaned.hidden or seen == text or _MARKED.search(seen) or text.startswith("~~~")


ISSUE = """## Steps to reproduce

1. Open the *cart*
2. Add `two  items`, then **pay**
   - by card
   - by ~~cheque~~ bank
3. See the error

```
def total(items: list[Item]) -> Decimal:
\treturn sum(one.price for one in items)  # <!-- kept --> $a\\b$ \\phantom

# end
```

> It costs $5 and $10
> where `$HOME` is set

| browser | works |
| --- | --- |
| Firefox | yes |
| `a b` | no |

- [ ] write a test
- [x] find out why

See https://example.com/a_b_c?d=e_f and #12, @ann, a@b.c: 5 < 6 && 7 > 6.

---

Repo: acme/shop
Skills: one, two"""


def test_an_ordinary_issue_reads_as_it_was_written() -> None:
    assert clean_markup(ISSUE).hidden == ()
    assert clean_markup(ISSUE).text == ISSUE
    assert clean_markup(ISSUE.replace("\n", "\r\n")).text == ISSUE


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Title\n=====\n\n* a\n* b\n\n1) x\n1) y", "# Title\n\n- a\n- b\n\n1. x\n2. y"),
        ("see [the docs](https://x.y) or <https://x.y>", "see [the docs](…) or https://x.y"),
        ("<details><summary>A</summary>\n\nb\n\n</details>", "(folded:)\nA\n\nb\n\n(end of what is folded)"),
        ("&lt;b&gt; and `<b>` and <script>x</script>", "<b> and `<b>` and <script>x</script>"),
        ("note[^1]\n\n[^1]: shown", "note[1]\n\n1. shown"),
        ("```suggestion\na = 1\n```", "```suggestion\na = 1\n```"),
        ("2.", "2. "),
        ("- a\n-\n- b", "- a\n- \n- b"),
        ("> [!NOTE]\n> b", "> [!NOTE]\n> b"),
        ("- a\n\n  ~~~sh\n  ls\n\n  `x`\n  ~~~", "- a\n\n  ```\n  ls\n  \n  `x`\n  ```"),
        ("<table><tr><td>a|b<td><b>c</b><p>d</table>", "| a\\|b | **c** d |\n| --- | --- |"),
        (
            "<table><tr><td><ul><li>x<li></ul><hr><pre>a\nb</pre></table>",
            "| x --- ``` a b ``` |\n| --- |",
        ),
        ("H<sub>2</sub>O <kbd>Ctrl</kbd> <q>x</q><br>y", 'H2O Ctrl "x"\ny'),
        ("a ❤️ 👩‍💻 b — “quotes” ünïcödé 漢字", "a ❤️ 👩‍💻 b — “quotes” ünïcödé 漢字"),
        ("`````\na\n````\n`````", "`````\na\n````\n`````"),
        ("<div><pre>a\n<ul><li><pre>b</pre></li></ul>\nc</pre></div>d", "```\na\nb\nc\n```\n\nd"),
    ],
)  # fmt: skip
def test_what_the_page_shows_stays(text: str, seen: str) -> None:
    assert clean_markup(text).text == seen


def test_what_is_posted_for_agents_keeps_its_tags_and_loses_what_is_hidden_otherwise() -> None:
    cleaned = clean_markup("Map<String> [a](b 'EVIL') <!-- EVIL --> `<i> <!-- x -->`", tags=False)
    assert cleaned.text == "Map<String> [a](…) `<i> <!-- x -->`"


def test_what_is_posted_for_agents_spells_no_tag_otherwise() -> None:
    assert "<" not in clean_markup("&#2;b> &#x02;b> `&#2;b>`", tags=False).text


def test_files_of_a_repository_keep_links_to_files_and_no_others() -> None:
    text = "[a](references/locks.md) [b](https://x) [c](/etc) [d](x.py#L3) [e](a%20b)"
    assert clean_markup(text, paths=True).text == "[a](references/locks.md) [b](…) [c](…) [d](x.py#L3) [e](…)"


def test_a_title_is_shown_as_it_is() -> None:
    assert clean_line("Fix <b> in *x*\u200b").text == "Fix <b> in *x*"
    assert clean_line("Fix\u200b").hidden == ("1 invisible character",)


def test_the_reader_is_told_what_was_left_out_and_how_much() -> None:
    assert strip_hidden("") == ""
    assert strip_hidden("a") == "a"
    said = strip_hidden("hi\u200b <!-- x --> [a]\n\n[a]: b 'two words'")
    assert said == (
        "hi [a](…)\n(Left out here, as GitHub does not show it: 1 HTML comment, 1 invisible character,"
        " 2 hidden words.)"
    )
    assert clean_markup("a" * (MAX_CHARACTERS + 5)).hidden == ("5 characters over 65,536",)


_MARKS = """<!-- --> [ ] ( ) : # " ' ^1 ![ ]( ``` ~~~ ` $ \\ | </p> > <rp> <pre> <td> <svg> <sub> * ~~
&lt; [^1] mermaid % <bdo> <details> <li> <b> </b> [^1]: \u200b \ufe0f ](w "w" """
_BREAKS = ["\n", "\n\n", "\n> ", "\n- ", "\n1. ", "    ", "\n|-|-|\n", "<b ", "<a href=", "[^1]: "]
_PIECES = st.sampled_from([*_MARKS.split(), *_BREAKS])
_SOUP = st.lists(st.one_of(_PIECES, st.integers(0, 99).map(lambda n: f"w{n:02} ")), max_size=40).map("".join)


@given(_SOUP)
@example("](w</p>w0 ")
@example("--><pre>\n- <pre>")
@example("--><pre>\n> <pre>")
def test_no_word_gets_through_that_the_page_does_not_show(text: str) -> None:
    page = nh3.clean(github_flavored_markdown_to_html(text, options=_OPTIONS), tags=set(), attributes={})
    # Without tags and invisible characters, of which each may end a word or stand within one.
    shown = re.sub("[\u200b\ufe0f]", "", html.unescape(page))
    words = {*re.findall(r"[a-z]+[0-9]*", clean_markup(text).text)} - _OWN
    assert [word for word in words if word not in shown] == []


_PROSE = [
    *"Az9 ,;:?!'()%/+=#-.<&*_`[]|~$\\é\n\t",
    "www.",
    "http://",
    "ftp://",
    "mailto:",
    "x@y.z",
    "  ",
    "\n\n",
    "\n- a",
]


@given(st.lists(st.sampled_from(_PROSE), max_size=12))
@example(["A https://github.com/a/b/issues/1?c"])
@example(["A www.b.cz"])
@example(["A <!-- b --> &amp; c"])
@example(["A **b", "\n", "*c"])
@example(["A", "  ", "\n", "z", " ", "\n", " ", "\n", "b.", "\n"])
@example(["A", "\n", "--", "\n", "- ", "z"])
@example(["A\n- b  c\n- d\ne\n- f\n\nG\n\n\n- h"])
@example(["- A\n- c\n\n- b"])
@example(["\n\nA"])
def test_prose_that_takes_the_short_way_is_read_as_a_page_is(words: list[str]) -> None:
    text = "".join(words)
    for tags in (True, False):
        assert clean_markup(text, tags=tags) == clean_markup(
            text + "\0", tags=tags
        )  # a control character is no prose


@given(st.text(max_size=200))
def test_any_text_can_be_rendered(text: str) -> None:
    assert not re.search("[\0-\x08\u200b\u202e\U000e0041]", clean_markup(text).text)


@pytest.mark.parametrize("piece", ["<b a={}>", "<b>", "<b>x<p>", "<div>", "> ", "> - ", "![", "`a", "<!--"])
def test_what_begins_again_and_again_ends_soon(piece: str) -> None:
    text = "".join(piece.format(number) for number in range(20_000))
    assert len(clean_markup(text[:20_000] + "<p>x" * 6_000).text) <= 1_000_000


def test_no_document_of_this_project_is_lost_on_a_model() -> None:
    other = re.compile(r"```mermaid[\s\S]*?```|!\[[^]]*\]|\]\([^)]*\)|<[^>]*>|```\w+")
    for path in Path("docs").glob("*.md"):
        text = path.read_text()[:MAX_CHARACTERS]
        words = set(re.findall(r"[A-Za-z]{3,}", other.sub("", text)))
        lost = words - set(re.findall(r"[A-Za-z]{3,}", clean_markup(text).text))
        assert len(lost) < len(words) / 20, path
