"""Who has a part in a merge, as the ledger and the commits of the pull request have it."""

import re
from collections.abc import Iterator

from bot.github.api import pulls
from bot.github.api.pulls import PullCommit
from bot.outbox.targets import Talk
from bot.render.mention import requester_of
from bot.render.pull.merge_message import MergeCredits
from bot.state.outbox_context import OutboxContext
from ledger.rows.cards import CardRow
from ledger.views import plans, runs, verdicts
from rules.policy.roles import LOGIN
from runner.git.commits import named_runs

MAX_RUNS = 200  # of a card, newest first
_BY_POLICY = "policy"  # in place of a person who approves a plan
_CO_AUTHOR = re.compile(r"(?im)^co-authored-by[ \t]*:([^\n<>]*)<([^\n<>]*)>[ \t\r]*$")


def credits_of(context: OutboxContext, card: CardRow, pull: Talk, head: str) -> MergeCredits:
    """Return the credits of a merge at `head`.

    A run counts where a commit of Cardinal's own names it, and where it pushed `head`: a trailer alone proves
    nothing. An agent names no co-authors either.
    """
    commits = pulls.commits(context.hub, pull.repository, pull.number)
    named = {run_id for commit in commits if commit.is_own for run_id in named_runs(commit.message)[-1:]}
    with context.reading() as db:
        made = [
            run
            for run in reversed(runs.of_card(db, card.card_id, limit=MAX_RUNS))
            if run.run_id in named or run.pushed_head == head
        ]
        newest = [plans.newest(db, run.run_id) for run in made]
        approvers = verdicts.approvers(db, card.card_id, head)
    decided = [plan.by for plan in newest if plan is not None and plan.state == "approved"]
    return MergeCredits(
        runs=tuple(run.run_id for run in made),
        requesters=tuple(filter(None, map(requester_of, made))),
        plan_approvers=tuple(by for by in decided if by != _BY_POLICY and LOGIN.fullmatch(by)),
        approvers=approvers,
        authors=tuple(_authors(commits)),
    )


def _authors(commits: tuple[PullCommit, ...]) -> Iterator[tuple[str, str]]:
    """Yield who wrote people's commits, and whom they name as their co-authors."""
    for commit in commits:
        if not commit.is_own:
            yield commit.name, commit.email
            yield from ((name, address.strip()) for name, address in _CO_AUTHOR.findall(commit.message))
