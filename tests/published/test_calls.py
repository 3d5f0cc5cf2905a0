"""Every call and document in Cardinal's source is one that GitHub publishes and that Apps may use."""

import pytest

from tests.house.source import Source, sources
from tests.published import calls
from tests.published.calls import Sent, UnreadableCallError
from tests.published.court import Court
from tests.published.coverage import unseen

# For the App itself, not for its installations.
BY_JWT = ("/app", "/orgs/{}/installation", "/users/{}/installation")
BY_PERSON = ("/user",)  # `cardinal try --move-to` acts as one


def found(text: str) -> list[Sent]:
    return list(calls.rest_calls([Source("bot/a.py", text)]))


def test_every_rest_call_is_an_operation_that_apps_may_use(published: Court) -> None:
    sent = list(calls.rest_calls(sources("bot")))
    for one in sent:
        operation = published.rest.operation(one.method, one.path)
        assert operation is not None, f"{one.place}: GitHub has no {one.method} {one.path}"
        assert operation.for_apps or one.path.startswith(BY_JWT) or one.path in BY_PERSON, (
            f"{one.place}: not for installation tokens"
        )
    assert len(sent) > 30


def test_every_document_fits_the_published_schema(published: Court) -> None:
    written = list(calls.documents(sources("bot")))
    faults = [f"{place}: {fault}" for place, text in written for fault in published.documents.faults(text)]
    assert faults == []
    assert len(written) > 15


def test_paths_are_read_through_constants_choices_and_formatted_text() -> None:
    text = (
        "PATH = '/app/hook'\n"
        "def go(hub, talk, kind):\n"
        "    family = 'pulls' if kind else 'issues'\n"
        "    root = repository_path(talk)\n"
        "    path = f'{root}/{family}/comments/{talk.id}'\n"
        "    hub.rest('GET', path)\n"
        "    hub.as_app('POST', f'{PATH}/{talk.id}/attempts')\n"
        "    hub.pages(f'{root}/issues')\n"
    )
    assert [(one.method, one.path) for one in found(text)] == [
        ("GET", "/repos/{}/{}/pulls/comments/{}"),
        ("GET", "/repos/{}/{}/issues/comments/{}"),
        ("POST", "/app/hook/{}/attempts"),
        ("GET", "/repos/{}/{}/issues"),
    ]


@pytest.mark.parametrize(
    "call", ["hub.rest('GET', place())", "hub.rest(verb, '/user')", "hub.rest('GET', x)"]
)
def test_a_call_that_cannot_be_read_is_an_error(call: str) -> None:
    with pytest.raises(UnreadableCallError):
        found(f"def go(hub, verb, x):\n    {call}\n")


def test_a_call_that_no_test_sent_is_named(published: Court) -> None:
    sent = found("def go(hub):\n    hub.rest('GET', '/rate_limit')\n    hub.rest('GET', '/made/up')\n")
    asked = ["query Board", "mutation New"]
    assert unseen(published.rest, sent, asked, {"GET /rate_limit", "query Board"}) == [
        "mutation New",
        "GET /made/up (bot/a.py:3)",
    ]
    assert unseen(published.rest, sent[:1], [], set()) == ["GET /rate_limit (bot/a.py:2)"]


def test_operations_are_found_in_documents_made_of_pieces_too() -> None:
    text = (
        "A = 'query A($x: ID!) { node(id: $x) { id } }'\ndef go(x):\n    return f'mutation B({x}) {{ y }}'\n"
    )
    assert sorted(calls.operations([Source("bot/a.py", text)])) == ["mutation B", "query A"]
    assert [place for place, _ in calls.documents([Source("bot/a.py", text)])] == ["bot/a.py:1"]
