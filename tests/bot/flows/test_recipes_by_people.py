"""Recipes in which people have the word: who works, on which idea, how far, and in which repository."""

import json

from bot.scheduler import ticker
from forge.store.board import Item
from forge.store.models import Role
from ledger.events.conversation import CommandRefused
from ledger.events.run import (
    BranchPushed,
    QuestionAsked,
    RunEnded,
    RunSteered,
    RunStopAsked,
    SessionStarted,
    UsageMetered,
)
from ledger.model.spend_limits import value_of
from ledger.states import CardState, Ending, Reason
from rules.policy.column import ColumnPolicy
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.test_recipes import (
    DAY_S,
    approved,
    briefing,
    built,
    merged,
    moved,
    play,
    startable,
    titled,
)


def labelled(cardinal: Cardinal, item: Item, *labels: str) -> None:
    cardinal.forge.store.issues.set_labels(issue_of(item), list(labels), actor=cardinal.person("alice"))
    cardinal.catch_up()


def worker(cardinal: Cardinal, item: Item) -> tuple[str, str, str]:
    """Return the agent, the model and the first persona of the card's newest run."""
    column = ColumnPolicy.model_validate_json(cardinal.run_of(item).settings)
    return column.agent, column.model, column.stages[0].persona if column.stages else ""


def test_a_human_in_the_loop_has_a_word_at_the_plan_the_question_the_stage_the_money_and_the_merge(
    cardinal: Cardinal,
) -> None:
    edit = {"edit": {"path": "port.txt", "content": "{{answer}}\n"}}
    cardinal.scenario(
        "default",
        stages={
            "build": [
                {"ask": {"question": "Which port?"}},
                edit,
                {"go_to_stage": {"stage": "verify", "summary": "It listens."}},
            ],
            "verify": [{"usage": {"usd": 2.5, "in": 1, "out": 1}}, {"finish": {"done": "It listens."}}],
        },
    )
    play(cardinal, "human-in-the-loop", agent="scripted")
    item = cardinal.new("Listen")
    moved(cardinal, "In Progress", item)
    cardinal.catch_up(work=True)
    plan = cardinal.comment(item, "Plan of run")
    cardinal.tick(plan, "approve", who="bob")
    cardinal.catch_up(work=True)
    assert [refused.by for refused in cardinal.events(CommandRefused)] == ["bob"]
    assert cardinal.card(item).state == CardState.NEEDS_INPUT
    cardinal.tick(plan, "approve", who="alice")
    cardinal.catch_up(work=True)
    moved(cardinal, "Tasks", item)
    assert "`/cardinal finish`" in cardinal.told(item)[-1]
    assert cardinal.events(RunStopAsked) == []
    moved(cardinal, "In Progress", item)
    cardinal.say(item, "8081, please", who="bob")
    cardinal.catch_up(work=True)
    for asker, words in (("stage", "build hands over: It listens."), ("budget", "$2.00")):
        event = cardinal.events(QuestionAsked)[-1]
        assert event.asker == asker
        comment = cardinal.comment(item, words)
        cardinal.tick(comment, f"choice:{event.question_id}:1")
        cardinal.catch_up(work=True)
    (ended,) = cardinal.events(RunEnded)
    assert ended.ending is Ending.SUCCEEDED, ended
    moved(cardinal, "Review", item)
    moved(cardinal, "Done", item)
    assert issue_of(item).state == "open"  # nobody has approved it
    moved(cardinal, "Review", item)
    merged(cardinal, item)
    cardinal.assert_nothing_is_stuck()


def test_routing_gives_each_card_to_whom_it_names_and_a_name_in_prose_hires_nobody(
    cardinal: Cardinal,
) -> None:
    play(cardinal, "routing")
    cards = {name: cardinal.new(name) for name in ("label", "command", "prose", "taken back")}
    for name in ("label", "command"):
        labelled(cardinal, cards[name], "agent:prober")
    cardinal.say(cards["command"], "/cardinal agent scribe")
    cardinal.say(cards["prose"], "Ask @prober about this.")
    cardinal.say(cards["taken back"], "/cardinal agent backend")
    cardinal.catch_up()
    cardinal.say(cards["taken back"], "/cardinal agent none")
    cardinal.say(cards["prose"], "/cardinal agent nobody")
    cardinal.catch_up()
    assert "`/cardinal agent scribe`" in cardinal.told(cards["prose"])[-1]
    moved(cardinal, "In Progress", *cards.values())
    own = ("claude", "default", "")
    assert [worker(cardinal, item) for item in cards.values()] == [
        ("codex", "default", "tester"),
        ("claude", "small", "docs-writer"),
        own,
        own,
    ]
    built(cardinal, cards["label"], "Probed.", "probe.txt")
    assert cardinal.column(cards["label"]) == "Review"
    merged(cardinal, cards["label"])


