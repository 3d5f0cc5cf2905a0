"""How each divergence shows: every function looks at one side and returns what it saw, in few words."""

import uuid
from typing import Any

from tests.peer.emulator import NEWCOMER
from tests.peer.side import ADMIN, BOT, STRANGER, WRITER, Side

REFUSED = "Resource not accessible by integration"
BRANCH = "cardinal/1-totals"


def _as_app(side: Side, method: str, path: str, body: Any = None, **headers: str) -> Any:
    return side.ask(method, path, body, token=side.token(), **headers)


def _as_person(side: Side, who: str, method: str, path: str, body: Any = None) -> Any:
    return side.ask(method, path, body, token=side.person_token(who))


def _open(side: Side, repository: str, branch: str = BRANCH, *, draft: bool = False, body: str = "") -> Any:
    asked = {"title": "Totals", "head": branch, "base": "main", "draft": draft, "body": body}
    return _as_app(side, "POST", f"/repos/{repository}/pulls", asked)


def _pull(side: Side, **more: Any) -> tuple[str, int, str]:
    """Return repository, number and head of a new pull request that adds one file."""
    repository = side.repository()
    head = side.write(repository, BRANCH)
    return repository, int(_open(side, repository, **more).body["number"]), head


# --- the App and its tokens ----------------------------------------------------------------------------


def long_jwt(side: Side) -> int:
    return side.ask("GET", "/app", token=side.jwt(lasting_s=3600)).status


def token_with_empty_permissions(side: Side) -> bool:
    token = side.narrow(permissions={}).body["token"]
    return side.ask("POST", f"/repos/{side.repository()}/issues", {"title": "t"}, token=token).status == 201


def token_characters(side: Side) -> int:
    return len(side.token())


def fractions_of_seconds(side: Side) -> bool:
    return "." in side.narrow().body["expires_at"]


def unknown_token(side: Side) -> int:
    return side.ask("POST", f"/repos/{side.repository()}/issues", {"title": "t"}, token="ghs_nonsense").status


def silent_bot(side: Side) -> int:
    return side.ask("GET", f"/users/{NEWCOMER}%5Bbot%5D", token=side.token()).status


def reachable(side: Side) -> int:
    status: int = _as_app(side, "GET", "/installation/repositories").status
    return status


def deliveries(side: Side) -> int:
    return side.ask("GET", "/app/hook/deliveries", token=side.jwt()).status


def refusal(side: Side) -> str:
    token = side.token(permissions={"issues": "read"})
    reply = side.ask("POST", f"/repos/{side.repository()}/issues", {"title": "no"}, token=token)
    return str(reply.body["message"])


# --- people --------------------------------------------------------------------------------------------


def permission_of_stranger(side: Side) -> int:
    path = f"/repos/{side.repository()}/collaborators/{STRANGER}/permission"
    return int(_as_app(side, "GET", path).status)


def permission_of_writer(side: Side) -> object:
    reply = _as_app(side, "GET", f"/repos/{side.repository()}/collaborators/{WRITER}/permission")
    return reply.body["permission"]


# --- issues and comments -------------------------------------------------------------------------------


def pulls_among_issues(side: Side) -> bool:
    repository, number, _ = _pull(side)
    found = _as_app(side, "GET", f"/repos/{repository}/issues").body
    return number in [one["number"] for one in found]


def pull_as_issue(side: Side) -> int:
    repository, number, _ = _pull(side)
    return int(_as_app(side, "GET", f"/repos/{repository}/issues/{number}").status)


def long_comment(side: Side) -> int:
    repository = side.repository()
    path = f"/repos/{repository}/issues/{side.issue(repository)}/comments"
    return int(_as_app(side, "POST", path, {"body": "x" * 65_537}).status)


def comments_since(side: Side) -> int:
    """Return how many comments there are from a moment on that has not come yet."""
    repository = side.repository()
    number = side.issue(repository)
    side.say(repository, number, "early")
    path = f"/repos/{repository}/issues/{number}/comments?since=2099-01-01T00:00:00Z"
    return len(_as_app(side, "GET", path).body)


