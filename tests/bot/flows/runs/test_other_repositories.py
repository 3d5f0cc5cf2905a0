"""A card that needs work in another repository: people agree, and two cards are linked."""

from typing import Any

import pytest

from forge.store.board import Item
from forge.store.models import Issue, Repo, Role
from ledger.events.run import QuestionAsked
from ledger.events.turn import BoardToolCalled
from ledger.states import Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.runs.test_validation import NONE, set_rules
from tests.bot.flows.settings import POLICY

BODY = "The site asks @bob for `total`.\n\nFixes #1\n<!-- hidden -->"
CARD = {"repository": "acme/Site", "title": "Ask for the total @bob", "body": BODY, "reason": "shop sends it"}
DONE = [{"edit": {"path": "new.txt", "content": "x\n"}}, {"finish": {"done": "Done."}}]


def site(cardinal: Cardinal, *writers: str) -> Repo:
    """Make another repository, which the board serves, with these writers."""
    repo = cardinal.forge.store.repos.create(cardinal.repo.owner, "site")
    for login in ("alice", "bob", "carol"):
        role = Role.WRITE if login in writers else Role.READ
        cardinal.forge.store.repos.set_role(repo, cardinal.person(login), role)
    cardinal.forge.store.repos.set_role(cardinal.repo, cardinal.person("bob"), Role.WRITE)
    cardinal.set_policy(POLICY + '  repositories: {labels: {"area:site": acme/site}}\n')
    set_rules(cardinal, NONE)
    return repo


def worked(cardinal: Cardinal, **changes: Any) -> Item:
    cardinal.scenario(work=[{"create_card": CARD | changes}, *DONE])
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    return item


def proposed(cardinal: Cardinal) -> None:
    """Let the agent of a card ask for one in the site, where alice may write."""
    site(cardinal, "alice")
    worked(cardinal)


def answer(cardinal: Cardinal, item: Item, number: int, who: str = "alice") -> None:
    question = cardinal.comment(item, "needs work in another repository", "Make an issue in acme/site?")
    cardinal.tick(question, f"choice:{cardinal.run_of(item).run_id}-q1:{number}", who)
    cardinal.catch_up(work=True)


def made_in(repo: Repo) -> list[Issue]:
    return list(repo.issues.values())


@pytest.mark.parametrize("relation", ["blocked_by", "blocks"])
def test_a_card_in_another_repository_is_made_when_somebody_agrees_and_both_are_linked(
    cardinal: Cardinal, relation: str
) -> None:
    repo = site(cardinal, "alice")
    item = worked(cardinal, relation=relation)
    assert made_in(repo) == []
    assert "The site asks" in cardinal.comment(item, "Make an issue in acme/site?").body
    answer(cardinal, item, 1)
    (new,) = made_in(repo)
    assert "> The site asks @\u200bbob" in (new.body or "")
    assert f"of acme/shop#{issue_of(item).number}: shop sends it" in (new.body or "")
    assert "@bob" not in new.title + (new.body or "")
    assert "<!-- hidden" not in (new.body or "")
    (blocked, blocking) = (issue_of(item), new) if relation == "blocked_by" else (new, issue_of(item))
    assert (blocked.blocked_by, blocking.blocked_by) == ([blocking], [])
    (card,) = [one for one in cardinal.project.items if one.content is new]
    assert cardinal.column(card) == "Tasks"
    said = "is blocked by" if relation == "blocked_by" else "blocks"
    assert cardinal.comment(item, f"this {said} acme/site#{new.number}")
    assert cardinal.run_of(item).ending == Ending.SUCCEEDED
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=proposed)
def test_nothing_is_made_where_somebody_says_no(cardinal: Cardinal) -> None:
    repo, item = cardinal.forge.store.repos.get("acme", "site"), cardinal.newest
    answer(cardinal, item, 2)
    assert made_in(repo) == []
    assert cardinal.run_of(item).ending == Ending.SUCCEEDED


def test_nobody_is_asked_where_whoever_dragged_may_not_write(cardinal: Cardinal) -> None:
    repo = site(cardinal, "bob")
    item = worked(cardinal)
    assert cardinal.events(QuestionAsked) == []
    assert "create_card" not in [call.tool for call in cardinal.events(BoardToolCalled)]
    assert made_in(repo) == []
    assert cardinal.run_of(item).ending == Ending.SUCCEEDED


@pytest.mark.parametrize("private", ["site", "shop"])
@pytest.mark.parametrize("named", [False, True])
def test_a_private_repository_is_named_only_where_the_policy_says_so(
    cardinal: Cardinal, private: str, named: bool
) -> None:
    repo = site(cardinal, "alice")
    hidden = repo if private == "site" else cardinal.repo
    cardinal.forge.store.access.set_private(hidden, True, actor=cardinal.person("alice"))
    if named:
        policy = POLICY + '  repositories: {labels: {"area:site": acme/site}}\n'
        cardinal.set_policy(f"{policy}  private_issues: named\n")
    worked(cardinal)
    assert bool(cardinal.events(QuestionAsked)) is named
    if not named:
        assert "site" not in "".join(one.body for one in issue_of(cardinal.project.items[-1]).comments)


@pytest.mark.after(scene=proposed)
def test_a_word_of_somebody_who_may_not_write_there_makes_nothing_and_says_why(cardinal: Cardinal) -> None:
    repo, item = cardinal.forge.store.repos.get("acme", "site"), cardinal.newest
    answer(cardinal, item, 1, "bob")
    assert made_in(repo) == []
    assert cardinal.comment(item, "could not be made", "bob has no write access to acme/site")
