"""Reads and writes the board: cards, columns, project fields, status updates."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bot.github.api import issues, project_queries
from bot.github.api.project_models import CardReading, ConvertedDraft
from bot.github.client import Hub
from bot.github.errors import NotFoundError, RefusedError, StatusMissingError
from ledger.events.board import BoardSeen, Column, Field
from ledger.ids import BoardId, CardId
from ledger.model.column_names import column_key
from ledger.states import PullCard

log = logging.getLogger(__name__)

STATUS = "Status"
GHOST = "ghost"  # GitHub's own stand-in for an account that was deleted
MAX_PAGES = 200  # 20,000 cards; GitHub's own limit is 50,000 with the archived ones
CARDS = ("Issue", "DraftIssue", "PullRequest")
# Of new columns, by their place.
COLORS = ("GRAY", "BLUE", "GREEN", "YELLOW", "ORANGE", "PURPLE", "PINK", "RED")
MAY_MISS = frozenset(
    {"nodes", "nodes.content.parent", "nodes.content.blockedBy", "nodes.content.timelineItems"}
)
# The kinds of fields whose values can be written, each with the name of its value.
COPIED: Mapping[str, str] = {
    "TEXT": "text",
    "NUMBER": "number",
    "DATE": "date",
    "SINGLE_SELECT": "singleSelectOptionId",
    "ITERATION": "iterationId",
}
MAX_FIELDS = 20  # of one item in one request


def list_boards(hub: Hub, owner: str) -> tuple[tuple[int, str], ...]:
    """Return number and title of the open projects of an organisation or a person, of the first hundred."""
    account = hub.graphql(project_queries.BOARDS, {"owner": owner}).get("repositoryOwner") or {}
    nodes = (account.get("projectsV2") or {}).get("nodes") or ()
    return tuple(
        (int(board["number"]), str(board["title"])) for board in nodes if board and not board["closed"]
    )


def read_board(hub: Hub, owner: str, number: int) -> BoardSeen:
    """Return the shape of an organisation's or a person's board.

    Raises NotFoundError when there is no such project, StatusMissingError when it has no Status field.
    """
    answer = hub.graphql(project_queries.BOARD, {"owner": owner, "number": number})
    return shape_of(answer, owner, number)


def shape_of(answer: Mapping[str, Any], owner: str, number: int) -> BoardSeen:
    """Return the board's shape from an answer with the fragment Shape; raises as `read_board` does."""
    board = (answer.get("repositoryOwner") or {}).get("projectV2")
    if board is None:
        raise NotFoundError(f"the board {owner}/{number}", 200, "no such project, or no such owner")
    fields = [field for field in board["fields"]["nodes"] if field]
    status = next((field for field in fields if field.get("name") == STATUS and "options" in field), None)
    if status is None:
        raise StatusMissingError(
            f"the board {owner}/{number}", {field["id"]: field["name"] for field in fields}
        )
    return BoardSeen(
        board_id=BoardId(board["id"]),
        owner=owner,
        number=number,
        title=board["title"],
        status_field_id=status["id"],
        columns=tuple(
            Column(option["id"], option["name"], option["description"]) for option in status["options"]
        ),
        fields=tuple(Field(field["id"], field["name"], field["dataType"]) for field in fields),
    )


def read_card(hub: Hub, card_id: CardId) -> CardReading | None:
    """Return the card as `read_cards` does."""
    return read_cards(hub, (card_id,))[card_id]


def read_cards(hub: Hub, card_ids: Sequence[CardId]) -> dict[CardId, CardReading | None]:
    """Return the cards, at most 100, as they are now; None for one that is not on any board any more.

    Links of their issues may be out of sight. Raises NotFoundError where anything else is missing.
    Source: docs.github.com/graphql/reference/queries#nodes; its limit of 100 ids is that of connections.
    """
    nodes = hub.graphql(project_queries.CARD, {"cards": list(card_ids)}, may_miss=MAY_MISS)["nodes"]
    return {
        card_id: _look_of(hub, item) if item else None for card_id, item in zip(card_ids, nodes, strict=True)
    }


