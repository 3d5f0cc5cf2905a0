"""GitHub's refusals in its own words: not yet, held, never, or unknown."""

from typing import Any

import pytest

from bot.github import refusals
from bot.github.client import Hub
from bot.github.errors import (
    GithubError,
    NotFoundError,
    NotYetError,
    PermissionMissingError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
)
from bot.github.refusals import Meaning
from tests.bot.github.conftest import Scripted

QUERY = "mutation Do { x }"


def answered(words: str, *fields: str) -> dict[str, Any]:
    """Return a refusal as GitHub sends it, with single reasons or with a field and its code."""
    reasons: list[Any] = [dict(zip(("resource", "field", "code"), fields, strict=True))] if fields else []
    return {"message": words, "errors": reasons}


@pytest.mark.parametrize(
    ("call", "status", "body", "held"),
    [
        ("/pulls", 422, answered("Validation Failed", "PullRequest", "head", "invalid"), False),
        ("/pulls", 422, {"message": "Validation Failed", "errors": ["Head sha can't be blank",
            "Base sha can't be blank", "No commits between main and x", "Head ref must be a branch"]}, False),
        ("/pulls", 422, answered("Head sha can’t be blank"), False),
        ("/issues/1/comments", 422, answered("was submitted too quickly"), False),
        ("/issues/1/comments", 403, answered("was submitted too quickly"), False),
        ("/check-runs", 422, answered("No commit found for SHA: 12"), False),
        ("/pulls/1/merge", 405, answered("Base branch was modified. Review and try the merge again."), False),
        ("/pulls/1/merge", 405, answered("Merge already in progress"), False),
        ("/x", 403, answered("Although you appear to have the correct authorization credentials, the `acme` "
            "organization has an IP allow list enabled, and 192.0.2.1 is not permitted"), True),
        ("/x", 403, answered("Repository was archived so is read-only."), True),
        ("/x", 403, answered("Repository was archived so is read-only and unable to create comment because "
            "issue is locked."), True),
    ],
)  # fmt: skip
def test_what_passes_by_itself_or_by_an_owner_is_no_refusal_for_good(
    hub: Hub, scripted: Scripted, call: str, status: int, body: Any, *, held: bool
) -> None:
    scripted.tokens()
    scripted.answer("POST", call, body, status=status)
    with pytest.raises(NotYetError) as caught:
        hub.rest("POST", call, body={})
    assert caught.value.held is held
    assert "permissions of app.yml" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "status", "words", "advice"),
    [
        ("/issues/1/comments", 403, "Unable to create comment because issue is locked.", "unlock"),
        ("/issues/1/comments", 403, "Commenting is disabled on issues with more than 2500 comments",
            "new issue"),
        ("/issues", 410, "Issues has been disabled in this repository.", "turns Issues on"),
        ("/pulls", 422, "Validation Failed: No commits between main and x", "push to it"),
        ("/x", 403, "Repository access blocked", "GitHub Support"),
        ("/x", 422, "Body is too long (maximum is 65536 characters)", "report this"),
        ("/pulls/1/merge", 403, "refusing to allow a GitHub App to create or update workflow "
            "`.github/workflows/ci.yml` without `workflows` permission", "Workflows: write"),
    ],
)  # fmt: skip
def test_what_is_refused_for_good_says_what_a_person_does(
    hub: Hub, scripted: Scripted, call: str, status: int, words: str, advice: str
) -> None:
    scripted.tokens()
    scripted.answer("POST", call, {"message": words}, status=status)
    with pytest.raises(RefusedError, match=advice) as caught:
        hub.rest("POST", call, body={})
    assert caught.value.final


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (422, "Validation Failed"),
        (405, "Pull Request is not mergeable"),
        (405, "Head branch was modified. Review and try the merge again."),
        (422, "temporary conflict"),  # GraphQL's words, not REST's
        (400, "Problems parsing JSON"),
    ],
)
def test_words_that_nobody_has_read_before_are_unknown(
    hub: Hub, scripted: Scripted, status: int, words: str
) -> None:
    scripted.tokens()
    scripted.answer("POST", "/x", {"message": words}, status=status)
    with pytest.raises(RefusedError) as caught:
        hub.rest("POST", "/x", body={})
    assert not caught.value.final


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        ("UNPROCESSABLE", "Your attempt to move this item created a temporary conflict. Please try again.",
            NotYetError),
        ("UNPROCESSABLE", "Pull request Pull request is in unstable status", NotYetError),
        ("UNPROCESSABLE", "Pull request Pull request is in clean status", NotYetError),
        ("UNPROCESSABLE", "was submitted too quickly", NotYetError),
        ("FORBIDDEN", "the `acme` organization has an IP allow list enabled", NotYetError),
        ("FORBIDDEN", "Unable to create comment because issue is locked", RefusedError),
        ("FORBIDDEN", "Resource not accessible by integration", PermissionMissingError),
        ("NOT_FOUND", "Could not resolve to a node", NotFoundError),
        ("RATE_LIMITED", "API rate limit exceeded", RateLimitedError),
        ("UNPROCESSABLE", "Name has already been taken", RefusedError),
        ("RATE_LIMIT", "API rate limit already exceeded for installation ID 7.", RateLimitedError),
        (None, "API rate limit already exceeded for installation ID 7.", RateLimitedError),
        (None, "You have exceeded a secondary rate limit.", RateLimitedError),
        ("INSUFFICIENT_SCOPES", "Your token has not been granted the scopes", PermissionMissingError),
        ("RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded.", UnavailableError),
        ("SERVICE_UNAVAILABLE", "Please try again", UnavailableError),
        (None, "Something went wrong while executing your query.", UnavailableError),
        (None, "Field 'x' doesn't exist", RefusedError),
        (None, "We couldn't respond to your request in time. Please try resubmitting your request.",
            NotYetError),
    ],
)  # fmt: skip
def test_errors_of_graphql_have_the_same_table(
    hub: Hub, scripted: Scripted, kind: str | None, words: str, error: type[GithubError]
) -> None:
    scripted.tokens()
    scripted.answer("POST", "/graphql", {"data": None, "errors": [{"type": kind, "message": words}]})
    with pytest.raises(GithubError, match="mutation Do") as caught:
        hub.graphql(QUERY, {})
    assert type(caught.value) is error


def test_a_commit_that_a_read_does_not_find_is_not_waited_for() -> None:
    words = "No commit found for SHA: HEAD"
    assert refusals.classify("GET /repos/acme/shop/commits/HEAD", 422, words) is refusals.UNKNOWN
    assert refusals.classify("POST /repos/acme/shop/check-runs", 422, words).meaning is Meaning.NOT_YET


def test_each_row_has_its_source_and_can_be_met() -> None:
    for row in refusals.list_refusals():
        assert row.source
        assert row.advice
        assert row.words == tuple(word.lower() for word in row.words)
        for status in row.statuses:
            refusal = refusals.classify(f"POST {row.call}", status, " ".join(row.words))
            assert refusal is row, f"an earlier row hides {row.words}"
