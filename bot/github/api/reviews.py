"""Reviews of a pull request: threads of a review, their resolution, the end of draft."""

from typing import Any

from bot.github.api import project_queries
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, RefusedError
from ledger.events.pull import Thread

MAX_PAGES = 10  # 1,000 comments or threads; the rest is not read


def threads_of_review(hub: Hub, repository: str, number: int, review_id: int) -> tuple[Thread, ...]:
    """Return the threads with comments of the review, oldest first, the comments of each joined.

    They are taken from all comments of the pull request: the listing of one review has no lines.
    Sources: docs.github.com/rest/pulls/comments#list-review-comments-on-a-pull-request;
    github.com/hub4j/github-api, issue 2106.
    """
    path = f"{repository_path(repository)}/pulls/{number}/comments"
    newest = {"sort": "created", "direction": "desc"}
    comments = {  # by id: one that is written meanwhile moves the others on to the next page
        int(comment["id"]): comment
        for comment in hub.pages(path, params=newest, most=MAX_PAGES)
        if comment.get("pull_request_review_id") == review_id
    }
    threads: dict[str, Thread] = {}
    for _, comment in sorted(comments.items()):
        root = str(comment.get("in_reply_to_id") or comment["id"])
        opened = threads.get(root)
        text = f"{opened.text}\n\n{comment['body']}" if opened else comment["body"]
        threads[root] = Thread(root, comment["path"], _line(comment), text)
    return tuple(threads.values())


def has_comments(hub: Hub, repository: str, number: int, review_id: int) -> bool:
    """Tell whether the review has comments on files; raises NotFoundError where GitHub knows none such."""
    path = f"{repository_path(repository)}/pulls/{number}/reviews/{review_id}/comments"
    return bool(hub.rest("GET", path, params={"per_page": 1}).body)


def _line(comment: dict[str, Any]) -> int:
    """Return the line, of the reviewed commit if the thread is outdated; 0 for a whole file."""
    if comment.get("subject_type") == "file":
        return 0
    return int(comment.get("line") or comment.get("original_line") or 0)


def node_of_thread(hub: Hub, repository: str, number: int, thread_id: str) -> str:
    """Return the node id of the thread with the comment `thread_id`, which never changes; raises
    NotFoundError without one.
    """
    for fresh in (False, True):
        nodes: dict[str, str] = hub.remember(
            f"threads of {repository}#{number}", lambda: _read_threads(hub, repository, number), fresh=fresh
        )
        if thread_id in nodes:
            return nodes[thread_id]
    raise NotFoundError(f"the thread of comment {thread_id}", 200, f"not in {repository}#{number}")


def _read_threads(hub: Hub, repository: str, number: int) -> dict[str, str]:
    """Return the node id of each comment's thread."""
    owner, _, name = repository.partition("/")
    after: str | None = None
    nodes: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        variables = {"owner": owner, "name": name, "number": number, "after": after}
        pull = (
            hub.graphql(project_queries.THREADS, variables, repository=repository).get("repository") or {}
        ).get("pullRequest") or {}
        threads = pull.get("reviewThreads") or {"nodes": (), "pageInfo": {"hasNextPage": False}}
        for thread in threads["nodes"]:
            nodes |= {str(comment["fullDatabaseId"]): thread["id"] for comment in thread["comments"]["nodes"]}
        if not threads["pageInfo"]["hasNextPage"]:
            break
        after = threads["pageInfo"]["endCursor"]
    return nodes


def resolve_thread(hub: Hub, repository: str, thread_node_id: str) -> None:
    """Resolve a thread by its node id; a resolved one stays so."""
    hub.graphql(project_queries.RESOLVE_THREAD, {"thread": thread_node_id}, repository=repository)


def mark_ready(hub: Hub, repository: str, pull_node_id: str, head: str) -> bool:
    """Take a pull request out of draft at the commit `head`, which REST cannot do; one that is no draft stays
    so. Return False where it stood at another commit: then it is a draft again.

    GitHub takes no commit to guard this with. Source:
    docs.github.com/graphql/reference/mutations#markpullrequestreadyforreview.
    """
    of = {"pull": pull_node_id}
    try:
        made = hub.graphql(project_queries.MARK_READY, of, repository=repository)
    except RefusedError as error:
        if "not a draft" not in error.because.lower():
            raise
        return True
    if made["markPullRequestReadyForReview"]["pullRequest"]["headRefOid"] == head:
        return True
    hub.graphql(project_queries.MARK_DRAFT, of, repository=repository)
    return False
