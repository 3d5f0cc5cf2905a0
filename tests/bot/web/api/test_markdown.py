"""A run, a card and a board as Markdown: all that is known, no structure or link of outside text."""

import re

import pytest
from click.testing import CliRunner
from cmarkgfm import github_flavored_markdown_to_html

from bot.cli import main
from bot.render.markdown.escape import make_inert, quote
from bot.web.api import markdown
from bot.web.authorization import KEPT_S
from ledger.events.run import CommandChecked, FinalReported
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.api.program import Program, path_of
from tests.bot.web.pages.forms import asked
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

ATTACKS = (
    "# Heading",
    "Title\n===",
    "Title\n---",
    "- # Heading in a list",
    "> # Heading in a quote",
    "1. ## x",
    "[click](https://evil.example)",
    "[click][1]\n\n[1]: https://evil.example",
    "![see](https://evil.example/x.png)",
    "https://evil.example www.evil.example mail@evil.example",
    "<a href=https://evil.example>x</a><script>1</script><img src=x>",
    "@alice @acme/team #12 acme/shop#3 GH-4",
    "```\nopen fence",
    "</details>\n\n# out",
    "a\n\n\n# out\n\n***\n",
    "| a | b |\n| - | - |\n| 1 | 2 |",
    "\u202e# x \x1b[2J",
    "&#64;alice &lt;h1&gt;",
    "[x]: javascript:alert(1)\n[x]",
    "~~~\n# code",
    "\\# \\[x\\](https://evil.example)",
    "#\t x\n#",
)


@pytest.mark.parametrize("text", ATTACKS)
def test_quoted_text_has_no_structure_link_or_mention(text: str) -> None:
    shown = make_inert(quote(text))
    html = github_flavored_markdown_to_html(f"{shown}\n\nbehind", 0)
    assert not re.search(r"<(h[1-6]|a|img|script|input)\b", html), html
    assert html.rstrip().endswith("</blockquote>\n<p>behind</p>"), html
    assert not re.search(r"@(alice|acme)|#\d|GH-\d", shown)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_card_a_run_and_a_board_are_documents(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")
    card, run = pages.cardinal.card(item), pages.cardinal.run_of(item)
    pages.cardinal.say(item, "# Big @alice\n\n[here](https://evil.example)", "bob")
    pages.cardinal.catch_up()
    report = FinalReported(run.run_id, "# Did", ("a.py: one @bob",), ("Check the sum",), ("Shall we?",))
    happens(pages, report, CommandChecked(run.run_id, 1, "fast", "make `x`", 1, 0.5, "e" * 64, "``` bad"))
    bob = Program(pages, "bob")
    texts = {
        path: bob.send("GET", path, Accept="text/markdown")
        for path in (path_of(pages, item), f"/runs/{run.run_id}", "/boards/acme/1")
    }
    for path, answer in texts.items():
        assert (answer.status_code, answer.content_type) == (200, "text/markdown; charset=utf-8"), path
        html = github_flavored_markdown_to_html(answer.text)
        assert not re.search(r"<a |<img|<h\d>[^<]*(Big|Did)|@(alice|bob)", html), html
    of_card, of_run, board = (answer.text for answer in texts.values())
    for text in (of_card, of_run):
        assert "**What to check**\n\n- Check the sum" in text
        assert "1. 8080\n2. 8081\n\n**bob** answered:\n\n> #" in text
        assert "| fast | `` make `x` `` | exit code 1 | 0.5 s |" in text
    assert f"# `{card.repository}#{card.number}`: " in of_card
    assert "**bob**, " in of_card
    assert f"## Run {run.run_id}: queued" in of_card
    assert f"| `{card.repository}#{card.number}` | queued | {run.run_id} |" in board
    few = bob.send("GET", "/boards/acme/1?limit=0", Accept="text/markdown").text
    assert "_1 more card._" in few
    assert "more card" not in board
    assert not any(it["listed"] for it in bob.get("/boards/acme/1")["columns"])
    home = {"CARDINAL_HOME": str(pages.cardinal.services.config.home)}
    for words, text in ((("show", f"{card.repository}#{card.number}"), of_card), (("board",), "")):
        printed = CliRunner().invoke(main, [*words, "--markdown"], env=home)
        assert printed.exit_code == 0, printed.output
        assert printed.stdout.startswith(text.splitlines()[0] if text else "# Board acme/1")
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory = Program(pages, "mallory")
    hidden_board = mallory.send("GET", "/boards/acme/1?limit=9", Accept="text/markdown").text
    assert "acme/shop" not in hidden_board
    for path in (path_of(pages, item), f"/runs/{run.run_id}"):
        assert mallory.send("GET", path, Accept="text/markdown").status_code == 404


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_document_is_bounded_and_says_what_it_leaves_out(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = pages.cardinal.run_of(asked(pages, "8080"))
    happens(pages, FinalReported(run.run_id, "word " * 2000, (), (), ()))
    bob = Program(pages, "bob")
    monkeypatch.setattr(markdown, "MAX_CHARS", 2000)
    text = bob.send("GET", f"/runs/{run.run_id}", Accept="text/markdown").text
    assert len(text) < 2200
    assert text.endswith("left out: the document would be too long._\n")
