"""A draft that GitHub lets no App convert: its issue is the same card, on every way round."""

from collections.abc import Iterator

import pytest

from bot.sync import card
from forge.store.board import DraftIssue, Item
from forge.store.models import Issue
from ledger.events.board import CardArchived, CardReplaced, CardSeen
from ledger.events.conversation import AssistantReplied
from ledger.events.publication import EntryGivenUp
from ledger.events.run import RunQueued
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import refresh_requests
from ledger.rows.cards import CardRow
from ledger.views import cards
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY, with_column


@pytest.fixture(autouse=True)
def _apps_convert_no_drafts(cardinal: Cardinal) -> Iterator[None]:
    cardinal.forge.store.settings.apps_convert_drafts = False
    yield
    cardinal.forge.store.settings.apps_convert_drafts = True


def item_of(cardinal: Cardinal, title: str) -> Item:
    (item,) = (
        item
        for item in cardinal.project.items
        if not isinstance(item.content, DraftIssue) and item.title == title
    )
    return item


def issues_of(cardinal: Cardinal, title: str) -> list[Issue]:
    return [issue for issue in cardinal.repo.issues.values() if issue.title == title]


def known(cardinal: Cardinal, item: Item) -> CardRow | None:
    with event_store.reading(cardinal.services.engine) as db:
        return cards.get(db, CardId(item.node_id))


def test_a_draft_dragged_to_in_progress_starts_one_run_on_its_issue(cardinal: Cardinal) -> None:
    draft = cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up()
    item = item_of(cardinal, "Gift cards")
    assert len(issues_of(cardinal, "Gift cards")) == 1
    assert draft not in cardinal.project.items
    assert cardinal.column(item) == "In Progress"
    assert [(event.card_id, event.by) for event in cardinal.events(RunQueued)] == [(item.node_id, "carol")]
    assert cardinal.run_of(item).branch.endswith("-gift-cards")
    assert cardinal.face(item)["Agent"].endswith(("queued", "working"))
    assert issue_of(item).comments
    assert known(cardinal, draft) is None
    assert not cardinal.events(CardArchived)
    assert len(cardinal.events(CardReplaced)) == 1
    assert [event.card_id for event in cardinal.events(CardSeen)].count(CardId(item.node_id)) == 0
    cardinal.sweep()
    cardinal.catch_up()
    assert len(cardinal.events(RunQueued)) == 1
    assert cardinal.events(EntryGivenUp) == []
    cardinal.assert_nothing_is_stuck()


STEPS = (
    {"path": "/issues$", "method": "POST"},
    *({"path": "/graphql$", "body": body} for body in ("addProjectV2ItemById", "mutation SetFields")),
    *({"path": "/graphql$", "body": body} for body in ("updateProjectV2ItemPosition", "deleteProjectV2Item")),
)


STEP_NAMES = [step.get("body", "issue") for step in STEPS]


def interrupted(cardinal: Cardinal, step: dict[str, str]) -> Item:
    """Return a draft in a column that works, whose replacement stopped after that step."""
    draft = cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up(publish=False)
    fault = {"count": 1, "status": 502, "after": True, "cut": True, **step}
    cardinal.forge.store.faults.load({"api": [fault]})
    cardinal.publish()
    assert cardinal.forge.store.faults.api[0].count == 0
    return draft


def go_on(cardinal: Cardinal) -> None:
    for _ in range(2):
        cardinal.clock.forward(120)
        cardinal.sweep()
        cardinal.catch_up()
    cardinal.assert_nothing_is_stuck()


