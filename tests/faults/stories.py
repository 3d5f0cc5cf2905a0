"""The stories that every fault is tried in: what people do, and what the worker of a run does by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

from forge.store.board import Item
from ledger.db.rows import change
from ledger.db.statements import drive
from ledger.db.tables import VIEWS, editions
from ledger.events.run import QuestionAsked, RunEnded, ThreadAnswered
from ledger.lifecycle import edition
from ledger.log import event_store
from ledger.states import Ending
from ledger.views import threads
from tests.bot.flows.board.test_many_boards import elsewhere
from tests.bot.flows.board.test_many_boards import new as add_card
from tests.bot.flows.board.test_schedule import DAY, scheduled
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.conversation.test_rules_of_columns import RULE
from tests.bot.flows.people import issue_of
from tests.bot.flows.pulls.test_review import review
from tests.bot.flows.runs.test_dependencies import block, close
from tests.bot.flows.runs.test_modes import FOUND, READS
from tests.bot.flows.runs.test_rerun import FINISH
from tests.bot.flows.runs.test_stages import LOOP, STAGES
from tests.bot.flows.settings import POLICY, with_column
from tests.bot.web.api.program import Program
from tests.bot.web.pages.world import PUBLIC, Pages
from tests.runner.flows.test_hosts import ASK, commit, uncommitted

Call = Callable[[], bool]  # a program's call of the API; returns whether it was answered
Step = Callable[[Cardinal], object]
BY = "agent: scripted"
TITLE, OTHER, THIRD, LATER = "Take euros", "Print receipts", "Count stock", "Open the shop"


class Calls(tuple[Call, ...]):
    """What a program does: a call, and the next once that is answered."""


@dataclass(frozen=True, slots=True)
class Story:
    """Steps of people; after each Cardinal does all that is due, from step `works` on runs, too.

    The calls that a step returns are made then, one after the other.
    """

    about: str
    steps: tuple[Step, ...]
    works: int | None = None


def card(cardinal: Cardinal, title: str = TITLE) -> Item:
    """Return the story's card of that title, on whichever board."""
    boards = cardinal.forge.store.projects.all()
    items = (item for board in boards for item in board.items)
    return next(item for item in items if getattr(item.content, "title", "") == title)


def _new(title: str = TITLE, column: str = "In Progress") -> Step:
    return lambda cardinal: cardinal.new(title, column=column)


def _drag(column: str, title: str = TITLE) -> Step:
    return lambda cardinal: cardinal.drag(card(cardinal, title), column)


def _say(text: str, who: str = "alice") -> Step:
    return lambda cardinal: cardinal.say(card(cardinal), text, who)


def _tick(box: str, *words: str) -> Step:
    return lambda cardinal: cardinal.tick(cardinal.comment(card(cardinal), *words), box)


def _policy(text: str) -> Step:
    return lambda cardinal: cardinal.set_policy(text)


def _begin(title: str = TITLE) -> Step:
    return lambda cardinal: cardinal.begin(cardinal.run_of(card(cardinal, title)).run_id)


def _ask(cardinal: Cardinal) -> None:
    cardinal.ask(cardinal.run_of(card(cardinal)).run_id, "Which one?", "a", "b")


def _deliver(title: str = TITLE, content: bytes = b"one\n") -> Step:
    files = {f"{title.split()[0]}.txt": content}
    return lambda cardinal: cardinal.finish(cardinal.run_of(card(cardinal, title)).run_id, files=files)


def _approve(title: str = TITLE) -> Step:
    return lambda cardinal: review(cardinal, cardinal.pull_of(card(cardinal, title)), "APPROVE")


def _delivered(title: str) -> tuple[Step, ...]:
    """Return the steps from a new card to its approved pull request."""
    return _new(title), _begin(title), _deliver(title), _drag("Review", title), _approve(title)


QUIET = Story(
    "A card is dragged; its run asks, is answered and delivers; people review, approve and merge.",
    (
        _new(),
        _begin(),
        _ask,
        _say("a"),
        _begin(),
        _deliver(),
        _drag("Review"),
        _approve(),
        _drag("Done"),
    ),
)


