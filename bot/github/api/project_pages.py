"""A part of the board in one request: its shape, and as many pages of cards as one point of the hour buys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.github.api import project_queries
from bot.github.api.project_models import CardStub
from bot.github.api.projects import CARDS, column_of, condition, item_kind, shape_of
from bot.github.client import Hub
from ledger.events.board import BoardSeen
from ledger.ids import CardId

# In one request; a larger one may take longer than GitHub's ten seconds.
MAX_PAGES = project_queries.SWEEP_PAGES


@dataclass(frozen=True, slots=True)
class Page:
    """Up to a hundred items in board order. `places`: id and cursor of every item, cards or not."""

    stubs: tuple[CardStub, ...]
    places: tuple[tuple[CardId, str], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class BoardReading:
    """The board as one request saw it.

    `touched_at`: the board's last change by GitHub's clock. `home`: the newest commit of the policy's
    repository; empty in an empty repository, None without one that the App may see.
    """

    board: BoardSeen
    touched_at: str
    home: str | None
    pages: tuple[Page, ...]


def survey(
    hub: Hub, board: tuple[str, int], home: str, skip_columns: tuple[str, ...], starts: Sequence[str | None]
) -> BoardReading:
    """Return the pages behind the cursors `starts` (None: the first card), without `skip_columns`.

    At most MAX_PAGES in one request, which always costs one point. `home` is owner/name.
    """
    owner, number = board
    home_owner, _, home_name = home.partition("/")
    variables: dict[str, Any] = {
        "owner": owner,
        "number": number,
        "homeOwner": home_owner,
        "homeName": home_name,
        "filter": " ".join(filter(None, (condition("-status", name) for name in skip_columns))),
    }
    for n in range(MAX_PAGES):
        variables[f"after{n}"] = starts[n] if n < len(starts) else None
        if n:
            variables[f"with{n}"] = n < len(starts)
    answer = hub.graphql(project_queries.SWEEP, variables, may_miss=frozenset({"home"}))
    shape = shape_of(answer, owner, number)
    project = answer["repositoryOwner"]["projectV2"]
    pages = tuple(_page(project[f"page{n}"], skip_columns) for n in range(min(len(starts), MAX_PAGES)))
    return BoardReading(shape, str(project["updatedAt"]), _newest(answer.get("home")), pages)


def _newest(home: Mapping[str, Any] | None) -> str | None:
    if home is None:
        return None
    return str(((home.get("defaultBranchRef") or {}).get("target") or {}).get("oid") or "")


def _page(items: Mapping[str, Any], skip_columns: tuple[str, ...]) -> Page:
    edges = [edge for edge in items["edges"] or () if edge and edge.get("node")]
    stubs = (_stub(edge["node"]) for edge in edges if item_kind(edge["node"]["type"]) in CARDS)
    return Page(
        # The filter ignores case, and a name with a quote cannot be written in it: the column itself decides.
        tuple(stub for stub in stubs if stub.column not in skip_columns),
        tuple((CardId(edge["node"]["id"]), str(edge["cursor"])) for edge in edges),
        bool(items["pageInfo"]["hasNextPage"]) and bool(edges),
    )


def _stub(item: Mapping[str, Any]) -> CardStub:
    content = item.get("content") or {}
    repository = content.get("repository") or {}
    return CardStub(
        CardId(item["id"]),
        column_of(item),
        datetime.fromisoformat(item["updatedAt"]),
        item["isArchived"],
        closed=content.get("state") == "CLOSED",
        issue=f"{repository['nameWithOwner']}#{content['number']}" if repository else "",
    )
