"""Template filters: addresses, times, colours."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from markupsafe import Markup

from forge.clock import rfc3339
from forge.pages.changes import tail_of_hunk
from forge.pages.markdown import render
from forge.store.board import DraftIssue, Item, Project
from forge.store.models import Issue, Pull, Repo, UserType

TINTS = 8
HEX_COLOR = re.compile(r"[0-9a-fA-F]{6}")
REACTION_MARKS = {
    "+1": "agrees",
    "-1": "disagrees",
    "laugh": "laughs",
    "confused": "is confused",
    "heart": "loves it",
    "hooray": "cheers",
    "rocket": "is on it",
    "eyes": "has seen it",
}


def address(subject: Issue | Pull | Repo | Project | Item) -> str:
    """Return the path of a thing's page."""
    match subject:
        case Repo():
            return f"/{subject.full_name}"
        case Project():
            return f"/orgs/{subject.owner.login}/projects/{subject.number}"
        case Pull():
            return f"/{subject.repo.full_name}/pull/{subject.number}"
        case Issue():
            kind = "issues" if subject.pull is None else "pull"
            return f"/{subject.repo.full_name}/{kind}/{subject.number}"
        case Item():
            if isinstance(subject.content, DraftIssue):
                return f"{address(subject.project)}/drafts/{subject.node_id}"
            return address(subject.content)


def when(moment: datetime) -> Markup:
    """Return a time element; the page's script says how long ago it is."""
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        rfc3339(moment), f"{moment:%d %b %Y, %H:%M:%S} UTC", f"{moment:%d %b %H:%M}"
    )


def tint(login: str) -> int:
    """Return the number of the colour that a login always has."""
    return sum(login.encode()) % TINTS


def state_name(text: str) -> str:
    """Return a state as a class name: lower case letters and underscores only."""
    return re.sub(r"[^a-z]+", "_", text.casefold()).strip("_")


def label_color(color: str) -> str:
    """Return a label's colour as hexadecimal digits, grey when it is none."""
    return color if HEX_COLOR.fullmatch(color) else "8b8f98"


def plain_number(number: float) -> str:
    """Return a number without a needless fraction."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


FILTERS: dict[str, Callable[..., Any]] = {
    "address": address,
    "when": when,
    "tint": tint,
    "shown_login": lambda user: user.login.removesuffix("[bot]"),  # a bot gets a badge in place of the suffix
    "is_bot": lambda user: user.type is UserType.BOT,
    "state_name": state_name,
    "label_color": label_color,
    "plain_number": plain_number,
    "reaction_mark": lambda content: REACTION_MARKS.get(content, content),
    "title_of": lambda message: message.split("\n", 1)[0],
    "hunk_tail": tail_of_hunk,
    "markdown": render,
}
