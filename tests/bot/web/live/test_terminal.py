"""What programs write to their terminal is text with sixteen colours on a page, whatever it tries."""

import pytest

from bot.web.live.response import message
from bot.web.live.terminal import terminal_html
from tests.bot.web.live.reading import parsed

E = "\x1b"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain\n\tindented", "plain\n\tindented"),
        (f"{E}[1;31mred{E}[0m end", '<span class="c1 bold">red</span> end'),
        (
            f"{E}[92mbright{E}[39m {E}[1mbold{E}[22m",
            '<span class="c10">bright</span> <span class="bold">bold</span>',
        ),
        (f"{E}[38;5;208m256{E}[48;2;1;31;32mtrue", "256true"),
        (f"{E}[{';'.join(['31'] * 40)}mtoo many", "too many"),
        (f"{E}[999999999999999999mno colour", "no colour"),
        ("<b onclick=x>&\"'</b>", "&lt;b onclick=x&gt;&amp;&#34;&#39;&lt;/b&gt;"),
        ("<svg/onload=alert(1)>", "&lt;svg/onload=alert(1)&gt;"),
        (f"{E}]8;;javascript:alert(1){E}\\click{E}]8;;{E}\\", "click"),
        (f"{E}]8;;javascript:alert(1)\x07click", "click"),
        (f"{E}]0;a title that never ends\nthe next line", "\nthe next line"),
        (f"a{E}[2J{E}[10;10Hb{E}[1Ac", "abc"),
        (f"{E}[<script>31m", "cript&gt;31m"),
        (f"{E}P1$r<b>{E}\\x{E}_y\x07z", "xz"),
        ("\x9b31mred\x9c\x85", "31mred"),
        ("10%\r20%\r100%\r\nnext", "100%\nnext"),
        ("\u202eabc\u2066\u200b\ufeff", "abc"),
        (f"end{E}", "end"),
        (f"end{E}[", "end"),
        ("\ud800x", "x"),
    ],
)
def test_colours_are_classes_and_everything_else_is_text(text: str, html: str) -> None:
    assert terminal_html(text) == html


@pytest.mark.parametrize("piece", [f"{E}[", f"{E}]", f"{E}[31m", "x", "\r", f"{E}]8;;", f"{E}[{'1;' * 50}"])
def test_any_length_of_it_is_read_once(piece: str) -> None:
    assert len(terminal_html(piece * 20_000)) <= 600_000


HOSTILE = (
    "a\ndata: b",
    "a\r\revent: over\rdata: x",
    "a\r\n\r\nid: 9\r\nevent: over\n\n",
    "a\n\n\n",
    ":a",
    "a\x85\u2028b",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_begins_another_message_or_field(text: str) -> None:
    sent = message("lines", text, 7).decode() + message("now", "n", 8).decode()
    first, second = parsed(iter(sent.splitlines(keepends=True)))
    assert (first.event, first.last) == ("lines", "7")
    assert first.data.split("\n") == text.splitlines()
    assert (second.event, second.data, second.last) == ("now", "n", "8")
