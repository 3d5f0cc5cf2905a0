"""Reviews: lines commented together, a verdict, the threads that follow."""

import json

from flask import request
from flask.typing import ResponseReturnValue

from forge.errors import NotFoundError, UnprocessableError
from forge.pages.conversation import read_body
from forge.pages.looks import address
from forge.pages.pulls import pull_at
from forge.pages.site import Site, done
from forge.store.models import Pull, Role, Thread
from forge.store.reviews import LineComment

MAX_LINE_COMMENTS = 200


def read_line_comments(text: str) -> list[LineComment]:
    """Return the comments on lines that a review form carries as JSON; raises UnprocessableError."""
    try:
        found = json.loads(text or "[]")
        comments = [
            LineComment(str(one["path"]), str(one["body"]), int(one["line"]), str(one["side"]))
            for one in found
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise UnprocessableError("The comments on lines cannot be read.") from error
    if len(comments) > MAX_LINE_COMMENTS:
        raise UnprocessableError(f"A review has at most {MAX_LINE_COMMENTS} comments on lines.")
    return comments


def thread_of(pull: Pull, thread_id: int) -> Thread:
    """Return the thread; raises NotFoundError."""
    for thread in pull.threads:
        if thread.id == thread_id:
            return thread
    raise NotFoundError("That thread is gone.")


def mount(site: Site) -> None:
    """Mount reviews and threads."""

    @site.route("/<owner>/<name>/pull/<int:number>/reviews", post=True)
    def review(owner: str, name: str, number: int) -> ResponseReturnValue:
        pull = pull_at(site, owner, name, number)
        comments = read_line_comments(request.form.get("comments", ""))
        verdict = request.form.get("event", "")
        made = site.store.reviews.submit(pull, verdict, read_body().strip(), comments, actor=site.person())
        return done(f"{address(pull)}#review-{made.id}")

    @site.route("/<owner>/<name>/pull/<int:number>/threads/<int:thread_id>/replies", post=True)
    def reply(owner: str, name: str, number: int, thread_id: int) -> ResponseReturnValue:
        pull = pull_at(site, owner, name, number)
        site.store.reviews.reply(thread_of(pull, thread_id), read_body(), actor=site.person())
        return done(f"{address(pull)}#thread-{thread_id}")

    @site.route("/<owner>/<name>/pull/<int:number>/threads/<int:thread_id>/resolved", post=True)
    def resolve(owner: str, name: str, number: int, thread_id: int) -> ResponseReturnValue:
        pull = pull_at(site, owner, name, number)
        if pull.issue.author is not site.person():
            site.require(pull.repo, Role.WRITE, "resolve a thread")
        wanted = request.form.get("resolved") == "1"
        site.store.reviews.set_resolved(thread_of(pull, thread_id), wanted, actor=site.person())
        return done(f"{address(pull)}#thread-{thread_id}")