def _write_scenario(cardinal: Cardinal) -> None:
    """Let the agent plan, ask, spend more than it may, and deliver."""
    cardinal.scenario(
        work=[
            {"ask": {"question": "Which port?", "choices": ["8080", "8081"]}},
            {"edit": {"path": "port.txt", "content": "{{answer}}\n"}},
            {"usage": {"usd": 2.5, "in": 1, "out": 1}},
            {"commit": "The port"},
            {"finish": {"done": "It listens."}},
        ]
    )
    cardinal.set_policy(with_column(plan_approval="required", budget_usd="2.00", retries="9"))


def _raise_budget(cardinal: Cardinal) -> None:
    asked = [event for event in cardinal.events(QuestionAsked) if event.asker == "budget"][-1]
    cardinal.tick(cardinal.comment(card(cardinal), "$2.00"), f"choice:{asked.question_id}:1")


WORK = Story(
    "An agent plans; a person approves, answers its question and raises the budget; it delivers.",
    (
        _write_scenario,
        _new(),
        _tick("approve", "Plan of run"),
        _say("8081"),
        _raise_budget,
        _drag("Review"),
        _approve(),
        _drag("Done"),
    ),
    works=0,
)


def _write_chat(cardinal: Cardinal) -> None:
    cardinal.scenario(
        chat=[
            {
                "when": "(?i)ten percent",
                "say": "Clear.\n\n## Ready for execution\n- Ten percent.",
                "usd": 0.25,
            },
            {"say": "How much?", "usd": 0.25},
        ]
    )


PLANNING = Story(
    "The assistant asks until a card has its brief; then a run delivers it.",
    (
        _write_chat,
        _new(column="Planning"),
        _say("Ten percent.", "carol"),
        _drag("In Progress"),
        _begin(),
        _deliver(),
        _drag("Review"),
    ),
)


def _let_finish(cardinal: Cardinal) -> None:
    asked = cardinal.events(QuestionAsked)[-1]
    cardinal.say(card(cardinal), "/cardinal finish")
    assert asked.asker == "leave"


LEAVING = Story(
    "A card is dragged out of the middle of its run: it is put back, people let the run finish, it goes on.",
    (_new(), _begin(), _drag("Tasks"), _let_finish, _deliver(), _drag("Review")),
)


def _request_changes(cardinal: Cardinal) -> None:
    review(cardinal, cardinal.pull_of(card(cardinal)), "REQUEST_CHANGES", "Name it", "Test it")


def _answer_threads(cardinal: Cardinal) -> None:
    run_id = cardinal.run_of(card(cardinal)).run_id
    with event_store.reading(cardinal.services.engine) as db:
        pending = threads.pending(db, cardinal.card(card(cardinal)).card_id)
    assert len(pending) == 2
    cardinal.write(run_id, *(ThreadAnswered(run_id, one.thread_id, f"Did: {one.text}") for one in pending))


REVISION = Story(
    "Changes are requested in two threads; a second run answers both on the same branch, and it is merged.",
    (
        _new(),
        _begin(),
        lambda cardinal: cardinal.finish(
            cardinal.run_of(card(cardinal)).run_id, files={"new.txt": b"1\n2\n3\n"}
        ),
        _drag("Review"),
        _request_changes,
        _drag("In Progress"),
        _begin(),
        _answer_threads,
        lambda cardinal: cardinal.finish(
            cardinal.run_of(card(cardinal)).run_id, files={"new.txt": b"1\n2\n4\n"}
        ),
        _drag("Review"),
        _approve(),
        _drag("Done"),
    ),
)


def _block(cardinal: Cardinal) -> None:
    cardinal.new(OTHER)
    block(cardinal, card(cardinal, OTHER), card(cardinal))
    cardinal.drag(card(cardinal, OTHER), "In Progress")


