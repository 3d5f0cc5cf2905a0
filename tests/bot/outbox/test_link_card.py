"""A dependency that an agent wants is GitHub's own, made once, and never closes a circle."""

from dataclasses import replace

import pytest

from forge.store.models import Issue
from ledger.events.board import CardConverted
from ledger.events.publication import EntryGivenUp
from ledger.events.related import Blocker, CardMade, CardProposed, LinksSeen
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.views import cards, children, remotes
from rules.intents.by_command import UnlinkCard
from rules.intents.outbound import LinkCard
from tests.bot.outbox.conftest import Stage
from tests.bot.render.past import RUN


def other(stage: Stage) -> Issue:
    """Return another issue of the shop, with a card that the ledger knows."""
    issue = stage.forge.store.issues.create(stage.shop, "Tables", "", actor=stage.alice)
    item = stage.forge.store.projects.add(stage.item.project, issue, actor=stage.alice)
    stage.past.card(
        CardId(item.node_id), board_id=stage.board_id, number=issue.number, content_id=issue.node_id
    )
    return issue


def wanted(stage: Stage, issue: Issue, relation: str = "blocked_by") -> LinkCard:
    return LinkCard(stage.card_id, RUN, f"acme/shop#{issue.number}", relation)


def refused(stage: Stage) -> list[str]:
    return [event.because for event in stage.events(EntryGivenUp) if isinstance(event, EntryGivenUp)]


def test_it_is_made_once_in_either_direction_however_often_it_is_tried(stage: Stage) -> None:
    first, second = other(stage), other(stage)
    stage.fault(method="POST", path="/graphql", status=502, after=True)
    stage.do(wanted(stage, first))
    stage.clock.forward(5)
    stage.publish()
    stage.do(replace(wanted(stage, second, "blocks"), target=f"ACME/Shop#{second.number}"))
    assert (stage.issue.blocked_by, second.blocked_by) == ([first], [stage.issue])
    assert refused(stage) == []


@pytest.mark.parametrize("through", [False, True])
def test_one_that_would_close_a_circle_is_refused(stage: Stage, through: bool) -> None:
    first, second = other(stage), other(stage)
    last = second if through else first
    with event_store.reading(stage.context.engine) as db:
        (card,) = cards.of_issue(db, "acme/shop", last.number)
        (between,) = cards.of_issue(db, "acme/shop", first.number)
    blocker = Blocker("acme/shop", stage.issue.number, "T", "open")
    stage.happen(LinksSeen(between.card_id, (blocker,), 0, ""))
    if through:
        stage.happen(LinksSeen(card.card_id, (Blocker("acme/shop", first.number, "T", "open"),), 0, ""))
    stage.do(wanted(stage, last))
    assert stage.issue.blocked_by == []
    (because,) = refused(stage)
    assert "in a circle" in because
    with event_store.reading(stage.context.engine) as db:
        assert remotes.list_given_up(db) == ()  # no replay would make it, so no operator is asked for one


def test_it_is_removed_once_and_can_be_made_again(stage: Stage) -> None:
    issue = other(stage)
    target = f"acme/shop#{issue.number}"
    stage.do(LinkCard(stage.card_id, RunId(""), target, "blocked_by", "command1"))
    stage.fault(method="POST", path="/graphql", status=502, after=True)
    stage.do(UnlinkCard(stage.card_id, target, "blocked_by", "command2"))
    stage.clock.forward(5)
    stage.publish()
    assert (stage.issue.blocked_by, refused(stage)) == ([], [])
    stage.do(LinkCard(stage.card_id, RunId(""), target, "blocked_by", "command3"))
    assert stage.issue.blocked_by == [issue]
    stage.do(UnlinkCard(stage.card_id, target, "blocks", "command4"))
    assert refused(stage) == []  # it is so already


def test_an_issue_without_a_card_here_is_not_linked(stage: Stage) -> None:
    issue = stage.forge.store.issues.create(stage.shop, "Elsewhere", "", actor=stage.alice)
    stage.do(wanted(stage, issue))
    assert stage.issue.blocked_by == []
    assert "no card on this board" in refused(stage)[0]


def test_the_depth_counts_the_cards_whose_agents_made_the_next_one(stage: Stage) -> None:
    issue = other(stage)
    stage.happen(
        CardProposed(RUN, 1, "Tables", "b", "r"), CardMade(RUN, 1, "Tables", "acme/shop", issue.number)
    )
    with event_store.reading(stage.context.engine) as db:
        (card,) = cards.of_issue(db, "acme/shop", issue.number)
        above = cards.get(db, stage.card_id)
        assert above is not None
        assert (children.depth_of(db, above), children.depth_of(db, card)) == (0, 1)
        (row,) = children.of_card(db, stage.card_id)
        assert (row.number, row.state) == (issue.number, "made")
    was = f"acme/shop#{issue.number}"
    stage.happen(CardConverted(card.card_id, "I_2", "acme/till", 7, "", was))
    with event_store.reading(stage.context.engine) as db:
        transferred = cards.get(db, card.card_id)
        assert transferred is not None
        assert (transferred.repository, children.depth_of(db, transferred)) == ("acme/till", 1)


def test_a_refusal_is_no_success_because_an_earlier_attempt_had_no_answer(stage: Stage) -> None:
    issue, store = other(stage), stage.forge.store
    for _ in range(50):  # as many as GitHub takes
        blocker = store.issues.create(stage.shop, "Blocker", "", actor=stage.alice)
        store.links.add_blocked_by(stage.issue, blocker, actor=stage.alice)
    stage.fault(method="POST", path="/graphql", status=502)
    stage.do(wanted(stage, issue))
    stage.clock.forward(120)
    stage.publish()
    assert issue not in stage.issue.blocked_by
    assert "GitHub refuses it" in refused(stage)[0]
