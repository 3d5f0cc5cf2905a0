"""A restored ledger adopts Cardinal's traces on GitHub since its back-up: pull requests, comments, checks.

Runs that it had lost become runs that have ended: their numbers are not given again, nothing is worked on
twice, and nothing is said twice. Each repository is listed once, by changes since the back-up.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api.project_pages import survey
from bot.github.api.pulls import BranchPull, PullCommit, commits, list_changed_since
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, StatusMissingError
from bot.outbox import gate_check, handlers
from bot.outbox.posting import own_marker
from bot.reactor import reactor
from bot.reactor.run_requests import branch_name
from bot.render.markdown.marker import markers_in
from bot.state import policies
from bot.sync import access, board
from bot.sync import card as card_sync
from ledger.event import Event
from ledger.events.publication import EntryPublished
from ledger.events.pull import PullChanged, PullOpened
from ledger.events.run import RESTORED, RunEnded, RunQueued, ValidationEnded
from ledger.ids import CardId, EntryKey, RunId
from ledger.log import event_store
from ledger.model.run_modes import FIX, INVESTIGATE
from ledger.queries import attempts
from ledger.queue import leases, outbox, restored
from ledger.rows.cards import CardRow
from ledger.states import BY_ITSELF, Door, Ending, RunKind, RunState
from ledger.views import cards, remotes, runs
from rules.policy.model import Policy
from runner.git.commits import find_run_trailers

log = logging.getLogger(__name__)

OVERLAP = timedelta(minutes=10)  # two clocks may differ by as much
MAX_PAGES = 100  # of a hundred comments, or pull requests, of one repository, the newest first
MAX_SURVEYS = 500  # pages of one board: GitHub's own limit is 50,000 cards
LEASE, LEASE_S = "adoption", 900
# Keys of entries that name a run: `report:r7`, `question:r7-q1`, `card:r7:2`.
_OF_RUN = re.compile(r"(?P<act>[a-z-]+):(?P<run>r(?P<number>[1-9][0-9]{0,17}))(?=[-:]|\Z)")
_ENDED = ("report", "findings")  # what is posted of a run at its end only


@dataclass(frozen=True, slots=True)
class Trace:
    """A comment of Cardinal's own: its entry's key, GitHub's id, its digest, and the issue's number."""

    key: EntryKey
    remote_id: str
    digest: str
    number: int


@dataclass(frozen=True, slots=True)
class RepositoryTraces:
    """Cardinal's traces in a repository since the back-up."""

    hub: Hub
    name: str
    comments: tuple[Trace, ...]
    pulls: tuple[BranchPull, ...]


@dataclass(slots=True)
class CardTraces:
    """Cardinal's traces of one card. `runs` has the acts that were posted of each run."""

    repository: RepositoryTraces
    comments: list[Trace] = field(default_factory=list)
    pulls: list[BranchPull] = field(default_factory=list)
    runs: dict[RunId, set[str]] = field(default_factory=dict)


def adopt(services: Services) -> bool:
    """Adopt the traces on GitHub, where the ledger was restored; return whether the ledger may act.

    Raises a GithubError: then it is tried again with the next sweep, and nothing is done until then. A board
    that the App cannot reach is left out.
    """
    with event_store.reading(services.engine) as db:
        if not restored.is_restored(db):
            return True
    with event_store.writing(services.engine) as db:
        lease = leases.take(db, LEASE, services.name, ttl_s=LEASE_S)
    if lease is None:
        return False  # another process is at it
    try:
        _adopt_all(services)
    finally:
        with event_store.writing(services.engine) as db:
            leases.release(db, lease)
    return True