def _look_of(hub: Hub, item: Mapping[str, Any]) -> CardReading:
    content, project = item.get("content") or {}, item["project"]
    repository = content.get("repository") or {}
    return CardReading(
        card_id=CardId(item["id"]),
        board_id=BoardId(project["id"]),
        owner=project["owner"].get("login", ""),
        board_number=project["number"],
        content_id=content.get("id", ""),
        kind=item_kind(item["type"]) if content else "Redacted",
        repository=repository.get("nameWithOwner"),
        default_branch=(repository.get("defaultBranchRef") or {}).get("name"),
        number=content.get("number"),
        title=content.get("title", ""),
        body=content.get("body", ""),
        author=(content.get("author") or content.get("creator") or {}).get("login", GHOST),
        state=(content.get("state") or content.get("pullState") or "").lower(),
        state_reason=(content.get("stateReason") or "").lower(),
        labels=tuple(sorted(label["name"] for label in (content.get("labels") or {}).get("nodes") or ())),
        assignees=tuple(
            sorted(user["login"] for user in (content.get("assignees") or {}).get("nodes") or () if user)
        ),
        column=column_of(item),
        option_id=(item.get("fieldValueByName") or {}).get("optionId") or "",
        archived=item["isArchived"],
        updated_at=datetime.fromisoformat(item["updatedAt"]),
        blocked_by=issues.blockers(content),
        hidden_blockers=issues.count_hidden(content),
        parent=issues.parent(content),
        public=issues.public(content),
        status=tuple(
            (option["id"], option["name"]) for option in (project.get("field") or {}).get("options") or ()
        ),
        repo_field=(item.get("repo") or {}).get("text") or "",
        priority_field=(item.get("priority") or {}).get("name") or "",
        last_move=issues.last_move(content, project["id"]),
        pull_card=_pull_card(hub, content),
    )


def _pull_card(hub: Hub, content: Mapping[str, Any]) -> PullCard:
    """Return which pull request the content is. A fork that is deleted leaves it a fork's."""
    if "isCrossRepository" not in content:
        return PullCard.NONE
    if content["isCrossRepository"]:
        return PullCard.FORK
    author = str((content.get("author") or {}).get("login", GHOST)).removesuffix("[bot]")
    return PullCard.OWN if author == hub.bot_login.removesuffix("[bot]") else PullCard.OTHER


def read_column(hub: Hub, board_id: BoardId, column: str) -> tuple[CardId, ...]:
    """Return the column's cards from top to bottom, without the archived ones."""
    items = _items(hub, board_id, condition("status", column))
    # The filter ignores case, and its rules are not documented in full: the field's own value decides.
    return tuple(CardId(item["id"]) for item in items if column_of(item) == column and not item["isArchived"])


def cards_of_issue(hub: Hub, repository: str, number: int) -> dict[CardId, BoardId]:
    """Return the issue's cards on all visible boards, without archived ones; none without such an issue."""
    owner, _, name = repository.partition("/")
    try:
        answer = hub.graphql(project_queries.CARDS_OF_ISSUE, {"owner": owner, "name": name, "number": number})
    except NotFoundError:
        return {}
    issue = (answer.get("repository") or {}).get("issue") or {}
    items = (issue.get("projectItems") or {}).get("nodes") or ()
    return {CardId(item["id"]): BoardId(item["project"]["id"]) for item in items if item}


def _items(hub: Hub, board_id: BoardId, query: str) -> Iterator[dict[str, Any]]:
    after: str | None = None
    for _ in range(MAX_PAGES):
        variables = {"board": board_id, "filter": query, "after": after}
        board = hub.graphql(project_queries.CARDS, variables).get("node")
        if not board:
            raise NotFoundError(f"the board {board_id}", 200, "no such project")
        yield from (item for item in board["items"]["nodes"] if item)
        page = board["items"]["pageInfo"]
        if not page["hasNextPage"]:
            return
        after = page["endCursor"]
    raise RefusedError(f"the board {board_id}", 200, f"it has more than {MAX_PAGES * 100} cards")


