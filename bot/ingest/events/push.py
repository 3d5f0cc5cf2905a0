"""A branch or tag moved, possibly with another policy file.

Source: docs.github.com/webhooks/webhook-events-and-payloads#push; more than three tags at once send nothing.
"""

from typing import Any

from bot.ingest.events._payload import Payload, flag, objects, own, text
from bot.ingest.facts import Fact, Pushed
from rules.policy import locations

SUBJECT = ("ref",)
COMMITS_SHOWN = 2048  # a payload holds no more commits than this


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the push; an own one only on the default branch, where a merge may bring another policy."""
    ref, default_branch = text(payload, "ref"), text(payload, "repository.default_branch")
    on_default = ref == f"refs/heads/{default_branch}"
    if own(payload, bot_id) and not on_default:
        return ()
    return (
        Pushed(
            repository=text(payload, "repository.full_name"),
            ref=ref,
            before=text(payload, "before"),
            after=text(payload, "after"),
            default_branch=default_branch,
            touches_policy=ref.startswith("refs/heads/") and _may_touch_policy(payload),
        ),
    )


def _may_touch_policy(payload: Payload) -> bool:
    """Return true when in doubt: a forced push drops commits that it does not list."""
    commits = objects(payload, "commits")
    unsure = flag(payload, "forced") or flag(payload, "created") or not 0 < len(commits) < COMMITS_SHOWN
    return unsure or any(map(_is_of_policy, (path for commit in commits for path in _paths(commit))))


def _is_of_policy(path: str) -> bool:
    return path == locations.PATH or path.startswith(f"{locations.WORKFLOWS_FOLDER}/")


def _paths(commit: Payload) -> set[Any]:
    return {
        path
        for change in ("added", "modified", "removed")
        for path in commit.get(change) or ()
        if isinstance(path, str)
    }
