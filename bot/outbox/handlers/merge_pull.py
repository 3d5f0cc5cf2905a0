"""Merges the pull request, guarded by its head, at once or as soon as GitHub allows it."""

import re
from collections.abc import Iterator
from dataclasses import replace

from sqlalchemy import Connection

from bot.github.api import checks as checks_api
from bot.github.api import merge_queue, pulls, repositories, rulesets
from bot.github.api.checks import Light
from bot.github.api.pulls import PullCommit
from bot.github.client import Hub
from bot.github.errors import ConflictError, RefusedError
from bot.outbox import gate_check
from bot.outbox.contract import Act, ActResult, BehindError, DeclinedError, GivenUpError
from bot.outbox.handlers.write_check import ACT as CHECK
from bot.outbox.targets import CommentThread, pull_of, read_row
from bot.render.markdown.escape import code
from bot.render.mention import requester_of
from bot.render.pull import merge_message
from bot.render.pull.gate_check import OWN_CHECKS
from bot.render.pull.merge_message import MergeCredits
from bot.state import snapshots
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.pull import MergeAwaited, MergeOutdated, PullChanged
from ledger.queries import siblings
from ledger.queue import outbox
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.states import PullState
from ledger.views import cards, checks, plans, runs, verdicts
from rules.card.column_actions import has_action
from rules.card.move_rights import is_dragged
from rules.intents.outbound import MergePull, WriteCheck
from rules.policy.roles import LOGIN
from rules.runs.branch_rules import SIGN, BranchRule, environments, of_merge
from rules.runs.gate import unmergeable
from runner.git.commits import find_run_trailers

# One attempt to merge one head; coalesced, because a refused merge is requested again when the card
# comes back.
ACT_S = 10
ACT = Act("merge:{card_id}:{head}:{about}", ordered=True, coalesce=True)

_MAX_RUNS = 200  # of a card, newest first
_BY_POLICY = "policy"  # in place of a person who approves a plan
_CO_AUTHOR = re.compile(r"(?im)^co-authored-by[ \t]*:([^\n<>]*)<([^\n<>]*)>[ \t\r]*$")


