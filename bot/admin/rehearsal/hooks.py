"""Beliefs about deliveries: each act of a rehearsal is announced by one, soon and in full."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.admin.rehearsal.belief import Beliefs, Facts, NotTriedError
from bot.admin.rehearsal.mail import ListedDelivery
from bot.admin.rehearsal.stage import AT_ONCE_S, FIVE, RehearsalStage

beliefs = Beliefs[RehearsalStage]()
ITEM, COMMENT, PULL = "projects_v2_item", "issue_comment", "pull_request"
EVENTS = frozenset((ITEM, COMMENT, PULL, "issues", "pull_request_review"))
SOON_S = 60
PAYLOADS = "webhooks/webhook-events-and-payloads"
Match = Callable[[Mapping[str, Any]], bool]


def find_delivery(
    stage: RehearsalStage, event: str, actions: tuple[str, ...], is_it: Match, *, is_fresh: bool = False
) -> ListedDelivery | None:
    """Return the delivery, once GitHub lists it; None where it does not come.

    Once one was waited for in vain, others that are not of a fresh act would have come meanwhile.
    """
    repository_id = int(stage.home["id"])

    def read() -> ListedDelivery | None:
        stage.mail.collect(EVENTS, repository_id)
        fitting = (
            listed for listed in stage.mail.deliveries if listed.event == event and listed.action in actions
        )
        return next((listed for listed in fitting if is_it(listed.payload)), None)

    waits = is_fresh or not stage.missed_delivery
    delivery = stage.until(read, bool, stage.patience_s if waits else AT_ONCE_S)
    stage.missed_delivery = stage.missed_delivery or delivery is None
    return delivery


def came(stage: RehearsalStage, event: str, action: str, is_it: Match) -> tuple[Mapping[str, Any], Facts]:
    """Return the payload of a delivery of an act of the App, and the facts that each has."""
    delivery = find_delivery(stage, event, (action,), is_it)
    if delivery is None:
        return {}, {"came": (True, False)}
    payload = delivery.payload
    return payload, {
        "came": (True, True),
        "within a minute": (True, delivery.delay_s < SOON_S),
        "sender's kind": ("Bot", payload["sender"]["type"]),
        "sender is the App": (True, payload["sender"]["login"] == stage.bot_login),
    }


def came_of_card(stage: RehearsalStage, action: str, card_id: str, change: str = "") -> Facts:
    """Return the facts about a delivery of the card, which names this change."""
    payload, facts = came(stage, ITEM, action, lambda it: it[ITEM]["node_id"] == card_id)
    if not payload:
        return facts
    named = {f"names {change}": (True, change in payload.get("changes", {}))} if change else {}
    board = {"board": (True, payload[ITEM]["project_node_id"] == stage.board.board_id)}
    return {**facts, **board, **named}


@beliefs.about(
    "delivery: issue opened",
    "An issue that is opened is announced within a minute, with the App's bot as the sender.",
    used="bot/ingest/events/issues.py",
    source=PAYLOADS + "#issues",
)
def tells_issue(stage: RehearsalStage) -> Facts:
    issue_id = stage.issue["id"]
    return came(stage, "issues", "opened", lambda it: it["issue"]["id"] == issue_id)[1]


@beliefs.about(
    "delivery: comment",
    "A comment is announced with its text.",
    used="bot/ingest/events/issue_comment.py",
    source=PAYLOADS + "#issue_comment",
)
def tells_comment(stage: RehearsalStage) -> Facts:
    comment = stage.comments[1]
    payload, facts = came(stage, COMMENT, "created", lambda it: it["comment"]["id"] == comment["id"])
    return {**facts, "text": (True, payload.get("comment", {}).get("body") == comment["body"])}


@beliefs.about(
    "delivery: comment edited",
    "An edit of a comment is announced with the text before, so that a tick is found.",
    used="bot/ingest/events/_comment.py",
    source=PAYLOADS + "#issue_comment",
)
def tells_edit(stage: RehearsalStage) -> Facts:
    before, after = stage.comments[0], stage.edited_comment
    payload, facts = came(stage, COMMENT, "edited", lambda it: it["comment"]["id"] == after["id"])
    text = payload.get("changes", {}).get("body", {}).get("from")
    return {**facts, "text before": (True, text == before["body"])}


@beliefs.about(
    "delivery: card made",
    "A new card is announced with its id and its board.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_card(stage: RehearsalStage) -> Facts:
    return came_of_card(stage, "created", stage.card)


@beliefs.about(
    "delivery: card moved",
    "A move by the API is announced as edited, with the field and both columns.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_move(stage: RehearsalStage) -> Facts:
    goal = stage.columns[1].option_id
    facts = came_of_card(stage, "edited", stage.card, "field_value")
    moves = [
        change
        for delivery in stage.mail.deliveries
        if delivery.event == ITEM and delivery.payload[ITEM]["node_id"] == stage.card
        for change in [delivery.payload.get("changes", {}).get("field_value", {})]
        if isinstance(change.get("to"), dict) and change["to"]["id"] == goal
    ]
    column = (moves[0].get("from") or {}).get("id") if moves else ""
    return {**facts, "to the column": (1, len(moves)), "from": (True, column == stage.columns[0].option_id)}


@beliefs.about(
    "delivery: card archived",
    "An archived card is announced.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_archive(stage: RehearsalStage) -> Facts:
    _ = stage.archived_card
    return came_of_card(stage, "archived", stage.card, "archived_at")


@beliefs.about(
    "delivery: card restored",
    "A restored card is announced.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_restoration(stage: RehearsalStage) -> Facts:
    _ = stage.archived_card
    return came_of_card(stage, "restored", stage.card, "archived_at")


@beliefs.about(
    "delivery: draft converted",
    "A draft that becomes an issue is announced as converted.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_conversion(stage: RehearsalStage) -> Facts:
    return came_of_card(stage, "converted", stage.converted_card.card_id, "content_type")


@beliefs.about(
    "delivery: card deleted",
    "A card that was taken off the board is announced.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_deletion(stage: RehearsalStage) -> Facts:
    return came_of_card(stage, "deleted", stage.deleted_card)


@beliefs.about(
    "deliveries: five at once",
    "Of five cards that are moved at once, each move is announced by a delivery of its own.",
    used="bot/ingest/events/projects_v2_item.py",
    source=PAYLOADS + "#projects_v2_item",
)
def tells_five(stage: RehearsalStage) -> Facts:
    cards = [*stage.five_cards]
    for card_id in cards:
        came_of_card(stage, "edited", card_id)
    announced = [
        delivery.payload[ITEM]["node_id"]
        for delivery in stage.mail.deliveries
        if (delivery.event, delivery.action) == (ITEM, "edited")
    ]
    return {"announced": (FIVE, sum(announced.count(card_id) for card_id in cards))}


@beliefs.about(
    "delivery: pull request",
    "A pull request that is opened is announced, with its draft, its branch and its commit.",
    used="bot/ingest/events/pull_request.py",
    source=PAYLOADS + "#pull_request",
)
def tells_pull(stage: RehearsalStage) -> Facts:
    pull = stage.pull
    payload, facts = came(stage, PULL, "opened", lambda it: it[PULL]["id"] == pull["id"])
    head = payload.get(PULL, {}).get("head", {})
    return {
        **facts,
        "branch": (True, head.get("ref") == stage.head_branch),
        "sha": (True, head.get("sha") == pull["head"]["sha"]),
    }


@beliefs.about(
    "delivery: end of a draft",
    "A pull request that leaves draft is announced as ready_for_review.",
    used="bot/ingest/events/pull_request.py",
    source=PAYLOADS + "#pull_request",
)
def tells_ready(stage: RehearsalStage) -> Facts:
    if not stage.pull["draft"]:
        raise NotTriedError("it was no draft")
    _, pull_id = stage.ready_pull, stage.pull["id"]
    return came(stage, PULL, "ready_for_review", lambda it: it[PULL]["id"] == pull_id)[1]


@beliefs.about(
    "delivery: review",
    "A review is announced as submitted, with its state and its id.",
    used="bot/ingest/events/pull_request_review.py",
    source=PAYLOADS + "#pull_request_review",
)
def tells_review(stage: RehearsalStage) -> Facts:
    review_id = stage.review["id"]
    payload, facts = came(
        stage, "pull_request_review", "submitted", lambda it: it["review"]["id"] == review_id
    )
    return {**facts, "state": ("commented", payload.get("review", {}).get("state", ""))}


@beliefs.about(
    "delivery: merge",
    "A merge is announced as closed, with merged and the commit.",
    used="bot/ingest/events/pull_request.py",
    source=PAYLOADS + "#pull_request",
)
def tells_merge(stage: RehearsalStage) -> Facts:
    commit, pull_id = stage.merged_commit, stage.pull["id"]
    payload, facts = came(stage, PULL, "closed", lambda it: it[PULL]["id"] == pull_id)
    pull = payload.get(PULL, {})
    return {
        **facts,
        "merged": (True, pull.get("merged")),
        "commit": (True, pull.get("merge_commit_sha") == commit),
    }


@beliefs.about(
    "delivery: issue closed",
    "An issue that is closed is announced with its reason.",
    used="bot/ingest/events/issues.py",
    source=PAYLOADS + "#issues",
)
def tells_closing(stage: RehearsalStage) -> Facts:
    issue_id = stage.closed_issue["id"]
    payload, facts = came(stage, "issues", "closed", lambda it: it["issue"]["id"] == issue_id)
    return {**facts, "reason": ("not_planned", payload.get("issue", {}).get("state_reason", ""))}


@beliefs.about(
    "workflow of the board",
    "A card that the board's workflow moves when its issue is closed is announced with a Bot as the sender.",
    used="bot/sync/movers.py",
    source="issues/planning-and-tracking-with-projects/automating-your-project/using-the-built-in-automations",
)
def tells_workflow(stage: RehearsalStage) -> Facts:
    _, _ = stage.moved_card, stage.closed_issue
    card = stage.read_card(stage.card)
    if card.option_id == stage.columns[1].option_id:
        raise NotTriedError("the board moves no card whose issue is closed")
    delivery = find_delivery(
        stage,
        ITEM,
        ("edited", "reordered"),
        lambda it: it[ITEM]["node_id"] == stage.card and _goes_to(it, card.option_id),
    )
    if delivery is None:
        return {"came": (True, False)}
    return {"sender's kind": ("Bot", delivery.payload["sender"]["type"])}


def _goes_to(payload: Mapping[str, Any], option_id: str) -> bool:
    goal = payload.get("changes", {}).get("field_value", {}).get("to")
    return isinstance(goal, dict) and goal["id"] == option_id


@beliefs.about(
    "signature",
    "Each delivery is signed with SHA-256 and has an id of its own.",
    used="bot/web/webhook.py",
    source="webhooks/using-webhooks/validating-webhook-deliveries",
)
def is_signed(stage: RehearsalStage) -> Facts:
    if not find_delivery(stage, "issues", ("opened",), lambda _: True):
        raise NotTriedError("no delivery came")
    headers = [{name.lower() for name in delivery.headers} for delivery in stage.mail.deliveries]
    return {
        name: (len(headers), sum(name in header for header in headers))
        for name in ("x-hub-signature-256", "x-github-delivery", "x-github-event")
    }