DEPENDENCY = Story(
    "A card waits for another, and starts by itself once that is merged.",
    (*_delivered(TITLE)[:3], _block, *_delivered(TITLE)[3:], _drag("Done"), _begin(OTHER), _deliver(OTHER)),
)
LANE = Story(
    "Three approved cards are dragged to Done at once, and are merged one after the other.",
    (
        _policy(POLICY.replace("method: squash", "method: squash, lane: true")),
        *_delivered(TITLE),
        *_delivered(OTHER),
        *_delivered(THIRD),
        lambda cardinal: [_drag("Done", title)(cardinal) for title in (TITLE, OTHER, THIRD)],
    ),
    works=16,
)


def _pass_day(cardinal: Cardinal) -> None:
    cardinal.clock.forward(DAY)


SCHEDULE = Story(
    "A schedule makes a card at its time, and another once the first is closed.",
    (
        lambda cardinal: scheduled(cardinal, ", column: Tasks"),
        _pass_day,
        lambda cardinal: cardinal.forge.store.issues.set_state(
            issue_of(cardinal.newest), "closed", "completed", actor=cardinal.person("alice")
        ),
        _pass_day,
    ),
)


def _press_explain(cardinal: Cardinal) -> None:
    checks, head = cardinal.forge.store.checks, cardinal.pull_of(card(cardinal)).head_sha
    (check,) = checks.on_commit(cardinal.repo, head)
    checks.request(check, "explain", actor=cardinal.person("bob"))


POLICIES = Story(
    "The policy changes while a run works: a bad file changes nothing, the next one moves the card; a person"
    " presses a button.",
    (
        _new(),
        _begin(),
        _policy("version: 1\nboard: {columns: {Taks: 1}}\n"),
        _policy(with_column(on_success="{move: Review}")),
        _deliver(),
        _press_explain,
        _approve(),
        _drag("Done"),
    ),
)


def _link(command: str) -> Step:
    return lambda cardinal: cardinal.say(
        card(cardinal), f"/cardinal {command} blocked_by #{issue_of(card(cardinal, OTHER)).number}"
    )


COMMANDS = Story(
    "People label, assign, link, unlink, move and archive a card by commands.",
    (
        _new(column="Tasks"),
        _new(OTHER, column="Tasks"),
        _say("/cardinal label bug"),
        _say("/cardinal assign bob"),
        _link("link"),
        _link("unlink"),
        _say("/cardinal move Review"),
        _say("/cardinal archive"),
    ),
)
TASKS = Story(
    "A rule of a column has a model sort a new card; a draft becomes an issue when a run begins.",
    (
        _policy(POLICY.replace("{archetype: inbox}", f"{{archetype: inbox, on_entry: [{RULE}], {BY}}}")),
        lambda cardinal: cardinal.scenario(
            chat=[{"say": '{"labels": ["api"], "brief": "Totals."}', "usd": 0.25}]
        ),
        _new(column="Tasks"),
        lambda cardinal: cardinal.draft(OTHER, "In Progress"),
        _begin(OTHER),
        _deliver(OTHER),
    ),
)
FINDINGS = Story(
    "An agent investigates and reports findings; a person has a card made of one.",
    (
        _policy(READS),
        lambda cardinal: cardinal.scenario(investigate=[FOUND]),
        _new(),
        _say("/cardinal follow-up 1"),
    ),
    works=0,
)


def _fail(cardinal: Cardinal) -> None:
    run_id = cardinal.run_of(card(cardinal)).run_id
    cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "agent_error", "It broke.", "working"))


def _drag_out_and_back(cardinal: Cardinal) -> None:
    for column in ("Tasks", "In Progress"):
        cardinal.drag(card(cardinal), column)


def _drag_unheard(cardinal: Cardinal) -> None:
    """Drag the card to Done; whatever GitHub reports of what follows is still on its way."""
    cardinal.drag(card(cardinal), "Done")
    cardinal.forge.store.deliveries.outlets[:] = []


