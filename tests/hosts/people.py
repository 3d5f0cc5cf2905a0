"""What people do at a site: they drag cards, approve plans and answer questions, once each, and look."""

from dataclasses import dataclass, field

from forge.demo.people import REPOSITORY, Json
from ledger.events.workspace import WorkspaceTaken
from ledger.log import event_store
from ledger.queue import hosts
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState
from ledger.views import cards, runs
from tests.hosts.site import Site
from tests.waiting import until

STEP_S = 180.0  # a machine with ten times its work was seen to need over 90 s for what takes 5
GAVE_UP = "gave_up"
ANSWER = "With patience."
ALL = 1_000_000  # events: more than there are


@dataclass(slots=True)
class Card:
    """One card of a site. `acted`: what people did on it, for they do nothing twice."""

    site: Site
    title: str
    project: int = 1
    number: int = 0
    acted: set[str] = field(default_factory=set)
    over: bool = False

    def drag(self, column: str = "In Progress") -> None:
        """Drag it, as a new one at first."""
        if not self.number:
            self.number = self.site.team.new_card("alice", self.title, "", column, project=self.project)
        else:
            self.site.team.drag("alice", self.number, column, project=self.project)

    def run(self) -> RunRow | None:
        """Return its newest run."""
        with event_store.reading(self.site.engine) as db:
            (card,) = cards.of_issue(db, REPOSITORY, self.number) or (None,)
            return next(iter(runs.of_card(db, card.card_id, limit=1)), None) if card else None

    def serve(self) -> bool:
        """Approve its plan, answer its question, retry it where it gave up; return whether it is done and its
        pull request there.
        """
        run = self.run()
        if run is None:
            return False
        if run.state is RunState.AWAITING_APPROVAL:
            self._say(f"plan {run.plan_revision}", "/cardinal approve")
        elif run.state is RunState.PARKED and run.question_id:
            self._say(run.question_id, f"/cardinal answer {ANSWER}")
        elif run.reason == GAVE_UP:  # its hosts were taken from it three times
            self._say(f"{run.run_id} again", "/cardinal retry")
        return run.ending is Ending.SUCCEEDED and bool(self.pulls())

    def state(self) -> str:
        """Return where it stands, for whoever reads why a play did not end."""
        run = self.run()
        stands = (
            f"{run.run_id} {run.state} {run.ending} {run.reason} {run.detail!r} {run.last_line!r}"
            if run
            else "-"
        )
        return f"{self.title!r} #{self.number}: {stands}; people did {sorted(self.acted)}"

    def _say(self, what: str, words: str) -> None:
        if what not in self.acted:
            self.acted.add(what)
            self.site.team.say("alice", self.number, words)

    def accept(self) -> None:
        """Approve its pull request, as a merge demands."""
        (pull,) = self.pulls()
        where = f"/repos/{REPOSITORY}/pulls/{pull['number']}/reviews"
        self.site.team.call("alice", "POST", where, {"event": "APPROVE"})

    def is_accepted(self) -> bool:
        """Tell whether Cardinal knows of that: a drag to Done that comes before it is refused."""
        with event_store.reading(self.site.engine) as db:
            return all(card.verdict == "approved" for card in cards.of_issue(db, REPOSITORY, self.number))

    def parked(self, limit_s: float = STEP_S, question: int = 1) -> RunRow:
        """Approve the plan, and return the run as soon as it waits for the answer to that question."""

        def fitting() -> RunRow | None:
            run = self.run()
            if run is not None and run.state is RunState.AWAITING_APPROVAL:
                self._say(f"plan {run.plan_revision}", "/cardinal approve")
            waits = run is not None and run.state is RunState.PARKED
            return run if run and waits and str(run.question_id).endswith(f"q{question}") else None

        return until(fitting, f"{self.title!r} asks question {question}", limit_s, 0.1)

    def answer(self) -> None:
        """Answer the question that is open."""
        self.serve()

    def working_on(self, host: str) -> None:
        """Wait until an agent works on it there."""

        def works() -> bool:
            run = self.run()
            there = run is not None and run.host == host and run.state is RunState.WORKING
            return there and bool(self.site.hosts[host].agents())

        until(works, f"{self.title!r} is worked on at {host}", STEP_S, 0.05)

    def ended(self, limit_s: float = STEP_S) -> RunRow:
        """Wait for the end of its run, which must be a success, and return it."""

        def fitting() -> RunRow | None:
            run = self.run()
            return run if run is not None and run.state is RunState.ENDED else None

        run = until(fitting, f"the run of {self.title!r} ends", limit_s, 0.1)
        assert run.ending is Ending.SUCCEEDED, f"{run.run_id}: {run.ending} {run.reason} {run.detail}"
        return run

    def hosts(self) -> list[str]:
        """Return the hosts that its run was on, in their order; each stay once."""
        run = self.run()
        assert run is not None
        with event_store.reading(self.site.engine) as db:
            events = [one.event for one in event_store.read(db, stream=f"run:{run.run_id}", limit=ALL)]
        names = [event.host for event in events if isinstance(event, WorkspaceTaken)]
        return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]

    def pulls(self) -> list[Json]:
        """Return its pull requests."""
        head = f"cardinal/{self.number}-"
        all_pulls = self.site.team.call("alice", "GET", f"/repos/{REPOSITORY}/pulls?state=all&per_page=100")
        return [one for one in all_pulls if one["head"]["ref"].startswith(head)]


def drain(site: Site, *names: str) -> None:
    """Have these hosts drained, and no other."""
    with event_store.writing(site.engine) as db:
        for name in site.hosts:
            hosts.drain(db, name, drained=name in names)
