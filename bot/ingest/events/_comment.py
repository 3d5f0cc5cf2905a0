"""Comments and ticked checkboxes on issues, pull requests and in reviews."""

from bot.ingest.events._payload import (
    Payload,
    account,
    find,
    login,
    moment,
    number,
    number_or_zero,
    own,
    text,
)
from bot.ingest.facts import BoxTicked, CommentAltered, CommentWritten, Fact
from bot.render.markdown import checkboxes


def read_comment(payload: Payload, *, bot_id: int, subject: str, place: str) -> tuple[Fact, ...]:
    """Return the comment or ticks on the `subject` (issue or pull_request); nothing for an own echo.

    Only a *new* comment speaks, and only for the one who sent it. An edit never does, but it ticks boxes in a
    comment of Cardinal's: then GitHub's sender is the person, its author Cardinal. That somebody changed a
    comment of people is told as just that.
    """
    if own(payload, bot_id):
        return ()
    author_id, sender_id = account(payload, "comment.user"), account(payload, "sender")
    match find(payload, "action"):
        case "created" if author_id == sender_id:
            return (_comment_written(payload, subject, place),)
        case "edited" if author_id == bot_id:
            return _find_tick(payload, subject, place)
        case "edited" if find(payload, "changes.body.from") is not None:
            return (_comment_altered(payload, subject, place, "edited"),)
        case "deleted" if author_id != bot_id:
            return (_comment_altered(payload, subject, place, "deleted"),)
        case _:
            return ()


def _where(payload: Payload, subject: str) -> tuple[str, int, int]:
    """Return repository, number and comment id."""
    repository, comment_id = text(payload, "repository.full_name"), number(payload, "comment.id")
    return repository, number(payload, f"{subject}.number"), comment_id


def _comment_written(payload: Payload, subject: str, place: str) -> CommentWritten:
    return CommentWritten(
        *_where(payload, subject),
        place=place,
        author=login(payload, "comment.user"),
        author_id=account(payload, "comment.user"),
        text=text(payload, "comment.body"),
        at=moment(payload, "comment.created_at"),
        review_id=number_or_zero(payload, "comment.pull_request_review_id"),
    )


def _comment_altered(payload: Payload, subject: str, place: str, how: str) -> CommentAltered:
    edited = how == "edited"
    return CommentAltered(
        *_where(payload, subject),
        place=place,
        how=how,
        by=login(payload, "sender"),
        by_id=account(payload, "sender"),
        old_text=text(payload, "changes.body.from") if edited else None,
        new_text=text(payload, "comment.body") if edited else None,
    )


def _find_tick(payload: Payload, subject: str, place: str) -> tuple[Fact, ...]:
    if find(payload, "changes.body.from") is None:
        return ()
    ticked = checkboxes.newly_ticked(text(payload, "changes.body.from"), text(payload, "comment.body"))
    if not ticked:
        return ()
    return (
        BoxTicked(
            *_where(payload, subject),
            place=place,
            boxes=ticked,
            by=login(payload, "sender"),
            by_id=account(payload, "sender"),
            at=moment(payload, "comment.updated_at"),
        ),
    )
