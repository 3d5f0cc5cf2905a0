"""How a story ended, as people and the ledger have it: what no fault may change."""

import re
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from bot.render.pull.gate_check import NAME as GATE
from forge.store.board import Item
from forge.store.models import Comment, Repo, ReviewComment
from ledger.events.board import CardMoved, DecisionFailed
from ledger.events.conversation import AssistantMetered
from ledger.events.publication import EntryGivenUp
from ledger.events.run import UsageMetered
from ledger.ids import CardId
from ledger.lifecycle.rebuild import rebuild
from ledger.log import event_store, hash_chain
from ledger.rows.runs import RunRow
from ledger.states import RunKind
from ledger.views import runs
from rules.handlers.merge_queue import BY_MERGE
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.ledger.lifecycle.test_rebuild import contents

MARKER = re.compile(r"<!-- cardinal:(\S+):[0-9a-f]{64} -->")
# Commits, ids, times and what is counted from them differ between two plays of the same story.
CHANGING = re.compile(
    r"\b\d{10,}\b|\bPVTI_\w+|127\.0\.0\.1:\d+"
    r"|\b[0-9a-f]{40}\b|\b[0-9a-f]{7,12}\b|\b[0-9a-f]{64}\b|\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00| UTC)?"
    r"|\b\d\d:\d\d(:\d\d)?\b( UTC)?|(less than |under )?(a|\b[\d.]+) ?(ms|s|min|minutes?|hours?|h|seconds?)\b"
)
PAID = re.compile(r"Cost \$: [\d.]+|([\d.]+k? · )?\$[\d.]+|'(usd|turns)': '[\d.]+'")
RUN = (
    *("run_id", "attempt", "kind", "column", "branch", "by", "state", "ending", "reason", "usd", "turns"),
    *("plan_revision", "plan_approved", "questions", "commits", "cause"),  # not how often checks were run
)