@pytest.mark.parametrize("step", STEPS, ids=STEP_NAMES)
def test_looks_at_both_cards_between_the_steps_change_nothing(
    cardinal: Cardinal, step: dict[str, str]
) -> None:
    draft = interrupted(cardinal, step)
    cardinal.sweep()
    cardinal.catch_up(publish=False)
    assert not cardinal.events(CardReplaced)
    assert not cardinal.events(CardArchived)
    card_ids = {event.card_id for event in cardinal.events(CardSeen)}
    assert not card_ids & {item.node_id for item in cardinal.project.items if item.title == "Gift cards"} - {
        draft.node_id
    }
    cardinal.clock.forward(120)
    cardinal.catch_up()
    item = item_of(cardinal, "Gift cards")
    assert len(issues_of(cardinal, "Gift cards")) == 1
    assert [event.card_id for event in cardinal.events(RunQueued)] == [item.node_id]
    assert known(cardinal, draft) is None
    cardinal.sweep()
    cardinal.catch_up()
    assert len(cardinal.events(RunQueued)) == 1
    cardinal.assert_nothing_is_stuck()


@pytest.mark.parametrize(
    "words", [("Gift cards", "New."), ("Gift vouchers", "An idea."), ("Vouchers", "New.")]
)
def test_what_a_person_writes_into_the_draft_between_the_steps_is_in_the_issue(
    cardinal: Cardinal, words: tuple[str, str]
) -> None:
    draft = interrupted(cardinal, STEPS[0])
    assert isinstance(draft.content, DraftIssue)
    draft.content.title, draft.content.body = words
    go_on(cardinal)
    (issue,) = issues_of(cardinal, words[0])
    assert (issue.body or "").startswith(f"{words[1]}\n")
    assert len(cardinal.events(RunQueued)) == 1


@pytest.mark.parametrize("step", STEPS[:2], ids=STEP_NAMES[:2])
def test_a_draft_that_a_person_deletes_before_its_issue_has_its_place_starts_no_run(
    cardinal: Cardinal, step: dict[str, str]
) -> None:
    draft = interrupted(cardinal, step)
    cardinal.forge.store.projects.delete_item(draft, actor=cardinal.person("carol"))
    go_on(cardinal)
    assert cardinal.events(RunQueued) == []
    assert [event.card_id for event in cardinal.events(CardArchived)] == [draft.node_id]
    assert cardinal.card(item_of(cardinal, "Gift cards")).column is None


def test_an_issue_that_a_person_takes_back_before_it_is_known_starts_no_run(cardinal: Cardinal) -> None:
    interrupted(cardinal, STEPS[-1])
    item = item_of(cardinal, "Gift cards")
    cardinal.drag(item, "Tasks", who="alice")
    go_on(cardinal)
    assert cardinal.events(RunQueued) == []
    assert cardinal.card(item).column == cardinal.column(item) == "Tasks"


def test_two_drafts_of_one_title_are_two_cards_with_a_run_each(cardinal: Cardinal) -> None:
    drafts = [cardinal.draft("Gift cards", "In Progress") for _ in range(2)]
    cardinal.catch_up()
    items = [item for item in cardinal.project.items if item.title == "Gift cards"]
    assert len(items) == len(issues_of(cardinal, "Gift cards")) == 2
    assert not {*drafts} & {*items}
    assert sorted(event.card_id for event in cardinal.events(RunQueued)) == sorted(it.node_id for it in items)


def test_a_draft_in_planning_is_answered_once_on_its_issue(cardinal: Cardinal) -> None:
    cardinal.draft("Gift cards", "Planning")
    cardinal.catch_up()
    item = item_of(cardinal, "Gift cards")
    assert cardinal.column(item) == "Planning"
    assert len(issue_of(item).comments) == 1
    assert cardinal.events(EntryGivenUp) == []


def test_the_hidden_line_under_a_drafts_words_is_not_a_word_of_it(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(mode="investigate"))
    draft = cardinal.draft("Gift cards", "In Progress")
    assert isinstance(draft.content, DraftIssue)
    draft.content.body = ""
    cardinal.catch_up()
    item = item_of(cardinal, "Gift cards")
    cardinal.sweep()
    card.sync_card(cardinal.services, CardId(item.node_id))
    assert cardinal.card(item).body == ""
    cardinal.drag(item, "Planning")
    cardinal.catch_up()
    assert not cardinal.events(AssistantReplied)  # the card says nothing yet


