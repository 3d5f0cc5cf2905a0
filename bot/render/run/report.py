"""Final report of a run: the work and points to check, or the ending and the next step."""

from collections.abc import Sequence
from dataclasses import replace

from bot.render import missing_checks
from bot.render.markdown.checkboxes import box
from bot.render.markdown.escape import Alert, alert, code, fit_comment, line, quote
from bot.render.run import artifacts, evidence, reproduction
from bot.render.run import story as run_story
from bot.render.run.story import Story
from ledger.rows.threads import ThreadRow
from ledger.states import Ending
from ledger.views.reports import ReportRow
from rules.text import count

MAX_ITEMS = 30


def write(story: Story) -> str:
    """Return the comment that ends a run."""
    match story.run.ending:
        case Ending.SUCCEEDED:
            return _success(story)
        case Ending.CANCELLED:
            return _receipt(story)
        case _:
            return _failure(story)


def agent_report(story: Story) -> tuple[str, ...]:
    """Return the agent's own report as paragraphs, quoted; empty where it gave none."""
    report = story.report
    if report is None:
        return ()
    return (*_work(report), *_next(report))


def whole_report(story: Story) -> tuple[str, ...]:
    """Return the first run's report, a line for each revision, the points to check of them all, and the
    newest one's open questions.
    """
    reports = story.reports
    if not reports:
        return ()
    rows = [f"Run {report.run_id}: {line(report.done, 600)}" for report in reports[1:]]
    check = tuple(dict.fromkeys(point for report in reports for point in report.check))
    newest = replace(reports[-1], check=check)
    return (*_work(reports[0]), _format_list("Revisions", rows), *_next(newest))


def _headline(story: Story, more: str = "") -> str:
    link = run_story.watch_link(story.site, story.run)
    return f"### {run_story.run_headline(story)}{more}{link}"


def _work(report: ReportRow) -> tuple[str, ...]:
    return (quote(report.done, 6_000), _items("What changed", report.changed))


def _next(report: ReportRow) -> tuple[str, ...]:
    return (_items("What to check", report.check), _items("Open questions", report.open_questions))


def _items(title: str, items: tuple[str, ...]) -> str:
    return _format_list(title, [line(item, 400) for item in items])


def _format_list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    more = [f"… and {len(items) - MAX_ITEMS} more"] if len(items) > MAX_ITEMS else []
    return "\n".join([f"**{title}**", "", *(f"- {item}" for item in (*items[:MAX_ITEMS], *more))])


def _remarks(story: Story) -> str:
    """Return the open remarks of reviewers; empty without any."""
    rows = [
        f"{code(f'{thread.path}:{thread.line}' if thread.line else thread.path)},"
        f" by {line(thread.author, 40)}, {_standing(thread)}"
        for thread in story.threads
    ]
    asking = [
        f"{line(reviewer, 40)} requested changes and has not reviewed again" for reviewer in story.asking
    ]
    return _format_list("Still open in the review", [*rows, *asking])


def _standing(thread: ThreadRow) -> str:
    """Return a remark that is still open, with the reply of the agent if there is one."""
    remark = line(thread.text, 200)
    if not thread.answer:
        return f"has no answer: {remark}"
    return f"is not addressed: {remark} (the agent replied: {line(thread.answer, 200)})"


def _success(story: Story) -> str:
    card, run = story.card, story.run
    pull = run_story.pull_of(card) if card.pull_number is not None else ""
    size = f"{count(run.files_changed, 'file')}, {count(run.lines_changed, 'line')} changed"
    commits = count(run.commits, "commit") if run.commits else ""
    facts = (size if run.head else "", commits, run_story.describe_spent(story))
    ask = f"Next: review {pull}. To have something changed, request changes there and drag the card back."
    still = f"{count(len(story.threads), 'review comment')} still open on {pull}"
    ready = f": {still if story.threads else f'{pull} is ready for your review'}" if pull else ""
    return fit_comment(
        (
            _headline(story, ready),
            *agent_report(story),
            evidence.checks_or_waiver(story),
            reproduction.list_plays(story.reproductions, story.site),
            " · ".join(filter(None, facts)),
            _remarks(story),
            _next_beside(story) if run.again_of else ask if pull else "",
        ),
        (artifacts.list_artifacts(story),),
    )


def _failure(story: Story) -> str:
    run = story.run
    return fit_comment(
        (
            _headline(story),
            alert(Alert.CAUTION, run.detail, 3_000),
            _last_known(story) or "It had reported nothing before.",
            run_story.stop_account(story),
            evidence.checks_table(story.checks),
            reproduction.list_plays(story.reproductions, story.site),
            _next_step(story),
            _retry_box(story),
        ),
        (
            evidence.failing(story.checks),
            *agent_report(story),
            _remarks(story),
            artifacts.list_artifacts(story),
        ),
    )


def _next_beside(story: Story) -> str:
    """Return the next step after a run that did another one again, with a branch of its own."""
    run = story.run
    if run.folder:
        bring = f"`/cardinal folder {run.run_id}` switches to its files"
        return f"Next: compare its files with those of {run.again_of}. The card stays as it is; {bring}."
    what = f"branch {code(run.branch)} with the work of" if run.pushed_head else "it with"
    until = f", until `/cardinal choose {run.run_id}`" if run.pushed_head else ""
    return f"Next: compare {what} {run.again_of}. The card and its pull request stay as they are{until}."


def _retry_box(story: Story) -> str:
    """Return the box for another attempt at the card, or the drag that it takes; none below a run that is no
    attempt.
    """
    if story.run.again_of:
        return ""
    if not story.restarts:
        return "To try again, drag the card to a column in which agents work."
    return box("retry", "Try again (or reply `/cardinal retry`)")


def _next_step(story: Story) -> str:
    if story.run.again_of:
        again = f"`/cardinal {'fork' if story.run.forked_at else 'rerun'} {story.run.again_of}`"
        return f"Next: look at the reason above. {again} does it once more."
    if story.run.reason == "provider":
        return (
            "Next: nothing is wrong with the work. Try again once the provider responds: the same session"
            " continues where it can. If a key or a model was refused, Cardinal's operator has to fix that:"
            " `cardinal doctor`."
        )
    if story.run.reason == "no_validation":
        return missing_checks.next_steps()
    return "Next: look at the reason above, reply with what the agent should know, then try again."


def _receipt(story: Story) -> str:
    run = story.run
    if run.reason == "superseded":
        end = "gave way" if run.begun else "was not started"
        return f"{run.run_id} {end}: {line(run.detail, 300)}."
    by = f" by {line(run.stop_by, 60)}" if run.stop_by else ""
    return fit_comment(
        (
            _headline(story, by),
            run_story.stop_account(story),
            quote(run.stop_why, 1_000),
            "" if run.stop_why else alert(Alert.CAUTION, run.detail, 3_000),
            _last_known(story),
            _retry_box(story),
        )
    )


def _last_known(story: Story) -> str:
    state, colon, said = story.run.last_known.partition(":")
    known = line(state.replace("_", " ") + colon + said, 400).rstrip(".")
    return f"Last known state: {known}." if state else ""
