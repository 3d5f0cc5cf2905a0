"""What people do to a board in any order, and what goes wrong meanwhile; the laws hold after each step.

A failure is printed as the fewest steps that lead to it, and as a blob. `scripts/faults --play SEED` plays
a seed again, `scripts/faults --play BLOB` only that failure. Once mended it is kept as a story: its printed
steps become a test in `test_machine.py`.
"""

import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from hypothesis import HealthCheck, Phase, __version__, reproduce_failure, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from bot.scheduler import ticker
from forge.errors import ForgeError
from forge.store.board import Item
from forge.store.issues import Issues
from forge.store.models import Issue, Pull, User
from forge.store.pulls import Pulls
from forge.store.registration import Delivery
from forge.store.reviews import LineComment
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.views import cards, runs
from tests.bot.flows.opening import opened
from tests.bot.flows.settings import POLICY, with_column
from tests.faults import laws, playing
from tests.faults.points import Fault, World, installed
from tests.faults.worker import Worker

MAX_CARDS = 5
OWN = re.compile("Card |Draft ")
BOX = re.compile(r"^- \[ \][^\n]*<!-- box:(\S+) ", re.MULTILINE)
COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done")
WHO = ("alice", "bob", "carol")
POLICIES = {
    "usual": POLICY,
    "planned": with_column(plan_approval="required"),
    "poor": with_column(budget_usd="1.00", retries="1"),
    "moving": with_column(on_success="{move: Review}", on_failure="{move: Tasks}"),
    "cancelling": with_column(on_leave="cancel"),
    "finishing": with_column(on_leave="finish"),
    "one": with_column(concurrency="1", on_changes_requested="{move: In Progress}"),
    "lane": POLICY.replace("method: squash", "method: squash, lane: true"),
    "spent": POLICY.replace("limits: {", "limits: {usd_per_day: 2, "),
    "bad": "version: 1\nboard: {columns: {Taks: 1}}\n",
}
WORDS = (
    *(
        "a",
        "approve",
        "redirect Do it otherwise",
        "answer b",
        "answer 1",
        "cancel",
        "finish",
        "pause",
        "resume",
    ),
    *(
        "retry",
        "rerun",
        "investigate Why?",
        "fix",
        "budget +1",
        "check",
        "block it waits",
        "unblock",
        "claim",
    ),
    *("unclaim", "label bug", "assign bob", "move Review", "move In Progress", "move Done", "archive"),
    *("unarchive", "priority urgent", "priority none", "complete", "status", "explain", "stop-all"),
    *("pause board", "resume board", "pause column", "resume column", "agent none", "choose r1", "restore"),
)
POSTS = ("in order", "doubled", "reversed", "late", "lost")
STEPS: dict[str, Callable[[Worker], None]] = {
    step.__name__: step
    for step in (Worker.say, Worker.ask, Worker.plan, Worker.spend, Worker.deliver, Worker.fail)
}
which = st.integers(0, MAX_CARDS - 1)
columns = st.sampled_from(COLUMNS)


