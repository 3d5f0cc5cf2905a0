"""Webhooks: signatures, order, and every way to go wrong."""

import hashlib
import hmac
import uuid
from typing import Any

import pytest
import requests
from github import GithubException

from tests.forge.conftest import Receiver, Town


def faults(town: Town, **wanted: Any) -> None:
    requests.post(f"{town.url}/_forge/faults", json=wanted, timeout=60).raise_for_status()


def say(town: Town, *texts: str) -> None:
    issue = town.person("bob").get_repo("acme/shop").get_issue(1)
    for text in texts:
        issue.create_comment(text)
    town.wait_for_webhooks()


def heard(receiver: Receiver) -> list[str]:
    return [one["comment"]["body"] for one in receiver.named("issue_comment")]


def test_a_delivery_is_signed_and_has_githubs_headers(hooked: Town, receiver: Receiver) -> None:
    say(hooked, "hi")
    got = receiver.got[0]
    digest = hmac.new(hooked.world.app.webhook_secret.encode(), got["raw"], hashlib.sha256).hexdigest()
    headers = got["headers"]
    assert headers["X-Hub-Signature-256"] == f"sha256={digest}"
    assert "X-Hub-Signature" not in headers
    assert uuid.UUID(headers["X-GitHub-Delivery"])
    assert headers["X-GitHub-Hook-Installation-Target-ID"] == str(hooked.world.app.id)
    assert headers["X-GitHub-Hook-Installation-Target-Type"] == "integration"
    assert headers["User-Agent"].startswith("GitHub-Hookshot/")


def test_deliveries_arrive_in_order(hooked: Town, receiver: Receiver) -> None:
    texts = [str(number) for number in range(20)]
    say(hooked, *texts)
    assert heard(receiver) == texts


def test_a_duplicate_has_the_same_guid(hooked: Town, receiver: Receiver) -> None:
    faults(hooked, deliveries={"duplicate": 1})
    say(hooked, "one", "two")
    assert heard(receiver) == ["one", "one", "two"]
    guids = [one["headers"]["X-GitHub-Delivery"] for one in receiver.got]
    assert guids[0] == guids[1] != guids[2]


def test_deliveries_can_be_reversed(hooked: Town, receiver: Receiver) -> None:
    faults(hooked, deliveries={"reverse": 3})
    say(hooked, "one", "two", "three", "four")
    assert heard(receiver) == ["three", "two", "one", "four"]


def test_a_reversed_batch_that_never_fills_is_sent_all_the_same(hooked: Town, receiver: Receiver) -> None:
    faults(hooked, deliveries={"reverse": 5})
    say(hooked, "one", "two")
    assert heard(receiver) == ["two", "one"]


def test_a_lost_delivery_can_be_found_and_asked_for_again(hooked: Town, receiver: Receiver) -> None:
    faults(hooked, deliveries={"lose": 1})
    say(hooked, "lost", "kept")
    assert heard(receiver) == ["kept"]
    integration = hooked.integration()
    listed = list(integration.requester.requestJsonAndCheck("GET", "/app/hook/deliveries?status=failure")[1])
    assert [(one["event"], one["status_code"], one["redelivery"]) for one in listed] == [
        ("issue_comment", 0, False)
    ]
    integration.requester.requestJsonAndCheck("POST", f"/app/hook/deliveries/{listed[0]['id']}/attempts")
    hooked.wait_for_webhooks()
    assert heard(receiver) == ["kept", "lost"]
    assert receiver.got[-1]["headers"]["X-GitHub-Delivery"] == listed[0]["guid"]
    full = integration.requester.requestJsonAndCheck("GET", f"/app/hook/deliveries/{listed[0]['id']}")[1]
    assert full["request"]["payload"]["comment"]["body"] == "lost"


def test_a_refused_delivery_is_recorded_and_not_sent_again(hooked: Town, receiver: Receiver) -> None:
    receiver.status = 500
    say(hooked, "hi")
    assert len(receiver.got) == 1
    delivery = hooked.store.deliveries.all()[0]
    assert (delivery.status_code, delivery.status) == (500, "Invalid HTTP Response: 500")