@dataclass(frozen=True, slots=True)
class Ending:
    """Everything that must be as in the quiet play."""

    cards: tuple[str, ...]
    issues: tuple[str, ...]
    pulls: dict[str, str]
    markers: dict[str, int]
    texts: tuple[str, ...]
    branches: tuple[str, ...]
    checks: dict[str, int]  # successes of gates count on the newest commits alone
    status_updates: int
    runs: tuple[str, ...]
    moves: tuple[str, ...]
    usd: str
    chain_is_whole: bool
    views_differ_from_replay: tuple[str, ...]
    given_up: tuple[str, ...]
    rules_failed: tuple[str, ...]

    def differences(self, other: "Ending", losses: int = 0) -> dict[str, tuple[Any, Any]]:
        """Return what is otherwise in `other`, by the name of the field.

        Each of its `losses` of unsaved work may cost the whole once more, and what shows money is left out.
        """
        if losses:
            within = float(self.usd) <= float(other.usd) <= (1 + losses) * float(self.usd)
            paid = {} if within else {"usd": (self.usd, other.usd)}
            return self._unpaid().differences(other._unpaid()) | paid
        pairs = ((one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return {name: _narrowed(mine, its) for name, mine, its in pairs if mine != its}

    def _unpaid(self) -> "Ending":
        cards, texts, rows = (
            tuple(PAID.sub("$", it) for it in its) for its in (self.cards, self.texts, self.runs)
        )
        return replace(self, cards=cards, texts=texts, runs=rows, usd="")


def _narrowed(mine: Any, its: Any) -> tuple[Any, Any]:
    """Return only what the other side has not, of what has many parts."""
    if isinstance(mine, tuple):
        return tuple(it for it in mine if it not in its), tuple(it for it in its if it not in mine)
    if isinstance(mine, dict):
        return dict(mine.items() - its.items()), dict(its.items() - mine.items())
    return mine, its


def look(cardinal: Cardinal, *, with_activity: bool) -> Ending:
    """Return how the story ended. The views are folded again on the way.

    Without activity only what is not folded away of a text counts: a claimed run may be claimed again.
    """
    with event_store.reading(cardinal.services.engine) as db:
        whole = hash_chain.verify_chain(db).events == event_store.last_seq(db)
        before = contents(db)
        known = [row for item in list_items(cardinal) for row in runs.of_card(db, CardId(item.node_id))]
    rebuild(cardinal.services.engine)
    with event_store.reading(cardinal.services.engine) as db:
        after = contents(db)
    said = _said(cardinal)
    shown = said if with_activity else [(key, text.partition("<details>")[0]) for key, text in said]
    items = [item for item in list_items(cardinal) if hasattr(item.content, "number")]
    store, repos = cardinal.forge.store, list_repos(cardinal)
    pulls = [pull for repo in repos for pull in store.pulls.all(repo)]
    heads = {pull.head_sha for pull in pulls}
    checks = [
        check
        for repo in repos
        for check in store.checks.all(repo)
        if check.head_sha in heads or (check.name, check.conclusion) != (GATE, "success")
    ]
    metered = [event.usd for event in cardinal.events(UsageMetered)]
    metered += [event.usd for event in cardinal.events(AssistantMetered)]
    return Ending(
        cards=tuple(sorted(_card(cardinal, item) for item in items)),
        issues=tuple(sorted(f"{it.title} ({it.state})" for repo in repos for it in repo.issues.values())),
        pulls={
            pull.head_ref: f"{pull.issue.state} merged={pull.merged_at is not None} draft={pull.draft}"
            for pull in pulls
        },
        markers=dict(sorted(Counter(key for key, _ in said).items())),
        texts=tuple(sorted(_plain(text) for _, text in shown)),
        checks=dict(Counter(f"{it.name}: {it.conclusion}" for it in checks)),
        status_updates=sum(len(board.status_updates) for board in store.projects.all()),
        branches=tuple(sorted(ref for repo in repos for ref in store.repos.git(repo).refs())),
        runs=tuple(dict.fromkeys(map(_run, known))),
        moves=tuple(_move(event) for event in cardinal.events(CardMoved) if event.before),
        usd=f"{sum(metered):.2f}",
        chain_is_whole=whole,
        views_differ_from_replay=tuple(name for name in before if before[name] != after.get(name)),
        given_up=tuple(event.key for event in cardinal.events(EntryGivenUp)),
        rules_failed=tuple(str(event) for event in cardinal.events(DecisionFailed)),
    )


def _said(cardinal: Cardinal) -> list[tuple[str, str]]:
    """Return the keys, as far as they are the same in each play, and the texts of all comments of the bot."""
    return [(_plain(key), body) for key, body in list_comments(cardinal)]


def list_comments(cardinal: Cardinal) -> list[tuple[str, str]]:
    """Return the keys and texts of all comments of the bot, on issues, pull requests and in their threads."""
    pulls = [pull for repo in list_repos(cardinal) for pull in cardinal.forge.store.pulls.all(repo)]
    issues = [issue_of(item) for item in list_items(cardinal) if hasattr(item.content, "number")]
    of_pulls = [pull.issue for pull in pulls if pull.issue not in issues]
    comments: list[Comment | ReviewComment] = [it for issue in (*issues, *of_pulls) for it in issue.comments]
    comments += [it for pull in pulls for thread in pull.threads for it in thread.comments]
    bodies = [comment.body for comment in comments if comment.author is cardinal.bot]
    return [(key, body) for body in bodies for key in MARKER.findall(body)]


def list_items(cardinal: Cardinal) -> list[Item]:
    """Return the cards of all boards."""
    return [item for board in cardinal.forge.store.projects.all() for item in board.items]


def list_repos(cardinal: Cardinal) -> list[Repo]:
    """Return the shop, and each repository that has a card."""
    of_cards = [issue_of(item).repo for item in list_items(cardinal) if hasattr(item.content, "number")]
    return list(dict.fromkeys((cardinal.repo, *of_cards)))


def _card(cardinal: Cardinal, item: Item) -> str:
    """Return title, state, column and face of a card."""
    face = "; ".join(f"{name}: {_plain(text)}" for name, text in sorted(cardinal.face(item).items()))
    return f"{issue_of(item).title} ({issue_of(item).state}) in {cardinal.column(item)}: {face}"


def _run(row: RunRow) -> str:
    """Return what counts of a run. How often a branch is rebased depends on whose drag is heard of first."""
    names = RUN if (row.kind, row.by) != (RunKind.CHECK, BY_MERGE) else RUN[1:]
    return str({name: str(value) for name, value in asdict(row).items() if name in names})


def _move(event: CardMoved) -> str:
    """Return a move between columns, and who is said to have made it."""
    return f"{event.before} to {event.after} by {event.by}{' through Cardinal' * event.by_cardinal}"


def _plain(text: str) -> str:
    return CHANGING.sub("…", text)
