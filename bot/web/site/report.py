"""An agent's report as the pages of its run and its card show it, cut to a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bot.render.run.criteria import Criterion, list_criteria
from bot.web.site import markdown
from bot.web.site.lists import fit_rows
from ledger.views.checks import CheckRow
from ledger.views.reports import ReportRow

MAX_ITEMS, MAX_ITEM = 50, 600  # of each list, and characters of one


@dataclass(frozen=True, slots=True)
class ReportView:
    """What was done, the lists that are not empty by their headings, and the criteria with their tests."""

    done: Markup
    lists: Sequence[tuple[str, Sequence[Markup]]]
    criteria: Sequence[Criterion]


def report_view(report: ReportRow | None, card_brief: str, checks: tuple[CheckRow, ...]) -> ReportView | None:
    """Return the report; None before there is one."""
    if report is None:
        return None
    lists = (
        ("Changed", report.changed),
        ("To check", report.check),
        ("Open questions", report.open_questions),
    )
    return ReportView(
        markdown.render(report.done),
        [
            (title, fit_rows(markdown.render(item, MAX_ITEM) for item in items[:MAX_ITEMS]))
            for title, items in lists
            if items
        ],
        list_criteria(card_brief, (report,), checks),
    )