def _hear(cardinal: Cardinal) -> None:
    cardinal.forge.store.deliveries.outlets[:] = [cardinal.mail.append]
    cardinal.mail += [it for it in reversed(cardinal.forge.store.deliveries.all()) if it.status == "pending"]


AGAIN = Story(
    "After a failed run, a card is dragged out and straight back; of its merge GitHub reports late.",
    (*_delivered(TITLE)[:2], _fail, _drag_out_and_back, *_delivered(TITLE)[1:], _drag_unheard, _hear),
)
STAGED = Story(
    "An agent goes through two stages, is sent back to the first, and delivers at the end of the second.",
    (
        _policy(with_column(stages=STAGES, retries="9")),
        lambda cardinal: cardinal.scenario(stages=LOOP),
        _new(),
        _drag("Review"),
    ),
    works=0,
)
SCRATCH = Story(
    "An agent researches without git, is sent back with a comment, and a person completes the card.",
    (
        _policy(with_column(workspace="scratch", retries="9")),
        lambda cardinal: cardinal.scenario(work=[{"run": "echo Source >> findings.md"}, FINISH]),
        _new(),
        _say("One more source, please."),
        _say("/cardinal retry"),
        _say("/cardinal complete"),
    ),
    works=0,
)


def _write_three(cardinal: Cardinal) -> None:
    """Let three models work: the column's asks, the others deliver."""
    cardinal.set_policy(with_column(agents="[scripted/other, scripted/third]", retries="9"))
    cardinal.scenario(work=[*commit("first"), ASK, FINISH])
    for name in ("other", "third"):
        cardinal.scenario(name, work=[*commit(name), FINISH])


CHOICE = Story(
    "Two runs of other models are forked from one that asks; each is chosen in turn, and one is merged.",
    (
        _write_three,
        _new(),
        _say("/cardinal fork r1 --model other Moin."),
        _say("/cardinal fork r1 --model third Moin."),
        _say("/cardinal choose r3"),
        _say("/cardinal choose r2"),
        _drag("Review"),
        _approve(),
        _drag("Done"),
    ),
    works=0,
)


def _begin_on(host: str) -> Step:
    """Return the step after which a host carries runs out, with its own folders and the store of all."""

    def begin(cardinal: Cardinal) -> None:
        home = cardinal.services.config.home
        root = home.parent if home.name == "far" else home
        cardinal.configure(home=root / host if host else root, store=str(root / "store"))
        cardinal.services = replace(cardinal.services, host=host or "near")

    return begin


HOSTS = Story(
    "A run asks and pauses on one host, and continues on another from what is in the store.",
    (
        _policy(with_column(retries="9")),
        _begin_on(""),
        lambda cardinal: cardinal.scenario(
            work=[*commit("first"), uncommitted("near"), ASK, *commit("second"), FINISH]
        ),
        _new(),
        _begin_on("far"),
        _say("Moin"),
        _drag("Review"),
    ),
    works=0,
)


def _age_ledger(cardinal: Cardinal) -> None:
    """Leave the ledger as an earlier version had it, with other views: the next process folds its own."""
    with event_store.writing(cardinal.services.engine) as db:
        row = {"digest": "earlier", "version": "0.0.1", "tables": ()}
        change(db, editions, {"digest": edition.mine().digest}, **row)
        for table in VIEWS.tables.values():
            drive(db, f'DROP TABLE "{table.name}"')


UPGRADE = Story(
    "In the middle of a run, a new version comes up at the ledger of an earlier one.",
    (_new(), _begin(), _ask, _age_ledger, _say("a"), _begin(), _deliver(), _drag("Review")),
)


def _divide(cardinal: Cardinal) -> None:
    """Make an epic with two sub-cards, and a card that waits for it; drag them all but a sub-card."""
    epic = cardinal.new(TITLE)
    for title in (OTHER, THIRD):
        part = cardinal.new(title)
        cardinal.forge.store.links.add_sub_issue(
            issue_of(epic), issue_of(part), actor=cardinal.person("alice")
        )
    block(cardinal, cardinal.new(LATER), epic)
    for title in (TITLE, LATER, OTHER):
        _drag("In Progress", title)(cardinal)


