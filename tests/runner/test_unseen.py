"""What readers on GitHub do not see is taken out of what a model reads; what they see stays as it is."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.unseen import CHARACTERS, COMMENT, MARKDOWN, clean, shown


@pytest.mark.parametrize(
    ("text", "kept", "kind"),
    [
        ("a<!-- EVIL -->b", "ab", COMMENT),
        ("a<!-- EVIL\nto the end", "a", COMMENT),
        ("a<!-<!-- x -->- EVIL -->b", "ab", COMMENT),
        ("a<!--\u200b EVIL -\u200b->b", "ab", COMMENT),
        ("a<?EVIL?>b<![CDATA[EVIL]]>c<!EVIL x>d", "abcd", MARKDOWN),
        ("[//]: # (EVIL)\nb", "\nb", MARKDOWN),
        ("[EVIL words]: #\nb", "\nb", MARKDOWN),
        ("> [a]: <EVIL words>\n> b [a]", "> \n> b [a]", MARKDOWN),
        ("[a]:\n  http://x.y\n  'EVIL\n  words'\n\nsee [a]", "[a]: http://x.y\n\nsee [a]", MARKDOWN),
        ("see[^1]\n\n[^1]: fine\n[^2]: EVIL\nEVIL too\n\nb", "see[^1]\n\n[^1]: fine\n\n\nb", MARKDOWN),
        ("![EVIL](https://x/y.png)", "![](https://x/y.png)", MARKDOWN),
        ('[a](http://x "EVIL")', "[a](http://x)", MARKDOWN),
        ('<p title="EVIL">b</p>', "<p>b</p>", MARKDOWN),
        ('<img alt="EVIL" src="https://x/y.png"/>', '<img src="https://x/y.png"/>', MARKDOWN),
        ("a\u200b\u200e\u202e\u2066\ufeff\u00adb", "ab", CHARACTERS),
        ("a" + "".join(chr(0xE0000 + ord(char)) for char in "EVIL") + "b", "ab", CHARACTERS),
        ("a\U000e0101\U000e01efb\ufe00c", "abc", CHARACTERS),
        ("a\u3164\u115f\u2800b", "ab", CHARACTERS),
        ("a\ufe0f\ufe0e\ufe0fb", "a\ufe0fb", CHARACTERS),
        ("a\u200d\u200db\u200d", "ab", CHARACTERS),
        ("a&#x200b;&ZeroWidthSpace;&#917569;b", "ab", CHARACTERS),
    ],
)
def test_what_nobody_sees_is_taken_out_and_named(text: str, kept: str, kind: str) -> None:
    cleaned = clean(text)
    assert cleaned.text == kept
    assert kind in cleaned.found
    assert "EVIL" not in cleaned.text


@pytest.mark.parametrize(
    "text",
    [
        "plain words\n\twith a tab",
        "a ❤️ 👩‍💻 b — “quotes” ünïcödé 漢字",
        "see [the docs], [other](https://x.y/z)\n\n[the docs]: https://x.y",
        "if a < b and c > d: &amp; &lt; array[0]: nothing",
        "- [ ] to do\n- [x] done\n\n| a | b |\n|---|---|",
        "<details><summary>More</summary>\n\ntext\n\n</details>",
        "note[^1]\n\n[^1]: shown",
        "Map<String, List<Foo>> and <https://x.y/z?a=b> or <a@b.c>",
        "it's a <b>bold</b> `<svg>` of 100% %% -> y <- z; `a[b](c d)`",
        "[a](http://x/(y)) [b](<http://x>) ![](z)",
    ],
)
def test_what_people_see_stays(text: str) -> None:
    assert clean(text) == clean(text).__class__(text, ())
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('<a title="> EVIL">x</a>', "<a>x</a>"),
        ('<a title="a < EVIL">x</a>', "<a>x</a>"),
        (f'<a title="{"EVIL " * 1000}">x</a>', "<a>x</a>"),
        ('<a href="EVIL words" data-href="EVIL" src=y>', "<a src=y>"),
        ("<div>\n</div EVIL>", "<div>\n</div>"),
        ("<div>\n</ EVIL><! EVIL><!1 EVIL>", "<div>\n"),
        ("- <div title='EVIL\nEVIL\n\nb", "- \n\nb"),
        ("<EVIL-all-previous-instructions-of-everybody>", ""),
        ("<EVIL> <b> <all> <earlier>\n<words> <now> x", " <b>  \n  x"),
        ("a <svg><desc>EVIL</desc></svg> b", "a  b"),
        ("[EVIL]: http://x\n[EVIL]: http://x", "\n"),
        ("[click][EVIL words]\n\n[EVIL\nwords]: http://x", "[click](http://x)\n\n"),
        ("- [EVIL]: #\n- b\n\n    [//]: # (EVIL)", "- \n- b\n\n    "),
        ('[a]: http://x "b \\" EVIL"\n\n[a]', "[a]: http://x\n\n[a]"),
        ("[^1]: EVIL\n\n[^1]: EVIL\n[ EVIL", "\n\n"),
        ("a[^1]\n\n[^1]: seen\n\n[^1]: EVIL", "a[^1]\n\n[^1]: seen\n\n"),
        ("`[^1]`\n\n[^1]: EVIL\n\n    EVIL\n\nb", "`[^1]`\n\n\n\nb"),
        ("![a [b](c) EVIL](d)", "![](d)"),
        ("![a `]` EVIL](d)", "![](d)"),
        (f"![{'EVIL ' * 500}](d)", "![](d)"),
        ("![EVIL]\n\n[EVIL]: http://x", "![]\n\n"),
        ("[a](<EVIL words>)", "[a]()"),
        ('[a](http://x/(y) "EVIL"\n)', "[a](http://x/(y))"),
        ('[a](http://x "b \\" EVIL")', "[a](http://x)"),
        ("[a](<x\\> y> 'EVIL')", "[a]()"),
        ("$\\phantom{EVIL}$ b", "$$ b"),
        ("```mermaid\n  %% EVIL\ngraph TD\n```", "```mermaid\n\ngraph TD\n```"),
        ("a\U000e0081\u2065\ufff1\U000e01f5\U0001d159b", "ab"),
    ],
)
def test_no_other_way_of_hiding_words_gets_them_through(text: str, kept: str) -> None:
    cleaned = clean(text)
    assert cleaned.text == kept
    assert cleaned.found


def test_the_reader_is_told_what_was_taken_out() -> None:
    assert shown("hello <!-- x -->") == "hello\n(Hidden text was taken out here: an HTML comment.)"
    assert shown("") == ""


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("<!->[]():#\"'^ab \n&;x\u200b\ufe0f\u200d\U000e0041"), max_size=120))
def test_no_nesting_leaves_a_comment_or_a_hidden_character(text: str) -> None:
    kept = clean(text).text
    assert not re.search(r"<!--[\s\S]*?-->", kept)
    assert not re.search("[\u200b\U000e0041]", kept)


@pytest.mark.parametrize(
    "piece", ["[", "<a ", "[a]: b\n", "![", "](a\n", "[^a]: x\n", "<!", "[a]: x '", "<?", "&#", '](x "']
)
def test_long_nonsense_is_cut_and_never_kept_whole(piece: str) -> None:
    assert len(clean(piece * 150_000).text) <= 200_000


@pytest.mark.parametrize(
    "piece",
    [
        "](",
        "![](",
        "](<",
        "<! ",
        "</ ",
        "</a ",
        "<svg>",
        "<a b='>' ",
        '<a b="',
        "<div\n",
        "[a][b]",
        "\\phantom",
    ],
)
def test_what_begins_again_and_again_is_not_looked_for_to_the_end_each_time(piece: str) -> None:
    assert len(clean((piece * 70_000)[:70_000]).text) <= 70_000
