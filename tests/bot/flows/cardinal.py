"""Cardinal in one process against a real forge: webhooks, looks, acts and runs happen when a test says so."""

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from bot.bootstrap import Services
from bot.ingest import delivery as deliveries
from bot.ingest.delivery import DeliveryError
from bot.outbox import publisher
from bot.reactor import reactor
from bot.runspec import builder
from bot.scheduler import dispatch, jobs
from bot.sync import card as card_sync
from bot.sync import column_order, sweep
from forge.store.board import Item, Project
from forge.store.models import Comment, Pull
from forge.store.registration import Delivery
from forge.web.server import Forge
from ledger.event import Event
from ledger.events.run import (
    BranchPushed,
    PlanProposed,
    QuestionAsked,
    RunEnded,
    RunParked,
    RunStepped,
    ValidationEnded,
)
from ledger.ids import BoardId, CardId, DeliveryId, QuestionId, RunId
from ledger.log import event_store
from ledger.queue import inbox, outbox, refresh_requests
from ledger.queue.leases import Lease
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState
from ledger.views import cards, runs
from runner.run.run_spec import RunSpec
from tests.bot.flows.people import People, issue_of

MAX_ROUNDS = 60
PATIENCE_S = 120  # longer than any act is put off for
E = TypeVar("E", bound=Event)


