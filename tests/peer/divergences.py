"""Where the peer differs from what GitHub documents: what each does, how it shows, and who says so.

The forge must do as GitHub does, the peer as it did when this was written: an upgrade that changes one shows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.peer import seen
from tests.peer.side import Side

REST = "docs.github.com/rest/"
APPS = "docs.github.com/apps/creating-github-apps/"
HOOKS = "docs.github.com/webhooks/"


@dataclass(frozen=True, slots=True)
class Divergence:
    """`see` looks at one side; it finds `github` on the forge and `peer` on the peer."""

    what: str
    github: object
    peer: object
    source: str
    see: Callable[[Side], object]


ROWS = (
    # --- the App and its tokens
    Divergence(
        "a JWT that lasts an hour", 401, 200, f"{APPS}authenticating-with-a-github-app", seen.long_jwt
    ),
    Divergence(
        "a token asked for with `permissions: {}`: may it write?",
        True,
        False,
        "PyGithub sends {} unless it is told some, and its tokens can write",
        seen.token_with_empty_permissions,
    ),
    Divergence(
        "a token's characters",
        520,
        31,
        "GitHub's changelog of 2026-04-27: stateless tokens of about 520 characters",
        seen.token_characters,
    ),
    Divergence(
        "fractions of seconds in `expires_at`", False, True, f"{REST}apps/apps", seen.fractions_of_seconds
    ),
    Divergence(
        "writing with a token that nobody gave out", 401, 201, f"{REST}authentication", seen.unknown_token
    ),
    Divergence("the bot of an App that wrote nothing yet", 200, 404, f"{REST}users/users", seen.silent_bot),
    Divergence("GET /installation/repositories", 200, 404, f"{REST}apps/installations", seen.reachable),
    Divergence("GET /app/hook/deliveries", 200, 404, f"{REST}apps/webhooks", seen.deliveries),
    Divergence(
        "why a token may not write", seen.REFUSED, "Forbidden", f"{REST}using-the-rest-api", seen.refusal
    ),
    # --- people
    Divergence(
        "the permission of somebody from outside",
        200,
        404,
        f"{REST}collaborators/collaborators: `none` is an answer, too",
        seen.permission_of_stranger,
    ),
    Divergence(
        "the `permission` of somebody who may write",
        "write",
        "push",
        f"{REST}collaborators/collaborators",
        seen.permission_of_writer,
    ),
    # --- issues and comments
    Divergence(
        "are pull requests among the issues?", True, False, f"{REST}issues/issues", seen.pulls_among_issues
    ),
    Divergence("a pull request read as an issue", 200, 404, f"{REST}issues/issues", seen.pull_as_issue),
    Divergence("a comment of 65,537 characters", 422, 201, "the API's own message", seen.long_comment),
    Divergence(
        "comments of an issue `since` a day to come", 0, 1, f"{REST}issues/comments", seen.comments_since
    ),
    Divergence(
        "the comments of a repository", 200, 404, f"{REST}issues/comments", seen.comments_of_repository
    ),
    Divergence("a reaction to a comment", 201, 404, f"{REST}reactions/reactions", seen.reaction),
    Divergence(
        "the App that a comment came through", "cardinal", None, f"{REST}issues/comments", seen.via_app
    ),
    Divergence("an issue's sub-issues", 200, 404, f"{REST}issues/sub-issues", seen.sub_issues),
    Divergence("what an issue waits for", 200, 404, f"{REST}issues/issue-dependencies", seen.blocked_by),
    # --- pull requests
    Divergence(
        "a pull request of a branch that is not there", 422, 201, f"{REST}pulls/pulls", seen.no_branch
    ),
    Divergence("a pull request without commits", 422, 201, f"{REST}pulls/pulls", seen.no_commits),
    Divergence("a second pull request of a branch", 422, 201, f"{REST}pulls/pulls", seen.second_pull),
    Divergence("does a pull request follow a push?", True, False, f"{REST}pulls/pulls", seen.head_follows),
    Divergence("a pull request's changed files", 1, 0, f"{REST}pulls/pulls", seen.changed_files),
    Divergence("is a pull request to be had as a diff?", True, False, f"{REST}pulls/pulls", seen.as_diff),
    Divergence(
        "a merge of another head", 409, 422, f"{REST}pulls/pulls#merge-a-pull-request", seen.stale_merge
    ),
    Divergence("a merge of a draft", 405, 422, f"{REST}pulls/pulls#merge-a-pull-request", seen.draft_merge),
    Divergence(
        "a merge of what is merged", 405, 422, f"{REST}pulls/pulls#merge-a-pull-request", seen.second_merge
    ),
    Divergence(
        "an issue that a merged pull request closes",
        "closed",
        "open",
        "docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue",
        seen.closing_words,
    ),
    Divergence("making a review", 200, 201, f"{REST}pulls/reviews", seen.review_status),
    Divergence("a review's comment placed by `line`", 200, 422, f"{REST}pulls/reviews", seen.review_by_line),
    Divergence(
        "is a comment with `in_reply_to` in the thread?",
        True,
        False,
        f"{REST}pulls/comments",
        seen.reply_is_threaded,
    ),
    Divergence(
        "the replies' address, for an App",
        403,
        404,
        "the published description: not for Apps",
        seen.app_replies,
    ),
    # --- checks
    Divergence("a check run's App", "cardinal", None, f"{REST}checks/runs", seen.check_app),
    Divergence("a check run by a person", 403, 201, f"{REST}checks/runs", seen.check_by_person),
    Divergence("a button of 21 characters", 422, 201, f"{REST}checks/runs", seen.long_button),
    # --- webhooks
    Divergence("is a delivery's name a GUID?", True, False, f"{HOOKS}webhook-events-and-payloads", seen.guid),
    Divergence(
        "are there headers that name hook and App?",
        True,
        False,
        f"{HOOKS}webhook-events-and-payloads",
        seen.hook_headers,
    ),
    Divergence(
        "what an edited comment said before",
        "a",
        None,
        f"{HOOKS}webhook-events-and-payloads",
        seen.edited_from,
    ),
    Divergence(
        "deliveries about the comments of a review",
        1,
        0,
        f"{HOOKS}webhook-events-and-payloads#pull_request_review_comment",
        seen.told_of_review_comments,
    ),
    Divergence(
        "deliveries about a push to a pull request's branch",
        ["synchronize"],
        [],
        f"{HOOKS}webhook-events-and-payloads#pull_request",
        seen.synchronised,
    ),
    # --- what the peer has none of
    Divergence("GraphQL, and with it the board", 200, 404, "docs.github.com/graphql", seen.graphql),
    Divergence("git over HTTP", 200, 404, "docs.github.com/get-started/git-basics", seen.git_over_http),
)
