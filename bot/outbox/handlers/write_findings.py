"""Writes the comment with an investigation's findings, later with the cards made of its follow-ups."""

from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.posting import publish_comment
from bot.outbox.targets import story_of, thread_of_run
from bot.render.run import findings as text
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.views import findings
from rules.intents.outbound import WriteFindings

# One comment per investigation.
ACT = Act("findings:{run_id}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: WriteFindings, entry: Entry) -> ActResult:
    with context.reading() as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        thread = thread_of_run(db, intent.run_id, context)
        made = findings.follow_ups_made(db, intent.run_id)
    if story.findings is None:
        raise GivenUpError(f"run {intent.run_id} left no findings")
    root = context.hub.page_url(story.run.repository)
    said = text.write(story, story.findings, made, root=root, here=thread.repository)
    return publish_comment(context, entry, thread, said, unticks=True)