def test_a_stale_look_at_the_draft_makes_no_card_of_it(cardinal: Cardinal) -> None:
    draft = cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up()
    # GitHub still shows it, as of before.
    cardinal.project.items.append(draft)
    cardinal.forge.store.nodes[draft.node_id] = draft
    cardinal.forge.store.nodes[draft.content.node_id] = draft.content
    with event_store.writing(cardinal.services.engine) as db:
        refresh_requests.add(db, CardId(draft.node_id), cardinal.board_id)
    card.sync_card(cardinal.services, CardId(draft.node_id))
    assert known(cardinal, draft) is None
    assert len(cardinal.events(RunQueued)) == 1


def test_a_draft_that_a_person_deletes_meanwhile_is_seen_as_deleted(cardinal: Cardinal) -> None:
    draft = cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up(publish=False)
    cardinal.forge.store.projects.delete_item(draft, actor=cardinal.person("carol"))
    cardinal.catch_up()
    assert issues_of(cardinal, "Gift cards") == []
    assert [event.reason for event in cardinal.events(CardArchived)] == ["deleted"]
    assert cardinal.events(RunQueued) == []
    cardinal.assert_nothing_is_stuck()


def test_a_draft_whose_replacement_was_given_up_is_one_card_with_one_run_after_the_next_drag(
    cardinal: Cardinal,
) -> None:
    draft = cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up(publish=False)
    never = {"errors": [{"type": "UNPROCESSABLE", "message": "The item cannot be deleted"}]}
    fault = {"count": 99, "path": "/graphql$", "status": 200, "body": "deleteProjectV2Item", "answer": never}
    cardinal.forge.store.faults.load({"api": [fault]})
    for _ in range(6):
        cardinal.catch_up()
        cardinal.clock.forward(120)
    assert [event.act for event in cardinal.events(EntryGivenUp)][:1] == ["convert_draft"]
    cardinal.forge.store.faults.clear()
    cardinal.sweep()
    cardinal.catch_up()
    cardinal.drag(draft, "Tasks", who="carol")
    cardinal.catch_up()
    cardinal.drag(draft, "In Progress", who="carol")
    cardinal.catch_up()
    item = item_of(cardinal, "Gift cards")
    assert len(issues_of(cardinal, "Gift cards")) == 1
    assert draft not in cardinal.project.items
    assert [event.card_id for event in cardinal.events(RunQueued)] == [item.node_id]
    assert cardinal.column(item) == "In Progress"


def test_a_look_from_before_the_issue_had_its_column_is_no_move(cardinal: Cardinal) -> None:
    cardinal.draft("Gift cards", "In Progress")
    cardinal.catch_up()
    item = item_of(cardinal, "Gift cards")
    value = item.values.pop(cardinal.project.status.node_id)
    card.sync_card(cardinal.services, CardId(item.node_id))
    assert cardinal.card(item).column == "In Progress"
    item.values[cardinal.project.status.node_id] = value
    cardinal.drag(item, None, who="alice")
    cardinal.catch_up()
    assert cardinal.card(item).column is None


def test_what_a_draft_says_about_its_repository_counts_for_its_issue(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY + "  repositories: {home: named}\n")
    cardinal.catch_up()
    draft = cardinal.draft("Gift cards", "Tasks")
    assert isinstance(draft.content, DraftIssue)
    draft.content.body = "An idea.\n\nRepo: acme/shop"
    draft.content.creator = cardinal.person("alice")
    cardinal.drag(draft, "In Progress")
    cardinal.catch_up()
    (queued,) = cardinal.events(RunQueued)
    item = item_of(cardinal, "Gift cards")
    assert (queued.card_id, queued.repository) == (item.node_id, "acme/shop")
    assert issue_of(item).repo.full_name == "acme/board"
