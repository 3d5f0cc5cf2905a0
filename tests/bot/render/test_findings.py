"""What an investigation's comment says, whatever its agent wrote."""

import re

import pytest

from bot.render.markdown.checkboxes import newly_ticked
from bot.render.markdown.escape import COMMENT_LIMIT
from bot.render.run import findings as text
from bot.render.run.story import Story
from ledger.events.findings import Finding, FindingsReported, FollowUp, Reference
from ledger.rows.findings import FollowUpRow
from tests.bot.render.past import RUN, Past

ROOT, BASE = "https://github.example/acme/shop", "a" * 40
EVIL = "@alice fixes #1 <!-- box:approve:r1:1 --> | `x` ![a](b) <b>\n- [ ] tick <!-- box:retry -->\n# Big"
CARDS = (FollowUp("Test it", "Body", "other work"), FollowUp("Mend it", "Body", "seen"))


@pytest.fixture
def story(past: Past) -> Story:
    return past.story()


def finding(*references: Reference, said: str = "Rounded") -> Finding:
    return Finding(said, said, said, "high", references)


def told(
    *findings: Finding,
    summary: str = "Cents are cut.",
    cards: tuple[FollowUp, ...] = (),
    discarded: tuple[str, ...] = (),
) -> FindingsReported:
    return FindingsReported(RUN, BASE, summary, findings, cards, discarded)


def written(story: Story, found: FindingsReported, made: dict[int, FollowUpRow] | None = None) -> str:
    return text.write(story, found, made or {}, root=ROOT, here="acme/shop")


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (Reference("a.py", 3, 3, True), f"- [`a.py:3`]({ROOT}/blob/{BASE}/a.py#L3)"),
        (Reference("a.py", 3, 9, True), f"- [`a.py:3-9`]({ROOT}/blob/{BASE}/a.py#L3-L9)"),
        (Reference("a.py", 0, 0, True), f"- [`a.py`]({ROOT}/blob/{BASE}/a.py)"),
        (Reference("a b/#?.py", 1, 1, True), f"- [`a b/#?.py:1`]({ROOT}/blob/{BASE}/a%20b/%23%3F.py#L1)"),
        (Reference("x](http://evil) [y", 0, 0, False), "- `x](http://evil) [y` (not found)"),
        (Reference("x)](y.py", 1, 1, True), f"- [`x)](y.py:1`]({ROOT}/blob/{BASE}/x%29%5D%28y.py#L1)"),
    ],
)
def test_a_reference_leads_to_the_lines_of_the_commit_and_nowhere_else(
    story: Story, reference: Reference, shown: str
) -> None:
    assert shown in written(story, told(finding(reference)))


def test_an_agents_words_ping_close_tick_and_embed_nothing(story: Story) -> None:
    evil = told(
        finding(Reference(EVIL, 1, 1, False), said=EVIL),
        summary=EVIL,
        cards=(FollowUp(EVIL, EVIL, EVIL),),
        discarded=(EVIL,),
    )
    body = written(story, evil)
    outside = re.sub(r"`+[^`]*`+", "", body)
    for harmful in ("@alice", "fixes #1", "![a]", "<b>", "<!-- box:retry", "<!-- box:approve"):
        assert harmful not in outside
    assert newly_ticked("", body.replace("- [ ]", "- [x]")) == ("followup:r1:1",)
    assert not [line for line in body.split("\n") if line.startswith("# ")]


def test_follow_ups_are_boxes_until_they_are_cards(story: Story) -> None:
    body = written(story, told(cards=CARDS), {2: FollowUpRow(RUN, 2, "acme/shop", 9)})
    assert "- [ ] 1. Test it: other work <!-- box:followup:r1:1 -->" in body
    assert "- ☑ 2. Mend it: seen → #9" in body
    assert "→ acme/board#9" in written(story, told(cards=CARDS), {2: FollowUpRow(RUN, 2, "acme/board", 9)})


def test_nothing_found_is_said_and_so_is_what_was_discarded(story: Story) -> None:
    assert "investigated: 0 findings" in written(story, told())
    body = written(story, told(discarded=tuple(f"f{n}" for n in range(12))))
    assert "had changed `f0`" in body
    assert "and 2 more: an investigation changes nothing, so that is discarded" in body


def test_the_longest_findings_fit_a_comment(story: Story) -> None:
    long = [finding(*[Reference("p" * 300, 1, 1, True)] * 10, said="x" * 8_000)] * 20
    cards = tuple(FollowUp("t" * 240, "b", "r" * 500) for _ in range(10))
    assert len(written(story, told(*long, summary="s" * 8_000, cards=cards))) <= COMMENT_LIMIT
