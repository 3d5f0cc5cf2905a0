"""Pull requests, reviews, threads and review comments as GitHub writes them."""

from forge.git.merging import ahead_behind, list_changed_files
from forge.git.repository import GitError
from forge.payloads.account import label, reaction_rollup, repository, user, user_or_none
from forge.payloads.commit import simple_commit
from forge.payloads.view import Json, View, attributes
from forge.store.models import Group, Pull, Repo, Review, ReviewComment, Thread


def pull_simple(view: View, pull: Pull) -> Json:
    """Return a `pull-request-simple`, as lists and reviews carry it."""
    issue, repo = pull.issue, pull.repo
    page, links = view.issue_html(issue), _links(view, pull)
    return {
        "url": links["self"],
        **attributes(pull, "id", "node_id", "number", "merged_at", "merge_commit_sha", "draft"),
        **attributes(issue, "state", "locked", "title", "body", "created_at", "updated_at", "closed_at"),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": links["issue"],
        "user": user(view, issue.author),
        "assignee": user(view, issue.assignees[0]) if issue.assignees else None,
        "assignees": [user(view, assignee) for assignee in issue.assignees],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": [label(view, name, repo) for name in issue.labels],
        "milestone": None,
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "head": _side(view, pull.fork or pull.repo, pull.head_ref, pull.head_sha),
        "base": _side(view, pull.repo, pull.base_ref, pull.base_sha),
        "_links": {key: {"href": href} for key, href in links.items()},
        "author_association": view.association(repo, issue.author),
        "auto_merge": _auto_merge(view, pull),
        "active_lock_reason": None,
    }


def _auto_merge(view: View, pull: Pull) -> Json | None:
    """Return an `auto-merge`; `None` for a pull request that waits for a person."""
    if pull.auto_merge is None:
        return None
    return {
        "enabled_by": user(view, pull.auto_merge.enabled_by),
        "merge_method": pull.auto_merge.merge_method,
        "commit_title": pull.auto_merge.title or "",
        "commit_message": pull.auto_merge.message or "",
    }


def _links(view: View, pull: Pull) -> dict[str, str]:
    url = view.repo_api(pull.repo, f"/pulls/{pull.number}")
    issue_url = view.repo_api(pull.repo, f"/issues/{pull.number}")
    return {
        "self": url,
        "html": view.issue_html(pull.issue),
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": view.repo_api(pull.repo, "/pulls/comments{/number}"),
        "commits": f"{url}/commits",
        "statuses": view.repo_api(pull.repo, f"/statuses/{pull.head_sha}"),
    }


def _side(view: View, repo: Repo, ref: str, sha: str) -> Json:
    owner = repo.owner
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(view, owner),
        "repo": repository(view, repo),
    }


def pull(view: View, pull: Pull) -> Json:
    """Return a full `pull-request`, with its merge state and the size of its diff."""
    pulls, git = view.store.pulls, view.store.repos.git(pull.repo)
    try:
        files = list_changed_files(git, pull.base_sha, pull.head_sha)
        commits = ahead_behind(git, pull.base_sha, pull.head_sha)[0]
    except GitError:  # the branch was deleted and its commits pruned
        files, commits = [], 0
    mergeable = pulls.mergeable(pull)
    return {
        **pull_simple(view, pull),
        "merged": pull.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": pulls.mergeable_state(pull),
        "merged_by": user_or_none(view, pull.merged_by),
        "comments": len(pull.issue.comments),
        "review_comments": sum(len(thread.comments) for thread in pull.threads),
        "maintainer_can_modify": False,
        "commits": commits,
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def review(view: View, review: Review) -> Json:
    """Return a `pull-request-review`."""
    repo, number = review.pull.repo, review.pull.number
    page = f"{view.issue_html(review.pull.issue)}#pullrequestreview-{review.id}"
    pull_url = view.repo_api(repo, f"/pulls/{number}")
    return {
        **attributes(review, "id", "node_id", "body", "state", "submitted_at", "commit_id"),
        "user": user(view, review.author),
        "html_url": page,
        "pull_request_url": pull_url,
        "author_association": view.association(repo, review.author),
        "_links": {"html": {"href": page}, "pull_request": {"href": pull_url}},
    }


def review_comment(view: View, comment: ReviewComment) -> Json:
    """Return a `pull-request-review-comment`."""
    thread = comment.thread
    repo = thread.pull.repo
    url = view.repo_api(repo, f"/pulls/comments/{comment.id}")
    page = f"{view.issue_html(thread.pull.issue)}#discussion_r{comment.id}"
    pull_url = view.repo_api(repo, f"/pulls/{thread.pull.number}")
    position = max(1, comment.diff_hunk.count("\n"))
    answer: Json = {
        "url": url,
        "pull_request_review_id": comment.review.id,
        **attributes(comment, "id", "node_id", "diff_hunk", "commit_id", "body", "created_at", "updated_at"),
        **attributes(thread, "path", "start_line", "side"),
        "original_commit_id": comment.commit_id,
        "user": user(view, comment.author),
        "html_url": page,
        "pull_request_url": pull_url,
        "author_association": view.association(repo, comment.author),
        "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull_url}},
        "reactions": reaction_rollup(url, comment.reactions),
        "original_start_line": thread.start_line,
        "start_side": thread.side if thread.start_line else None,
        "line": None if thread.outdated else thread.line,
        "position": None if thread.outdated else position,
        "original_position": position,
        "subject_type": "file" if thread.line is None else "line",
    }
    if thread.line is not None:
        answer["original_line"] = thread.line
    if comment.in_reply_to is not None:
        answer["in_reply_to_id"] = comment.in_reply_to.id
    return answer


# Source: github.com/hub4j/github-api, issue 2106; the example of the endpoint in the published description.
PLACE = ("line", "original_line", "start_line", "original_start_line", "side", "start_side", "subject_type")


def comment_of_review(view: View, comment: ReviewComment) -> Json:
    """Return a `review-comment`, as the listing of one review has it: without its line."""
    return {key: value for key, value in review_comment(view, comment).items() if key not in PLACE}


def thread(view: View, thread: Thread) -> Json:
    """Return the thread of a `pull_request_review_thread` payload."""
    comments = [review_comment(view, comment) for comment in thread.comments]
    return {"node_id": thread.node_id, "comments": comments}


def hook_review(view: View, subject: Review) -> Json:
    """Return a review as webhooks carry it: its state in small letters."""
    return {**review(view, subject), "state": subject.state.lower()}


def merge_group(view: View, group: Group) -> Json:
    """Return a `merge-group`."""
    git = view.store.repos.git(group.pull.repo)
    return {
        **attributes(group, "head_sha", "head_ref", "base_sha", "base_ref"),
        "head_commit": simple_commit(git, group.head_sha),
    }
