"""Title and description of a pull request: its issue, the change, the evidence, the cost."""

import re
from dataclasses import replace

from bot.render.markdown.escape import APART, Alert, alert, cut, escape_mentions, fit_comment, line, quote
from bot.render.markdown.marker import BEGIN, mark
from bot.render.run import artifacts, evidence, reproduction
from bot.render.run import story as run_story
from bot.render.run.criteria import criteria_table, list_criteria
from bot.render.run.report import whole_report
from bot.render.run.story import Story
from ledger.ids import EntryKey
from ledger.rows.cards import CardRow
from ledger.states import RunState
from rules.runs.cost import cost_words
from runner.git.commits import trailers

_TRAILER = re.compile(r"\A(cardinal-[a-z-]{1,100}|co-authored-by|signed-off-by) ?:", re.IGNORECASE)
TITLE_LIMIT = 200  # GitHub refuses titles over 256 characters


def title_of(card: CardRow) -> str:
    """Return the card's title; it begins a commit message, so it closes no other issue and is no trailer."""
    title = _TRAILER.sub(r"\1" + APART + ":", " ".join(escape_mentions(card.title).split()))
    return cut(title, TITLE_LIMIT) or f"Issue {card.number}"


def write(story: Story) -> str:
    """Return the description without its marker."""
    run, unfinished = story.run, _describe_unfinished(story)
    if unfinished:  # what was checked before says nothing of this commit
        here = tuple(check for check in story.checks if check.head == story.card.pull_head)
        story = replace(story, checks=here)
    issue = run_story.issue_link(story.card, story.card.pull_repository or run.repository)
    return fit_comment(
        (
            f"Closes {issue}",
            unfinished,
            *(whole_report(story) or (() if run.ending else ("_The report follows when the run is done._",))),
            criteria_table(list_criteria(story.card.brief, story.reports, story.checks)),
            evidence.checks_or_waiver(story, names_commit=True),
            artifacts.pointer(story),
            reproduction.list_plays(story.reproductions, story.site),
            f"Run {run.run_id}{f' · attempt {run.attempt}' if run.attempt > 1 else ''}"
            f" · {cost_words(story.card_usd, run.payer)} for this card so far"
            f" · the conversation and the plan are on {issue}",
            # For a squash by hand, where the repository copies the description.
            trailers((run.run_id,), f"{story.card.repository}#{story.card.number}"),
        )
    )


def _describe_unfinished(story: Story) -> str:
    """Return the outlook of work that was published before it was done; empty for finished work."""
    run = story.run
    if not story.card.early_start:
        return ""
    waits = run.state in (RunState.PARKED, RunState.AWAITING_APPROVAL, RunState.ENDED)
    what = run_story.run_headline(story) if waits else f"🔨 Run {run.run_id} is working on it"
    if run.ending is None:
        then = (
            "This is its work so far. It is ready for review once the run is done and its checks have passed."
        )
    else:
        then = "Its published work stays here as a draft; `/cardinal retry` lets another run finish it."
    return alert(Alert.NOTE, f"**Not finished.** {what}. {then}")


def part(body: str, key: EntryKey) -> str:
    """Return the description as Cardinal's part of the whole: people may write around it."""
    return f"{BEGIN}\n{mark(body, key)}"


def unready(body: str) -> str:
    """Return the description of a pull request that cannot be a draft, while no run has finished it."""
    note = alert(Alert.NOTE, "**Not ready for review yet.** This line changes when it is.")
    return f"{note}\n\n{body}"


def thread_reply(text: str, *, run_id: str, head: str, by: str) -> str:
    """Return the reply to a review thread; `head` is the commit on the branch that holds the change."""
    commit = f" in {head[:12]}" if head else ""
    return fit_comment((quote(text, 6_000) or "Done.", f"_{line(by, 40)}, run {run_id}{commit}_"))
