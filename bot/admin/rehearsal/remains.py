"""Removal of all that rehearsals made: their cards, branches and label; their issues are closed."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from bot.admin.rehearsal.belief import SHAPE_ERRORS, NotTriedError
from bot.admin.rehearsal.counting import MAX_CALLS
from bot.admin.rehearsal.stage import BRANCHES, LABEL, MARKER, TITLE, RehearsalStage
from bot.github.api import project_queries, projects, pulls
from bot.github.client import Hub, repository_path
from bot.github.errors import GithubError, NotFoundError
from ledger.ids import CardId

MAX_PAGES = 10  # of 100 issues or branches
OF_AGENT = re.compile(r".+/\d+-cardinal-rehearsal(-.*)?")  # a run names its branch by the issue's title


def is_by_app(hub: Hub, issue: Mapping[str, Any]) -> bool:
    """Tell whether this App opened the issue or pull request."""
    return (issue.get("user") or {}).get("id") == hub.bot_id


def remove_remains(stage: RehearsalStage) -> Mapping[str, int]:
    """Remove the remains of all rehearsals, and return the number of things by kind.

    `left` counts those that GitHub did not let go; a second time removes them.
    """
    hub, removed = stage.hub, Counter[str]()
    root = repository_path(stage.repository)
    hub.max_calls += MAX_CALLS  # it must come to its end
    for kind, number in _remains(stage, removed):
        try:
            match kind:
                case "cards":
                    projects.delete_card(hub, stage.board.board_id, CardId(number))
                case "issues":
                    body = {"state": "closed"}
                    hub.rest("PATCH", f"{root}/issues/{number}", body=body)
                case "branches":
                    pulls.delete_branch(hub, stage.repository, number)
                case _:
                    hub.rest("DELETE", f"{root}/labels/{quote(LABEL)}")
            removed[kind] += 1
        except NotFoundError:
            continue
        except GithubError:
            removed["left"] += 1
    return removed


def _remains(stage: RehearsalStage, removed: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each remaining thing; a listing that fails counts as one that is left."""
    for listing in (_cards, _issues, _branches):
        try:
            yield from listing(stage)
        except NotTriedError:  # without a board there are no cards
            continue
        except (GithubError, *SHAPE_ERRORS):
            removed["left"] += 1
    yield "labels", LABEL


def _cards(stage: RehearsalStage) -> Iterator[tuple[str, str]]:
    bot = stage.bot_login.removesuffix("[bot]")
    ids: dict[str, None] = dict.fromkeys(stage.cards)
    for words in (f'"{TITLE}"', f'is:archived "{TITLE}"'):
        variables = {"board": stage.board.board_id, "filter": words}
        board = stage.hub.graphql(project_queries.TITLES, variables).get("node") or {}
        for item in (board.get("items") or {}).get("nodes") or ():
            content = (item or {}).get("content") or {}
            author = (content.get("author") or content.get("creator") or {}).get("login", "")
            if str(content.get("title", "")).startswith(TITLE) and author.removesuffix("[bot]") == bot:
                ids[str(item["id"])] = None
    yield from (("cards", card_id) for card_id in ids)


def _issues(stage: RehearsalStage) -> Iterator[tuple[str, str]]:
    for issue in stage.hub.pages(
        f"{repository_path(stage.repository)}/issues", params={"state": "open"}, most=MAX_PAGES
    ):
        if is_by_app(stage.hub, issue) and MARKER in (issue.get("body") or ""):
            yield "issues", str(issue["number"])


def _branches(stage: RehearsalStage) -> Iterator[tuple[str, str]]:
    for branch in stage.hub.pages(f"{repository_path(stage.repository)}/branches", most=MAX_PAGES):
        name = str(branch["name"])
        if name.startswith(BRANCHES) or OF_AGENT.fullmatch(name):
            yield "branches", name  # its pull request closes with it
