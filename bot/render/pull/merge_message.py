"""Message of the commit that a merge makes; trailers say which runs, who asked, who approved, who helped."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bot.render.markdown.escape import escape_mentions
from bot.render.pull.body import title_of
from bot.render.run.story import issue_link
from ledger.rows.cards import CardRow
from runner.git.commits import trailers

MAX_NAMED = 20  # of each kind
_NAME_CHARS, _ADDRESS_CHARS = 100, 200
_ADDRESS = re.compile(r"[^\s<>@,;]+@[^\s<>@,;]+")


@dataclass(frozen=True, slots=True)
class MergeCredits:
    """Who has a part in a merge: ids of runs, logins, and the names and addresses of the commits' authors."""

    runs: tuple[str, ...]
    requesters: tuple[str, ...]
    plan_approvers: tuple[str, ...]
    approvers: tuple[str, ...]
    authors: tuple[tuple[str, str], ...]


def write(card: CardRow, number: int, method: str, credit: MergeCredits) -> dict[str, str]:
    """Return GitHub's fields for the title and the text of the commit that a merge or a squash makes.

    Nothing in it is copied from messages of commits: those may close other issues, and claim anything.
    Source: docs.github.com/rest/pulls/pulls#merge-a-pull-request (`commit_title`, `commit_message`).
    """
    named = (
        ("Requested", credit.requesters),
        ("Plan-Approved", credit.plan_approvers),
        ("Approved", credit.approvers),
    )
    text = "\n".join(
        (
            f"Closes {issue_link(card, card.pull_repository)}",
            "",
            trailers(_distinct(credit.runs), f"{card.repository}#{card.number}"),
            *(f"Cardinal-{kind}-By: {login}" for kind, logins in named for login in _distinct(logins)),
            *(f"Co-authored-by: {author}" for author in _co_authors(credit.authors)),
        )
    )
    title = title_of(card)
    if method == "merge":  # tools look for GitHub's usual words
        owner = (card.pull_repository or "").partition("/")[0]
        merged = f"Merge pull request #{number} from {owner}/{card.branch}"
        return {"commit_title": merged, "commit_message": f"{title}\n\n{text}"}
    return {"commit_title": f"{title} (#{number})", "commit_message": text}


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))[:MAX_NAMED]


def _co_authors(authors: Iterable[tuple[str, str]]) -> list[str]:
    """Return each author once, by address; one whose address is none is left out."""
    by_address: dict[str, str] = {}
    for name, address in authors:
        if _ADDRESS.fullmatch(address) and len(address) <= _ADDRESS_CHARS:
            shown = _one_line(name) or address.partition("@")[0]
            by_address.setdefault(address.casefold(), f"{shown} <{address}>")
    return list(by_address.values())[:MAX_NAMED]


def _one_line(name: str) -> str:
    """Return a name that stays on its line, whatever it is made of."""
    return " ".join(escape_mentions(re.sub("[<>]", "", name)).split())[:_NAME_CHARS].strip()