def _adopt_all(services: Services) -> None:
    with event_store.reading(services.engine) as db:
        since = _newest_event(db) - OVERLAP
    issues: dict[str, list[CardId]] = {}
    hubs: dict[str, Hub] = {}
    for each in services.on_every_board():
        if access.check_access(each, thoroughly=False):
            for card_id, issue in _cards_on_board(each):
                issues.setdefault(issue.casefold(), []).append(card_id)
                hubs.setdefault(issue.rpartition("#")[0], each.hub)
            with event_store.reading(services.engine) as db:
                for name in attempts.repositories(db, board.serve_board(each)):
                    hubs.setdefault(name, each.hub)
    traces = {name.casefold(): (hub, name) for name, hub in hubs.items()}
    read = tuple(filter(None, (_read(hub, name, since) for hub, name in traces.values())))
    for card_id, of_card in _by_card(services, read, issues).items():
        card_sync.sync_card(services, card_id)  # where it stands comes before the runs that worked there
        _adopt_card(services, card_id, of_card)
    with event_store.writing(services.engine) as db:
        keys = [(trace.key for trace in repository_traces.comments) for repository_traces in read]
        restored.note_run_number(db, max((_number(key) for some in keys for key in some), default=0))
        outbox.doubt_entries(db)
        restored.end_adoption(db)
        reactor.advance(db, now=services.now())
    log.info("adopted repositories=%s cards=%s since=%s", len(read), len(issues), since)


def _newest_event(db: Connection) -> datetime:
    last = event_store.last_seq(db)
    newest = event_store.read(db, after=last - 1, limit=1) if last else ()
    return newest[-1].at if newest else datetime.now(UTC)


def _cards_on_board(services: Services) -> Iterator[tuple[CardId, str]]:
    """Yield the cards that stand on the board, each with its issue as owner/repository#number.

    None of a board whose field Status is gone: its cards cannot be read until it is back.
    """
    start: str | None = None
    for _ in range(MAX_SURVEYS):
        try:
            reading = survey(
                services.hub, services.board.address, services.board.home_repository, (), (start,)
            )
        except StatusMissingError as error:
            log.warning("not read board=%s reason=%s", services.board, error)
            return
        page = reading.pages[0]
        yield from ((stub.card_id, stub.issue) for stub in page.stubs if stub.issue)
        if not page.more:
            return
        start = page.places[-1][1]


def _read(hub: Hub, name: str, since: datetime) -> RepositoryTraces | None:
    """Return Cardinal's traces in the repository since then; None where the App cannot see it."""
    params = {"since": since.strftime("%Y-%m-%dT%H:%M:%SZ"), "sort": "created", "direction": "desc"}
    comments = []
    try:
        for item in hub.pages(f"{repository_path(name)}/issues/comments", params=params, most=MAX_PAGES):
            if (marker := own_marker(hub, item)) is not None:
                number = int(str(item["issue_url"]).rpartition("/")[2])
                comments.append(Trace(marker.key, str(item["id"]), marker.digest, number))
        changed = tuple(list_changed_since(hub, name, since, MAX_PAGES))
    except NotFoundError as error:
        log.warning("not adopted repository=%s reason=%s", name, error)
        return None
    return RepositoryTraces(hub, name, tuple(reversed(comments)), changed)


def _by_card(
    services: Services, read: Iterable[RepositoryTraces], issues: Mapping[str, list[CardId]]
) -> dict[CardId, CardTraces]:
    """Return the traces by card. A comment that names a run is its card's, else that of its issue's card."""
    known: dict[CardId, CardTraces] = {}
    with event_store.reading(services.engine) as db:
        for repository in read:
            own: dict[int, CardId] = {}
            for pull in repository.pulls:
                card_id = _card_of_pull(db, repository, pull, issues)
                if card_id is not None:
                    own[pull.pull.number] = card_id
                    known.setdefault(card_id, CardTraces(repository)).pulls.append(pull)
            for trace in repository.comments:
                card_id = _card_of_trace(db, repository, trace, own, issues)
                if card_id is not None:
                    of_card = known.setdefault(card_id, CardTraces(repository))
                    of_card.comments.append(trace)
                    if named := _OF_RUN.match(trace.key):
                        of_card.runs.setdefault(RunId(named["run"]), set()).add(named["act"])
    return known


