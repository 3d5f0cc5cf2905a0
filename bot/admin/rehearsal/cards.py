"""Beliefs about the board (cards, columns, movers, the sweep), tried by `cardinal rehearse` on its own."""

from contextlib import suppress

from bot.admin.rehearsal.belief import Beliefs, Facts, NotTriedError
from bot.admin.rehearsal.stage import FIVE, RehearsalStage
from bot.github.api import project_pages, projects
from ledger.ids import CardId

beliefs = Beliefs[RehearsalStage]()
MAX_STARTS = 20  # of a hundred cards each


def _cards(stage: RehearsalStage, skip_columns: tuple[str, ...] = ()) -> tuple[set[CardId], str]:
    """Return the cards that a sweep sees, and the board's last change."""
    start: str | None = None
    cards: set[CardId] = set()
    for _ in range(MAX_STARTS):
        reading = project_pages.survey(stage.hub, stage.address, stage.repository, skip_columns, (start,))
        (page,) = reading.pages
        cards.update(stub.card_id for stub in page.stubs)
        if not page.more:
            return cards, reading.touched_at
        start = page.places[-1][1]
    raise NotTriedError("the board has too many cards")


@beliefs.about(
    "board",
    "The board has a single-select field Status, whose options are its columns.",
    used="bot/github/api/projects.py",
    source="graphql/reference/objects#projectv2singleselectfield",
)
def has_columns(stage: RehearsalStage) -> Facts:
    columns = stage.board.columns
    ids = {column.option_id for column in columns}
    return {"has columns": (True, bool(columns)), "each has an id": (len(columns), len(ids - {""}))}


@beliefs.about(
    "card",
    "An issue that is put on the board twice keeps its card.",
    used="bot/outbox/new_cards.py",
    source="graphql/reference/mutations#addprojectv2itembyid",
)
def keeps_card(stage: RehearsalStage) -> Facts:
    return {"same card": (True, stage.card == stage.new_card(stage.issue))}


@beliefs.about(
    "content of a card",
    "A card tells its issue's kind, repository, number, state and author as soon as it is made.",
    used="bot/github/api/projects.py",
    source="graphql/reference/objects#projectv2item",
)
def tells_content(stage: RehearsalStage) -> Facts:
    card = stage.moved_card[0]
    return {
        "kind": ("Issue", card.kind),
        "repository": (True, card.repository == stage.repository),
        "number": (True, card.number == stage.issue["number"]),
        "state": ("open", card.state),
        "author is the App": (
            True,
            card.author.removesuffix("[bot]") == stage.bot_login.removesuffix("[bot]"),
        ),
    }


@beliefs.about(
    "move",
    "A card that is moved by the API is read in its new column at once, with a new moment of change.",
    used="bot/outbox/handlers/move_card.py",
    source="graphql/reference/mutations#updateprojectv2itemfieldvalue",
)
def moves_card(stage: RehearsalStage) -> Facts:
    before, after = stage.moved_card
    return {
        "column": (True, after.option_id == stage.columns[1].option_id),
        "column before": (True, before.option_id == stage.columns[0].option_id),
        "not older": (True, after.updated_at >= before.updated_at),
    }


@beliefs.about(
    "mover",
    "The issue's timeline tells who moved its card, and into which column, within a minute.",
    used="bot/github/api/issues.py",
    source="graphql/reference/objects#projectv2itemstatuschangedevent",
)
def tells_mover(stage: RehearsalStage) -> Facts:
    column = stage.moved_card[1].column
    card = stage.until(lambda: stage.read_card(stage.card), lambda it: bool(it.last_move and it.last_move.by))
    move = card.last_move
    return {
        "is there": (True, move is not None),
        "is the App": (True, bool(move and move.by == stage.bot_login)),
        "into the column": (True, bool(move and move.column == column)),
    }


@beliefs.about(
    "change of the board",
    "The board's moment of change is never older than that of its cards, so an unchanged one needs no sweep.",
    used="bot/sync/sweep.py",
    source="graphql/reference/objects#projectv2",
)
def touches_board(stage: RehearsalStage) -> Facts:
    card = stage.moved_card[1]
    moment = card.updated_at.strftime("%Y-%m-%dT%H:%M:%S")
    touched_at = stage.until(lambda: _cards(stage)[1], lambda it: it >= moment)
    return {"not older": (True, touched_at >= moment)}


@beliefs.about(
    "filter of the sweep",
    "The filter -status leaves a column's cards out, and without it they are all there.",
    used="bot/github/api/project_pages.py",
    source="issues/planning-and-tracking-with-projects/customizing-views-in-your-project/filtering-projects",
)
def filters_columns(stage: RehearsalStage) -> Facts:
    _, after = stage.moved_card
    seen = stage.until(lambda: after.card_id in _cards(stage)[0], bool)
    left_out = after.card_id not in _cards(stage, (after.column or "",))[0]
    return {"is there": (True, seen), "is left out": (True, left_out)}


