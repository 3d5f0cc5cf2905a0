"""Money and flow: costs, endings and waits of the runs that a visitor may see."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, timedelta
from urllib.parse import quote

from flask import Response, make_response, render_template

from bot.render.run.reasons import REASONS
from bot.state import forecasts
from bot.web.site import charts, parameters
from bot.web.site.layout import Site
from bot.web.site.lists import MAX_TITLE
from bot.web.site.visibility import VisibleBoard
from ledger.log import event_store
from ledger.queries import stats
from ledger.queries.stats import MergeShare, SpendShare, Stats
from ledger.queue.sign_ins import SignIn
from rules.runs.forecast import Forecast
from rules.text import count, plain, state_word, usd

DAYS, USUAL_DAYS = (7, 30, 90), 30
FIGURES = (
    *("usd", "runs", "needed_person", "people_s", "workers_s", "agents_s"),
    *("merged", "usd_per_merge", "hours_per_merge", "estimated_usd", "reported_usd"),
)
WAIT_FIGURES = ("people_s", "worker_s", "agent_s")
ESTIMATE = "{usd} of this is an estimate from the price list: those runs were paid by a subscription."
REPORTED = "{usd} of this is as the agents report: nothing else counted it."
LIMIT_FIGURES = ("spent_usd", "reserved_usd", "projected_usd", "limit_usd")


def mount(site: Site) -> None:
    """Mount the page, and the same figures as CSV."""

    @site.get("/money")
    def money(visit: SignIn) -> Response:
        parameters.check_names("days")
        boards = site.boards_of(visit)
        figures, limits = _figures(site, boards), _limits(site, visit, boards)
        first, last = (it.astimezone(UTC).date() for it in (figures.since, site.clock()))
        shown = render_template(
            "money.html",
            title="Money and flow",
            lines=(
                *(() if figures.runs or figures.usd else ("No spending that you may see.",)),
                *((ESTIMATE.format(usd=usd(figures.estimated_usd)),) if figures.estimated_usd else ()),
                *((REPORTED.format(usd=usd(figures.reported_usd)),) if figures.reported_usd else ()),
            ),
            headline=_headline(figures),
            facts=_facts(figures),
            spark=charts.sparkline(figures.agents_by_day, first, last),
            merged=[(name, _merged(its)) for name, its in figures.merged_by.items() if _compares(name, its)],
            spent=charts.chart_spending(figures.agents_by_day, first, last, _day_limit(limits, len(boards))),
            waited=charts.chart_waits(figures),
            waited_by_day=charts.waits_by_day(figures.waits_by_day, first, last),
            days_waits=[
                (it.day, [charts.duration(seconds) for seconds in it[1:]]) for it in figures.waits_by_day
            ],
            limits=[charts.of_limit(board, it) for board, it in limits],
            waits=_waits(figures),
            reasons=[(number, plain(REASONS.get(name, name))) for name, number in figures.reasons.items()],
            groups=[(name, _bars(shares)) for name, shares in figures.usd_by.items()],
            days=_days(),
            choices=DAYS,
            visit=visit,
        )
        return make_response(shown)

    @site.get("/money.csv")
    def as_csv(visit: SignIn) -> Response:
        parameters.check_names("days")
        boards, text = site.boards_of(visit), io.StringIO()
        rows = csv.writer(text)
        rows.writerow(("figure", "name", "value"))
        rows.writerows(_rows(_figures(site, boards), _limits(site, visit, boards)))
        answer = make_response(text.getvalue())
        answer.content_type = "text/csv; charset=utf-8"
        answer.headers["Content-Disposition"] = 'attachment; filename="cardinal-money.csv"'
        return answer


def _days() -> int:
    """Return how far back the visitor looks. Raises FilterError."""
    return int(parameters.choice("days", [str(days) for days in DAYS], str(USUAL_DAYS)))


def _figures(site: Site, boards: Sequence[VisibleBoard]) -> Stats:
    with event_store.reading(site.engine) as db:
        now = site.clock()
        since = now - timedelta(days=_days())
        return stats.of_boards(db, since, now, [board.scope for board in boards])


def _limits(site: Site, visit: SignIn, boards: Sequence[VisibleBoard]) -> list[tuple[str, Forecast]]:
    """Return today's limits of those boards of which the visitor sees every repository: they sum over all.

    Raises BusyError.
    """
    whole = [board for board in boards if site.is_whole_to(visit, board)]
    now = site.clock()
    with event_store.reading(site.engine) as db:
        return [
            (board.title, it) for board in whole for it in forecasts.board_forecast(db, board.board_id, now)
        ]


def _day_limit(limits: Iterable[tuple[str, Forecast]], boards: int) -> float | None:
    """Return the daily limit of so many boards; None if one has no limit, or is not whole to the visitor."""
    of_boards = [it.limit_usd for _, it in limits if not it.name]
    return sum(of_boards) if 0 < len(of_boards) == boards else None


def _waits(figures: Stats) -> list[tuple[str, str, str, list[tuple[str, int]]]]:
    """Return the name, path and title of each card, and for each wait the time and its share in percent."""
    longest = max((max(wait.seconds) for wait in figures.waits), default=0) or 1
    return [
        (
            wait.name,
            f"/cards/{quote(wait.repository)}/{wait.number}" if wait.repository and wait.number else "",
            plain(wait.title, MAX_TITLE),
            [(charts.duration(it), round(100 * it / longest)) for it in wait.seconds],
        )
        for wait in figures.waits
    ]


def _rows(figures: Stats, limits: Iterable[tuple[str, Forecast]]) -> Iterator[tuple[str, str, object]]:
    """Return all figures of the page, each with its subject; empty where there is none."""
    yield from ((name, "", getattr(figures, name)) for name in FIGURES)
    yield from (("endings", state_word(name) or "not ended", it) for name, it in figures.endings.items())
    yield from (("reasons", name, it) for name, it in figures.reasons.items())
    for group, shares in figures.usd_by.items():
        yield from ((f"usd by {group}", _cell(share.name), f"{share.usd:.4f}") for share in shares)
    for group, merges in figures.merged_by.items():
        for it in merges:
            yield f"merged by {group}", _cell(it.name), it.merged
            yield f"usd of merged by {group}", _cell(it.name), f"{it.usd:.4f}"
    for wait in figures.waits:
        yield from ((f"{name} of a card", wait.name, getattr(wait, name)) for name in WAIT_FIGURES)
    for day in figures.waits_by_day:
        yield from ((f"{name} of a day", day.day, getattr(day, name)) for name in WAIT_FIGURES)
    for board, limit in limits:
        place = _cell(f"{board}: {limit.name}" if limit.name else board)
        yield from ((f"today's {name}", place, getattr(limit, name)) for name in LIMIT_FIGURES)


def _headline(figures: Stats) -> str:
    """Return the sentence about people: how many runs needed one, and what part of all waiting they were."""
    waited_s = figures.people_s + figures.workers_s + figures.agents_s
    if not figures.runs:
        return ""
    runs = f"{figures.needed_person:,} of {count(figures.runs, 'run')} needed a person"
    people, total = charts.duration(figures.people_s), charts.duration(waited_s)
    return f"{runs}; people took {people} of {total}." if waited_s else f"{runs}."


def _compares(group: str, shares: Sequence[MergeShare]) -> bool:
    """Tell whether a table of the merges by that says more than their sum."""
    return group == "repository" or len(shares) > 1


def _merged(shares: Iterable[MergeShare]) -> list[tuple[str, str, str, str, str, str]]:
    """Return of each name the merges, dollars in all and each, work each, and the median time to merge."""
    return [
        (
            plain(it.name) or "none",
            f"{it.merged:,}",
            usd(it.usd),
            usd(it.usd / it.merged),
            charts.duration(it.active_s / it.merged),
            "" if it.median_s is None else charts.duration(it.median_s),
        )
        for it in shares
    ]


def _facts(figures: Stats) -> list[tuple[str, str]]:
    """Return the figures as pairs of a name and a value."""
    endings = (f"{number:,} {state_word(name) or 'not ended'}" for name, number in figures.endings.items())
    waits = (figures.people_s, figures.workers_s, figures.agents_s)
    facts = [
        ("Spent", usd(figures.usd)),
        ("Runs", ", ".join(endings) or "none"),
        ("Merged pull requests", f"{figures.merged:,}"),
    ]
    if figures.usd_per_merge is not None and figures.hours_per_merge is not None:
        worked = charts.duration(figures.hours_per_merge * 3600)
        facts.append(("Per merge", f"{usd(figures.usd_per_merge)}, {worked} of agents' work"))
    if figures.median_merge_s is not None:
        facts.append(("Median time to merge", charts.duration(figures.median_merge_s)))
    names = ("Waited for people", "Waited for a worker", "Waited for agents at work")
    facts += [(name, charts.duration(it)) for name, it in zip(names, waits, strict=True) if it]
    return facts


def _bars(shares: tuple[SpendShare, ...]) -> list[tuple[str, str, int]]:
    """Return each share with its amount, and its length in percent of the longest."""
    shares = tuple(share for share in shares if share.usd)  # a run that only checks costs nothing
    longest = max((share.usd for share in shares), default=0)
    return [
        (plain(share.name) or "none", usd(share.usd), round(100 * share.usd / longest)) for share in shares
    ]


def _cell(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula.

    Source: owasp.org/www-community/attacks/CSV_Injection.
    """
    text = plain(name)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
