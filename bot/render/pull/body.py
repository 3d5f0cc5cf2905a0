"""The pull request's title and description: what it closes, the whole change, the evidence, what it cost."""

from bot.render.markdown.escape import cut, fit, tame
from bot.render.markdown.marker import BEGIN, mark
from bot.render.run import artifacts, evidence, reproduction
from bot.render.run import story as run_story
from bot.render.run.report import whole
from bot.render.run.story import Story
from ledger.ids import EntryKey
from ledger.views.cards import CardRow
from rules.text import usd

TITLE_LIMIT = 200  # GitHub refuses titles over 256 characters


def title_of(card: CardRow) -> str:
    """Return the card's title; it becomes a commit message, so it must not close other issues."""
    return cut(" ".join(tame(card.title).split()), TITLE_LIMIT) or f"Issue {card.number}"


def write(story: Story) -> str:
    """Return the description without its marker."""
    run = story.run
    issue = run_story.issue_of(story.card, story.card.pull_repository or run.repository)
    return fit(
        (
            f"Closes {issue}",
            *(whole(story) or ("_The report follows when the run is done._",)),
            evidence.shown(story),
            artifacts.pointer(story),
            reproduction.replays(story.played, story.site),
            f"Run {run.run_id}{f' · attempt {run.attempt}' if run.attempt > 1 else ''}"
            f" · {usd(story.card_usd)} for this card so far"
            f" · the conversation and the plan are on {issue}",
        )
    )


def part(body: str, key: EntryKey) -> str:
    """Return the description as Cardinal's part of what stands there: people may write around it."""
    return f"{BEGIN}\n{mark(body, key)}"


def unready(body: str) -> str:
    """Return the description of a pull request that cannot be a draft, while an agent works on it."""
    return f"**Not ready for review: an agent still works on this.** It says here when it is.\n\n{body}"
