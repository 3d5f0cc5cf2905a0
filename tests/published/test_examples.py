"""Every delivery that GitHub ever recorded as an example is taken, and says nothing that it does not hold."""

import dataclasses
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from bot.github.client import REPOSITORY
from bot.ingest import events
from bot.ingest.events import UnreadablePayloadError
from bot.ingest.facts import CardTouched, Fact, IssueFact, Pushed, Renamed
from bot.system import config
from bot.system.secret import Secret
from bot.web.group_commit import Incoming
from bot.web.webhook import read_delivery
from ledger.log import event_store
from ledger.queue import refresh_requests
from tests.bot.flows.opening import opened
from tests.bot.web.serving import web_client
from tests.ledgers import new_ledger
from tests.published.court import Court
from tests.published.recordings import Recording, grown, maimed, recordings, shrunken

BOT_ID = 987_654_321
SECRET = "it is signed with this"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
GITHUB_BEGAN = datetime(2008, 1, 1, tzinfo=UTC)
MAY_BE_EMPTY = {"action", "content_id", "body", "text", "old_text", "reason", "head", "verdict"}
MAY_BE_NONE = {"change", "moved", "old_text", "new_text"}  # a delivery may tell of none
MAY_BE_ZERO = {"review_id", "author_id", "by_id"}


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[TestClient]:
    """Return a client of the web application, with a ledger of its own."""
    settings = config.read({"CARDINAL_HOME": str(tmp_path), "CARDINAL_WEBHOOK_SECRET": SECRET}, tmp_path)
    engine = new_ledger(settings.database_url)
    yield web_client(settings, engine, lambda *_: True, lambda: NOW)
    engine.dispose()


def signed(one: Recording, body: bytes) -> dict[str, str]:
    """Return the headers with which GitHub sends it, their names in lower case."""
    return {
        "x-github-event": one.event,
        "x-github-delivery": str(uuid4()),
        "x-hub-signature-256": "sha256=" + hmac.new(SECRET.encode(), body, "sha256").hexdigest(),
        "content-type": "application/json",
    }


def delivered(receiver: TestClient, one: Recording) -> int:
    """Deliver it as GitHub does; return the status."""
    headers = signed(one, body := one.body)
    return receiver.post("/webhooks/github", content=body, headers=headers).status_code


def read(one: Recording) -> Incoming:
    """Read it as the web server does before it stores what it got, whatever that says."""
    return read_delivery(signed(one, body := one.body), body, Secret(SECRET), now=NOW)


def told(one: Recording) -> tuple[Fact, ...]:
    return events.read(one.event, one.payload, bot_id=BOT_ID)


def nonsense(one: Recording, fact: Fact) -> Iterator[str]:
    """Yield what cannot be true of a fact that was read out of this recording."""
    for field in dataclasses.fields(fact):
        value = getattr(fact, field.name)
        if value == "" and field.name not in MAY_BE_EMPTY:
            yield f"{field.name} is empty"
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and value <= 0
            and field.name not in MAY_BE_ZERO
        ):
            yield f"{field.name} is {value}"
        if isinstance(value, datetime) and not GITHUB_BEGAN < value < NOW:
            yield f"{field.name} is {value}"
        if value is None and field.name not in MAY_BE_NONE:
            yield f"{field.name} is None"
    yield from _strangers(one.payload, fact)


def _strangers(payload: dict[str, Any], fact: Fact) -> Iterator[str]:
    """Yield what a fact says of something that the payload is not about."""
    subject = payload.get("pull_request") or payload.get("issue") or {}
    here = (payload.get("repository") or {}).get("full_name")
    match fact:
        case IssueFact():
            if fact.repository != here or fact.number != subject.get("number"):
                yield f"it is about {fact.repository}#{fact.number}"
        case Pushed():
            if fact.repository != here or not fact.ref.startswith("refs/"):
                yield f"it is about {fact.ref} of {fact.repository}"
        case Renamed():
            if fact.after != here or REPOSITORY.fullmatch(fact.before) is None:
                yield f"it is about {fact.before}, which became {fact.after}"
        case CardTouched():
            if fact.card_id != payload["projects_v2_item"]["node_id"]:
                yield f"it is about the card {fact.card_id}"


def variants(one: Recording) -> Iterator[Recording]:
    yield one
    yield grown(one)
    yield from shrunken(one)


def test_every_recorded_delivery_is_taken_however_it_grows_or_shrinks(
    receiver: TestClient, published: Court
) -> None:
    answers = {one.name: (delivered(receiver, one), delivered(receiver, grown(one))) for one in recordings()}
    assert {name: status for name, status in answers.items() if status != (202, 202)} == {}
    lesser = [each for one in recordings() for each in (*shrunken(one), *maimed(one))]
    assert [each.name for each in lesser if read(each).delivery.event != each.event] == []  # or it is refused
    assert len(answers) + len(lesser) > 1000


def test_what_is_read_out_of_it_is_no_nonsense(published: Court) -> None:
    facts = [(each, fact) for one in recordings() for each in variants(one) for fact in told(each)]
    wrong = [f"{each.name} {each.changed}: {why}" for each, fact in facts for why in nonsense(each, fact)]
    assert wrong == []
    assert {each.event for each, _ in facts} >= {"issue_comment", "issues", "pull_request", "push"}


def test_unknown_keys_change_nothing_and_missing_ones_add_nothing(published: Court) -> None:
    for one in recordings():
        whole = told(one)
        assert told(grown(one)) == whole, one.name
        for each in shrunken(one):
            assert len(told(each)) <= len(whole), f"{each.name} {each.changed}"


def test_without_what_it_must_have_a_delivery_is_unreadable_or_says_no_nonsense(published: Court) -> None:
    unreadable = 0
    for each in (maim for one in recordings() for maim in maimed(one)):
        try:
            wrong = [why for fact in told(each) for why in nonsense(each, fact)]
        except UnreadablePayloadError:
            unreadable += 1
        else:
            assert wrong == [], f"{each.name} {each.changed}"
    assert unreadable > 20


@pytest.mark.timeout(600)
def test_deliveries_about_other_places_change_nothing_in_the_ledger(tmp_path: Path, published: Court) -> None:
    with opened(tmp_path) as cardinal:
        with event_store.reading(cardinal.services.engine) as db:
            before = event_store.last_seq(db)
        for one in recordings():
            cardinal.post(one.event, one.body, str(uuid4()), str(one.payload.get("action") or ""))
        cardinal.catch_up()
        with event_store.reading(cardinal.services.engine) as db:
            assert event_store.last_seq(db) == before
            assert refresh_requests.list_requested_cards(db, limit=10) == ()
        assert cardinal.failures == []
        assert [
            call
            for call in cardinal.forge.gateway.calls
            if call.method != "GET" and "query" not in call.operation
        ] == []
