"""Reviews and review comments."""

from typing import Any

from flask import Blueprint, Response

from forge.errors import ForbiddenError, UnprocessableError
from forge.payloads import pull
from forge.rest.context import (
    actor,
    answer,
    body,
    caller,
    needed_text,
    no_content,
    page_of,
    repo_for,
    store,
    text_of,
    view,
)
from forge.store.models import ReviewComment, Role
from forge.store.reviews import LineComment

blueprint = Blueprint("reviews", __name__, url_prefix="/repos/<owner>/<name>/pulls")


@blueprint.get("/<int:number>/reviews")
def list_reviews(owner: str, name: str, number: int) -> Response:
    """Answer with the reviews, oldest first."""
    repo = repo_for(owner, name, "pull_requests")
    found, links = page_of(store().pulls.get(repo, number).reviews)
    return answer([pull.review(view(), one) for one in found], headers=links)


@blueprint.post("/<int:number>/reviews")
def create_review(owner: str, name: str, number: int) -> Response:
    """Submit a review with its comments."""
    repo = repo_for(owner, name, "pull_requests", "write")
    wanted = body()
    comments = [_line_comment(entry) for entry in wanted.get("comments") or []]
    try:
        made = store().reviews.submit(
            store().pulls.get(repo, number),
            needed_text(wanted, "event", "PullRequestReview"),
            text_of(wanted, "body", "PullRequestReview") or "",
            comments,
            actor=actor(),
        )
    except UnprocessableError as error:
        raise error.in_words() from error
    return answer(pull.review(view(), made))


def _line_comment(entry: Any) -> LineComment:
    if not isinstance(entry, dict):
        raise UnprocessableError.on_field("PullRequestReviewComment", "comments", "invalid")
    line, position = entry.get("line"), entry.get("position")
    return LineComment(
        path=needed_text(entry, "path", "PullRequestReviewComment"),
        body=needed_text(entry, "body", "PullRequestReviewComment"),
        line=line if isinstance(line, int) else None,
        side=entry.get("side") or "RIGHT",
        start_line=entry.get("start_line"),
        position=position if isinstance(position, int) else None,
    )


@blueprint.get("/<int:number>/reviews/<int:review>")
def show_review(owner: str, name: str, number: int, review: int) -> Response:
    """Answer with one review."""
    repo = repo_for(owner, name, "pull_requests")
    return answer(pull.review(view(), store().reviews.get(store().pulls.get(repo, number), review)))


@blueprint.put("/<int:number>/reviews/<int:review>/dismissals")
def dismiss(owner: str, name: str, number: int, review: int) -> Response:
    """Dismiss a review."""
    repo = repo_for(owner, name, "pull_requests", "write", Role.WRITE)
    one = store().reviews.get(store().pulls.get(repo, number), review)
    store().reviews.dismiss(one, needed_text(body(), "message", "PullRequestReview"), actor=actor())
    return answer(pull.review(view(), one))


@blueprint.get("/<int:number>/reviews/<int:review>/comments")
def list_comments_of_review(owner: str, name: str, number: int, review: int) -> Response:
    """Answer with the comments that came with one review."""
    repo = repo_for(owner, name, "pull_requests")
    one = store().pulls.get(repo, number)
    wanted = store().reviews.get(one, review)
    found, links = page_of([each for each in store().reviews.comments_of(one) if each.review is wanted])
    return answer([pull.review_comment(view(), each) for each in found], headers=links)


@blueprint.get("/<int:number>/comments")
def list_review_comments(owner: str, name: str, number: int) -> Response:
    """Answer with every review comment, oldest first."""
    repo = repo_for(owner, name, "pull_requests")
    found, links = page_of(store().reviews.comments_of(store().pulls.get(repo, number)))
    return answer([pull.review_comment(view(), one) for one in found], headers=links)


@blueprint.post("/<int:number>/comments")
def create_review_comment(owner: str, name: str, number: int) -> Response:
    """Comment on a line, or reply to a comment (`in_reply_to`)."""
    repo = repo_for(owner, name, "pull_requests", "write")
    one, wanted = store().pulls.get(repo, number), body()
    if wanted.get("in_reply_to"):
        thread = store().reviews.get_comment(repo, wanted["in_reply_to"]).thread
        made = store().reviews.reply(
            thread, needed_text(wanted, "body", "PullRequestReviewComment"), actor=actor()
        )
    else:
        made = store().reviews.comment_on_line(one, _line_comment(wanted), actor=actor())
    return answer(pull.review_comment(view(), made), 201)


@blueprint.post("/<int:number>/comments/<int:comment>/replies")
def create_reply(owner: str, name: str, number: int, comment: int) -> Response:
    """Reply to a comment; this endpoint is for people (its description says enabledForGitHubApps: false)."""
    repo = repo_for(owner, name, "pull_requests", "write")
    if caller().token is not None:
        raise ForbiddenError()
    store().pulls.get(repo, number)
    thread = store().reviews.get_comment(repo, comment).thread
    text = needed_text(body(), "body", "PullRequestReviewComment")
    return answer(pull.review_comment(view(), store().reviews.reply(thread, text, actor=actor())), 201)


@blueprint.get("/comments/<int:comment>")
def show_review_comment(owner: str, name: str, comment: int) -> Response:
    """Answer with one review comment."""
    repo = repo_for(owner, name, "pull_requests")
    return answer(pull.review_comment(view(), store().reviews.get_comment(repo, comment)))


def _editable(owner: str, name: str, comment: int) -> ReviewComment:
    repo = repo_for(owner, name, "pull_requests", "write")
    found = store().reviews.get_comment(repo, comment)
    if found.author is not actor():
        repo_for(owner, name, "pull_requests", "write", Role.WRITE)
    return found


@blueprint.patch("/comments/<int:comment>")
def edit_review_comment(owner: str, name: str, comment: int) -> Response:
    """Replace the text of a review comment."""
    found = _editable(owner, name, comment)
    text = needed_text(body(), "body", "PullRequestReviewComment")
    store().reviews.edit_comment(found, text, actor=actor())
    return answer(pull.review_comment(view(), found))


@blueprint.delete("/comments/<int:comment>")
def delete_review_comment(owner: str, name: str, comment: int) -> Response:
    """Delete a review comment."""
    store().reviews.delete_comment(_editable(owner, name, comment), actor=actor())
    return no_content()