def condition(name: str, value: str) -> str:
    """Return a filter of the board; empty for a value with a quote, which the caller has to filter itself.

    Source: docs.github.com/issues/planning-and-tracking-with-projects, "Filtering projects".
    """
    return "" if '"' in value else f'{name}:"{value}"'


def column_of(item: Mapping[str, Any]) -> str | None:
    """Return the item's column; None without one."""
    return (item.get("fieldValueByName") or {}).get("name")


def item_kind(item_type: str) -> str:
    """Return `DraftIssue` for DRAFT_ISSUE and so on."""
    return "".join(word.capitalize() for word in item_type.split("_"))


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a single-select field, by its id; with its name and the field's, GitHub's are compared."""

    option_id: str
    option: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class CopiedValue:
    """A value of another card in the same field, as GitHub's ProjectV2FieldValue has it."""

    kind: str
    content: str | float


SHOWN = "... on ProjectV2ItemFieldSingleSelectValue { name }"
Value = str | float | Choice | CopiedValue | None  # None empties a field


def set_fields(hub: Hub, board_id: BoardId, card_id: CardId, values: Mapping[str, Value]) -> None:
    """Write several fields of one card, by field id, in one request.

    Raises RefusedError where a Choice with a name shows another one: somebody renamed its option.
    """
    if not values:
        return
    if len(values) > MAX_FIELDS:
        raise RefusedError(f"write {card_id}", 0, f"more than {MAX_FIELDS} fields in one request")
    variables: dict[str, Any] = {"board": board_id, "card": card_id}
    declared, lines = ["$board: ID!", "$card: ID!"], []
    for n, (field_id, value) in enumerate(values.items()):
        variables[f"field{n}"] = field_id
        declared.append(f"$field{n}: ID!")
        target = f"projectId: $board, itemId: $card, fieldId: $field{n}"
        if value is None:
            lines.append(f"w{n}: clearProjectV2ItemFieldValue(input: {{{target}}}) {{ clientMutationId }}")
            continue
        declared.append(f"$value{n}: ProjectV2FieldValue!")
        variables[f"value{n}"] = _as_input(value)
        inputs, shows = f"{target}, value: $value{n}", "clientMutationId"
        if isinstance(value, Choice) and value.field:
            declared.append(f"$name{n}: String!")
            variables[f"name{n}"] = value.field
            shows = f"projectV2Item {{ fieldValueByName(name: $name{n}) {{ {SHOWN} }} }}"
        lines.append(f"w{n}: updateProjectV2ItemFieldValue(input: {{{inputs}}}) {{ {shows} }}")
    made = hub.graphql(f"mutation SetFields({', '.join(declared)}) {{ {' '.join(lines)} }}", variables)
    for n, value in enumerate(values.values()):
        if isinstance(value, Choice) and value.field:
            shown = made[f"w{n}"]["projectV2Item"]["fieldValueByName"]
            if shown is not None and shown.get("name") != value.option:  # None: the field has another name
                raise RefusedError(f"write {card_id}", 200, f"{value.option} has another name by now")


def _as_input(value: str | float | Choice | CopiedValue) -> dict[str, str | float]:
    if isinstance(value, Choice):
        return {"singleSelectOptionId": value.option_id}
    if isinstance(value, CopiedValue):
        return {value.kind: value.content}
    return {"text": value} if isinstance(value, str) else {"number": value}


def move_card(hub: Hub, board_id: BoardId, card_id: CardId, status_field_id: str, option_id: str) -> None:
    """Put the card into the column with that option id."""
    variables = {"board": board_id, "card": card_id, "field": status_field_id, "option": option_id}
    hub.graphql(project_queries.MOVE_CARD, variables)


def set_archived(hub: Hub, board_id: BoardId, card_id: CardId, archived: bool) -> None:
    """Archive the card, or bring it back to where it stood; one that is so already stays so."""
    document = project_queries.ARCHIVE_CARD if archived else project_queries.UNARCHIVE_CARD
    hub.graphql(document, {"board": board_id, "card": card_id})