class Clock:
    """The wall's time, and as much later as a test says; once `stopped`, a millisecond later at each look.

    `wrong_by` is how far this machine's clock is from GitHub's.
    """

    def __init__(self) -> None:
        self.ahead, self.wrong_by = timedelta(), timedelta()
        self._stopped_at: datetime | None = None

    def __call__(self) -> datetime:
        return self.github() + self.wrong_by

    def github(self) -> datetime:
        """Return the time by GitHub's clock."""
        if self._stopped_at is not None:
            self.ahead += timedelta(milliseconds=1)
        return (self._stopped_at or datetime.now(UTC)) + self.ahead

    def stop(self) -> None:
        """Go by the looks from now on: however slow the machine is, a story takes the same time."""
        self._stopped_at = datetime.now(UTC)

    def forward(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


class UnsettledError(AssertionError):
    """Something stays due however often it is served."""


@dataclass
class Cardinal(People):
    """One process's Cardinal, the forge that it serves, and the hands of the people."""

    forge: Forge
    project: Project
    services: Services
    clock: Clock
    scenarios: Path
    mail: deque[Delivery] = field(default_factory=deque)
    failures: list[DeliveryError] = field(default_factory=list)
    leases: dict[RunId, Lease] = field(default_factory=dict)
    working: list[Item] = field(default_factory=list)  # of the scene, for who asks for a card at work

    @property
    def process(self) -> Services:
        """The services as a process opens them: it works for every board, and none is chosen."""
        return replace(self.services, context=replace(self.services.context, chosen=None))

    def configure(self, **changes: Any) -> None:
        """Go on with other settings of the operator, as after a restart: those that the shop reads."""
        config = replace(self.services.config, **changes)
        context = replace(self.services.context, config=config)
        self.services = replace(self.services, config=config, context=context).on_configured()

    # --- what the processes do -------------------------------------------------------------------------

    def receive(self, delivery: Delivery) -> bool:
        """Store one delivery as the web process does; False when it was known.

        To GitHub it failed, unless the answer follows.
        """
        delivery.delivered_at, delivery.status, delivery.status_code = self.clock(), "timed out", 504
        is_new = self.post(delivery.event, delivery.body, delivery.guid, delivery.action or "")
        delivery.status, delivery.status_code = "OK", 202
        return is_new

    def post(self, event: str, body: bytes, guid: str, action: str = "") -> bool:
        """Store a delivery that did not come from the forge."""
        delivery = inbox.Delivery(DeliveryId(guid), event, action, body, self.clock())
        return bool(inbox.store_deliveries(self.services.engine, delivery))

    def catch_up(self, *, publish: bool = True, work: bool = False) -> None:
        """Let everything happen that is due: `publish` writes to the forge, `work` carries runs out."""
        for _ in range(MAX_ROUNDS):
            while self.mail:
                self.receive(self.mail.popleft())
            busy = self.ingest() + self.serve_refreshes()
            if publish:
                busy += self.publish()
            if work:
                busy += self.carry_out_runs()
            if not busy and not self.mail and not (publish and self.wait_for_the_next_act()):
                return
        raise UnsettledError(f"still busy after {MAX_ROUNDS} rounds")

    def at_work(self) -> Item:
        """Return a card in progress whose run works: a new one, or the scene's."""
        if self.working:
            return self.working.pop()
        item = self.new(column="In Progress")
        self.catch_up()
        self.begin(self.run_of(item).run_id)
        self.catch_up()
        return item

    def wait_for_the_next_act(self) -> bool:
        """Let the time go by until the next entry is due; False when none is within PATIENCE_S."""
        waits = [outbox.next_due_s(self.services.engine, lane) for lane in ("github", "assist")]
        wait_s = min((wait_s for wait_s in waits if wait_s is not None), default=PATIENCE_S)
        if wait_s >= PATIENCE_S:
            return False
        self.clock.forward(max(0.0, wait_s))
        return True

    def ingest(self) -> int:
        """Ingest what is due in the inbox; an error stays in `failures`."""
        due = inbox.due_deliveries(self.services.engine, limit=200)
        for delivery_id in due:
            try:
                card_ids = deliveries.ingest(self.process, delivery_id)
            except DeliveryError as error:
                self.failures.append(error)
                continue
            for card_id in card_ids:
                card_sync.sync_card(self.process, card_id)
        return len(due)

    def serve_refreshes(self) -> int:
        """Read every card with an open refresh request; return how many could be read."""
        with event_store.reading(self.services.engine) as db:
            refreshes = refresh_requests.list_requested_cards(db, limit=100)
            has_marks = column_order.is_due(db)
        looked_at = sum(card_sync.sync_card(self.process, request.card_id) for request in refreshes)
        return looked_at + (column_order.read_due(self.process) if has_marks else 0)

    def publish(self) -> int:
        """Carry out what is due in the outbox; return how many entries were touched."""
        touched = 0
        for lane in ("github", "assist"):
            counts = publisher.publish_due(self.process.context, lane, within_s=60)
            touched += counts.settled + counts.given_up
        with event_store.reading(self.services.engine) as db:
            is_behind = reactor.behind(db) > 0
        if is_behind:
            with event_store.writing(self.services.engine) as db:
                reactor.advance(db, now=self.clock())
        return touched

    def ready(self) -> tuple[RunId, ...]:
        """Return the runs that may start, as a tick finds them."""
        slots = self.services.config.run_workers
        return tuple(
            run.run_id for run in dispatch.ready_runs(self.services.engine, now=self.clock(), slots=slots)
        )

    def carry_out_runs(self) -> int:
        """Carry every run that may start as far as it goes, agent and all."""
        starts = self.ready()
        for run_id in starts:
            jobs.carry_out(self.process, run_id)
        return len(starts)

    def sweep(self) -> tuple[CardId, ...]:
        """Compare the board with the ledger, and look at what differs."""
        card_ids = sweep.sweep(self.services)
        sweep.recover_deliveries(self.process)
        self.serve_refreshes()
        return card_ids

    # --- a run without an agent ------------------------------------------------------------------------

    def claimed(self, item: Item) -> tuple[RunSpec, builder.HubRemote]:
        """Claim the run of the card, and return its specification and the way to its repository."""
        run_id = self.run_of(item).run_id
        assert self.claim(run_id)
        return builder.build_spec(self.services, run_id, self.leases[run_id])

    def claim(self, run_id: RunId) -> bool:
        """Claim a run as a worker does; False when it may not start."""
        config = self.services.config
        lease = dispatch.claim_run(
            self.services.engine,
            run_id,
            worker=f"worker-{run_id}",
            now=self.clock(),
            ttl_s=config.lease_s,
            slots=config.run_workers,
        )
        if lease is not None:
            self.leases[run_id] = lease
        return lease is not None

    def write(self, run_id: RunId, *events: Event) -> None:
        """Append a run's events as its worker does, under its claim."""
        lease = self.leases[run_id]
        with event_store.writing(self.services.engine) as db:
            event_store.append(
                db, *events, at=self.clock(), fence=event_store.Fence(lease.name, lease.generation)
            )
            reactor.advance(db, now=self.clock())

    def begin(self, run_id: RunId) -> None:
        """Claim a run and bring it to its work."""
        assert self.claim(run_id), "the run may not start"
        self.write(
            run_id,
            RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING),
            RunStepped(run_id, RunState.PREPARING, RunState.WORKING),
        )

    def ask(self, run_id: RunId, text: str, *choices: str) -> QuestionId:
        """Let the agent ask and park."""
        run = self.run(run_id)
        question_id = QuestionId(f"{run_id}-q{run.questions + 1}")
        self.write(run_id, QuestionAsked(run_id, question_id, "agent", text, choices))
        self.write(run_id, RunParked(run_id, "question"))
        return question_id

    def plan(self, run_id: RunId) -> None:
        """Claim a run, propose a plan, and let it wait for approval."""
        assert self.claim(run_id), "the run may not start"
        self.write(
            run_id,
            RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING),
            RunStepped(run_id, RunState.PREPARING, RunState.PLANNING),
            PlanProposed(run_id, 1, "Add them up", ("One", "Two")),
            RunStepped(run_id, RunState.PLANNING, RunState.AWAITING_APPROVAL),
        )

    def finish(self, run_id: RunId, *, files: dict[str, bytes] | None = None) -> None:
        """End a working run with success, with a pushed branch where there are files."""
        steps = [RunState.WORKING, RunState.VALIDATING, RunState.PUBLISHING]
        moved = [RunStepped(run_id, *pair) for pair in pairwise(steps)]
        pushed: list[Event] = []
        if files:
            head = self.push(run_id, files)
            passed = ValidationEnded(run_id, 1, "full", True, head, "b" * 40, "local", clean=True)
            pushed = [passed, BranchPushed(run_id, self.run(run_id).branch, head)]
        self.write(run_id, *moved, *pushed, RunEnded(run_id, Ending.SUCCEEDED, "", "", "publishing"))

    def push(self, run_id: RunId, files: dict[str, bytes]) -> str:
        """Put files on the run's branch as the publisher of runs does."""
        repos, branch = self.forge.store.repos, self.run(run_id).branch
        repo = repos.get(*self.run(run_id).repository.split("/"))
        if not any(ref.endswith(f"/{branch}") for ref in repos.git(repo).refs()):
            start = repos.commit_of(repo, "main")
            repos.create_ref(repo, f"refs/heads/{branch}", start, actor=self.bot)
        message = f"Work\n\nCardinal-Run: {run_id}"
        return repos.write_files(repo, branch, dict(files), message, actor=self.bot)

    # --- what can be seen ------------------------------------------------------------------------------

    @property
    def newest(self) -> Item:
        """The card that came last on the board."""
        return self.project.items[-1]

    @property
    def board_id(self) -> BoardId:
        return BoardId(self.project.node_id)

    def card(self, item: Item) -> CardRow:
        with event_store.reading(self.services.engine) as db:
            card = cards.get(db, CardId(item.node_id))
        assert card is not None, "the card is not known"
        return card

    def run(self, run_id: RunId) -> RunRow:
        with event_store.reading(self.services.engine) as db:
            run = runs.get(db, run_id)
        assert run is not None
        return run

    def run_of(self, item: Item) -> RunRow:
        """Return the card's newest run."""
        run_id = self.card(item).run_id
        assert run_id is not None, f"no run: {self.card(item).because}"
        return self.run(run_id)

    def pull_of(self, item: Item) -> Pull:
        number = self.card(item).pull_number
        assert number is not None, "no pull request"
        return self.forge.store.pulls.get(self.repo, number)

    def events(self, kind: type[E]) -> list[E]:
        with event_store.reading(self.services.engine) as db:
            return [one.event for one in event_store.read(db, limit=100_000) if isinstance(one.event, kind)]

    def count(self) -> int:
        """Return how many events there are."""
        with event_store.reading(self.services.engine) as db:
            return event_store.last_seq(db)

    def face(self, item: Item) -> dict[str, str]:
        """Return the card's project fields as the board shows them."""
        values = item.values.values()
        return {one.field.name: one.option.name if one.option else str(one.content) for one in values}

    def column(self, item: Item) -> str | None:
        """Return the column that the card stands in on the forge."""
        for value in item.values.values():
            if value.field.name == "Status":
                option = value.field.option_with_id(str(value.content))
                return option.name if option else None
        return None

    def told(self, item: Item) -> list[str]:
        """Return what Cardinal says on the issue, oldest first."""
        return [comment.body for comment in issue_of(item).comments if comment.author is self.bot]

    def comment(self, item: Item, *words: str) -> Comment:
        """Return Cardinal's newest comment that holds all the words."""
        comments = [comment for comment in issue_of(item).comments if comment.author is self.bot]
        found_comments = [comment for comment in comments if all(word in comment.body for word in words)]
        assert found_comments, f"{words} not in {[comment.body[:200] for comment in comments]}"
        return found_comments[-1]

    def reactions(self, comment: Comment) -> list[str]:
        return [reaction.content for reaction in comment.reactions if reaction.user is self.bot]

    def calls(self, *words: str) -> list[str]:
        """Return the API calls so far whose method, path or GraphQL operation holds one of the words.

        Asking for tokens is none.
        """
        calls = [call for call in self.forge.gateway.calls if not call.path.endswith("/access_tokens")]
        made = [f"{call.method} {call.operation or call.path}" for call in calls]
        return [one for one in made if any(word in one for word in words)]

    def assert_nothing_is_stuck(self) -> None:
        """Assert that nothing waits in inbox, outbox and refresh requests, and that no worker holds a run."""
        self.assert_no_leftovers()
        with event_store.reading(self.services.engine) as db:
            assert runs.list_held(db) == ()

    def assert_no_leftovers(self) -> None:
        """Assert that nothing waits in inbox, outbox and refresh requests."""
        with event_store.reading(self.services.engine) as db:
            assert inbox.list_quarantined(db) == ()
            assert refresh_requests.list_requested_cards(db, limit=10) == ()
            assert reactor.behind(db) == 0
            later = self.clock() + timedelta(days=1)
            assert outbox.stuck(db, later, 0) == ()
        assert inbox.due_deliveries(self.services.engine, late_s=-86400, limit=10) == ()
