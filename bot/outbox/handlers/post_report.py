"""Posts the final report of a run, or its failure with the last known state."""

from dataclasses import replace

from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import publish_comment
from bot.outbox.targets import story_of, thread_of_run
from bot.render.run import report
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.states import Ending
from rules.intents.outbound import PostReport, WriteRunComment

# A run has one report.
ACT = Act("report:{run_id}", ordered=True)


def carry_out(context: OutboxContext, intent: PostReport, entry: Entry) -> ActResult:
    with context.reading() as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        thread = thread_of_run(db, intent.run_id, context)
    posted = publish_comment(context, entry, thread, report.write(story))
    if story.run.ending is Ending.SUCCEEDED:
        return posted
    # The comment of a run without success says no more than where its report is.
    return replace(posted, shows=(WriteRunComment(intent.card_id, intent.run_id),))
