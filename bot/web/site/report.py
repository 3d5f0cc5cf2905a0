"""An agent's report as the pages of its run and its card show it, cut to a page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bot.render.run.criteria import Criterion, list_criteria
from bot.web.site import markdown
from bot.web.site.lists import fit_rows
from bot.web.site.times import stamp
from ledger.model.metadata import metadata_lines
from ledger.views.checks import CheckRow
from ledger.views.hand_overs import HandOverRow
from ledger.views.reports import ReportRow
from rules.text import plain

NONE = Markup()
MAX_ITEMS, MAX_ITEM = 50, 600  # of each list, and characters of one


@dataclass(frozen=True, slots=True)
class ReportView:
    """What was done, the lists that are not empty by their headings, and the criteria with their tests.

    `by` is a person who handed it over, and when; empty for an agent's.
    """

    done: Markup
    lists: Sequence[tuple[str, Sequence[Markup]]]
    criteria: Sequence[Criterion]
    by: Markup = NONE


def report_view(report: ReportRow | None, card_brief: str, checks: tuple[CheckRow, ...]) -> ReportView | None:
    """Return the report; None before there is one."""
    if report is None:
        return None
    lists = (
        ("Changed", report.changed),
        ("To check", report.check),
        ("Open questions", report.open_questions),
        ("Metadata", metadata_lines(report.metadata)),
    )
    return ReportView(
        markdown.render(report.done), _render_filled(lists), list_criteria(card_brief, (report,), checks)
    )


def hand_over_view(row: HandOverRow) -> ReportView:
    """Return what a person handed over, as a report is shown."""
    by = Markup("<bdi>{}</bdi>, {}").format(plain(row.by, 60), stamp(row.at))
    return ReportView(
        markdown.render(row.text), _render_filled([("Metadata", metadata_lines(row.metadata))]), (), by
    )


def _render_filled(lists: Iterable[tuple[str, Sequence[str]]]) -> Sequence[tuple[str, Sequence[Markup]]]:
    return [
        (title, fit_rows(markdown.render(item, MAX_ITEM) for item in items[:MAX_ITEMS]))
        for title, items in lists
        if items
    ]
