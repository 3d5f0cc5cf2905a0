"""Recipes as whole stories: a page's policy, on a board with its columns, from the first card to the last.

What agents do is written by hand, so that any agent can be named; all else is Cardinal and the forge.
"""

import re

from bot.runspec import builder
from bot.scheduler import ticker
from forge.store.board import Item, Option
from forge.store.models import Issue
from ledger.events.findings import FindingsReported, FollowUp
from ledger.events.run import FinalReported
from ledger.log import event_store
from ledger.states import CardState
from ledger.views import cards
from rules.policy.model import parse
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.rules.policy.recipes import policy_of

DAY_S = 86_400


def play(cardinal: Cardinal, name: str, agent: str = "") -> None:
    """Give the board the policy of that page, and its columns; `agent` works where the page names none."""
    text = re.sub(r"^  home: \S+$", "  home: acme/board", policy_of(name), flags=re.MULTILINE)
    if agent:
        text = re.sub(r"^( +)archetype: \w+$", rf"\g<0>\n\g<1>agent: {agent}", text, flags=re.MULTILINE)
    status = cardinal.project.status
    wanted = parse(text, home="acme/board").board.columns
    new = [Option("", column, "GRAY", "") for column in wanted if status.option_named(column) is None]
    cardinal.forge.store.projects.update_field(status, options=[*status.options, *new])
    cardinal.set_policy(text)
    cardinal.catch_up()
    cardinal.sweep()
    cardinal.catch_up()


def moved(cardinal: Cardinal, column: str, *items: Item) -> None:
    for item in items:
        cardinal.drag(item, column)
    cardinal.catch_up()


def startable(cardinal: Cardinal) -> list[str]:
    """Return the titles of the cards whose runs may start."""
    with event_store.reading(cardinal.services.engine) as db:
        starts = (cards.get(db, cardinal.run(run_id).card_id) for run_id in cardinal.ready())
        return [card.title for card in starts if card]


def titled(cardinal: Cardinal, title: str) -> list[Item]:
    issues = (item for item in cardinal.project.items if isinstance(item.content, Issue))
    return [item for item in issues if issue_of(item).title == title]


def investigated(cardinal: Cardinal, item: Item, summary: str, *proposed: str) -> None:
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    follow_ups = tuple(FollowUp(title, "Done when it works.", "a part") for title in proposed)
    reported = FinalReported(run_id, summary, (), (), ())
    cardinal.write(run_id, FindingsReported(run_id, "b" * 40, summary, (), follow_ups, ()), reported)
    cardinal.finish(run_id)
    cardinal.catch_up()


def built(cardinal: Cardinal, item: Item, done: str, path: str) -> None:
    """Let a run deliver a file, from its plan on if it needs one."""
    run = cardinal.run_of(item)
    if run.plan_required:
        cardinal.plan(run.run_id)
        cardinal.catch_up()
        cardinal.say(item, "/cardinal approve")
        cardinal.catch_up()
    cardinal.begin(run.run_id)
    cardinal.write(run.run_id, FinalReported(run.run_id, done, (path,), (), ()))
    cardinal.finish(run.run_id, files={path: b"x\n"})
    cardinal.catch_up()


def approved(cardinal: Cardinal, item: Item) -> None:
    number = cardinal.card(item).pull_number
    assert number is not None
    repo = cardinal.forge.store.repos.get(*cardinal.run_of(item).repository.split("/"))
    pull = cardinal.forge.store.pulls.get(repo, number)
    cardinal.forge.store.reviews.submit(pull, "APPROVE", "", [], actor=cardinal.person("bob"))
    cardinal.catch_up()


def merged(cardinal: Cardinal, item: Item) -> None:
    approved(cardinal, item)
    moved(cardinal, "Done", item)
    assert issue_of(item).state == "closed"


def briefing(cardinal: Cardinal, item: Item) -> str:
    run_id = cardinal.run_of(item).run_id
    return builder.build_spec(cardinal.services, run_id, cardinal.leases[run_id])[0].briefing.text