def _card_of_pull(
    db: Connection,
    repository: RepositoryTraces,
    pull: BranchPull,
    issues: Mapping[str, list[CardId]],
) -> CardId | None:
    """Return the card of the pull request: by Cardinal's own marker in it, or by the branch that is known.

    Anybody can write a marker, so it counts only in those that the App opened itself.
    """
    card_ids = {card_id for some in issues.values() for card_id in some}
    if pull.author_id == repository.hub.bot_id:
        for marker in markers_in(pull.pull.body):
            act, _, rest = marker.key.partition(":")
            card_id = CardId(rest.partition(":")[0])
            if act in ("pull", "pull-body") and (card_id in card_ids or cards.get(db, card_id) is not None):
                return card_id
    return attempts.card_of_branch(db, repository.name, pull.branch)


def _card_of_trace(
    db: Connection,
    repository: RepositoryTraces,
    trace: Trace,
    own: Mapping[int, CardId],
    issues: Mapping[str, list[CardId]],
) -> CardId | None:
    card_ids = issues.get(f"{repository.name}#{trace.number}".casefold(), [])
    if named := _OF_RUN.match(trace.key):
        known_card_id = attempts.card_of_run(db, RunId(named["run"]))
        if known_card_id is not None:
            return known_card_id
    else:
        card_id = CardId(trace.key.partition(":")[2].partition(":")[0])
        if card_id in card_ids or cards.get(db, card_id) is not None:
            return card_id
    of_pull = cards.of_pull(db, repository.name, trace.number)
    return own.get(trace.number) or next(iter(card_ids), None) or (of_pull[0].card_id if of_pull else None)


def _number(key: EntryKey) -> int:
    named = _OF_RUN.match(key)
    return int(named["number"]) if named else 0


def _adopt_card(services: Services, card_id: CardId, of_card: CardTraces) -> None:
    with event_store.reading(services.engine) as db:
        card = cards.get(db, card_id)
    if card is None or services.if_served(card.board_id) is None:
        return
    repository = of_card.repository
    pull = _choose_pull(of_card.pulls, card.pull_number)
    pull_commits = commits(repository.hub, repository.name, pull.pull.number) if pull else ()
    check = gate_check.find_check(repository.hub, repository.name, pull.pull.head, card_id) if pull else None
    with event_store.writing(services.engine) as db:
        events: list[Event] = [*_comments(db, card_id, of_card)]
        if pull is not None:
            events += _pull(card, repository.name, pull)
        if pull is not None and check is not None:
            key = EntryKey(f"check:{card_id}:{pull.pull.head}")
            events.append(EntryPublished(card_id, key, "write_check", check.check_id, ""))
        if events:
            event_store.append(db, *events, at=services.now())
        passed = check is not None and check.passed
        lost = _LostRuns(
            db=db,
            policy=policies.in_force(db, card.board_id),
            card=card,
            pull=pull,
            made=pull_commits,
            passed=passed,
        )
        for run_id in sorted(of_card.runs, key=lambda it: int(it[1:])):
            adopted = lost.events(run_id, of_card.runs[run_id], repository.name)
            if adopted:
                event_store.append(db, *adopted, at=services.now())


def _choose_pull(branch_pulls: list[BranchPull], known: int | None) -> BranchPull | None:
    """Return the card's pull request: the open one, else the newest; another one only where it is newer."""
    open_first = sorted(branch_pulls, key=lambda pull: (pull.pull.state == "open", pull.pull.number))
    newest = open_first[-1] if open_first else None
    return None if newest is None or newest.pull.number < (known or 0) else newest


def _comments(db: Connection, card_id: CardId, of_card: CardTraces) -> Iterator[EntryPublished]:
    acts = {part.ACT.key_format.partition(":")[0]: name for name, part in handlers.ACTS.all()}
    for trace in of_card.comments:
        remote = remotes.get(db, trace.key)
        act = acts.get(trace.key.partition(":")[0])
        if act is not None and (remote is None or remote.remote_id != trace.remote_id):
            yield EntryPublished(card_id, trace.key, act, trace.remote_id, trace.digest)


