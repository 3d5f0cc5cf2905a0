"""Cardinal asks for the permissions that GitHub says its calls need: each of them, and no other."""

from collections.abc import Iterator
from functools import cache

import pytest

from bot.github import token_scope
from bot.github.app_manifest import manifest
from bot.ingest.events import list_subscribed
from tests.house.source import sources
from tests.published import calls
from tests.published.calls import ONE, Sent
from tests.published.court import Court
from tests.published.permissions import BEYOND, EVENTS, LATER, OPERATIONS, Permissions, enough, need
from tests.published.test_calls import BY_JWT

# Git is no call of the API. Source: docs.github.com/rest/apps/apps (permissions).
GIT = need("contents:write", "workflows:write")
ALWAYS = {"metadata": "read"}  # GitHub adds it to every token
READING = frozenset((name, "read") for name in token_scope.READING)  # one token for all reads of text
BOARD_CALLS = (("GET", "fields"), ("POST", "views"))  # about no repository
# Any token may; the last one is asked with a person's own.
PUBLIC = {"GET /users/{username}", "GET /installation/repositories", "GET /user"}
BOARD = {f"{method} /orgs/{{org}}/projectsV2/{{project_number}}/{rest}" for method, rest in BOARD_CALLS}


@pytest.fixture
def needed(published: Court) -> Permissions:
    """Return the published list."""
    return Permissions.published()


@cache
def sent(published: Court) -> dict[str, Sent]:
    """Return the calls that Cardinal makes as an installation, one of each operation."""
    found = {}
    for one in calls.rest_calls(sources("bot")):
        operation = published.rest.operation(one.method, one.path)
        assert operation is not None
        if not one.path.startswith(BY_JWT):
            found[operation.name] = one
    return found


def asked_for(one: Sent) -> frozenset[tuple[str, str]] | None:
    """Return what the token of a call may do; None where it may do all that is granted."""
    found = token_scope.of_call(one.method, one.path.replace(ONE, "1"))
    return frozenset(found.permissions) if found is not None else None


def test_every_call_about_a_repository_has_a_token_for_that_kind_of_call_only(published: Court) -> None:
    wide = [name for name, one in sent(published).items() if not asked_for(one)]
    assert set(wide) == PUBLIC | BOARD


def test_a_token_may_do_what_its_call_needs_and_else_only_read(published: Court, needed: Permissions) -> None:
    for name, one in sent(published).items():
        asked = asked_for(one)
        if asked is None:
            continue
        said = needed.of(name)
        beyond, words = BEYOND.get(name, (frozenset(), ""))
        operation = published.rest.operation(one.method, one.path)
        assert operation is not None
        assert words in operation.described["description"], name
        assert said, f"nobody says what {name} needs"
        assert any(enough({**dict(asked), **ALWAYS}, each) for each in said), (
            f"{name} needs one of {sorted(said)}"
        )
        shared = READING if one.method == "GET" else frozenset()
        assert asked <= said | beyond | shared, f"{name} needs no {sorted(asked - said - beyond)}"
        assert not beyond & said, f"{name} is published with {sorted(beyond & said)} now"


def test_every_row_of_the_table_is_about_a_call_that_cardinal_sends(published: Court) -> None:
    rest = [one.path.replace(ONE, "1").removeprefix("/repos/1/1") for one in sent(published).values()]
    for area, _reads, _writes in token_scope._AREAS:
        assert [path for path in rest if area.fullmatch(path)], f"{area.pattern} is about nothing"


def test_what_is_said_beside_the_package_is_about_calls_that_cardinal_sends(published: Court) -> None:
    assert LATER.keys() | BEYOND.keys() <= sent(published).keys()
    assert OPERATIONS.keys() == set(calls.operations(sources("bot")))


def all_needs(published: Court, needed: Permissions) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield who needs what of the App."""
    for name, one in sent(published).items():
        yield from ((name, each) for each in asked_for(one) or ())
        if asked_for(one) is None:
            yield name, ("metadata", "read")
    for name, wanted in OPERATIONS.items():
        yield from ((name, each) for each in need(*wanted))
    yield from (("git", each) for each in GIT)
    for name in EVENTS.keys() & set(list_subscribed()):
        yield from ((name, each) for each in need(EVENTS[name]))


def test_the_app_has_all_that_its_calls_need(published: Court, needed: Permissions) -> None:
    granted = manifest(events=()).permissions
    lacking = {name: each for name, each in all_needs(published, needed) if not enough(granted, each)}
    assert lacking == {}


def test_the_app_has_nothing_that_no_call_needs(published: Court, needed: Permissions) -> None:
    wanted = {each for _, each in all_needs(published, needed)}
    needless = [each for each in manifest(events=()).permissions.items() if each not in wanted]
    assert needless == []


def test_the_names_and_levels_are_those_that_github_gives_tokens_for(published: Court) -> None:
    operation = published.rest.operation("POST", "/app/installations/1/access_tokens")
    assert operation is not None
    asked = operation.described["requestBody"]["content"]["application/json"]["schema"]["properties"]
    named = asked["permissions"]["$ref"].rsplit("/", 1)[-1]
    known = published.rest._components["schemas"][named]["properties"]
    for name, level in manifest(events=()).permissions.items():
        assert level in known[name]["enum"], f"{name}: {level}"
