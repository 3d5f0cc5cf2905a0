"""Beliefs about issues, comments, people and the limits of GitHub's API."""

from contextlib import suppress

from bot.admin.rehearsal.belief import Beliefs, Facts, NotTriedError
from bot.admin.rehearsal.stage import LABEL, MARKER, RehearsalStage
from bot.github.api import issues
from bot.github.client import repository_path
from bot.github.errors import NotFoundError, PermissionMissingError, RefusedError

beliefs = Beliefs[RehearsalStage]()
MAX_BODY = 65_536
NOBODY = "cardinal-rehearsal-nobody"
FAR_FUTURE = "2100-01-01T00:00:00Z"


@beliefs.about(
    "issue",
    "An issue that the App opens is open at once, and its author is the App's bot.",
    used="bot/outbox/new_cards.py",
    source="rest/issues/issues#create-an-issue",
)
def opens_issue(stage: RehearsalStage) -> Facts:
    issue, user = stage.issue, stage.issue["user"]
    return {
        "state": ("open", issue["state"]),
        "author is the App": (True, user["login"] == stage.bot_login),
        "author's kind": ("Bot", user["type"]),
        "keeps the marker": (True, MARKER in issue["body"]),
    }


@beliefs.about(
    "numbers",
    "Ids are whole numbers below 2^63, and need not fit into 32 bits.",
    used="bot/outbox/posting.py",
    source="rest/issues/comments#create-an-issue-comment",
)
def gives_numbers(stage: RehearsalStage) -> Facts:
    issue = stage.hub.rest("GET", f"{repository_path(stage.repository)}/issues/{stage.issue['number']}").body
    return {"whole and below 2^63": (True, isinstance(issue["id"], int) and 0 < issue["id"] < 2**63)}


@beliefs.about(
    "marker",
    "A comment keeps the hidden marker and the boxes that it was posted with.",
    used="bot/outbox/posting.py",
    source="rest/issues/comments#get-an-issue-comment",
)
def keeps_marker(stage: RehearsalStage) -> Facts:
    comment = stage.comments[1]
    body = stage.hub.rest("GET", f"{repository_path(stage.repository)}/issues/comments/{comment['id']}").body[
        "body"
    ]
    return {"text as posted": (True, body.replace("\r\n", "\n").strip() == f"{MARKER}\n\n- [ ] a box 1")}


@beliefs.about(
    "order of comments",
    "Comments since a moment are listed by ascending id, the newest last.",
    used="bot/outbox/posting.py",
    source="rest/issues/comments#list-issue-comments",
)
def lists_comments(stage: RehearsalStage) -> Facts:
    ours = [int(comment["id"]) for comment in stage.comments]
    params = {"since": stage.comments[0]["created_at"]}
    path = f"{repository_path(stage.repository)}/issues/{stage.issue['number']}/comments"
    listed = [int(comment["id"]) for comment in stage.hub.pages(path, params=params, most=1)]
    later = [*stage.hub.pages(path, params={"since": FAR_FUTURE}, most=1)]
    return {"in order": (True, [it for it in listed if it in ours] == ours), "since later": (0, len(later))}


@beliefs.about(
    "edit of a comment",
    "An edited comment keeps its id and its moment of birth, and has a new moment of change.",
    used="bot/outbox/posting.py",
    source="rest/issues/comments#update-an-issue-comment",
)
def edits_comment(stage: RehearsalStage) -> Facts:
    before, after = stage.comments[0], stage.edited_comment
    return {
        "same id": (True, before["id"] == after["id"]),
        "same birth": (True, before["created_at"] == after["created_at"]),
        "not older": (True, after["updated_at"] >= before["updated_at"]),
        "new text": (True, after["body"] == f"{MARKER} edited"),
    }


@beliefs.about(
    "longest comment",
    "A comment may have 65,536 characters; one more is refused with 422.",
    used="bot/render/markdown/marker.py",
    source="rest/issues/comments#create-an-issue-comment",
)
def takes_long_comment(stage: RehearsalStage) -> Facts:
    number = int(stage.issue["number"])
    taken = stage.comment(number, MARKER + "x" * (MAX_BODY - len(MARKER)))
    try:
        stage.comment(number, MARKER + "x" * (MAX_BODY - len(MARKER) + 1))
    except RefusedError as error:
        refused = error.status, "too long" in error.because
    else:
        refused = 201, False
    return {
        "kept": (MAX_BODY, len(taken["body"])),
        "status of a longer one": (422, refused[0]),
        "says that it is too long": (True, refused[1]),
    }


@beliefs.about(
    "label",
    "A label that the repository does not have is made when it is added to an issue.",
    used="bot/github/api/issues.py",
    source="rest/issues/labels#add-labels-to-an-issue",
)
def makes_label(stage: RehearsalStage) -> Facts:
    labels = issues.add_labels(stage.hub, stage.repository, int(stage.issue["number"]), [LABEL])
    return {"label is there": (True, LABEL in labels)}