def _pull(card: CardRow, repository: str, pull: BranchPull) -> Iterator[Event]:
    pull_reading = pull.pull
    if card.pull_number != pull_reading.number:
        where = (repository, pull_reading.number, pull_reading.node_id, pull.branch)
        yield PullOpened(card.card_id, *where, pull_reading.head, pull_reading.draft)
    shape = (pull_reading.state, pull_reading.draft, pull_reading.head)
    known = (card.pull_state, card.pull_draft, card.pull_head)
    if shape != (
        known if card.pull_number == pull_reading.number else ("open", pull_reading.draft, pull_reading.head)
    ):
        yield PullChanged(card.card_id, pull_reading.number, *shape)


@dataclass(frozen=True, slots=True)
class _LostRuns:
    """A card's runs that GitHub shows; `made` are the pull request's commits."""

    db: Connection
    policy: Policy
    card: CardRow
    pull: BranchPull | None
    made: tuple[PullCommit, ...]
    passed: bool

    def events(self, run_id: RunId, posted: set[str], repository: str) -> tuple[Event, ...]:
        """Return the events that make it a run which has ended; none for one that the ledger knows as it is.

        One that the ledger knows goes on, unless its end was posted.
        """
        run, has_ended = runs.get(self.db, run_id), not posted.isdisjoint(_ENDED)
        if run is not None and (run.state is RunState.ENDED or not has_ended):
            return ()
        reads = "findings" in posted or (run is not None and run.mode == INVESTIGATE)
        delivered = has_ended and not reads and self._is_delivered(run_id)
        ending = Ending.SUCCEEDED if "findings" in posted or delivered else Ending.LOST
        if delivered:
            detail = "GitHub shows its work, from before the ledger was restored"
        elif has_ended:
            detail = "it ended before the ledger was restored: read its report, then /cardinal retry"
        else:
            detail = "it was at work when the ledger was lost: /cardinal retry starts another"
        ended = RunEnded(run_id, ending, RESTORED, detail, "")
        head = self.pull.pull.head if self.pull else ""
        event = ValidationEnded(run_id, 1, "full", passed=True, head=head, clean=True)
        evidence = (event,) if delivered and self.passed else ()
        queued = () if run is not None else (self._make_run(run_id, repository, reads=reads),)
        return (*queued, *evidence, ended)

    def _is_delivered(self, run_id: RunId) -> bool:
        """Tell whether the pull request is up for review, or merged, with the run's commits as its last."""
        if self.pull is None or (self.pull.pull.draft and self.pull.pull.state != "merged"):
            return False
        trailers = [named[-1] for commit in self.made if (named := find_run_trailers(commit.message))]
        return bool(trailers) and trailers[-1] == run_id

    def _make_run(self, run_id: RunId, repository: str, *, reads: bool) -> RunQueued:
        card = cards.get(self.db, self.card.card_id) or self.card
        newest = runs.get(self.db, RunId(card.run_id)) if card.run_id else None
        works = [name for name in self.policy.board.columns if self.policy.archetype(name).STARTS_RUNS]
        here = card.column if card.column in works else newest.column if newest else (works or [""])[0]
        column = self.policy.column(here)
        branch = card.branch or (self.pull.branch if self.pull else "")
        return RunQueued(
            run_id,
            card.card_id,
            attempt=card.attempts + 1,
            kind=RunKind.RETRY if newest else RunKind.FIRST,
            column=here or "",
            repository=newest.repository if newest else repository,
            branch=branch or branch_name(card.number or 0, card.title),
            agent=column.agent if column else "",
            by=BY_ITSELF,
            session_id="",
            settings=column.to_json() if column else "{}",
            plan_required=False,
            mode=INVESTIGATE if reads else FIX,
            door=Door.RESTORED,
        )
