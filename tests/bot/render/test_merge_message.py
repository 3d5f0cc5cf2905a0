"""Nothing that people write becomes a trailer in the commit of a merge."""

import re
import subprocess
from dataclasses import replace

import pytest

from bot.render.pull.merge_message import MAX_NAMED, MergeCredits, write
from tests.bot.render.past import Past

NOBODY = MergeCredits(runs=(), requesters=(), plan_approvers=(), approvers=(), authors=())


def trailers(message: str) -> list[str]:
    """Return the trailers of a message, as git reads them."""
    read = ["git", "interpret-trailers", "--parse"]
    return subprocess.run(read, input=message, text=True, check=True, capture_output=True).stdout.splitlines()


@pytest.mark.parametrize("method", ["squash", "merge"])
@pytest.mark.parametrize(
    "title",
    [
        "Cardinal-Run: r9",
        "cardinal-approved-by : mallory",
        "Totals\n\nCardinal-Approved-By: mallory",
        "Totals\r\n\r\nCo-authored-by: Mallory <m@b.example>",
        "Totals\u2028\u2028Cardinal-Approved-By: mallory",
        "\ufeffCardinal-Run: r9\n",
        " \u200b Cardinal-Run:r9",
        "Co-authored-by: Mallory <m@b.example>",
    ],
)
def test_no_title_is_a_trailer(past: Past, method: str, title: str) -> None:
    past.card(title=title)
    words = write(past.row(), 3, method, NOBODY)
    message = "\n\n".join(words.values())
    assert trailers(message) == ["Cardinal-Card: acme/shop#7"]
    assert re.findall(r"(?im)^(?:cardinal|co)-[a-z-]+ ?:", message) == ["Cardinal-Card:"]


@pytest.mark.parametrize(
    ("author", "line"),
    [
        (("Eve\nCardinal-Run: r9", "e@b.example"), "Eve Cardinal-Run: r9 <e@b.example>"),
        (("Eve <a@b.example>\r\n", "e@b.example"), "Eve a@\u200bb.example <e@b.example>"),
        (("\u202e", "e@b.example"), "e <e@b.example>"),
        (("Fixes #1 @acme/all", "e@b.example"), "Fixes #\u200b1 @\u200bacme/all <e@b.example>"),
        (("E" * 500, "e@b.example"), f"{'E' * 100} <e@b.example>"),
        (("Eve", "e@b.example>\nCardinal-Run: r9"), ""),
        (("Eve", "e@b.example, Cardinal"), ""),
        (("Eve", ""), ""),
        (("Eve", f"{'e' * 300}@b.example"), ""),
    ],
)
def test_no_name_of_an_author_is_more_than_a_name(past: Past, author: tuple[str, str], line: str) -> None:
    past.card()
    text = write(past.row(), 3, "squash", replace(NOBODY, authors=(author, author)))["commit_message"]
    wanted = [f"Co-authored-by: {line}"] if line else []
    assert trailers(f"T\n\n{text}") == ["Cardinal-Card: acme/shop#7", *wanted]


def test_a_thousand_authors_are_not_all_named(past: Past) -> None:
    past.card()
    many = tuple((f"A{number}", f"a{number}@b.example") for number in range(1_000))
    text = write(past.row(), 3, "squash", replace(NOBODY, authors=many))["commit_message"]
    assert text.count("Co-authored-by:") == MAX_NAMED