def comments_of_repository(side: Side) -> int:
    return int(_as_app(side, "GET", f"/repos/{side.repository()}/issues/comments").status)


def reaction(side: Side) -> int:
    repository = side.repository()
    comment = side.say(repository, side.issue(repository), "/cardinal approve")
    path = f"/repos/{repository}/issues/comments/{comment}/reactions"
    return int(_as_app(side, "POST", path, {"content": "eyes"}).status)


def via_app(side: Side) -> object:
    repository = side.repository()
    path = f"/repos/{repository}/issues/{side.issue(repository)}/comments"
    made = _as_app(side, "POST", path, {"body": "hi"}).body
    assert made["user"]["login"] == BOT
    return (made["performed_via_github_app"] or {}).get("slug")


def sub_issues(side: Side) -> int:
    repository = side.repository()
    return int(_as_app(side, "GET", f"/repos/{repository}/issues/{side.issue(repository)}/sub_issues").status)


def blocked_by(side: Side) -> int:
    repository = side.repository()
    path = f"/repos/{repository}/issues/{side.issue(repository)}/dependencies/blocked_by"
    return int(_as_app(side, "GET", path).status)


# --- pull requests -------------------------------------------------------------------------------------


def no_branch(side: Side) -> int:
    return int(_open(side, side.repository(), "no-such-branch").status)


def no_commits(side: Side) -> int:
    repository = side.repository()
    made = {"ref": f"refs/heads/{BRANCH}", "sha": side.head(repository)}
    _as_app(side, "POST", f"/repos/{repository}/git/refs", made)
    return int(_open(side, repository).status)


def second_pull(side: Side) -> int:
    repository, _, _ = _pull(side)
    return int(_open(side, repository).status)


def head_follows(side: Side) -> bool:
    repository, number, _ = _pull(side)
    pushed = side.write(repository, BRANCH, "more.txt")
    found = _as_app(side, "GET", f"/repos/{repository}/pulls/{number}").body
    return bool(found["head"]["sha"] == pushed)


def changed_files(side: Side) -> int:
    repository, number, _ = _pull(side)
    return len(_as_app(side, "GET", f"/repos/{repository}/pulls/{number}/files").body)


def as_diff(side: Side) -> bool:
    repository, number, _ = _pull(side)
    wanted = {"Accept": "application/vnd.github.diff"}
    reply = _as_app(side, "GET", f"/repos/{repository}/pulls/{number}", **wanted)
    return bool(reply.text.startswith("diff --git"))


def _merge(side: Side, repository: str, number: int, sha: str) -> int:
    asked = {"merge_method": "squash", "sha": sha}
    return int(_as_app(side, "PUT", f"/repos/{repository}/pulls/{number}/merge", asked).status)


def stale_merge(side: Side) -> int:
    repository, number, _ = _pull(side)
    return _merge(side, repository, number, side.head(repository))


def draft_merge(side: Side) -> int:
    return _merge(side, *_pull(side, draft=True))


def second_merge(side: Side) -> int:
    found = _pull(side)
    assert _merge(side, *found) == 200
    return _merge(side, *found)


def closing_words(side: Side) -> object:
    repository = side.repository()
    issue = side.issue(repository)
    head = side.write(repository, BRANCH)
    number = int(_open(side, repository, body=f"Closes #{issue}").body["number"])
    assert _merge(side, repository, number, head) == 200
    return _as_app(side, "GET", f"/repos/{repository}/issues/{issue}").body["state"]


def review_status(side: Side) -> int:
    repository, number, _ = _pull(side)
    return int(
        _as_person(side, ADMIN, "POST", f"/repos/{repository}/pulls/{number}/reviews", _APPROVED).status
    )


_APPROVED = {"event": "APPROVE", "body": "Good."}


def review_by_line(side: Side) -> int:
    repository, number, _ = _pull(side)
    said = [{"path": "new.txt", "line": 2, "side": "RIGHT", "body": "Why two?"}]
    asked = {"event": "COMMENT", "body": "See below.", "comments": said}
    return int(_as_person(side, ADMIN, "POST", f"/repos/{repository}/pulls/{number}/reviews", asked).status)


