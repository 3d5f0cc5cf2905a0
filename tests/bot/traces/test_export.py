"""Each run that ended is one trace at the operator's collector, however often it is sent."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import Engine

from bot.bootstrap import Services, services_over
from bot.daemon.workers import calls_of
from bot.github.client import Hub
from bot.scheduler import jobs, ticker
from bot.scheduler.queues import QueueName
from bot.system.clock import utc_now
from bot.system.config import Config, read
from bot.traces import export
from ledger.event import Event
from ledger.events.board import CardMoved
from ledger.events.pull import PullChanged
from ledger.events.run import (
    CommandChecked,
    PlanApproved,
    PlanProposed,
    RunClaimed,
    RunEnded,
    RunRequeued,
    RunStepped,
    UsageMetered,
    ValidationEnded,
)
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import leases
from ledger.states import Ending, PullState, RunState
from tests.ledger.samples import CARD, RUN, board_seen, card_seen, run_queued

S = RunState


@dataclass
class Collector:
    """An OTLP collector on this machine; it answers with `status`."""

    url: str = ""
    status: int = 200
    spans: list[Span] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)

    def by_name(self) -> dict[str, Span]:
        return {span.name: span for span in self.spans}


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.paths.add(self.path)
            if collector.status == 200:
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    collector.spans += [span for scope in resource.scope_spans for span in scope.spans]
            self.send_response(collector.status)
            if collector.status == 307:
                self.send_header("Location", f"{collector.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}/"
        yield collector
        server.shutdown()
        thread.join(60)


@pytest.fixture
def services(config: Config, engine: Engine, collector: Collector) -> Iterator[Services]:
    config = replace(config, traces_url=collector.url)
    with services_over(config, engine, Hub(config, clock=utc_now), utc_now) as services:
        tell(services, utc_now(), board_seen(), card_seen())
        assert export.export_due(services) == 0  # from here on
        yield services


def tell(services: Services, at: datetime, *events: Event) -> None:
    with event_store.writing(services.engine) as db:
        event_store.append(db, *events, at=at)


def play(services: Services, door: str = "") -> datetime:
    """Play a run whose plan is approved and whose first checks fail; return when it was queued."""
    began = utc_now() - timedelta(minutes=10)

    def later(seconds: float, *events: Event) -> None:
        tell(services, began + timedelta(seconds=seconds), *events)

    later(0, replace(run_queued(), door=door))
    later(1, RunClaimed(RUN, 1, "w", "a"), RunStepped(RUN, S.CLAIMED, S.PREPARING))
    later(2, RunStepped(RUN, S.PREPARING, S.PLANNING))
    later(9, PlanProposed(RUN, 1, "so", ()), RunStepped(RUN, S.PLANNING, S.AWAITING_APPROVAL))
    later(99, PlanApproved(RUN, 1, "alice"), RunRequeued(RUN, "approved"))
    later(100, RunClaimed(RUN, 2, "w", "a"), RunStepped(RUN, S.CLAIMED, S.PREPARING))
    later(101, RunStepped(RUN, S.PREPARING, S.WORKING))
    later(150, UsageMetered(RUN, 0.25, 900, 90, 3, 50.0), RunStepped(RUN, S.WORKING, S.VALIDATING))
    later(160, CommandChecked(RUN, 1, "full", "pytest", 1, 8.0, "", ""))
    later(161, ValidationEnded(RUN, 1, "full", False, "a" * 40), RunStepped(RUN, S.VALIDATING, S.WORKING))
    later(170, RunEnded(RUN, Ending.FAILED, "validation", "the checks fail", "working"))
    return began


def test_a_trace_begins_when_a_delivery_told_of_the_drag(services: Services, collector: Collector) -> None:
    now = utc_now() - timedelta(minutes=10)
    told_at = now - timedelta(seconds=2)
    tell(services, now, CardMoved(CARD, "Tasks", "In Progress", by_cardinal=False, told_at=told_at))
    play(services, "board")
    tell(services, utc_now(), replace(run_queued("r9"), door="comment"))
    tell(services, utc_now(), RunEnded(RunId("r9"), Ending.CANCELLED, "cancelled", "", ""))
    assert export.export_due(services) == 2
    (delivery,) = (span for span in collector.spans if span.name == "delivery")
    whole = collector.by_name()[f"run {RUN}"]
    assert (delivery.parent_span_id, delivery.start_time_unix_nano) == (
        whole.span_id,
        whole.start_time_unix_nano,
    )
    queues = (it for it in collector.spans if (it.name, it.trace_id) == ("queue", whole.trace_id))
    assert 2e9 <= min(it.start_time_unix_nano for it in queues) - whole.start_time_unix_nano < 4e9


def test_a_run_is_one_trace_with_its_waits_work_and_checks(services: Services, collector: Collector) -> None:
    began = play(services)
    assert export.export_due(services) == 1
    assert collector.paths == {"/v1/traces"}
    spans = collector.by_name()
    whole = spans[f"run {RUN}"]
    assert {span.trace_id for span in collector.spans} == {whole.trace_id}
    assert (len(whole.trace_id), len(whole.span_id), whole.parent_span_id) == (16, 8, b"")
    assert len({span.span_id for span in collector.spans}) == len(collector.spans)
    known = {span.span_id for span in collector.spans}
    assert all(span.parent_span_id in known for span in collector.spans if span is not whole)
    assert whole.end_time_unix_nano - whole.start_time_unix_nano == 170 * 10**9
    assert abs(whole.start_time_unix_nano - began.timestamp() * 1e9) < 1e6
    assert (whole.status.code, whole.status.message) == (2, "validation")
    wait = spans["wait"]
    assert wait.end_time_unix_nano - wait.start_time_unix_nano == 90 * 10**9
    command = spans["check full"]
    assert command.parent_span_id == spans["check"].span_id
    assert command.end_time_unix_nano - command.start_time_unix_nano == 8 * 10**9
    assert (spans["check"].status.code, command.status.code) == (2, 2)
    work = {it.key: it.value for span in collector.spans for it in span.attributes if "usage" in it.key}
    assert "gen_ai.usage.input_tokens" in work


def test_nothing_that_was_said_or_planned_is_in_a_trace(services: Services, collector: Collector) -> None:
    play(services)
    export.export_due(services)
    text = str(collector.spans)
    assert not {word for word in ("the checks fail", "alice", "settings") if word in text}


def test_a_merge_ends_the_trace_of_the_run_that_it_is_of(services: Services, collector: Collector) -> None:
    play(services)
    export.export_due(services)
    tell(services, utc_now(), PullChanged(CARD, 7, PullState.OPEN, False, "a" * 40))
    assert export.export_due(services) == 0
    tell(services, utc_now(), PullChanged(CARD, 7, PullState.MERGED, False, "a" * 40))
    assert export.export_due(services) == 1
    review, whole = collector.by_name()["review"], collector.by_name()[f"run {RUN}"]
    assert (review.trace_id, review.parent_span_id) == (whole.trace_id, whole.span_id)
    assert review.start_time_unix_nano == whole.end_time_unix_nano


def test_a_trace_that_is_sent_twice_has_the_same_ids(services: Services, collector: Collector) -> None:
    play(services)
    export.export_due(services)
    with event_store.writing(services.engine) as db:  # as after a crash, or a restore
        last = event_store.position(db, export.READER)
        event_store.advance_cursor(db, export.READER, before=last, after=2)
    first, collector.spans = collector.spans, []
    assert export.export_due(services) == 1
    assert collector.spans == first


def test_what_a_collector_refuses_is_sent_later_and_not_for_ever(
    services: Services, collector: Collector
) -> None:
    play(services)
    collector.status = 400
    assert (export.export_due(services), export.export_due(services)) == (0, 0)
    collector.status = 200
    assert export.export_due(services) == 1
    tell(services, utc_now() - timedelta(days=3), run_queued("r2"))
    tell(services, utc_now() - timedelta(days=2), RunEnded(RunId("r2"), Ending.CANCELLED, "", "", ""))
    collector.status = 400
    assert export.export_due(services) == 0
    collector.status, collector.spans = 200, []
    assert export.export_due(services) == 0
    assert collector.spans == []


def test_a_collector_that_redirects_has_taken_nothing(services: Services, collector: Collector) -> None:
    play(services)
    collector.status = 307
    assert (export.export_due(services), collector.spans) == (0, [])
    collector.status = 200
    assert export.export_due(services) == 1
    assert "run r1" in collector.by_name()
    assert not any("elsewhere" in path for path in collector.paths)


def test_many_ends_are_sent_in_one_go_and_one_host_sends(
    services: Services, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "BATCH", 2)
    for number in range(2, 7):
        run_id = RunId(f"r{number}")
        tell(services, utc_now(), run_queued(run_id), RunEnded(run_id, Ending.CANCELLED, "", "", ""))
    with event_store.writing(services.engine) as db:
        lease = leases.take(db, export.LEASE, "another", ttl_s=60)
    assert lease is not None
    assert export.export_due(services) == 0
    with event_store.writing(services.engine) as db:
        leases.release(db, lease)
    assert export.export_due(services) == 5
    assert len({span.trace_id for span in collector.spans}) == 5


def test_the_collector_is_opentelemetrys_own_variable_unless_the_setting_names_another(
    tmp_path: Path,
) -> None:
    environ = {"CARDINAL_HOME": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    assert read(environ, tmp_path).traces_url == "http://collector:4318"
    assert read({**environ, "CARDINAL_TRACES_URL": "http://o:1"}, tmp_path).traces_url == "http://o:1"
    assert read({"CARDINAL_HOME": str(tmp_path)}, tmp_path).traces_url == ""


def test_the_sending_is_woken_only_where_there_is_a_collector(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    ticker.request_sweeps(replace(services, config=replace(services.config, traces_url="")))
    assert "export_traces" not in caplog.text
    ticker.request_sweeps(services)  # no Redis answers here, and says so
    assert "job=export_traces" in caplog.text
    assert calls_of(QueueName.CONTROL)["bot.scheduler.jobs.export_traces"] is jobs.export_traces
