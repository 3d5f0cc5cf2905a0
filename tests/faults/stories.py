"""The stories that every fault is tried in: what people do, and what the worker of a run does by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forge.store.board import Item
from ledger.events.run import QuestionAsked, ThreadAnswered
from ledger.log import event_store
from ledger.views import threads
from tests.bot.flows.board.test_schedule import DAY, scheduled
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.conversation.test_rules_of_columns import RULE
from tests.bot.flows.people import issue_of
from tests.bot.flows.pulls.test_review import review
from tests.bot.flows.runs.test_dependencies import block
from tests.bot.flows.runs.test_modes import FOUND, READS
from tests.bot.flows.settings import POLICY, with_column

Step = Callable[[Cardinal], object]
BY = "agent: scripted"
TITLE, OTHER, THIRD = "Take euros", "Print receipts", "Count stock"


@dataclass(frozen=True, slots=True)
class Story:
    """Steps of people; after each Cardinal does all that is due, from step `works` on runs, too."""

    about: str
    steps: tuple[Step, ...]
    works: int | None = None


def card(cardinal: Cardinal, title: str = TITLE) -> Item:
    """Return the story's card of that title."""
    return next(item for item in cardinal.project.items if getattr(item.content, "title", "") == title)


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
            {"when": "(?i)ten percent", "say": "Clear.\n\n## Ready for execution\n- Ten percent."},
            {"say": "How much?"},
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
POLICIES = Story(
    "The policy changes while a run works: a bad file changes nothing, the next one moves the card.",
    (
        _new(),
        _begin(),
        _policy("version: 1\nboard: {columns: {Taks: 1}}\n"),
        _policy(with_column(on_success="{move: Review}")),
        _deliver(),
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
        lambda cardinal: cardinal.scenario(chat=[{"say": '{"labels": ["api"], "brief": "Totals."}'}]),
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
}
