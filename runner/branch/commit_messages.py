"""What the commits that leave say about themselves: words that GitHub obeys. Pure."""

import re
from collections.abc import Iterable

from runner.git.commits import Commit
from runner.text.truncate import one_line

# docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+(?P<where>[\w./:-]{0,200}?)(?:#|GH-|/issues/)(?P<number>\d{1,9})",
    re.IGNORECASE,
)
# docs.github.com/actions/managing-workflow-runs/skipping-workflow-runs
_SKIPPING = re.compile(
    r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|^skip-checks:\s*true",
    re.IGNORECASE | re.MULTILINE,
)
_SHOWN = 3


def concerns(commits: Iterable[Commit], known: Iterable[Commit], number: int) -> tuple[str, ...]:
    """Return in words what a person should know of the commits before they are published.

    `known` are those that GitHub's branch had already: rebased they keep author and message, which are
    theirs. The card's own issue, `number`, may be closed.
    """
    theirs = {(one.author, one.message) for one in known}
    found: list[str] = []
    for one in commits:
        if (one.author, one.message) in theirs:
            continue
        short = one.commit[:8]
        closing = _CLOSING.finditer(one.message)
        others = [word[0] for word in closing if word["where"] or int(word["number"]) != number]
        if others:
            found.append(f"{short} says {one_line(others[0], 80)!r}, which closes another issue")
        if _SKIPPING.search(one.message):
            found.append(f"{short} tells GitHub to skip its checks")
    more = (f"{len(found) - _SHOWN} more of the kind",) if len(found) > _SHOWN else ()
    return (*found[:_SHOWN], *more)