@beliefs.about(
    "price of the sweep",
    "A part of the sweep costs one point of the hour.",
    used="bot/github/api/project_queries.py",
    source="graphql/overview/rate-limits-and-query-limits-for-the-graphql-api",
)
def pays_one_point(stage: RehearsalStage) -> Facts:
    def count_remaining_points() -> int:
        hour = stage.hub.budget.read_usage()[0].windows.get("graphql")
        if hour is None:
            raise NotTriedError("this server has no limits")
        return hour.remaining

    _ = stage.board
    prices = []
    for _ in range(3):  # others may spend points in the meantime: the smallest difference counts
        before = count_remaining_points()
        project_pages.survey(stage.hub, stage.address, stage.repository, (), (None,) * 5)
        prices.append(before - count_remaining_points())
    return {"points": (1, min(prices))}


@beliefs.about(
    "archived card",
    "An archived card can be read, is in no sweep, and comes back to its column.",
    used="bot/outbox/handlers/archive_card.py",
    source="graphql/reference/mutations#archiveprojectv2item",
)
def archives_card(stage: RehearsalStage) -> Facts:
    archived, restored = stage.archived_card
    return {
        "is archived": (True, archived.archived),
        "is restored": (False, restored.archived),
        "same column": (True, restored.option_id == archived.option_id != ""),
    }


@beliefs.about(
    "converted draft",
    "A draft that becomes an issue keeps its card.",
    used="bot/outbox/handlers/convert_draft.py",
    source="graphql/reference/mutations#convertprojectv2draftissueitemtoissue",
)
def converts_draft(stage: RehearsalStage) -> Facts:
    card = stage.converted_card
    return {
        "kind": ("Issue", card.kind),
        "same card": (True, card.card_id == stage.draft_card),
        "in the repository": (True, card.repository == stage.repository),
    }


@beliefs.about(
    "deleted card",
    "A card that was taken off the board is answered with NOT_FOUND, beside those that are there.",
    used="bot/github/api/projects.py",
    source="graphql/reference/mutations#deleteprojectv2item",
)
def forgets_card(stage: RehearsalStage) -> Facts:
    deleted = stage.deleted_card
    both = projects.read_cards(stage.hub, (deleted, stage.card))
    return {
        "is gone": (True, both[deleted] is None),
        "the other is there": (True, both[stage.card] is not None),
    }


@beliefs.about(
    "cards of an issue",
    "An issue tells its cards on all boards.",
    used="bot/github/api/projects.py",
    source="graphql/reference/objects#issue",
)
def lists_cards(stage: RehearsalStage) -> Facts:
    card_id, number = stage.card, int(stage.issue["number"])
    read = stage.until(
        lambda: projects.cards_of_issue(stage.hub, stage.repository, number), lambda it: card_id in it
    )
    return {"has its card": (True, read.get(card_id) == stage.board.board_id)}


@beliefs.about(
    "five at once",
    "Five cards that are moved one after the other without a pause meet no limit, and all are moved.",
    used="bot/github/rate_limit.py",
    source="rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits",
)
def moves_five(stage: RehearsalStage) -> Facts:
    option = stage.columns[1].option_id
    readings = [card for card in stage.five_cards.values() if card is not None and card.option_id == option]
    return {"moved": (FIVE, len(readings))}


@beliefs.about(
    "text field",
    "A card's text field is written and emptied by one mutation with several parts.",
    used="bot/outbox/handlers/update_face.py",
    source="graphql/reference/mutations#updateprojectv2itemfieldvalue",
)
def writes_field(stage: RehearsalStage) -> Facts:
    names = [field for field in stage.board.fields if field.kind == "TEXT" and field.name == "Repo"]
    if not names:
        raise NotTriedError("the board has no text field Repo")
    board, card, field_id = stage.board.board_id, stage.card, names[0].field_id
    projects.set_fields(stage.hub, board, card, {field_id: stage.repository})
    written = stage.read_card(card).repo_field
    projects.set_fields(stage.hub, board, card, {field_id: None})
    return {
        "written": (True, written == stage.repository),
        "emptied": (True, not stage.read_card(card).repo_field),
    }


@beliefs.about(
    "closed as not planned",
    "An issue closed as not planned says so in REST and on its card, and names who closed it.",
    used="bot/github/api/issues.py",
    source="rest/issues/issues#update-an-issue",
)
def closes_issue(stage: RehearsalStage) -> Facts:
    closed = stage.closed_issue
    facts: dict[str, tuple[bool | int | str, bool | int | str]] = {
        "state": ("closed", closed["state"]),
        "reason": ("not_planned", closed["state_reason"]),
        "closed by the App": (True, (closed.get("closed_by") or {}).get("login") == stage.bot_login),
    }
    with suppress(NotTriedError):  # a GitHub without boards
        facts["reason on the card"] = ("not_planned", stage.read_card(stage.card).state_reason)
    return facts
