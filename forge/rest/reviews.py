"""Reviews and review comments."""

from typing import Any

from flask import request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, UnprocessableError
from forge.payloads import pull
from forge.rest.context import (
    RepositoryRoutes,
    actor,
    answer_page,
    body,
    caller,
    require_text,
    require_texts,
    store,
    text_of,
    view,
)
from forge.store.models import Repo, Role
from forge.store.reviews import LineComment

blueprint = RepositoryRoutes("reviews", "/pulls")


@blueprint.on("GET", "/<int:number>/reviews", "pull_requests")
def list_reviews(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with the reviews, oldest first."""
    return answer_page(store().pulls.get(repo, number).reviews, pull.review)


@blueprint.on("POST", "/<int:number>/reviews", "pull_requests")
def create_review(repo: Repo, number: int) -> ResponseReturnValue:
    wanted = body()
    try:
        review = store().reviews.submit(
            store().pulls.get(repo, number),
            require_text(wanted, "event", "PullRequestReview"),
            text_of(wanted, "body", "PullRequestReview") or "",
            [_line_comment(entry) for entry in wanted.get("comments") or []],
            actor=actor(),
        )
    except UnprocessableError as error:
        raise error.in_words() from error
    return pull.review(view(), review)


def _line_comment(entry: Any) -> LineComment:
    if not isinstance(entry, dict):
        raise UnprocessableError.on_field("PullRequestReviewComment", "comments", "invalid")
    line, position = entry.get("line"), entry.get("position")
    path, text = require_texts(entry, "PullRequestReviewComment", "path", "body")
    return LineComment(
        path=path,
        body=text,
        line=line if isinstance(line, int) else None,
        side=entry.get("side") or "RIGHT",
        start_line=entry.get("start_line"),
        position=position if isinstance(position, int) else None,
    )


@blueprint.on("GET", "/<int:number>/reviews/<int:review>", "pull_requests")
def show_review(repo: Repo, number: int, review: int) -> ResponseReturnValue:
    return pull.review(view(), store().reviews.get(store().pulls.get(repo, number), review))


@blueprint.on("PUT", "/<int:number>/reviews/<int:review>/dismissals", "pull_requests", Role.WRITE)
def dismiss(repo: Repo, number: int, review: int) -> ResponseReturnValue:
    subject = store().reviews.get(store().pulls.get(repo, number), review)
    store().reviews.dismiss(subject, require_text(body(), "message", "PullRequestReview"), actor=actor())
    return pull.review(view(), subject)


@blueprint.on("GET", "/<int:number>/reviews/<int:review>/comments", "pull_requests")
def list_comments_of_review(repo: Repo, number: int, review: int) -> ResponseReturnValue:
    subject = store().pulls.get(repo, number)
    wanted = store().reviews.get(subject, review)
    comments = [comment for comment in store().reviews.comments_of(subject) if comment.review is wanted]
    return answer_page(comments, pull.comment_of_review)


@blueprint.on("GET", "/<int:number>/comments", "pull_requests")
def list_review_comments(repo: Repo, number: int) -> ResponseReturnValue:
    """Answer with every review comment, oldest first unless `sort` and `direction` say otherwise."""
    comments = store().reviews.comments_of(store().pulls.get(repo, number))
    if request.args.get("sort") is not None and request.args.get("direction") == "desc":
        comments.reverse()
    return answer_page(comments, pull.review_comment)


@blueprint.on("POST", "/<int:number>/comments", "pull_requests")
def create_review_comment(repo: Repo, number: int) -> ResponseReturnValue:
    """Comment on a line, or reply to a comment (`in_reply_to`)."""
    subject, wanted = store().pulls.get(repo, number), body()
    if wanted.get("in_reply_to"):
        thread = store().reviews.get_comment(repo, wanted["in_reply_to"]).thread
        text = require_text(wanted, "body", "PullRequestReviewComment")
        review_comment = store().reviews.reply(thread, text, actor=actor())
    else:
        review_comment = store().reviews.comment_on_line(subject, _line_comment(wanted), actor=actor())
    return pull.review_comment(view(), review_comment), 201


@blueprint.on("POST", "/<int:number>/comments/<int:comment>/replies", "pull_requests")
def create_reply(repo: Repo, number: int, comment: int) -> ResponseReturnValue:
    """Reply to a comment; this endpoint is for people (its description says enabledForGitHubApps: false)."""
    if caller().token is not None:
        raise ForbiddenError()
    store().pulls.get(repo, number)
    thread = store().reviews.get_comment(repo, comment).thread
    text = require_text(body(), "body", "PullRequestReviewComment")
    return pull.review_comment(view(), store().reviews.reply(thread, text, actor=actor())), 201
