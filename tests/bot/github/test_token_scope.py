"""Tokens reach no further than the call that they are for, in runs of any length, and never show."""

import json
import logging
from typing import Any

import pytest

from bot.github.client import Hub
from bot.github.errors import NotFoundError, PermissionMissingError, RefusedError
from bot.github.token_scope import TokenScope, of_call, of_query
from bot.system.logs import Lines
from forge.store.registration import Token
from runner.text.plain import redact
from tests.bot.github.conftest import Clock, Scripted
from tests.bot.github.world import World

HOURS = 9
TOKENS = "/app/installations/7/access_tokens"


def reads(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, "read") for name in names)


READING = reads("contents", "issues", "pull_requests")


def writes(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, "write") for name in names)


@pytest.mark.parametrize(
    ("method", "path", "permissions"),
    [
        ("GET", "", READING),
        ("GET", "/collaborators/al%20ice/permission", READING),
        ("GET", "/issues", READING),
        ("GET", "/issues/7", READING),
        ("POST", "/issues/7/comments", writes("issues", "pull_requests")),
        ("PATCH", "/issues/comments/9", writes("issues", "pull_requests")),
        ("POST", "/pulls", writes("contents", "pull_requests")),
        ("GET", "/pulls/8", READING),
        ("POST", "/pulls/8/comments", writes("pull_requests")),
        ("PUT", "/pulls/8/merge", writes("contents", "pull_requests")),
        ("DELETE", "/git/refs/heads/a/b", writes("contents")),
        ("GET", "/contents/.github/cardinal.yml", READING),
        ("GET", "/contents/.github/cardinal/skills", READING),
        ("GET", "/commits/HEAD", READING),
        ("POST", "/check-runs", writes("checks")),
        ("PATCH", "/check-runs/5", writes("checks")),
        ("GET", "/commits/main/check-runs", reads("checks")),
        ("GET", "/commits/main/status", reads("statuses")),
        ("GET", "/branches/a%2Fb", READING),
        ("GET", "/rules/branches/a%2Fb", READING),
        ("GET", "/actions/jobs/5/logs", reads("actions")),
        ("GET", "/deployments", ()),
        ("PATCH", "", ()),
    ],
)
def test_a_call_needs_what_github_says_it_needs(
    method: str, path: str, permissions: tuple[tuple[str, str], ...]
) -> None:
    assert of_call(method, f"/repos/acme/shop{path}") == TokenScope("acme/shop", permissions)


@pytest.mark.parametrize("path", ["/app", "/graphql", "/orgs/acme/projectsV2", "/repos/acme", "/rate_limit"])
def test_a_call_that_concerns_no_repository_is_not_narrowed(path: str) -> None:
    assert of_call("GET", path) is None


def test_only_a_merge_that_changes_workflows_may_do_so() -> None:
    path = "/repos/acme/shop/pulls/8/merge"
    wide, narrow = (of_call("PUT", path, workflows=each) for each in (True, False))
    assert wide == TokenScope("acme/shop", writes("contents", "pull_requests", "workflows"))
    assert narrow == TokenScope("acme/shop", writes("contents", "pull_requests"))


def test_graphql_reads_with_a_token_that_writes_nothing() -> None:
    assert of_query("acme/shop", mutates=False) == TokenScope("acme/shop", READING)
    assert of_query("acme/shop", mutates=True) == TokenScope("acme/shop", writes("contents", "pull_requests"))


def test_the_token_names_the_repository_and_the_permissions(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens(times=3)
    for path in ("/repos/acme/shop/issues/1", "/repos/acme/shop/issues/2", "/repos/acme/board/issues/1"):
        scripted.answer("GET", path, {})
        hub.rest("GET", path)
    scripted.answer("GET", "/repos/elsewhere/shop/issues/1", {})
    hub.rest("GET", "/repos/elsewhere/shop/issues/1")
    asked = [json.loads(one.body) if one.body else None for one in scripted.asked(TOKENS)]
    issues = dict(READING)
    assert asked == [
        {"repositories": ["shop"], "permissions": issues},
        {"repositories": ["board"], "permissions": issues},
        None,  # another owner's repository is not the installation's to name
    ]


def test_the_forge_lets_a_narrowed_token_do_nothing_else(world: World) -> None:
    world.hub.rest("GET", "/repos/acme/shop/issues")
    token: Token = list(world.forge.store.apps._tokens.values())[-1]
    assert token.permissions == {**dict(READING), "metadata": "read"}
    assert token.repo_ids == frozenset((world.shop.id,))
    assert len(token.value) == 520


def test_a_run_of_many_hours_always_has_a_fresh_token_and_asks_once_an_hour(
    hub: Hub, scripted: Scripted, clock: Clock
) -> None:
    given: list[float] = []

    def give(_request: Any) -> tuple[int, dict[str, str], str]:
        given.append(clock().timestamp())
        expires = clock().timestamp() + 3600
        stamp = clock.now.fromtimestamp(expires, clock.now.tzinfo).isoformat()
        return 201, {}, json.dumps({"token": f"t{len(given)}", "expires_at": stamp})

    scripted.answer("GET", "/orgs/acme/installation", {"id": 7})
    scripted.mock.add_callback("POST", f"https://api.github.com:443{TOKENS}", give)
    scripted.answer("GET", "/repos/acme/shop", {})
    for _minute in range(HOURS * 60):
        hub.git_environment("acme/shop")
        assert clock().timestamp() - given[-1] < 3600 - 5 * 60, "it would expire within five minutes"
        clock.forward(60)
    assert len(given) == -(-HOURS * 60 // 55)


def test_what_was_not_granted_is_a_missing_permission_that_says_which(hub: Hub, scripted: Scripted) -> None:
    scripted.answer("GET", "/orgs/acme/installation", {"id": 7})
    refused = {"message": "The permissions requested are not granted to this installation."}
    scripted.answer("POST", TOKENS, refused, status=422)
    with pytest.raises(PermissionMissingError, match="checks: write"):
        hub.rest("POST", "/repos/acme/shop/check-runs", body={})


def test_a_repository_out_of_reach_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError, match="acme/nothing"):
        world.hub.rest("GET", "/repos/acme/nothing/issues/1")
    with pytest.raises(RefusedError, match="is not of acme"):
        world.hub.git_environment("elsewhere/shop")


def test_a_token_of_any_length_is_taken_out_of_every_text(world: World) -> None:
    world.hub.rest("GET", "/repos/acme/shop/issues")
    values = tuple(world.forge.store.apps._tokens)
    for value in (*values, "ghs_" + "-" * 36, f"ghs_12_{'a' * 20}.{'b-_' * 160}.{'c' * 20}"):
        record = logging.LogRecord("x", logging.INFO, "", 0, f"push failed for {value}, alas", None, None)
        for text in (redact(f"said {value}, twice {value}"), Lines(()).format(record)):
            assert value[8:] not in text
            assert "[redacted]" in text