EPIC = Story(
    "An epic starts by itself once its sub-cards are done, and a card that waits for it once it is merged.",
    (
        _policy(with_column(sub_issues="wait")),
        _divide,
        *_delivered(OTHER)[1:],
        _drag("Done", OTHER),
        lambda cardinal: close(cardinal, card(cardinal, THIRD)),
        *_delivered(TITLE)[1:],
        _drag("Done"),
        _begin(LATER),
        _deliver(LATER),
    ),
)


class Caller:
    """A program with a token, which sends each call again until it is answered."""

    def __init__(self, cardinal: Cardinal) -> None:
        self._cardinal = cardinal
        self._program = Program(Pages.over(cardinal), "bob")
        self.answer: dict[str, Any] = {}

    def post(self, path: str, key: str, **fields: Any) -> bool:
        """Send a call to the process that runs now; return whether it was done.

        `{...}` in the path is a field of the last answer, as is the claim's generation among the fields.
        """
        named = {"generation": self.answer["generation"]} if "generation" in self.answer else {}
        self._program.pages = Pages.over(self._cardinal)
        where = path.format(**self.answer)
        answer = self._program.send("POST", where, {**named, **fields}, Idempotency_Key=key)
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return False
        assert answer.status_code == HTTPStatus.OK, answer.text
        self.answer = {**self.answer, **answer.get_json()}
        return True


def _open_api(cardinal: Cardinal) -> None:
    cardinal.configure(public_url=PUBLIC)


def _make_job(cardinal: Cardinal) -> Calls:
    caller = Caller(cardinal)
    wish = {"board": "acme/1", "repository": "acme/shop", "title": TITLE, "column": "In Progress"}
    return Calls((partial(caller.post, "/jobs", "k", body="Please.", **wish),))


JOB = Story(
    "A program makes a job with an idempotency key; its run delivers, and it is merged.",
    (_open_api, _make_job, *_delivered(TITLE)[1:], _drag("Done")),
)


def _work_outside(cardinal: Cardinal) -> Calls:
    item = cardinal.card(card(cardinal))
    caller, run = Caller(cardinal), "/runs/{run}"
    return Calls(
        (
            partial(caller.post, f"/jobs/{item.repository}/{item.number}/claim", "claim", lease_s=80_000),
            partial(caller.post, f"{run}/heartbeat", "beat", progress="Half of it.", lease_s=80_000),
            partial(caller.post, f"{run}/report", "report", outcome="succeeded", done="Counted."),
        )
    )


OWN = Story(
    "A worker of one's own claims a card, says how far it is and hands in a report; a person completes it.",
    (_open_api, _new(), _say("/cardinal cancel"), _work_outside, _say("/cardinal complete")),
)


def _open_second(cardinal: Cardinal) -> None:
    project, site = elsewhere(cardinal)
    add_card(cardinal, project, site, OTHER)


BOARDS = Story(
    "Two boards of two owners are served: a card of each is worked on, and one is merged.",
    (
        _open_second,
        _new(),
        _drag("In Progress", OTHER),
        _begin(),
        _begin(OTHER),
        _deliver(),
        _deliver(OTHER),
        _drag("Review"),
        _approve(),
        _drag("Done"),
    ),
)
STORIES: Mapping[str, Story] = {
    "quiet": QUIET,
    "work": WORK,
    "planning": PLANNING,
    "leaving": LEAVING,
    "revision": REVISION,
    "dependency": DEPENDENCY,
    "lane": LANE,
    "schedule": SCHEDULE,
    "policy": POLICIES,
    "commands": COMMANDS,
    "tasks": TASKS,
    "findings": FINDINGS,
    "again": AGAIN,
    "upgrade": UPGRADE,
    "stages": STAGED,
    "scratch": SCRATCH,
    "choice": CHOICE,
    "hosts": HOSTS,
    "epic": EPIC,
    "job": JOB,
    "own": OWN,
    "boards": BOARDS,
}
