"""`/metrics`: for the operator's monitoring alone, in OpenMetrics, without a name of anybody's."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as parse_plain
from sqlalchemy import Engine
from starlette.testclient import TestClient

from bot.github.app_manifest import WEBHOOK_PATH
from bot.github.rate_limit import ApiBudget, SentCall, installation_name
from bot.github.shared_records import home_records
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.system.secret import Secret
from bot.system.setting_types import BoardAddress
from bot.web.refused_deliveries import DeliveryRefusal
from ledger.events.run import RunEnded
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from ledger.queue.inbox import Delivery
from ledger.states import Ending
from tests.bot.web.serving import web_client
from tests.ledger.samples import NOW, RUN, board_seen, card_seen, run_queued
from tests.waiting import until

TOKEN = "the-monitoring-token"
OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def client(config: Config, engine: Engine, token: str = TOKEN) -> TestClient:
    return web_client(replace(config, metrics_token=Secret(token)), engine, lambda _: True, utc_now)


def scrape(client: TestClient) -> dict[tuple[str, str], float]:
    """Return each sample by its name and its label's value."""
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}", **OPEN_METRICS})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    return {
        (sample.name, "".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call]  # 0.26
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("token", "sent", "status"),
    [
        ("", {}, 403),
        ("", {"Authorization": "Bearer "}, 403),
        (TOKEN, {}, 401),
        (TOKEN, {"Authorization": "Bearer "}, 401),
        (TOKEN, {"Authorization": TOKEN}, 401),
        (TOKEN, {"Authorization": f"Bearer {TOKEN}x"}, 401),
        (TOKEN, {"Authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        (TOKEN, {"Authorization": "Bearer \xe9"}, 401),
        (TOKEN, {"X-Forwarded-For": "127.0.0.1"}, 401),
    ],
)
def test_nobody_reads_the_figures_without_the_operators_token(
    config: Config, engine: Engine, token: str, sent: dict[str, str], status: int
) -> None:
    headers = {name.encode(): value.encode("latin-1") for name, value in sent.items()}
    answer = client(config, engine, token).get("/metrics", headers=headers)
    assert answer.status_code == status
    assert "CARDINAL_METRICS_TOKEN" in answer.text
    assert "cardinal_" not in answer.text


def test_two_tokens_are_none(config: Config, engine: Engine) -> None:
    headers = [("Authorization", "Bearer x"), ("Authorization", f"Bearer {TOKEN}")]
    assert client(config, engine).get("/metrics", headers=headers).status_code == 401


def test_the_figures_are_those_of_the_ledger_and_of_all_calls_of_github(
    config: Config, engine: Engine
) -> None:
    config = replace(config, app_id=7, board=BoardAddress("acme", 1))
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), run_queued(), at=NOW)
        event_store.append(db, RunEnded(RUN, Ending.FAILED, "validation", "", ""), at=NOW)
    budget = ApiBudget(home_records(config, utc_now), installation_name(7, "Acme", config.github_url))
    reset = str(int(utc_now().timestamp()) + 600)
    left = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "1250", "x-ratelimit-reset": reset}
    budget.learn(left, SentCall(0.2, 200))
    budget.learn({}, SentCall(3.0, 502))
    budget.learn({}, SentCall(99.0, 0))
    budget.learn({}, SentCall(0.01, 403, limited=True))
    read = scrape(client(config, engine))
    assert read["cardinal_events_total", ""] == 4
    assert read["cardinal_runs_ended_total", "failed"] == 1
    assert read["cardinal_runs_ended_total", "lost"] == 0  # there from the start, so that a rate is right
    assert read["cardinal_runs", "queued"] == 0
    assert read["cardinal_github_calls_total", "ok"] == 1
    assert read["cardinal_github_calls_total", "failed"] == 1
    assert read["cardinal_github_calls_total", "limited"] == 1
    assert read["cardinal_github_calls_total", "unreachable"] == 1
    assert read["cardinal_github_call_seconds_bucket", "0.25"] == 2
    assert read["cardinal_github_call_seconds_count", ""] == 4
    assert round(read["cardinal_github_call_seconds_sum", ""], 2) == 102.21
    assert read["cardinal_github_budget_left", "core"] == 0.25


