"""`/metrics` for Prometheus and its like: computed from the ledger when it is scraped, so that it does not
matter which process or host answers.

Its labels are of closed sets: no name of a card, a person, a repository or an organization is ever one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import TypeVar

from flask import Response, request
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import Engine

from bot.github.errors import UnavailableError
from bot.github.rate_limit import CALL_BOUNDS_S, ApiBudget, CallResult, RateUsage, app_name, installation_name
from bot.github.shared_records import SharedRecords
from bot.reactor.reactor import READER
from bot.state import served_boards
from bot.system import release
from bot.system.config import Config
from bot.web import refused_deliveries
from ledger.log import event_store
from ledger.queries.monitoring import Figures, read_figures
from ledger.states import Ending
from ledger.views.tallies import Tally

K = TypeVar("K", bound=str)
PATH = "/metrics"
RESOURCES = ("core", "graphql")
CLOSED = "set CARDINAL_METRICS_TOKEN on the web server, and send it as `Authorization: Bearer TOKEN`\n"
WRONG = "send the CARDINAL_METRICS_TOKEN of the web server as `Authorization: Bearer TOKEN`\n"
LABELS: dict[Tally, tuple[str, ...]] = {  # every label that a sum has, so that each is there from the start
    Tally.RUNS_ENDED: tuple(Ending),
    Tally.GATES: ("passed", "failed"),
    Tally.USD: ("runs", "assistant"),
    Tally.TOKENS: ("input", "output", "assistant"),
}


@dataclass(frozen=True, slots=True)
class Metrics:
    """The figures of one ledger and of GitHub's budgets, for whoever has the operator's token."""

    config: Config
    engine: Engine
    records: SharedRecords

    def answer(self) -> Response:
        """Return the figures in the format that the request accepts, or the refusal."""
        token = self.config.metrics_token.reveal()
        if not token:
            return Response(CLOSED, 403, mimetype="text/plain")
        given = request.headers.get("Authorization", "")
        if not compare_digest(given.encode(), f"Bearer {token}".encode()):
            headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
            return Response(WRONG, 401, headers, mimetype="text/plain")
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return Response(encode(self.collector()), 200, {"Cache-Control": "no-store"}, content_type=kind)

    def collector(self) -> Collector:
        """Return all that a scrape shows now."""
        with event_store.reading(self.engine) as db:
            figures = read_figures(db, READER)
            owners = {board.owner.casefold() for board in served_boards.all_served(db, self.config)}
        config = self.config
        names = [installation_name(config.app_id, owner, config.github_url) for owner in sorted(owners)]
        return Scrape(
            (*_of_ledger(figures), *self._of_shared([*names, app_name(config.app_id, config.github_url)]))
        )

    def _of_shared(self, names: list[str]) -> Iterator[Metric]:
        """Yield what the processes share of GitHub's calls and deliveries; while Redis is away, only that."""
        try:
            refused = refused_deliveries.read(self.records)
            seen = [ApiBudget(self.records, name).read_usage() for name in names]
        except UnavailableError:
            yield _gauge("shared_records_up", "1 while the shared records of GitHub's budget answer.", 0)
            return
        yield _gauge("shared_records_up", "1 while the shared records of GitHub's budget answer.", 1)
        yield _counters("deliveries_refused", "Deliveries that were refused, by reason.", "reason", refused)
        yield from _of_budgets(seen)