def options_of(hub: Hub, field_id: str) -> dict[str, str]:
    """Return the options of a single-select field, id by name; none where there is no such field."""
    return options_in(hub.graphql(project_queries.OPTIONS, {"field": field_id}).get("node") or {})


def options_in(field: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of the options in GitHub's answer about a field, by name."""
    return {option["name"]: option["id"] for option in field.get("options") or ()}


def option_of_card(hub: Hub, card_id: CardId, field: str) -> str:
    """Return the name of the option that the card has in a single-select field; empty for none."""
    item = hub.graphql(project_queries.OPTION_OF_CARD, {"card": card_id, "name": field}).get("node") or {}
    return str((item.get("fieldValueByName") or {}).get("name") or "")


def has_view(hub: Hub, board_id: BoardId, name: str) -> bool:
    """Tell whether the board has a view of that name, however it is spelt."""
    board = hub.graphql(project_queries.VIEWS, {"board": board_id}).get("node") or {}
    views = (board.get("views") or {}).get("nodes") or ()
    return any(column_key(str(view["name"])) == column_key(name) for view in views if view)


def create_view(hub: Hub, owner: str, number: int, name: str, shown: Sequence[str]) -> None:
    """Make a board view with the columns of Status whose cards show these fields, in that order.

    Its number tells a field here, and GraphQL has only 32 bits of that. Sources:
    docs.github.com/rest/projects/views#create-a-view-for-an-organization-owned-project, and
    docs.github.com/rest/projects/fields#list-project-fields-for-organization.
    """
    path = f"/orgs/{quote(owner, safe='')}/projectsV2/{number}"
    fields = {
        str(field["name"]): int(field["id"])
        for field in hub.rest("GET", f"{path}/fields", params={"per_page": 100}).body
    }
    body = {
        "name": name,
        "layout": "board",
        "visible_fields": [fields[field] for field in shown if field in fields],
        "vertical_group_by": [fields[STATUS]],
    }
    hub.rest("POST", f"{path}/views", body=body)


def describe_columns(hub: Hub, status_field_id: str, descriptions: Mapping[str, str]) -> bool:
    """Write the columns' descriptions by column name; return False when they were so already.

    All options are read and sent back, ids and colours included: GitHub drops an option that is not sent, and
    its cards lose their column.
    """
    node = hub.graphql(project_queries.OPTIONS, {"field": status_field_id}).get("node")
    if not node or "options" not in node:
        raise NotFoundError(f"the field {status_field_id}", 200, f"no single-select field {STATUS} there")
    options = [
        {**option, "description": descriptions.get(option["name"], option["description"])}
        for option in node["options"]
    ]
    if options == node["options"]:
        return False
    hub.graphql(project_queries.DESCRIBE_COLUMNS, {"field": status_field_id, "options": options})
    return True


def add_columns(hub: Hub, status_field_id: str, names: Sequence[str]) -> tuple[str, ...]:
    """Make the missing columns and put all of `names` in their order; return the new ones.

    Columns with other names stay, behind them: GitHub drops a column that is not sent.
    """
    node = hub.graphql(project_queries.OPTIONS, {"field": status_field_id}).get("node")
    there = {column_key(option["name"]): option for option in (node or {}).get("options") or ()}
    keys = [column_key(name) for name in names]
    wanted = [
        there.get(keys[place]) or {"name": name, "color": COLORS[place % len(COLORS)], "description": ""}
        for place, name in enumerate(names)
    ]
    options = [*wanted, *(option for key, option in there.items() if key not in keys)]
    made = tuple(name for name, key in zip(names, keys, strict=True) if key not in there)
    if made:
        hub.graphql(project_queries.DESCRIBE_COLUMNS, {"field": status_field_id, "options": options})
    return made


def add_card(hub: Hub, board_id: BoardId, content_id: str) -> CardId:
    """Put an issue on the board and return its card; an issue that is there already keeps its card.

    Source: docs.github.com/issues/planning-and-tracking-with-projects/automating-your-project.
    """
    answer = hub.graphql(project_queries.ADD_CARD, {"board": board_id, "content": content_id})
    return CardId(answer["addProjectV2ItemById"]["item"]["id"])


def put_beside(
    hub: Hub, board_id: BoardId, source: CardId, target: CardId, *, without: Collection[str]
) -> None:
    """Give a card the column, the place and the values of another one, but for those of the fields `without`.

    Only the column is surely written: GitHub may refuse a value, as one of an option that is gone.
    """
    item = hub.graphql(project_queries.VALUES, {"card": source}).get("node") or {}
    values: dict[str, Value] = {}
    column: dict[str, Value] = {}
    for value in (item.get("fieldValues") or {}).get("nodes") or ():
        field = (value or {}).get("field") or {}
        kind = COPIED.get(str(field.get("dataType")))
        if kind is not None and value.get(kind) is not None and field["name"] not in without:
            copied = column if field["name"] == STATUS else values
            copied[str(field["id"])] = CopiedValue(kind, value[kind])
    set_fields(hub, board_id, target, column)
    listed = list(values.items())
    try:
        hub.graphql(project_queries.PLACE_CARD, {"board": board_id, "card": target, "after": source})
        for start in range(0, len(listed), MAX_FIELDS):
            set_fields(hub, board_id, target, dict(listed[start : start + MAX_FIELDS]))
    except RefusedError as error:
        log.warning("not all copied from=%s to=%s reason=%s", source, target, error.because)


def place_first(hub: Hub, board_id: BoardId, card_id: CardId) -> None:
    """Move the card to the top of its column, where GitHub lets it.

    Source: docs.github.com/graphql/reference/mutations#updateprojectv2itemposition.
    """
    try:
        hub.graphql(project_queries.PLACE_CARD, {"board": board_id, "card": card_id, "after": None})
    except RefusedError as error:  # its face is worth more than its place
        log.warning("not on top card=%s reason=%s", card_id, error.because)


def delete_card(hub: Hub, board_id: BoardId, card_id: CardId) -> None:
    """Take the card off the board for good; a draft's words go with it."""
    hub.graphql(project_queries.DELETE_CARD, {"board": board_id, "card": card_id})


def convert_draft(hub: Hub, card_id: CardId, repository: str) -> ConvertedDraft:
    """Convert a draft into an issue of `repository` (owner/name); the card keeps its id."""
    owner, _, name = repository.partition("/")
    home = hub.graphql(project_queries.REPOSITORY_ID, {"owner": owner, "name": name}).get("repository")
    if not home:
        raise NotFoundError(f"the repository {repository}", 200, "no such repository")
    answer = hub.graphql(project_queries.CONVERT_DRAFT, {"card": card_id, "repository": home["id"]})
    issue = answer["convertProjectV2DraftIssueItemToIssue"]["item"]["content"]
    return ConvertedDraft(issue["id"], issue["repository"]["nameWithOwner"], issue["number"])


def own_status_update(hub: Hub, board_id: BoardId) -> str:
    """Return the id of the App's newest status update among the board's last twenty; empty without one."""
    board = hub.graphql(project_queries.STATUS_UPDATES, {"board": board_id}).get("node") or {}
    name = hub.bot_login.removesuffix("[bot]")
    for update in (board.get("statusUpdates") or {}).get("nodes") or ():
        if str((update.get("creator") or {}).get("login")).removesuffix("[bot]") == name:
            return str(update["id"])
    return ""


def post_status_update(hub: Hub, board_id: BoardId, body: str, status: str = "ON_TRACK") -> str:
    """Post a status update on the board and return its id. `status`: ON_TRACK, AT_RISK, OFF_TRACK, …"""
    variables = {"board": board_id, "body": body, "status": status}
    answer = hub.graphql(project_queries.POST_STATUS_UPDATE, variables)
    return str(answer["createProjectV2StatusUpdate"]["statusUpdate"]["id"])


def edit_status_update(hub: Hub, update_id: str, body: str, status: str = "ON_TRACK") -> None:
    """Edit a status update in place: the board shows the newest one, and nobody is notified again."""
    variables = {"update": update_id, "body": body, "status": status}
    hub.graphql(project_queries.EDIT_STATUS_UPDATE, variables)