class Board(RuleBasedStateMachine):
    """A board with its people, its workers of runs, and the processes of Cardinal that serve it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="cardinal-machine-"))
        self.world = World()
        self.workers: dict[RunId, Worker] = {}
        self.late: list[Delivery] = []
        self.is_late = False
        self.post = "in order"
        self.is_sound = True
        self.steps = 0
        self._ends = ExitStack()
        self._ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.cardinal = self._ends.enter_context(opened(self.folder))
        self._ends.enter_context(installed(self.world))
        self.cardinal.clock.stop()
        self.replay = laws.Replay.beside(self.folder)
        self._ends.callback(self.replay.engine.dispose)
        self.cardinal.scenario(chat=[{"say": "How much?"}])

    # --- people ---------------------------------------------------------------------------------------

    @initialize(column=columns)
    def begin(self, column: str) -> None:
        self.new_card(column)

    @rule(column=columns)
    def new_card(self, column: str) -> None:
        if len(self._own()) < MAX_CARDS:
            self.cardinal.new(f"Card {len(self._own()) + 1}", column=column)
        self._settle()

    @rule(column=st.sampled_from(("Tasks", "In Progress")))
    def new_draft(self, column: str) -> None:
        if len(self._own()) < MAX_CARDS:
            self.cardinal.draft(f"Draft {len(self._own()) + 1}", column)
        self._settle()

    @rule(card=which, column=columns, who=st.sampled_from(WHO))
    def drag(self, card: int, column: str, who: str) -> None:
        self._with(card, lambda item: self.cardinal.drag(item, column, who))

    @rule(card=which)
    def start(self, card: int) -> None:
        self._with(card, lambda item: self.cardinal.drag(item, "In Progress"))

    @rule(card=which, words=st.sampled_from(WORDS), who=st.sampled_from(WHO))
    def say(self, card: int, words: str, who: str) -> None:
        text = words if words == "a" else f"/cardinal {words}"
        self._with_issue(card, lambda issue: self._issues.comment(issue, text, actor=self._person(who)))

    @rule(card=which, box=st.integers(0, 5))
    def tick(self, card: int, box: int) -> None:
        """Tick a box of the newest comment of Cardinal that has one."""
        self._with_issue(card, lambda issue: self._tick(issue, box))

    @rule(
        card=which,
        verdict=st.sampled_from(("APPROVE", "REQUEST_CHANGES", "COMMENT")),
        remarks=st.integers(0, 2),
    )
    def review(self, card: int, verdict: str, remarks: int) -> None:
        def submit(pull: Pull) -> None:
            path = next(iter(sorted(self.cardinal.forge.store.pulls.paths(pull))), "")
            notes = [LineComment(path, f"Remark {n}", 1) for n in range(remarks)] if path else []
            body = "" if verdict == "APPROVE" else "Please look."
            self.cardinal.forge.store.reviews.submit(pull, verdict, body, notes, actor=self._person("bob"))

        self._with_pull(card, submit)

    @rule(card=which)
    def merge(self, card: int) -> None:
        self._with_pull(card, lambda pull: self._pulls.merge(pull, actor=self._person("alice")))

    @rule(card=which, is_open=st.booleans())
    def set_pull(self, card: int, is_open: bool) -> None:
        state = "open" if is_open else "closed"
        self._with_pull(
            card, lambda pull: self._issues.set_state(pull.issue, state, actor=self._person("bob"))
        )

    @rule(card=which, is_draft=st.booleans())
    def set_draft(self, card: int, is_draft: bool) -> None:
        self._with_pull(card, lambda pull: self._pulls.set_draft(pull, is_draft, actor=self._person("bob")))

    @rule(card=which)
    def push(self, card: int) -> None:
        def write(pull: Pull) -> None:
            files: dict[str, bytes | None] = {"people.txt": f"{self.steps}\n".encode()}
            repos = self.cardinal.forge.store.repos
            repos.write_files(pull.repo, pull.head_ref, files, "By hand", actor=self._person("bob"))

        self._with_pull(card, write)

    @rule(card=which, how=st.sampled_from(("completed", "not_planned", "open")))
    def close(self, card: int, how: str) -> None:
        state, reason = ("open", None) if how == "open" else ("closed", how)
        self._with_issue(
            card, lambda issue: self._issues.set_state(issue, state, reason, actor=self._person("alice"))
        )

    @rule(card=which)
    def edit(self, card: int) -> None:
        body = f"Please, {self.steps} times."
        self._with_issue(card, lambda issue: self._issues.edit(issue, actor=self._person("carol"), body=body))

    @rule(card=which, other=which, how=st.sampled_from(("blocked_by", "sub_issue", "unblocked")))
    def link(self, card: int, other: int, how: str) -> None:
        links, alice = self.cardinal.forge.store.links, self._person("alice")
        changes: dict[str, Callable[..., None]] = {
            "blocked_by": links.add_blocked_by,
            "sub_issue": links.add_sub_issue,
            "unblocked": links.remove_blocked_by,
        }
        change = changes[how]
        self._with_issue(
            card,
            lambda issue: self._with_issue(other, lambda it: change(issue, it, actor=alice), settles=False),
        )

    @rule(card=which, archived=st.booleans())
    def set_archived(self, card: int, archived: bool) -> None:
        projects, alice = self.cardinal.forge.store.projects, self._person("alice")
        self._with(card, lambda item: projects.set_archived(item, archived, actor=alice))

    @rule(name=st.sampled_from(tuple(POLICIES)))
    def set_policy(self, name: str) -> None:
        self.cardinal.set_policy(POLICIES[name])
        self._settle()

    # --- runs, and what goes wrong --------------------------------------------------------------------

    @rule(run=st.integers(0, 3), step=st.sampled_from(tuple(STEPS)))
    def work(self, run: int, step: str) -> None:
        """Let a run's worker do one step; a new worker takes a run that nobody holds."""
        with event_store.reading(self.cardinal.services.engine) as db:
            held = [row.run_id for row in runs.list_held(db) if row.run_id in self.workers]
        choice = [*held, *(run_id for run_id in self.cardinal.ready() if run_id not in held)]
        if choice:
            run_id = choice[run % len(choice)]
            worker = self.workers.get(run_id) if run_id in held else Worker.claim(self.cardinal, run_id)
            if worker is not None and worker.take(STEPS[step]):
                self.workers[run_id] = worker
            else:
                self.workers.pop(run_id, None)
        self._settle()

    @rule(run=st.integers(0, 3))
    def lose_worker(self, run: int) -> None:
        """Let a worker vanish with its run: nobody renews its claim."""
        if self.workers:
            self.workers.pop(sorted(self.workers)[run % len(self.workers)])
            self.cardinal.clock.forward(playing.RUN_LEASE_S)
        self._settle()

    @rule(fault=st.sampled_from([str(fault) for fault in Fault]), passes=st.integers(0, 12))
    def hurt(self, fault: str, passes: int) -> None:
        """Let something go wrong at one of the next points."""
        self.world.soon, self.world.passes = Fault(fault), passes

    @rule(how=st.sampled_from(POSTS))
    def deliver_otherwise(self, how: str) -> None:
        """Let GitHub deliver so from now on; what it held back comes now."""
        self._hand_over_late()
        self.post = how
        self._settle()

    @rule()
    def wait(self) -> None:
        """Let time go by, and Cardinal look at the board."""
        self.cardinal.clock.forward(400)
        self._settle(sweeps=True)

    # --- the laws -------------------------------------------------------------------------------------

    @invariant()
    def holds(self) -> None:
        found = tuple(laws.breaches(self.cardinal, self.replay, self._own(), is_late=self.is_late))
        self.is_sound = not found
        assert not found, "\n".join(found)

    def teardown(self) -> None:
        """Let everything run out; then nothing is stuck, and all laws hold."""
        try:
            if self.is_sound:
                self._run_out()
        finally:
            self._ends.close()

    def _run_out(self) -> None:
        self._hand_over_late()
        self.post, self.world.soon, self.workers = "in order", None, {}
        for _ in range(2):
            self.cardinal.clock.forward(playing.RUN_LEASE_S)
            self._settle(sweeps=True)
        self.holds()
        self.cardinal.assert_nothing_is_stuck()
        assert self.replay.failures == []

    # --- how -------------------------------------------------------------------------------------------

    @property
    def _issues(self) -> Issues:
        return self.cardinal.forge.store.issues

    @property
    def _pulls(self) -> Pulls:
        return self.cardinal.forge.store.pulls

    def _person(self, login: str) -> User:
        return self.cardinal.person(login)

    def _own(self) -> list[Item]:
        """Return the cards of the play, without those of the demo."""
        return [it for it in self.cardinal.project.items if OWN.match(getattr(it.content, "title", ""))]

    def _with(self, card: int, act: Callable[[Item], object], *, settles: bool = True) -> None:
        """Let people do something to a card; GitHub may refuse it."""
        items = self._own()
        if items:
            with suppress(ForgeError):
                act(items[card % len(items)])
        if settles:
            self._settle()

    def _with_issue(self, card: int, act: Callable[[Issue], object], *, settles: bool = True) -> None:
        self._with(card, lambda it: isinstance(it.content, Issue) and act(it.content), settles=settles)

    def _with_pull(self, card: int, act: Callable[[Pull], object]) -> None:
        def find(item: Item) -> None:
            with event_store.reading(self.cardinal.services.engine) as db:
                row = cards.get(db, CardId(item.node_id))
            if row is not None and row.pull_number is not None:
                act(self._pulls.get(self.cardinal.repo, row.pull_number))

        self._with(card, find)

    def _tick(self, issue: Issue, box: int) -> None:
        for comment in reversed(issue.comments):
            boxes = BOX.findall(comment.body)
            if comment.author is self.cardinal.bot and boxes:
                self.cardinal.tick(comment, boxes[box % len(boxes)])
                return

    def _hand_over_late(self) -> None:
        self.cardinal.mail.extend(self.late)
        self.late.clear()

    def _settle(self, *, sweeps: bool = False) -> None:
        self.steps += 1
        mail = self.cardinal.mail
        if mail and self.post in ("late", "lost"):
            self.is_late = True
        match self.post:
            case "doubled":
                mail.extend(tuple(mail))
            case "reversed":
                mail.reverse()
            case "late":
                self.late.extend(mail)
                mail.clear()
            case "lost":
                for delivery in mail:
                    now = self.cardinal.clock()
                    delivery.delivered_at, delivery.status, delivery.status_code = now, "timed out", 504
                mail.clear()
        playing.settle(self.cardinal, self.world, works=False, sweeps=sweeps, reaps=True)
        ticker.write_places(self.cardinal.process)  # the next tick: what was queued in this one has a place
        self.cardinal.catch_up()
        if sweeps:
            self.is_late = bool(self.late)


def play(chosen: int | str, *, examples: int = 100, steps: int = 50) -> None:
    """Play that many boards of a seed, with so many steps each, or the failure of a blob.

    The first failure is shrunk, printed and raised.
    """
    machine = type("Board", (Board,), {})
    choose = seed(chosen) if isinstance(chosen, int) else reproduce_failure(__version__, chosen.encode())
    run_state_machine_as_test(
        choose(machine),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=False,
            print_blob=True,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
