"""Opens the draft pull request for the card's branch, once."""

from sqlalchemy import Connection

from bot.github.api import pulls
from bot.outbox.contract import Act, ActResult
from bot.outbox.targets import story_of
from bot.render.markdown.marker import text_digest
from bot.render.pull import body as pull_body
from bot.state import same_issue
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.pull import PullOpened
from ledger.queue.outbox import Entry
from ledger.views import cards
from rules.intents.outbound import OpenPull

# A run opens at most one pull request.
ACT = Act("pull:{card_id}:{run_id}", ordered=True)


def carry_out(context: OutboxContext, intent: OpenPull, entry: Entry) -> ActResult:
    """Open the pull request, or use the open one of the same branch."""
    with context.reading() as db:
        story = story_of(db, intent.run_id, context.config.public_url)
    repository, branch = story.run.repository, story.run.branch
    body = pull_body.write(story)
    pull_reading = pulls.find_open(context.hub, repository, branch) if entry.attempts > 1 else None
    title = pull_body.title_of(story.card)
    pull = pull_reading or pulls.open_draft(
        context.hub, repository, branch=branch, title=title, body=pull_body.part(body, entry.key)
    )

    if pull.title.startswith(pulls.UNREADY):
        body = pull_body.unready(body)
        pulls.edit(context.hub, repository, pull.number, body=pull_body.part(body, entry.key))

    def events(db: Connection) -> tuple[Event, ...]:
        card = cards.get(db, intent.card_id)
        if card is not None and card.pull_number == pull.number:
            return ()
        where = (repository, pull.number, pull.node_id, branch)
        opened = PullOpened(intent.card_id, *where, pull.head, pull.draft)
        return (opened, *same_issue.share_pull(db, opened))

    # An earlier attempt wrote the description as it was then.
    return ActResult(str(pull.number), "" if pull_reading else text_digest(body), events)