def _line_comment(side: Side) -> tuple[str, int, int]:
    repository, number, head = _pull(side)
    asked = {"body": "Why?", "path": "new.txt", "line": 2, "side": "RIGHT", "commit_id": head}
    made = _as_person(side, WRITER, "POST", f"/repos/{repository}/pulls/{number}/comments", asked)
    return repository, number, int(made.body["id"])


def reply_is_threaded(side: Side) -> bool:
    repository, number, first = _line_comment(side)
    asked = {"body": "Because.", "in_reply_to": first}
    made = _as_app(side, "POST", f"/repos/{repository}/pulls/{number}/comments", asked)
    assert made.status == 201
    return bool(made.body.get("in_reply_to_id") == first)


def app_replies(side: Side) -> int:
    repository, number, first = _line_comment(side)
    path = f"/repos/{repository}/pulls/{number}/comments/{first}/replies"
    return int(_as_app(side, "POST", path, {"body": "Because."}).status)


# --- checks --------------------------------------------------------------------------------------------


def _check(side: Side, **more: Any) -> tuple[str, dict[str, Any]]:
    repository = side.repository()
    asked = {"name": "cardinal/gate", "head_sha": side.head(repository), **more}
    return f"/repos/{repository}/check-runs", asked


def check_app(side: Side) -> object:
    return (_as_app(side, "POST", *_check(side)).body["app"] or {}).get("slug")


def check_by_person(side: Side) -> int:
    return int(_as_person(side, WRITER, "POST", *_check(side)).status)


def long_button(side: Side) -> int:
    button = {"label": "x" * 21, "description": "Too long", "identifier": "long"}
    return int(_as_app(side, "POST", *_check(side, actions=[button])).status)


# --- webhooks ------------------------------------------------------------------------------------------


def _delivered(side: Side) -> Any:
    repository = side.repository()
    side.issue(repository)
    return side.relay.wait(repository, "issues", "opened")[0]


def guid(side: Side) -> bool:
    try:
        return bool(uuid.UUID(_delivered(side).headers["x-github-delivery"]))
    except ValueError:
        return False


def hook_headers(side: Side) -> bool:
    named = {
        "x-github-hook-id",
        "x-github-hook-installation-target-id",
        "x-github-hook-installation-target-type",
    }
    return named <= set(_delivered(side).headers)


def edited_from(side: Side) -> object:
    repository = side.repository()
    comment = side.say(repository, side.issue(repository), "a")
    side.person(WRITER, "PATCH", f"/repos/{repository}/issues/comments/{comment}", {"body": "b"})
    payload = side.relay.wait(repository, "issue_comment", "edited")[0].payload
    return ((payload.get("changes") or {}).get("body") or {}).get("from")


def told_of_review_comments(side: Side) -> int:
    repository, number, _ = _pull(side)
    said = [{"path": "new.txt", "position": 2, "body": "Why two?"}]
    asked = {"event": "COMMENT", "body": "See below.", "comments": said}
    assert _as_person(side, ADMIN, "POST", f"/repos/{repository}/pulls/{number}/reviews", asked).status < 300
    side.say(repository, number, "the last word")
    side.relay.wait(repository, "issue_comment", "created")
    return len(side.relay.of(repository, "pull_request_review_comment", "created"))


def synchronised(side: Side) -> list[str]:
    """Return what is heard of a pull request between its opening and an edit after a push."""
    repository, number, _ = _pull(side)
    side.write(repository, BRANCH, "more.txt")
    path = f"/repos/{repository}/pulls/{number}"
    side.person(WRITER, "PATCH", path, {"state": "closed"})
    side.relay.wait(repository, "pull_request", "closed")
    heard = [str(delivery.payload["action"]) for delivery in side.relay.of(repository, "pull_request")]
    return [one for one in heard if one not in ("opened", "closed")]


# --- what the peer has none of -------------------------------------------------------------------------


def graphql(side: Side) -> int:
    return int(_as_app(side, "POST", "/graphql", {"query": "{viewer{login}}"}).status)


def git_over_http(side: Side) -> int:
    return side.ask("GET", f"/{side.repository()}.git/info/refs?service=git-upload-pack").status
