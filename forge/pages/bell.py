"""The bell: comments since somebody's last look, on what they take part in or where they are mentioned."""

import re
from datetime import UTC, datetime
from itertools import islice

from flask import make_response, render_template, request
from flask.typing import ResponseReturnValue

from forge.pages.site import pages, people, person, reaches
from forge.rest.context import store
from forge.store.models import Comment, Role, User

LOOKED_COOKIE = "forge_looked"  # seconds of the epoch at the last look
MAX_SHOWN = 50


def news_for(user: User) -> list[Comment]:
    """Return others' comments for the person, newest first."""
    mentioned = re.compile(rf"@{re.escape(user.login)}\b(?!-)", re.IGNORECASE)

    found: list[Comment] = []
    for repo in (it for it in store().repos.all() if reaches(it, Role.READ)):
        for issue in repo.issues.values():
            members = (issue.author, *issue.assignees, *(it.author for it in issue.comments))
            takes_part = any(it is user for it in members)
            others = (it for it in issue.comments if it.author is not user)
            found += (it for it in others if takes_part or mentioned.search(it.body))
    return sorted(found, key=lambda comment: comment.created_at, reverse=True)


def _looked_at() -> datetime:
    kept = request.cookies.get(LOOKED_COOKIE, "")
    return datetime.fromtimestamp(int(kept) if re.fullmatch(r"[0-9]{1,11}", kept) else 0, UTC)


@pages.app_context_processor
def unread() -> dict[str, int]:
    """Return how many comments are newer than the person's last look."""
    if not people():
        return {"unread": 0}
    return {"unread": sum(comment.created_at > _looked_at() for comment in news_for(person()))}


@pages.on("/-/notifications")
def notifications() -> ResponseReturnValue:
    looked_at = _looked_at()
    shown = [(comment, comment.created_at > looked_at) for comment in islice(news_for(person()), MAX_SHOWN)]
    answer = make_response(render_template("notifications.html", shown=shown, unread=0))
    now = str(int(store().clock.now().timestamp()) + 1)
    answer.set_cookie(LOOKED_COOKIE, now, httponly=True, samesite="Strict")
    return answer
