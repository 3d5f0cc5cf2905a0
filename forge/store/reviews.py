"""Reviews, their threads and the comments in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from forge.errors import NotFoundError, UnprocessableError
from forge.git.diffs import hunk_at, place_at
from forge.git.merging import list_changed_files
from forge.git.repository import FileChange
from forge.store.base import Part, check_body, existing, first
from forge.store.models import Pull, Repo, Review, ReviewComment, Role, Thread, User

STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


@dataclass(frozen=True, slots=True)
class LineComment:
    """A comment about a line, as it comes with a review; `position` is the older way to say which."""

    path: str
    body: str
    line: int | None = None
    side: str = "RIGHT"
    start_line: int | None = None
    position: int | None = None


@dataclass(eq=False)
class Reviews(Part):
    """Every review, thread and review comment."""

    _comments: dict[int, ReviewComment] = field(default_factory=dict)

    def submit(
        self, pull: Pull, event: str, body: str = "", comments: Sequence[LineComment] = (), *, actor: User
    ) -> Review:
        """Return a submitted review with one new thread per comment; raises UnprocessableError."""
        if event not in STATES:
            raise UnprocessableError.on_field("PullRequestReview", "event", "invalid")
        if event != "COMMENT" and actor is pull.issue.author:
            verb = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}[event]
            raise UnprocessableError(f"Can not {verb} your own pull request")
        if event != "APPROVE" and not comments:
            check_body("PullRequestReview", body, needed=True)
        check_body("PullRequestReview", body)
        placed = [self._place(pull, comment) for comment in comments]
        review = self._new_review(pull, STATES[event], body, actor)
        threads = [self._open_thread(review, comment, actor) for comment in placed]
        self._announce(review, "submitted", actor)
        for thread in threads:
            self._announce_comment(thread.comments[0], "created", actor)
        self.store.merges.reconsider(pull.repo, pull.head_sha)
        return review

    def _new_review(self, pull: Pull, state: str, body: str, actor: User) -> Review:
        now = self.store.clock.now()
        review = self._new("review", Review, pull, actor, body, state, pull.head_sha, now)
        pull.reviews.append(review)
        pull.issue.updated_at = now
        return review

    def _place(self, pull: Pull, comment: LineComment) -> LineComment:
        """Return the comment with its line; raises UnprocessableError where that is not in the diff."""
        check_body("PullRequestReviewComment", comment.body, needed=True)
        if comment.path not in {file.path for file in self._files(pull)}:
            raise UnprocessableError.on_field("PullRequestReviewComment", "path", "invalid")
        if comment.line is not None and self._hunk(pull, comment) is None:
            message = "pull_request_review_thread.line must be part of the diff"
            raise UnprocessableError.on_field("PullRequestReviewComment", "line", "custom", message)
        if comment.line is not None or comment.position is None:
            return comment
        place = place_at(self._patch(pull, comment), comment.position)
        if place is None:
            raise UnprocessableError.on_field("PullRequestReviewComment", "position", "invalid")
        return replace(comment, line=place[0], side=place[1])

    def _files(self, pull: Pull) -> list[FileChange]:
        return list_changed_files(self.store.repos.git(pull.repo), pull.base_sha, pull.head_sha)

    def _hunk(self, pull: Pull, comment: LineComment) -> str | None:
        return hunk_at(self._patch(pull, comment), comment.line, comment.side)

    def _patch(self, pull: Pull, comment: LineComment) -> str:
        return next(file.patch for file in self._files(pull) if file.path == comment.path)

    def _open_thread(self, review: Review, comment: LineComment, actor: User) -> Thread:
        pull = review.pull
        place = (comment.path, comment.line, comment.side, comment.start_line)
        thread = self._new("thread", Thread, pull, *place)
        pull.threads.append(thread)
        self._new_comment(thread, review, comment.body, actor, self._hunk(pull, comment) or "")
        return thread

    def _new_comment(
        self, thread: Thread, review: Review, body: str, actor: User, hunk: str
    ) -> ReviewComment:
        now = self.store.clock.now()
        comment = self._new(
            "review_comment",
            ReviewComment,
            thread=thread,
            review=review,
            body=body,
            author=actor,
            commit_id=review.commit_id,
            diff_hunk=hunk,
            created_at=now,
            updated_at=now,
            in_reply_to=thread.comments[0] if thread.comments else None,
        )
        thread.comments.append(comment)
        self._comments[comment.id] = comment
        return comment

    def comment_on_line(self, pull: Pull, comment: LineComment, *, actor: User) -> ReviewComment:
        """Return a comment that opens a thread of its own, in a review of its own."""
        placed = self._place(pull, comment)
        review = self._new_review(pull, "COMMENTED", "", actor)
        thread = self._open_thread(review, placed, actor)
        self._announce(review, "submitted", actor)
        self._announce_comment(thread.comments[0], "created", actor)
        return thread.comments[0]

    def reply(self, thread: Thread, body: str, *, actor: User) -> ReviewComment:
        check_body("PullRequestReviewComment", body, needed=True)
        review = self._new_review(thread.pull, "COMMENTED", "", actor)
        comment = self._new_comment(thread, review, body, actor, thread.comments[0].diff_hunk)
        self._announce(review, "submitted", actor)
        self._announce_comment(comment, "created", actor)
        return comment

    def get(self, pull: Pull, review_id: int) -> Review:
        """Return the review; raises NotFoundError."""
        return first(review for review in pull.reviews if review.id == review_id)

    def get_comment(self, repo: Repo, comment_id: int) -> ReviewComment:
        """Return the review comment; raises NotFoundError."""
        comment = existing(self._comments.get(comment_id))
        if comment.thread.pull.repo is not repo:
            raise NotFoundError()
        return comment

    def comments_of(self, pull: Pull) -> list[ReviewComment]:
        """Return every review comment of a pull request, oldest first."""
        comments = [comment for thread in pull.threads for comment in thread.comments]
        return sorted(comments, key=lambda comment: comment.id)

    def edit_comment(self, comment: ReviewComment, body: str, *, actor: User) -> None:
        check_body("PullRequestReviewComment", body, needed=True)
        before, comment.body = comment.body, body
        if before != body:
            comment.updated_at = self.store.clock.now()
            self._announce_comment(comment, "edited", actor, {"changes": {"body": {"from": before}}})

    def delete_comment(self, comment: ReviewComment, *, actor: User) -> None:
        """Remove a review comment, and its thread with the last one."""
        thread = comment.thread
        thread.comments.remove(comment)
        if not thread.comments:
            thread.pull.threads.remove(thread)
            self.store.nodes.pop(thread.node_id, None)
        del self._comments[comment.id]
        self.store.nodes.pop(comment.node_id, None)
        self._announce_comment(comment, "deleted", actor)

    def dismiss(self, review: Review, message: str, *, actor: User) -> None:
        """Take the verdict of a review away; raises UnprocessableError when it gave none."""
        if review.state not in {"APPROVED", "CHANGES_REQUESTED"}:
            raise UnprocessableError("Can not dismiss a commented pull request review")
        check_body("PullRequestReview", message, needed=True)
        review.state = "DISMISSED"
        self._announce(review, "dismissed", actor)

    def set_resolved(self, thread: Thread, resolved: bool, *, actor: User) -> None:
        """Resolve or reopen a thread; announces only a real change."""
        if (thread.resolved_by is not None) is resolved:
            return
        thread.resolved_by = actor if resolved else None
        action = "resolved" if resolved else "unresolved"
        pull = thread.pull
        self.store.emit(
            "pull_request_review_thread", action, actor, pull.repo, pull_request=pull, thread=thread
        )

    def verdicts(self, pull: Pull) -> dict[str, str]:
        """Return the last verdict of every reviewer by login: APPROVED or CHANGES_REQUESTED."""
        last: dict[str, str] = {}
        for review in pull.reviews:
            if review.state in {"APPROVED", "CHANGES_REQUESTED"}:
                last[review.author.login] = review.state
            elif review.state == "DISMISSED":
                last.pop(review.author.login, None)
        return last

    def count(self, pull: Pull, wanted: str) -> int:
        """Return how many people with write access have this verdict: APPROVED or CHANGES_REQUESTED."""
        users = self.store.users
        return sum(
            state == wanted and self.store.repos.role_of(pull.repo, users.get(login)).reaches(Role.WRITE)
            for login, state in self.verdicts(pull).items()
        )

    def mark_outdated(self, pull: Pull) -> None:
        """Mark the threads whose lines the head no longer has in its diff."""
        patches = {file.path: file.patch for file in self._files(pull)}
        for thread in pull.threads:
            hunk = hunk_at(patches.get(thread.path, ""), thread.line, thread.side)
            thread.outdated = thread.line is not None and hunk != thread.comments[0].diff_hunk

    def _announce(self, review: Review, action: str, actor: User) -> None:
        pull = review.pull
        self.store.emit("pull_request_review", action, actor, pull.repo, review=review, pull_request=pull)

    def _announce_comment(
        self, comment: ReviewComment, action: str, actor: User, plain: dict[str, object] | None = None
    ) -> None:
        pull = comment.thread.pull
        self.store.emit(
            "pull_request_review_comment",
            action,
            actor,
            pull.repo,
            plain=plain,
            review_comment=comment,
            pull_request=pull,
        )
