"""Beliefs that need a person, and the story of a card with the scripted agent and this home's Cardinal."""

from collections.abc import Callable

from bot.admin.rehearsal.belief import Beliefs, Facts, NotTriedError
from bot.admin.rehearsal.hooks import COMMENT, ITEM, find_delivery
from bot.admin.rehearsal.stage import PersonAct, RehearsalStage
from bot.admin.rehearsal.watch import CardWatch, Watch
from bot.github.api import pulls
from ledger.states import Ending, RunState

beliefs = Beliefs[RehearsalStage]()


@beliefs.about(
    "person: drag",
    "A card that a person drags is announced as edited or reordered, with a User as the sender.",
    used="bot/ingest/events/projects_v2_item.py",
    source="webhooks/webhook-events-and-payloads#projects_v2_item",
)
def tells_drag(stage: RehearsalStage) -> Facts:
    issue, card_id = stage.story_card
    stage.ask(PersonAct.DRAG, int(issue["number"]), stage.columns[1].name)
    goal = stage.columns[1].option_id
    moved = stage.until(lambda: stage.read_card(card_id), lambda card: card.option_id == goal)
    facts: Facts = {"column": (True, moved.option_id == goal)}
    delivery = find_delivery(
        stage,
        ITEM,
        ("edited", "reordered"),
        lambda it: it[ITEM]["node_id"] == card_id and it["sender"]["type"] == "User",
        is_fresh=True,
    )
    return {**facts, "came": (True, delivery is not None)}


@beliefs.about(
    "person: tick",
    "A box that a person ticks is announced as an edit of the comment, with the tick in its text.",
    used="bot/ingest/events/_comment.py",
    source="webhooks/webhook-events-and-payloads#issue_comment",
)
def tells_tick(stage: RehearsalStage) -> Facts:
    issue = stage.issue
    comment = stage.comment(int(issue["number"]), stage.comments[1]["body"])
    stage.ask(PersonAct.TICK, int(issue["number"]))
    delivery = find_delivery(
        stage,
        COMMENT,
        ("edited",),
        lambda it: it["comment"]["id"] == comment["id"] and it["sender"]["type"] == "User",
        is_fresh=True,
    )
    if delivery is None:
        return {"came": (True, False)}
    return {"ticked": (True, "- [x]" in delivery.payload["comment"]["body"])}


def _watch(stage: RehearsalStage) -> Watch:
    """Return the ledger, for a board with the columns that the story needs; raises NotTriedError."""
    watch = stage.watch
    if watch is None or not watch.is_up:
        raise NotTriedError("no Cardinal is running in this home")
    if not watch.scripted_column():
        raise NotTriedError("no column on the board uses the scripted agent")
    return watch


def _until(stage: RehearsalStage, is_there: Callable[[CardWatch], bool]) -> CardWatch:
    watch, (_, card_id) = _watch(stage), stage.story_card
    return stage.until(lambda: watch.of_card(card_id), is_there, stage.run_patience_s)


def _has_ended(watch: CardWatch) -> bool:
    return watch.state is RunState.ENDED


def _pull_number(stage: RehearsalStage) -> int:
    watch, (_, card_id) = _watch(stage), stage.story_card
    number = watch.of_card(card_id).pull_number
    if number is None:
        raise NotTriedError("it needs the agent's pull request")
    return number


@beliefs.about(
    "story: plan",
    "A card that is dragged to the agent's column is planned.",
    used="rules/handlers/card_moved.py",
    source="webhooks/webhook-events-and-payloads#projects_v2_item",
)
def plans_work(stage: RehearsalStage) -> Facts:
    column, (issue, _) = _watch(stage).scripted_column(), stage.story_card
    stage.ask(PersonAct.DRAG, int(issue["number"]), column)
    waits = (RunState.AWAITING_APPROVAL, RunState.ENDED)
    watch = _until(stage, lambda card_watch: card_watch.state in waits)
    return {"waits for approval": (True, watch.state is RunState.AWAITING_APPROVAL)}


@beliefs.about(
    "story: pull request",
    "A plan whose box a person ticks is carried out, pushed by git, and offered for review.",
    used="bot/outbox/handlers/open_pull.py",
    source="webhooks/webhook-events-and-payloads#issue_comment",
)
def delivers(stage: RehearsalStage) -> Facts:
    watch, (issue, card_id) = _watch(stage), stage.story_card
    if watch.of_card(card_id).state is not RunState.AWAITING_APPROVAL:
        raise NotTriedError("it needs a plan")
    stage.ask(PersonAct.APPROVE, int(issue["number"]))
    card_watch = _until(stage, lambda it: _has_ended(it) and it.pull_number is not None)
    facts: Facts = {"succeeded": (True, card_watch.ending is Ending.SUCCEEDED)}
    if card_watch.pull_number is None:
        return {**facts, "pull request": (True, False)}
    return {**facts, "state": ("open", pulls.read(stage.hub, stage.repository, card_watch.pull_number).state)}


@beliefs.about(
    "story: review",
    "Changes that a person requests are made by the next run, on the same branch.",
    used="rules/handlers/review.py",
    source="webhooks/webhook-events-and-payloads#pull_request_review",
)
def revises(stage: RehearsalStage) -> Facts:
    watch, (issue, card_id) = _watch(stage), stage.story_card
    number, before = _pull_number(stage), watch.of_card(card_id).runs
    stage.ask(PersonAct.REVIEW, number)
    stage.ask(PersonAct.DRAG, int(issue["number"]), stage.columns[1].name)
    stage.ask(PersonAct.DRAG, int(issue["number"]), watch.scripted_column())
    card_watch = _until(stage, lambda it: it.runs > before and _has_ended(it))
    return {
        "another run": (True, card_watch.runs > before),
        "succeeded": (True, card_watch.ending is Ending.SUCCEEDED),
        "same pull request": (True, card_watch.pull_number == number),
    }


@beliefs.about(
    "story: merge",
    "A card whose pull request a person approved is merged when it is dragged to the last column.",
    used="bot/outbox/handlers/merge_pull.py",
    source="rest/pulls/pulls#merge-a-pull-request",
)
def merges_story(stage: RehearsalStage) -> Facts:
    watch, (issue, _), number = _watch(stage), stage.story_card, _pull_number(stage)
    if not watch.last_column():
        raise NotTriedError("no column on the board merges")
    stage.ask(PersonAct.ACCEPT, number)
    stage.ask(PersonAct.DRAG, int(issue["number"]), watch.last_column())
    pull = stage.until(
        lambda: pulls.read(stage.hub, stage.repository, number),
        lambda pull_reading: pull_reading.state == "merged",
        stage.run_patience_s,
    )
    return {"state": ("merged", pull.state)}
