"""`/metrics`: for the operator's monitoring alone, in OpenMetrics, without a name of anybody's."""

import re
from dataclasses import replace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from sqlalchemy import Engine
from starlette.testclient import TestClient

from bot.github.rate_limit import ApiBudget, SentCall, installation_name
from bot.github.shared_records import home_records
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.system.secret import Secret
from bot.system.setting_types import BoardAddress
from ledger.events.run import RunEnded
from ledger.log import event_store
from ledger.states import Ending
from tests.bot.web.serving import web_client
from tests.ledger.samples import NOW, RUN, board_seen, card_seen, run_queued

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
