"""Updates Cardinal's part of the pull request's description: the whole change and its evidence."""

from bot.github.api import pulls
from bot.outbox.contract import Act, ActResult
from bot.outbox.handlers.open_pull import ACT as OPENED
from bot.outbox.posting import last_of
from bot.outbox.targets import pull_of, read_row, story_of
from bot.render.markdown.marker import put_part, text_digest
from bot.render.pull import body as pull_body
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.states import Ending
from ledger.views import checks
from rules.intents.outbound import OpenPull, UpdatePull

# One description per card.
ACT = Act("pull-body:{card_id}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: UpdatePull, entry: Entry) -> ActResult:
    """Write Cardinal's part if it differs from the last written one, be it with the opening; people's text
    around it stays.

    Without a pull request, or if people removed that part, do nothing.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        pull = pull_of(card)
        if pull is None or card.run_id is None or not card.has_open_pull:
            return ActResult()
        story = story_of(db, card.run_id, context.config.public_url)
        gate = checks.standing(db, intent.card_id, card.pull_head)
    if story.run.is_adopted:
        return ActResult()  # the description says more than the ledger knows
    body, changes = pull_body.write(story), dict[str, str]()
    last = last_of(context, entry.key) or last_of(context, OPENED.key(OpenPull(card.card_id, card.run_id)))
    if last is not None and (last.remote_id, last.digest) == (str(pull.number), text_digest(body)):
        return ActResult(last.remote_id, last.digest)  # written for a title that tells nothing
    # Without drafts the title tells that a pull request is not ready.
    pull_reading = None if card.pull_draft else pulls.read(context.hub, pull.repository, pull.number)
    if pull_reading is not None and pull_reading.title.startswith(pulls.UNREADY):
        finished = story.run.ending is Ending.SUCCEEDED and not card.early_start
        if finished and gate.lets_through and pull_reading.head == card.pull_head:
            changes["title"] = pull_reading.title.removeprefix(pulls.UNREADY)
        else:
            body = pull_body.unready(body)
    act_result = ActResult(str(pull.number), text_digest(body))
    if last is None or (last.remote_id, last.digest) != (act_result.remote_id, act_result.digest):
        pull_reading = pull_reading or pulls.read(context.hub, pull.repository, pull.number)
        part = pull_body.part(body, entry.key)
        written = put_part(pull_reading.body, part)
        if written is None and last is None:  # a person opened it
            written = f"{pull_reading.body}\n\n{part}".lstrip()
        changes |= {} if written is None else {"body": written}
    if changes:
        pulls.edit(context.hub, pull.repository, pull.number, **changes)
    return act_result