def test_a_thread_is_one_talk_one_branch_and_one_session_from_the_plan_to_the_revision(
    cardinal: Cardinal,
) -> None:
    clear = {"when": "(?i)use euros", "say": "Clear.\n\n## Ready for execution\n- Prices are in euros."}
    cardinal.scenario("small", chat=[clear, {"say": "Which currency?"}])
    play(cardinal, "thread", agent="scripted")
    item, other = cardinal.new("Show prices"), cardinal.new("Show names")
    moved(cardinal, "Planning", item)
    assert "Which currency?" in cardinal.told(item)[-1]
    cardinal.say(item, "Use euros.")
    cardinal.catch_up()
    moved(cardinal, "In Progress", item, other)
    run, others = cardinal.run_of(item), cardinal.run_of(other)
    assert value_of(run.settings, "publish") == "early"
    for run_id in (run.run_id, others.run_id):
        cardinal.plan(run_id)
    cardinal.catch_up()
    assert "Prices are in euros." in briefing(cardinal, item)
    assert "euros" not in briefing(cardinal, other)
    for it in (item, other):
        cardinal.say(it, "/cardinal approve")
        cardinal.catch_up()
        cardinal.begin(cardinal.run_of(it).run_id)
    cardinal.write(run.run_id, SessionStarted(run.run_id, "s1", "scripted", "1"))
    cardinal.say(item, "Two digits.")
    cardinal.catch_up()
    assert [(heard.run_id, heard.text) for heard in cardinal.events(RunSteered)] == [
        (run.run_id, "Two digits.")
    ]
    cardinal.write(
        run.run_id, BranchPushed(run.run_id, run.branch, cardinal.push(run.run_id, {"a.txt": b"1"}))
    )
    cardinal.catch_up()
    assert cardinal.pull_of(item).draft
    moved(cardinal, "Tasks", item)
    assert cardinal.events(RunStopAsked) == []
    cardinal.finish(run.run_id, files={"b.txt": b"2"})
    cardinal.catch_up()
    assert not cardinal.pull_of(item).draft
    assert cardinal.column(item) == "Tasks"  # alice put it there
    reviews = cardinal.forge.store.reviews
    reviews.submit(cardinal.pull_of(item), "REQUEST_CHANGES", "Name it.", [], actor=cardinal.person("bob"))
    cardinal.catch_up()
    moved(cardinal, "In Progress", item)
    revision = cardinal.run_of(item)
    assert (revision.kind, revision.branch, revision.session_id) == ("revision", run.branch, "s1")
    cardinal.begin(revision.run_id)
    assert "Name it." in briefing(cardinal, item)


def test_a_fleet_has_one_card_for_each_repository_and_a_failure_stops_no_other(cardinal: Cardinal) -> None:
    for name in ("api", "web", "docs"):
        repo = cardinal.forge.store.repos.create(cardinal.repo.owner, name)
        cardinal.forge.store.repos.write_files(
            repo, "main", {"a": b"1"}, "One", actor=cardinal.person("alice")
        )
        for login in ("alice", "bob", "carol"):
            cardinal.forge.store.repos.set_role(repo, cardinal.person(login), Role.WRITE)
    play(cardinal, "fleet")
    ticker.request_due(cardinal.services)
    cardinal.clock.forward(7 * DAY_S)
    ticker.request_due(cardinal.services)
    cardinal.catch_up()
    (api,), (web,) = (titled(cardinal, f"Update what {name} depends on") for name in ("api", "web"))
    again = cardinal.new("Once more for api", repo=cardinal.home_repo)
    docs = cardinal.new("Look after docs", repo=cardinal.home_repo)
    labelled(cardinal, again, "repo:api", "agent:gardener")
    labelled(cardinal, docs, "repo:docs", "agent:gardener")
    moved(cardinal, "Care", again, docs)
    fleet = {name: cardinal.run_of(item) for name, item in {"api": api, "web": web, "docs": docs}.items()}
    assert [run.repository for run in fleet.values()] == ["acme/api", "acme/web", "acme/docs"]
    assert {worker(cardinal, item) for item in (api, web, docs)} == {("claude", "small", "senior-engineer")}
    assert set(cardinal.ready()) == {run.run_id for run in fleet.values()}  # the second of api waits
    for run in fleet.values():
        cardinal.begin(run.run_id)
    failed = RunEnded(fleet["api"].run_id, Ending.FAILED, "gave_up", "It stopped.", "working")
    cardinal.write(fleet["api"].run_id, failed)
    cardinal.catch_up()
    assert cardinal.card(api).state == CardState.FAILED
    assert startable(cardinal) == ["Once more for api"]
    cardinal.finish(fleet["web"].run_id, files={"lock.txt": b"1"})
    cardinal.catch_up()
    assert cardinal.column(web) == "Review"
    approved(cardinal, web)
    moved(cardinal, "Done", web)
    assert cardinal.card(web).reason == Reason.MERGE_TURN
    cardinal.write(fleet["docs"].run_id, UsageMetered(fleet["docs"].run_id, 20.0, 10, 10, 1, 1.0))
    assert startable(cardinal) == ["Update what web depends on"]  # for its merge: without an agent
    cardinal.catch_up()
    cardinal.assert_no_leftovers()


def test_triage_writes_an_idea_out_and_talks_it_through_before_anybody_works(cardinal: Cardinal) -> None:
    whole = json.dumps({"body": "Goal: euros for the till. Guessed: no cents.", "labels": ["feature"]})
    written = {"when": "Write this idea out", "say": whole}
    clear = {"when": "(?i)with cents, yes", "say": "Clear.\n\n## Ready for execution\n- Euros with cents."}
    cardinal.scenario("small", chat=[written, clear, {"say": "With cents?"}])
    play(cardinal, "triage", agent="scripted")
    item = cardinal.new("euros", column="Ideas")
    moved(cardinal, "Triage", item)
    assert (issue_of(item).body or "").startswith("Goal: euros for the till.")
    assert [label.name for label in issue_of(item).labels] == ["feature"]
    moved(cardinal, "Planning", item)
    assert "With cents?" in cardinal.told(item)[-1]
    cardinal.say(item, "With cents, yes.")
    cardinal.catch_up()
    assert "Ready for execution" in cardinal.told(item)[-1]
    assert cardinal.card(item).run_id is None
    moved(cardinal, "In Progress", item)
    cardinal.plan(cardinal.run_of(item).run_id)
    told = briefing(cardinal, item)
    assert 0 < told.index("Euros with cents.") < told.index("Goal: euros for the till.")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal restore")
    cardinal.catch_up()
    assert issue_of(item).body == "Please."
    cardinal.assert_nothing_is_stuck()