def test_a_fan_out_from_the_wish_to_its_merged_parts(cardinal: Cardinal) -> None:
    play(cardinal, "fan-out")
    wish = cardinal.new("Take euros")
    moved(cardinal, "Split", wish)
    titles = [f"Part {n}" for n in range(1, 6)]
    investigated(cardinal, wish, "Five parts.", *titles)
    for number in range(1, 6):
        cardinal.say(wish, f"/cardinal follow-up {number}")
        cardinal.catch_up()
    parts = [item for title in titles for item in titled(cardinal, title)]
    assert {issue_of(part).parent for part in parts} == {issue_of(wish)}
    assert {cardinal.column(part) for part in parts} == {"Tasks"}
    assert cardinal.face(wish)["Progress"].startswith("0 of 5 parts done")
    moved(cardinal, "In Progress", *parts)
    assert startable(cardinal) == titles[:4]
    for done, part in enumerate(parts[:2], start=1):
        built(cardinal, part, "Made.", f"{done}.txt")
        assert cardinal.column(part) == "Review"
        merged(cardinal, part)
        assert cardinal.face(wish)["Progress"].startswith(f"{done} of 5 parts done")
    assert startable(cardinal) == titles[2:]  # the fifth has a place
    cardinal.assert_nothing_is_stuck()


def test_a_vote_from_the_question_to_a_decision_that_is_told_every_vote(cardinal: Cardinal) -> None:
    play(cardinal, "vote")
    question = cardinal.new("Shall we take euros?")
    votes = {name: cardinal.new(f"Vote of {name}") for name in ("strict", "curious", "quick")}
    for name, vote in votes.items():
        links, issues = cardinal.forge.store.links, cardinal.forge.store.issues
        links.add_sub_issue(issue_of(question), issue_of(vote), actor=cardinal.person("alice"))
        issues.set_labels(issue_of(vote), [f"agent:{name}"], actor=cardinal.person("alice"))
    cardinal.catch_up()
    moved(cardinal, "Vote", *votes.values())
    moved(cardinal, "Decide", question)
    assert cardinal.card(question).because.startswith("waiting for 3 sub-issues")
    assert "Shall we take euros?" not in startable(cardinal)
    agents = [cardinal.run_of(vote).agent for vote in votes.values()]
    assert agents == ["claude", "codex", "claude"]
    for name, vote in votes.items():
        assert cardinal.run_of(question).state == "queued"
        investigated(cardinal, vote, f"Yes, says {name}.")
        assert cardinal.column(vote) == "Done"
    assert startable(cardinal) == ["Shall we take euros?"]
    cardinal.plan(cardinal.run_of(question).run_id)
    told = briefing(cardinal, question)
    assert [f"Yes, says {name}." in told for name in votes] == [True] * 3


def test_a_pipeline_hands_the_findings_on_to_the_build_and_the_build_to_the_review(
    cardinal: Cardinal,
) -> None:
    play(cardinal, "pipeline")
    item = cardinal.new("Mend the till")
    moved(cardinal, "Look", item)
    investigated(cardinal, item, "It rounds down.")
    assert cardinal.column(item) == "Build"
    cardinal.plan(cardinal.run_of(item).run_id)
    assert "It rounds down." in briefing(cardinal, item)
    cardinal.catch_up()
    assert cardinal.card(item).state == CardState.NEEDS_INPUT
    cardinal.say(item, "/cardinal approve")
    cardinal.catch_up()
    cardinal.begin(cardinal.run_of(item).run_id)
    cardinal.finish(cardinal.run_of(item).run_id, files={"till.txt": b"x\n"})
    cardinal.catch_up()
    assert cardinal.column(item) == "Review"
    merged(cardinal, item)
    cardinal.assert_nothing_is_stuck()


def test_a_journal_has_one_open_entry_and_the_next_one_after_it_is_merged(cardinal: Cardinal) -> None:
    play(cardinal, "journal")
    ticker.request_due(cardinal.services)

    def entries(days: int) -> list[Item]:
        cardinal.clock.forward(days * DAY_S)
        ticker.request_due(cardinal.services)
        cardinal.catch_up()
        return titled(cardinal, "Today's entry")

    (first,) = entries(4)  # over a weekend, too
    assert cardinal.column(first) == "Journal"
    assert entries(4) == [first]  # yesterday's is open
    assert not cardinal.run_of(first).plan_required
    built(cardinal, first, "Wrote it.", "journal/1.md")
    assert cardinal.column(first) == "Review"
    assert entries(1) == [first]
    merged(cardinal, first)
    assert len(entries(4)) == 2
    cardinal.assert_nothing_is_stuck()
