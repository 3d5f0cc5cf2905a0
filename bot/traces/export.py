"""Send traces to the operator's collector, as OTLP over HTTP: each run once it has ended, in the log's order.

A run whose trace was sent just before a crash is sent again, with the same ids.
"""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import requests

from bot.bootstrap import Services
from bot.system import release
from bot.traces.spans import TraceSpan, make_spans
from ledger.errors import CardinalError
from ledger.log import event_store
from ledger.queries import run_trace
from ledger.queue import leases

log = logging.getLogger(__name__)
READER, LEASE = "traces", "traces"
LEASE_S = 60.0
WITHIN_S, TIMEOUT_S = 5.0, 3.0  # deliveries need the worker, too
BATCH = 50  # ends of runs and reviews that are read at once
MAX_AGE = timedelta(days=1)  # of what is still sent: a collector that refuses one trace loses no more than it
Send = Callable[[Iterable[TraceSpan]], bool]


class TracesUnavailableError(CardinalError):
    """The programs that send traces are not installed."""

    def __init__(self) -> None:
        super().__init__(
            "no traces are sent: install Cardinal with its extra `traces`, or unset CARDINAL_TRACES_URL"
        )


def export_due(services: Services) -> int:
    """Send what ended since the last time; return how many runs and reviews that were.

    Nothing from before the first call is sent. What cannot be sent stays for the next call. Raises
    TracesUnavailableError.
    """
    send, count, until_s = _open(services.config.traces_url), 0, time.monotonic() + WITHIN_S
    with leases.lease_held(services.engine, LEASE, services.name, ttl_s=LEASE_S) as lease:
        more = lease is not None  # else another host is at it
        while more and time.monotonic() < until_s:
            sent, more = _send_batch(services, send)
            count += sent
    return count


def _send_batch(services: Services, send: Send) -> tuple[int, bool]:
    """Send the next ones; return how many, and whether there may be more to send now."""
    with event_store.reading(services.engine) as db:
        before, last = event_store.position(db, READER), event_store.last_seq(db)
        ends = run_trace.list_ends(db, after=before, until=last, limit=BATCH) if before else ()
        traces = [(end.seq, end.at, run_trace.of_end(db, end)) for end in ends]
    after, sent, refused = before, 0, False
    for seq, at, trace in traces:
        if trace is not None and services.now() - at < MAX_AGE:
            if not send(make_spans(trace)):
                log.warning("trace not sent run=%s reason=collector", trace.run.run_id)
                refused = True
                break
            sent += 1
        after = seq
    if not refused and len(ends) < BATCH:
        after = last
    if after != before:
        with event_store.writing(services.engine) as db:
            event_store.advance_cursor(db, READER, before=before, after=after)
    return sent, not refused and len(ends) == BATCH


def _open(url: str) -> Send:
    """Return the function that sends spans to the collector at `url`; headers are OpenTelemetry's own
    variables, such as OTEL_EXPORTER_OTLP_HEADERS. Raises TracesUnavailableError.
    """
    try:  # of an extra: few have a collector
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.export import SpanExportResult
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
    except ImportError as error:
        raise TracesUnavailableError from error
    session = requests.Session()
    session.hooks["response"].append(_refuse_redirection)
    exporter = OTLPSpanExporter(f"{url.rstrip('/')}/v1/traces", timeout=TIMEOUT_S, session=session)
    resource = Resource({"service.name": "cardinal", "service.version": release.version()})
    scope, sampled = InstrumentationScope("cardinal"), TraceFlags(TraceFlags.SAMPLED)

    def context(trace_id: int, span_id: int) -> SpanContext:
        return SpanContext(trace_id, span_id, is_remote=False, trace_flags=sampled)

    def readable(span: TraceSpan) -> ReadableSpan:
        return ReadableSpan(
            span.name,
            context(span.trace_id, span.span_id),
            parent=context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=resource,
            attributes=span.attributes,
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.because or None) if span.failed else Status(),
            start_time=span.began_ns,
            end_time=span.ended_ns,
            instrumentation_scope=scope,
        )

    return lambda spans: exporter.export([readable(span) for span in spans]) is SpanExportResult.SUCCESS


def _refuse_redirection(answer: requests.Response, *_: Any, **__: Any) -> None:
    """Raise TooManyRedirects for one: OpenTelemetry follows none, and takes it for success."""
    if answer.is_redirect:
        answer.close()
        raise requests.TooManyRedirects(f"the collector answers {answer.status_code}: set its own address")