def carry_out(context: OutboxContext, intent: MergePull, _entry: Entry) -> ActResult:
    """Merge, or let GitHub do so once it can; raises GivenUpError with advice for a person."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        snapshot, gate = (
            snapshots.of_card(db, intent.card_id),
            checks.standing(db, intent.card_id, intent.head),
        )
    policy = context.policy(card.board_id)
    column = policy.column(card.column)
    away = card.archived or column is None or not has_action(column.entry_actions, "merge")
    taken = away and (not card.mover or (snapshot is not None and is_dragged(policy, snapshot)))
    if card.pull_state is PullState.MERGED or card.given_up or taken:
        return ActResult()  # done, if an answer was lost or a person was quicker; or the card was taken back
    pull = pull_of(card)
    if pull is None:
        raise DeclinedError("there is no pull request to merge")
    if snapshot is None or snapshot.open_pull is None:
        raise DeclinedError(f"#{pull.number} is not open any more")
    # Checked again for the commit that the rules saw: its state may have changed since.
    because = unmergeable(snapshot, replace(snapshot.open_pull, head=intent.head, gate=gate), intent.requires)
    if because:
        raise GivenUpError(f"#{pull.number} could not be merged: {because}, then /cardinal retry")
    with context.reading() as db:
        unwritten = outbox.get(db, CHECK.key(WriteCheck(intent.card_id, intent.head)))
    if unwritten is not None:  # GitHub may require it, and still see the one that the last check began
        raise BehindError(context.clock(), unwritten, "the gate's result is written on the commit first")
    gate_check.demand_same(context, card, intent.head)
    if intent.fresh and (behind := _behind(context, intent, card, pull)):
        return behind
    commit, how, awaits = _attempt(context, card, pull, intent)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.pull_number != pull.number or not fresh.has_open_pull:
            return ()
        if how:
            return (MergeAwaited(intent.card_id, pull.number, how, intent.head, awaits),)
        return (PullChanged(intent.card_id, pull.number, PullState.MERGED, False, intent.head),)

    return ActResult(commit, intent.head, events)


def _attempt(
    context: OutboxContext, card: CardRow, pull: CommentThread, intent: MergePull
) -> tuple[str, str, str]:
    """Return as `_merge` does; raises GivenUpError with advice for a person."""
    message = {}  # a rebase makes no commit of its own
    if intent.method != "rebase":
        credit = _credits_of(context, card, pull, intent.head)
        message = merge_message.write(card, pull.number, intent.method, credit)
    try:
        return _merge(context.hub, card, pull, intent, message)
    except ConflictError as error:
        because = f"#{pull.number} changed in the meantime: look at it again, then drag the card here again"
        raise DeclinedError(because) from error
    except RefusedError as error:
        refused = error.because.rstrip(". ")
        because = (
            f"GitHub does not merge #{pull.number} ({refused}): mend that, then drag the card here again"
        )
        raise GivenUpError(because) from error


def _behind(
    context: OutboxContext, intent: MergePull, card: CardRow, pull: CommentThread
) -> ActResult | None:
    """Return the result for a commit that was not checked on top of the base as it stands; else None.

    GitHub's merge queue checks that itself, so a branch that has one is left to it, be it by a ruleset or by
    the branch's older protection, of which the rules of a branch say nothing.
    """
    base = repositories.base(context.hub, pull.repository).commit
    with context.reading() as db:
        rebased, checked = (
            base and siblings.is_checked_on(db, intent.card_id, intent.head, base, rebased=only)
            for only in (True, False)
        )
    if rebased or (checked and repositories.is_on(context.hub, pull.repository, base, intent.head)):
        return None
    if merge_queue.read(context.hub, card.pull_node_id).has_queue:
        return None
    outdated = MergeOutdated(intent.card_id, pull.number, intent.head, base)
    return ActResult("", intent.head, lambda _db: (outdated,))


def _merge(
    hub: Hub, card: CardRow, pull: CommentThread, intent: MergePull, words: dict[str, str]
) -> tuple[str, str, str]:
    """Return the commit, or GitHub's way to merge by itself later and the deployment that it awaits, if any.

    Raises the refusal without either.
    """
    method, head, repository = intent.method, intent.head, pull.repository
    base = repositories.default_branch(hub, repository, for_s=ACT_S)  # read a moment ago for its checks
    rules = rulesets.of_branch(hub, repository, base)
    # Signatures are GitHub's to judge: it alone knows the keys.
    objections = of_merge(rules, base, method, "\n\n".join(words.values()), signed=True)
    against = rulesets.binding(
        hub, repository, tuple(objection for objection in objections if objection.refuses)
    )
    if against:
        raise RefusedError("merge", 405, "; ".join(objection.text for objection in against))
    refused, awaits = _unmet(hub, repository, base, rules, head), ""
    if not refused:
        try:
            return pulls.merge(hub, repository, pull.number, method=method, head=head, words=words), "", ""
        except RefusedError as error:
            refused, awaits = _explain(error.because, rules)
    how = merge_queue.wait(
        hub,
        repository,
        card.pull_node_id,
        method=method,
        head=head,
        words=words,
        refused=refused,
        deploys=bool(awaits),
    )
    if not how:
        raise RefusedError("merge", 405, refused)
    return "", how, awaits


def _explain(refused: str, rules: tuple[BranchRule, ...]) -> tuple[str, str]:
    """Return GitHub's refusal with the next step, and the deployment that is awaited, if it is one."""
    said = refused.rstrip(". ")
    if "signatures" in said.lower():
        return f"{said}: {SIGN}", ""
    names = ", ".join(code(name, 80) for name in environments(rules))
    if not names or "deploy" not in said.lower():
        return refused, ""
    return f"{said}: it is waiting until its commit is deployed to {names}", f"its deployment to {names}"


def _unmet(hub: Hub, repository: str, base: str, rules: tuple[BranchRule, ...], head: str) -> str:
    """Return the required check that is not green, in GitHub's words; empty when all are.

    GitHub checks this too, unless the App may bypass the rules.
    """
    required = checks_api.list_required(hub, repository, base, rules) - OWN_CHECKS  # the ledger has more
    known = (
        {check.name: check.light for check in checks_api.of_commit(hub, repository, head)} if required else {}
    )
    lights = {name: known.get(name, Light.PENDING) for name in sorted(required)}
    unmet = next((name for name, light in lights.items() if light not in (Light.GREEN, Light.PENDING)), "")
    if unmet:
        return f"required check {code(unmet, 80)} is failing"
    pending = next((name for name, light in lights.items() if light is Light.PENDING), "")
    return f"required check {code(pending, 80)} is pending" if pending else ""


def _credits_of(context: OutboxContext, card: CardRow, pull: CommentThread, head: str) -> MergeCredits:
    """Return the credits of a merge at `head`.

    A run counts where a commit of Cardinal's own names it, and where it pushed `head`: a trailer alone proves
    nothing. An agent names no co-authors either.
    """
    commits = pulls.commits(context.hub, pull.repository, pull.number)
    named = {
        run_id for commit in commits if commit.is_own for run_id in find_run_trailers(commit.message)[-1:]
    }
    with context.reading() as db:
        new_runs = [
            run
            for run in reversed(runs.of_card(db, card.card_id, limit=_MAX_RUNS))
            if run.run_id in named or run.pushed_head == head
        ]
        newest = [plans.newest(db, run.run_id) for run in new_runs]
        approvers = verdicts.approvers(db, card.card_id, head)
    decided = [plan.by for plan in newest if plan is not None and plan.state == "approved"]
    return MergeCredits(
        runs=tuple(run.run_id for run in new_runs),
        requesters=tuple(filter(None, map(requester_of, new_runs))),
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
