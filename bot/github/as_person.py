"""What a person does on GitHub from Cardinal's pages, with their own token and so with their own rights.

These are no calls of an installation, so `token_scope` has none of them, and they use up no rate limit of the
App. A token of a person can do what both the App and the person may. Source: docs.github.com/apps/
creating-github-apps/authenticating-with-a-github-app/authenticating-with-a-github-app-on-behalf-of-a-user.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests

from bot.github.client import repository_path
from bot.github.errors import GithubError, UnavailableError
from bot.github.transport import plain_headers, send_plain
from bot.system.secret import Secret

WAIT_S = (5.0, 10.0)  # a thread of the web server waits, and there are few
MAX_MESSAGES = 5


@dataclass(frozen=True, slots=True)
class IssueFields:
    """What people may change of an issue."""

    title: str
    description: str
    labels: tuple[str, ...]
    assignees: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PersonHub:
    """GitHub as one person, about one repository. Every call raises GithubError."""

    api_url: str
    token: Secret
    repository: str

    def issue(self, number: int) -> IssueFields:
        """Return the issue's fields as they are now. Source: docs.github.com/rest/issues/issues."""
        issue = self._send("GET", f"/issues/{number}", None)
        return IssueFields(
            title=str(issue["title"]),
            description=str(issue["body"] or ""),
            labels=tuple(str(label["name"]) for label in issue["labels"]),
            assignees=tuple(str(person["login"]) for person in issue["assignees"]),
        )

    def edit_issue(self, number: int, fields: Mapping[str, Any]) -> None:
        """Change fields of the issue. GitHub ignores labels and assignees by someone without triage."""
        self._send("PATCH", f"/issues/{number}", fields)

    def pull_head(self, number: int) -> str:
        """Return the pull request's newest commit. Source: docs.github.com/rest/pulls/pulls."""
        return str(self._send("GET", f"/pulls/{number}", None)["head"]["sha"])

    def comment(self, number: int, text: str) -> None:
        """Comment on the issue. Source: docs.github.com/rest/issues/comments#create-an-issue-comment."""
        self._send("POST", f"/issues/{number}/comments", {"body": text})

    def review(self, number: int, head: str, event: str, text: str) -> None:
        """Review the pull request's commit `head`; `event`: APPROVE or REQUEST_CHANGES.

        Source: docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request.
        """
        review = {"commit_id": head, "event": event, **({"body": text} if text else {})}
        self._send("POST", f"/pulls/{number}/reviews", review)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        call = f"{method} {path}"
        headers = {**plain_headers(self.api_url), "Authorization": f"Bearer {self.token.reveal()}"}
        address = f"{self.api_url}{repository_path(self.repository)}{path}"
        try:
            answer = send_plain(method, address, headers=headers, timeout_s=WAIT_S, body=body)
            content = answer.json()
        except requests.RequestException:  # its words and its cause could show the token
            raise UnavailableError(call, 0, "no answer") from None
        if not isinstance(content, dict) or answer.status_code >= 300:
            raise GithubError(call, answer.status_code, _say(content))
        return content


def _say(content: object) -> str:
    """Return GitHub's reasons for a refusal."""
    if not isinstance(content, dict):
        return "no reason given"
    errors = content.get("errors")
    details = [
        str(error.get("message") or error.get("code") or "") if isinstance(error, dict) else str(error)
        for error in (errors if isinstance(errors, list) else [])[:MAX_MESSAGES]
    ]
    return ": ".join(filter(None, (str(content.get("message") or ""), ", ".join(filter(None, details)))))