@beliefs.about(
    "assignee",
    "Somebody who cannot be assigned is passed by without an error.",
    used="bot/github/api/issues.py",
    source="rest/issues/assignees#add-assignees-to-an-issue",
)
def passes_by_assignee(stage: RehearsalStage) -> Facts:
    number = int(stage.issue["number"])
    there = issues.change_assignees(stage.hub, stage.repository, number, [NOBODY], assign=True)
    return {"assignees": (0, len(there))}


@beliefs.about(
    "reaction",
    "The same reaction again changes nothing: 201 first, then 200.",
    used="bot/outbox/handlers/react.py",
    source="rest/reactions/reactions#create-reaction-for-an-issue-comment",
)
def reacts_once(stage: RehearsalStage) -> Facts:
    path = f"{repository_path(stage.repository)}/issues/comments/{stage.comments[1]['id']}/reactions"
    first, again = (stage.hub.rest("POST", path, body={"content": "eyes"}) for _ in range(2))
    return {"first": (201, first.status), "again": (200, again.status)}


@beliefs.about(
    "stranger",
    "The role of a login that nobody has is answered with 404, or with none.",
    used="bot/github/api/roles.py",
    source="rest/collaborators/collaborators#get-repository-permissions-for-a-user",
)
def knows_no_stranger(stage: RehearsalStage) -> Facts:
    path = f"{repository_path(stage.repository)}/collaborators/{NOBODY}/permission"
    try:
        role = str(stage.hub.rest("GET", path).body.get("permission"))
    except NotFoundError:
        role = "none"
    return {"may do nothing": (True, role == "none")}


@beliefs.about(
    "locked issue",
    "A comment of the App on a locked issue is refused with 403, which is no rate limit.",
    used="bot/outbox/posting.py",
    source="rest/issues/issues#lock-an-issue",
)
def respects_lock(stage: RehearsalStage) -> Facts:
    issue = stage.new_issue()
    stage.hub.rest(
        "PUT",
        f"{repository_path(stage.repository)}/issues/{issue['number']}/lock",
        body={"lock_reason": "resolved"},
    )
    try:
        stage.comment(int(issue["number"]))
        status, says_locked = 201, False
    except (PermissionMissingError, RefusedError) as error:
        status, says_locked = error.status, "locked" in error.because
    finally:
        stage.hub.rest("DELETE", f"{repository_path(stage.repository)}/issues/{issue['number']}/lock")
    return {"status": (403, status), "says that it is locked": (True, says_locked)}


@beliefs.about(
    "dependency",
    "An issue that is waiting for another says so at once, and a second time is refused or changes nothing.",
    used="bot/outbox/new_cards.py",
    source="graphql/reference/mutations#addblockedby",
)
def waits_for_other(stage: RehearsalStage) -> Facts:
    blocked, blocking = str(stage.issue["node_id"]), str(stage.new_issue()["node_id"])
    issues.add_blocked_by(stage.hub, blocked, blocking)
    with suppress(RefusedError):
        issues.add_blocked_by(stage.hub, blocked, blocking)
    there = issues.is_blocked_by(stage.hub, blocked, blocking)
    issues.remove_blocked_by(stage.hub, blocked, blocking)
    gone = issues.is_blocked_by(stage.hub, blocked, blocking)
    return {"is blocked": (True, there), "is blocked afterwards": (False, gone)}


@beliefs.about(
    "sub-issue",
    "An issue that is made a sub-issue of another one has it as its parent at once.",
    used="bot/outbox/handlers/link_card.py",
    source="graphql/reference/mutations#addsubissue",
)
def has_parent(stage: RehearsalStage) -> Facts:
    parent, child = str(stage.issue["node_id"]), str(stage.new_issue()["node_id"])
    issues.add_sub_issue(stage.hub, parent, child)
    return {"is its sub-issue": (True, issues.is_sub_issue(stage.hub, parent, child))}


@beliefs.about(
    "hourly limit",
    "Each answer tells the hour's limit, the calls that are left and when it ends, where there is a limit.",
    used="bot/github/rate_limit.py",
    source="rest/using-the-rest-api/rate-limits-for-the-rest-api#checking-the-status-of-your-rate-limit",
)
def tells_limit(stage: RehearsalStage) -> Facts:
    headers = stage.hub.rest(
        "GET", f"{repository_path(stage.repository)}/issues/{stage.issue['number']}"
    ).headers
    if "x-github-enterprise-version" in headers and "x-ratelimit-limit" not in headers:
        raise NotTriedError("this server has no limits")
    names = [f"x-ratelimit-{name}" for name in ("limit", "remaining", "reset")]
    facts = {name: (True, headers.get(name, "").isdecimal()) for name in names}
    return {**facts, "x-ratelimit-resource": (True, headers.get("x-ratelimit-resource") == "core")}