def test_deliveries_are_listed_by_cursor(hooked: Town, receiver: Receiver) -> None:
    say(hooked, *[str(number) for number in range(5)])
    requester = hooked.integration().requester
    seen: list[int] = []
    path = "/app/hook/deliveries?per_page=2"
    while path:
        headers, page = requester.requestJsonAndCheck("GET", path)
        seen += [one["id"] for one in page]
        link = headers.get("link", "")
        path = link[1 : link.index(">")].removeprefix(hooked.url) if link else ""
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 5


def test_a_webhook_that_is_pointed_somewhere_is_pinged(town: Town, receiver: Receiver) -> None:
    answer = requests.post(
        f"{town.url}/_forge/webhook", json={"url": receiver.url, "secret": "s"}, timeout=60
    )
    assert answer.status_code == 200
    assert receiver.wait("ping")[0]["hook"]["app_id"] == town.world.app.id


def test_an_app_hears_only_what_it_subscribed_to(hooked: Town, receiver: Receiver) -> None:
    hooked.world.app.events = ["issues"]
    say(hooked, "unheard")
    hooked.person("bob").get_repo("acme/shop").create_issue("heard")
    hooked.wait_for_webhooks()
    assert [one["event"] for one in receiver.got] == ["issues"]


def test_an_api_fault_strikes_as_often_as_it_was_asked_to(town: Town) -> None:
    faults(town, api=[{"method": "POST", "path": "/issues/1/comments$", "status": 502, "count": 2}])
    issue = town.app().get_repo("acme/shop").get_issue(1)
    for _ in range(2):
        with pytest.raises(GithubException) as refused:
            issue.create_comment("x")
        assert refused.value.status == 502
    assert issue.create_comment("x").id
    assert issue.get_comments().totalCount == 1


def test_a_fault_after_the_deed_leaves_the_deed_done(town: Town) -> None:
    faults(town, api=[{"method": "POST", "path": "/comments$", "status": 500, "after": True}])
    issue = town.app().get_repo("acme/shop").get_issue(1)
    with pytest.raises(GithubException):
        issue.create_comment("done all the same")
    assert [comment.body for comment in issue.get_comments()] == ["done all the same"]


def test_a_cut_connection_leaves_the_deed_done(town: Town) -> None:
    faults(town, api=[{"method": "POST", "path": "/comments$", "status": 500, "after": True, "cut": True}])
    issue = town.app().get_repo("acme/shop").get_issue(1)
    with pytest.raises(requests.ConnectionError):
        issue.create_comment("done all the same")
    assert [comment.body for comment in issue.get_comments()] == ["done all the same"]


def test_rate_limits_have_githubs_three_faces(town: Town) -> None:
    client = town.app()
    faults(town, secondary=1)
    with pytest.raises(GithubException) as secondary:
        client.get_repo("acme/shop")
    assert secondary.value.status == 403
    assert (secondary.value.headers or {})["retry-after"] == "60"
    faults(town, graphql_rate_limited=1)
    with pytest.raises(GithubException) as limited:
        town.graphql(client, "{viewer{login}}")
    assert limited.value.data["errors"][0]["type"] == "RATE_LIMITED"
    faults(town, api=[{"path": "/repos", "status": 429, "headers": {"Retry-After": "1"}}])
    with pytest.raises(GithubException) as many:
        client.get_repo("acme/shop")
    assert many.value.status == 429
    assert client.get_repo("acme/shop").id


def test_faults_do_not_hit_people_and_can_be_cleared(town: Town) -> None:
    faults(town, api=[{"path": ".", "status": 500, "count": 100}], secondary=100)
    assert town.person("bob").get_repo("acme/shop").id
    requests.delete(f"{town.url}/_forge/faults", timeout=60)
    assert town.app().get_repo("acme/shop").id


@pytest.mark.parametrize(
    "wrong", [{"deliverys": {}}, {"deliveries": {"explode": 1}}, {"api": [{"path": "(", "status": 5}]}]
)
def test_a_fault_that_makes_no_sense_is_refused(town: Town, wrong: dict[str, Any]) -> None:
    assert requests.post(f"{town.url}/_forge/faults", json=wrong, timeout=60).status_code == 422