class Scrape(Collector):
    """Metrics that were computed."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self._metrics = metrics

    def collect(self) -> tuple[Metric, ...]:
        return self._metrics


def _of_ledger(figures: Figures) -> Iterator[Metric]:
    yield InfoMetricFamily("cardinal_build", "The version that answers.", {"version": release.version()})
    yield _counter("events", "Events in the log.", figures.events)
    yield _gauges(
        "deliveries",
        "Deliveries that are not done, by state; 10,000 means so many or more.",
        "state",
        figures.deliveries,
    )
    yield _gauge(
        "oldest_delivery_seconds", "Age of the oldest delivery that is not done.", figures.oldest_delivery_s
    )
    took = "Seconds from a delivery's arrival until it was done, over those of the last five minutes."
    summary = Metric("cardinal_delivery_seconds", took, "summary")
    for share, seconds in figures.delivery_s.items():
        summary.add_sample(summary.name, {"quantile": str(share)}, seconds)
    yield summary
    yield _gauge("undecided_events", "Events that the rules have not seen yet.", figures.undecided)
    yield _gauge(
        "undecided_seconds", "Age of the oldest event that the rules have not seen.", figures.undecided_s
    )
    yield _counter(
        "decisions_failed",
        "Events that were skipped, since the rules failed on them.",
        figures.decisions_failed,
    )
    acts = {"ready": figures.acts - figures.acts_without_access, "no_access": figures.acts_without_access}
    yield _gauges("outbox_acts", "Acts on GitHub that wait in the outbox.", "state", acts)
    yield _gauge(
        "oldest_act_seconds", "Age of the oldest act that waits and may be carried out.", figures.oldest_act_s
    )
    yield _gauge("acts_given_up", "Acts on GitHub that failed for good.", figures.acts_given_up)
    yield _gauges("runs", "Runs that have not ended, by state.", "state", figures.runs)
    yield _gauge(
        "runs_without_worker", "Runs that may start and that no worker takes.", figures.runs_without_worker
    )
    yield _gauges("hosts", "Hosts by state.", "state", figures.hosts)
    yield _gauge("run_slots", "How many runs the live hosts work on at once.", figures.slots)
    yield from _of_tallies(figures)


def _of_tallies(figures: Figures) -> Iterator[Metric]:
    def sums(tally: Tally) -> dict[str, float]:
        return {label: figures.tallies.get((tally, label), 0.0) for label in LABELS.get(tally, ("",))}

    yield _counters("runs_ended", "Runs that ended.", "ending", sums(Tally.RUNS_ENDED))
    yield _counters("gate_results", "Gates that judged a commit, by result.", "result", sums(Tally.GATES))
    yield _counter(
        "leases_lost",
        "Runs taken back from a worker that did not renew its lease.",
        sums(Tally.LEASES_LOST)[""],
    )
    yield _counter("workers_hung", "Runs whose worker hung and was killed.", sums(Tally.WORKERS_HUNG)[""])
    yield _counters("model_dollars", "Dollars spent on models, as metered.", "by", sums(Tally.USD))
    yield _counters("model_tokens", "Tokens of models, as metered.", "kind", sums(Tally.TOKENS))
    yield _counter(
        "model_turns", "Calls of models that the gateways metered for runs.", sums(Tally.TURNS)[""]
    )
    yield _counter(
        "model_calls_refused", "Calls of models that a gateway refused.", sums(Tally.CALLS_REFUSED)[""]
    )
    yield _counter(
        "model_failures", "Calls of models that failed at the provider.", sums(Tally.PROVIDER_FAILURES)[""]
    )


def _of_budgets(seen: list[tuple[RateUsage, float]]) -> Iterator[Metric]:
    """Yield the sums of all installations, and of what is left the lowest."""
    usages = [usage for usage, _ in seen]
    calls = {result: sum(usage.calls.get(result, 0) for usage in usages) for result in CallResult}
    yield _counters("github_calls", "Calls of GitHub's API, by result.", "result", calls)
    counts = [sum(usage.took.get(bound, 0) for usage in usages) for bound in range(len(CALL_BOUNDS_S) + 1)]
    so_far = [sum(counts[: position + 1]) for position in range(len(counts))]
    bounds = (*map(str, CALL_BOUNDS_S), "+Inf")
    yield HistogramMetricFamily(
        "cardinal_github_call_seconds",
        "Seconds that calls of GitHub's API took.",
        buckets=list(zip(bounds, so_far, strict=True)),
        sum_value=sum(usage.took_s for usage in usages),
    )
    shares = {
        name: min(
            (
                usage.windows[name].remaining / max(1, usage.windows[name].limit)
                for usage, now_s in seen
                if name in usage.windows and usage.windows[name].reset_s > now_s
            ),
            default=1.0,
        )
        for name in RESOURCES
    }
    yield _gauges(
        "github_budget_left",
        "Share of GitHub's hourly allowance that is left where least is.",
        "resource",
        shares,
    )
    closed_s = max((usage.closed_until_s - now_s for usage, now_s in seen), default=0.0)
    yield _gauge(
        "github_closed_seconds",
        "Seconds until the longest limit that GitHub reported is over.",
        max(0.0, closed_s),
    )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"cardinal_{name}", text, value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"cardinal_{name}", text, value)


def _gauges(name: str, text: str, label: str, values: Mapping[K, float]) -> Metric:
    family = GaugeMetricFamily(f"cardinal_{name}", text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _counters(name: str, text: str, label: str, values: Mapping[K, float]) -> Metric:
    family = CounterMetricFamily(f"cardinal_{name}", text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