def test_refused_deliveries_are_counted_by_reason_over_all_processes(config: Config, engine: Engine) -> None:
    first, second = client(config, engine), client(config, engine)
    signed = {"X-Hub-Signature-256": f"sha256={'0' * 64}", "X-GitHub-Event": "ping", "X-GitHub-Delivery": "1"}
    with first, second:
        assert first.post(WEBHOOK_PATH, content=b"{}").status_code == 401
        for receiver in (first, second):
            headers = {**signed, "Content-Type": "application/json"}
            assert receiver.post(WEBHOOK_PATH, content=b"{}", headers=headers).status_code == 401
        until(lambda: scrape(first)["cardinal_deliveries_refused_total", "signature"] == 2, "two signatures")
        until(lambda: scrape(second)["cardinal_deliveries_refused_total", "unsigned"] == 1, "an unsigned one")
        read = scrape(second)
    reasons = {label for name, label in read if name == "cardinal_deliveries_refused_total"}
    assert reasons == set(DeliveryRefusal)  # there from the start, and no other


# The rules of `promtool check metrics`. Source: client_golang, prometheus/testutil/promlint/validations.
RESERVED = ("_total", "_count", "_sum", "_bucket", "_info")
ABBREVIATED = re.compile(
    r"_(?:ms|msec|sec|secs|min|mins|hrs?|kb|mb|gb|bits?|percent|minutes?|hours?|days?|milliseconds?)(?:_|$)"
)


def faults_of(family: Metric) -> Iterator[str]:
    if not family.documentation:
        yield "no help"
    if not re.fullmatch(r"cardinal(?:_[a-z0-9]+)+", family.name) or ABBREVIATED.search(family.name):
        yield "name"
    if family.name.endswith(RESERVED) or set(family.name.split("_")) & {"counter", "gauge", "histogram"}:
        yield "its type in its name"
    for sample in family.samples:
        labels = set(sample.labels)
        if not all(re.fullmatch(r"[a-z]+", label) for label in labels):
            yield "label"
        if "quantile" in labels and family.type != "summary":
            yield "quantile"
        if "le" in labels and family.type != "histogram":
            yield "le"
        if sample.name.endswith("_total") is not (family.type == "counter"):
            yield "total"


def test_the_figures_are_as_prometheus_wants_them(config: Config, engine: Engine) -> None:
    inbox.store_deliveries(engine, Delivery(DeliveryId("1"), "ping", "", b"{}", utc_now()))
    done = inbox.claim(engine, DeliveryId("1"), lease_s=60)
    assert done
    with event_store.writing(engine) as db:
        inbox.settle(db, done, utc_now())
    headers = {"Authorization": f"Bearer {TOKEN}"}
    http = client(config, engine)
    plain = http.get("/metrics", headers=headers)
    assert plain.headers["Content-Type"].startswith("text/plain; version=")
    opened = http.get("/metrics", headers={**headers, **OPEN_METRICS}).text
    families = list(text_string_to_metric_families(opened))  # type: ignore[no-untyped-call]  # 0.26
    names = [sample.name for family in families for sample in family.samples]
    assert "cardinal_delivery_seconds" in names
    assert {family.name: fault for family in families for fault in faults_of(family)} == {}
    again = [sample.name for family in parse_plain(plain.text) for sample in family.samples]
    assert set(names) - set(again) <= {"cardinal_build_info"}


def test_the_figures_name_nobody(config: Config, engine: Engine) -> None:
    config = replace(config, board=BoardAddress("acme", 1))
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), run_queued(), at=NOW)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    text = client(config, engine).get("/metrics", headers=headers).text
    labels = set(re.findall(r'="([^"]*)"', text))
    assert not {label for label in labels if "acme" in label or "/" in label}
    assert "acme" not in text


def test_while_redis_is_away_the_ledgers_figures_are_there(config: Config, engine: Engine) -> None:
    config = replace(config, redis_url="redis://127.0.0.1:1/0")
    read = scrape(client(config, engine))
    assert read["cardinal_shared_records_up", ""] == 0
    assert ("cardinal_events_total", "") in read
    assert ("cardinal_github_budget_left", "core") not in read
