"""What each board call does: its events, the reply, the refusals; and the answers that repeat."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ledger.event import Event, Recorded
from ledger.events.related import CardLinked, CardProposed, PipelineLimited
from ledger.events.run import (
    FinalReported,
    Noted,
    PlanApproved,
    PlanProposed,
    PlanTicked,
    QuestionAnswered,
    QuestionAsked,
)
from ledger.events.turn import BoardToolCalled
from ledger.events.workspace import WorkspaceTaken
from ledger.ids import CardId, QuestionId, RunId
from runner.agents.board_tools import (
    PLANNING,
    TOOLS,
    BadCall,
    BoardCall,
    call_id_of,
    check_call,
    description_of,
    offer_tools,
    schema_of,
)
from runner.run.history import History
from runner.run.run_spec import Authorship, Briefing, Committer, HostPaths, Limits, RunSpec, StageSpec
from runner.session.tool_effects import SHOWN_BYTES, Effect, card_shown, effect_of, report, withheld_tools
from tests.runner.world import review_thread

RUN = RunId("r1")
NOWHERE = Path("/nowhere")
ORDER = RunSpec(
    RUN, CardId("PVTI_1"), 1, "first", 1, "acme/app", 12, "Say hello", "cardinal/12-hello", "main",
    "scripted", "default", "", True, "", Briefing("The issue says: hello."), Limits(),
    HostPaths(NOWHERE, NOWHERE, NOWHERE, NOWHERE), Authorship(Committer("cardinal", "c@acme.org")),
)  # fmt: skip
CARD: dict[str, Any] = {"title": "Fix the door", "body": "It creaks.", "reason": "Not part of hello."}
NAMED = replace(ORDER, agents=("prober", "codex"))
LINK: dict[str, Any] = {"target": "7", "relation": "blocks", "reason": "It waits for hello."}


def history(*events: Event) -> History:
    new_history = History()
    new_history.take(recorded(events, first=1))
    return new_history


def recorded(events: Iterable[Event], first: int) -> Iterable[Recorded]:
    for seq, event in enumerate(events, start=first):
        yield Recorded(
            seq=seq, at=datetime(2026, 1, 1, tzinfo=UTC), stream=event.stream, version=seq, event=event
        )


def call(tool: str, call_id: str = "c1", **given: object) -> BoardCall:
    made = check_call(call_id, tool, given)
    assert isinstance(made, BoardCall), made
    return made


def effect(made: BoardCall, past: History, *, planning: bool = False, spec: RunSpec = ORDER) -> Effect:
    return effect_of(made, spec, past, planning=planning, session_id="s1")


def test_a_wanted_card_becomes_an_event_that_counts() -> None:
    past = history()
    for number in (1, 2):
        done = effect(call("create_card", f"c{number}", **CARD), past)
        assert done.reply == {"ok": True}
        assert isinstance(done.events[0], BoardToolCalled)
        assert done.events[1:] == (
            CardProposed(RUN, number, "Fix the door", "It creaks.", "Not part of hello."),
        )
        past.take(recorded(done.events, first=past.seq + 1))


def test_one_card_more_than_five_is_refused() -> None:
    past = history(*(CardProposed(RUN, number, "t", "b", "r") for number in range(1, 5)))
    assert effect(call("create_card", **CARD), past).events
    past = history(*(CardProposed(RUN, number, "t", "b", "r") for number in range(1, 6)))
    done = effect(call("create_card", **CARD), past)
    assert done.events == (PipelineLimited(RUN, "cards", 5),)
    assert "proposed 5 cards already" in str(done.reply["error"])


def test_a_card_in_another_repository_is_a_question_and_no_more_than_two_of_those_that_fit() -> None:
    past, spec = history(), replace(ORDER, elsewhere=("acme/Site",))
    for number in (1, 2):
        board_call = call("create_card", f"c{number}", **CARD, repository="ACME/site")
        done = effect(board_call, past, spec=spec)
        event, run_event = done.events[1:]
        question_id = f"r1-q{number}"
        given = ("Fix the door", "It creaks.", "Not part of hello.", "acme/Site", "blocked_by", question_id)
        assert event == CardProposed(RUN, number, *given)
        assert isinstance(run_event, QuestionAsked)
        assert (run_event.question_id, run_event.asker, run_event.codes) == (
            question_id,
            "elsewhere",
            ("create", "deny"),
        )
        for words in ("acme/Site", "is blocked by it", *CARD.values()):
            assert words in run_event.text
        assert done.parks
        past.take(recorded(done.events, first=past.seq + 1))
        again = effect(board_call, past, spec=spec)
        assert (again.events, again.parks) == ((), True)
    third = effect(call("create_card", "c3", **CARD, repository="acme/site"), past, spec=spec)
    assert "2 cards in other repositories already" in str(third.reply["error"])
    assert effect(call("create_card", "c4", **CARD), past, spec=spec).events


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"repository": "acme/secret"}, "no work in acme/secret: repositories for it are acme/site"),
        ({"repository": "acme/site", "body": "x" * 4_001}, "a body there may have 4,000 bytes"),
    ],
)
def test_a_card_that_does_not_fit_another_repository_asks_nobody(given: dict[str, str], said: str) -> None:
    done = effect(
        call("create_card", **CARD | given), history(), spec=replace(ORDER, elsewhere=("acme/site",))
    )
    assert (done.events, done.parks) == ((), False)
    assert said in str(done.reply["error"])


@pytest.mark.parametrize(
    ("target", "stored"),
    [("7", "acme/app#7"), ("#7", "acme/app#7"), (7, "acme/app#7"), ("acme/shop#12", "acme/shop#12")],
)
def test_a_link_names_the_other_issue_in_full(target: object, stored: str) -> None:
    done = effect(call("link_card", **LINK | {"target": target}), history())
    assert done.events[1:] == (CardLinked(RUN, stored, "blocks", "It waits for hello."),)


@pytest.mark.parametrize("target", ["12", "#12", 12, "acme/app#12", "ACME/App#12"])
def test_a_card_is_not_linked_with_itself(target: object) -> None:
    done = effect(call("link_card", **LINK | {"target": target}), history())
    assert "the card itself" in str(done.reply["error"])
    assert done.events == ()


def test_one_link_more_than_ten_is_refused() -> None:
    assert effect(call("link_card", **LINK), history(*[CardLinked(RUN, "a/b#1", "blocks", "r")] * 9)).events
    done = effect(call("link_card", **LINK), history(*[CardLinked(RUN, "a/b#1", "blocks", "r")] * 10))
    assert "linked 10 cards already" in str(done.reply["error"])
    assert done.events == (PipelineLimited(RUN, "links", 10),)


def test_a_thousand_cards_end_at_the_policys_limit_and_the_card_is_told_once() -> None:
    past, spec = history(), replace(ORDER, limits=Limits(cards=3))
    for number in range(1000):
        done = effect(call("create_card", f"c{number}", **CARD), past, spec=spec)
        past.take(recorded(done.events, first=past.seq + 1))
        told = [event for event in done.events if isinstance(event, PipelineLimited)]
        assert told == ([PipelineLimited(RUN, "cards", 3)] if number == 3 else [])
    assert past.cards.proposed == 3


def test_a_new_card_waits_for_its_parents_which_count_as_links() -> None:
    past, spec = history(CardProposed(RUN, 1, "t", "b", "r")), replace(ORDER, limits=Limits(links=3))
    waits: dict[str, Any] = {"parents": [7, "acme/app#7", "#8"], "after": [1, 1]}
    assert "may link 3" in str(effect(call("create_card", **CARD | waits), past, spec=spec).reply["error"])
    done = effect(call("create_card", **CARD | {"parents": [7], "after": [1, 1]}), past, spec=spec)
    (event,) = done.events[1:]
    assert isinstance(event, CardProposed)
    assert (event.parents, event.after) == (("acme/app#7",), (1,))
    past.take(recorded(done.events, first=past.seq + 1))
    assert past.cards.linked == 2


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ({"parents": ["ACME/app#12"]}, "a part cannot wait"),
        ({"parents": ["acme/shop#3"]}, "in another repository"),
        ({"after": [1]}, "made 0 cards so far"),
        ({"after": [1], "repository": "acme/site"}, "leave them out"),
    ],
)
def test_a_new_card_waits_neither_for_its_own_card_nor_for_later_ones(
    waits: dict[str, Any], said: str
) -> None:
    done = effect(call("create_card", **CARD | waits), history())
    assert said in str(done.reply["error"])
    assert done.events == ()


def test_a_card_of_agents_cards_makes_none_beyond_the_depth() -> None:
    spec = replace(ORDER, depth=2)
    done = effect(call("create_card", **CARD), history(), spec=spec)
    assert done.events == (PipelineLimited(RUN, "depth", 2),)
    assert "came from 2 cards of agents" in str(done.reply["error"])
    assert effect(call("create_card", **CARD), history(), spec=replace(spec, depth=1)).events[1:]


@pytest.mark.parametrize(
    "target",
    ["0", "-1", "x", "acme#1", "acme/app", "../x#1", "acme/app#0", "a/b#1\n", "a b/c#1", True, 1.5, None],
)
def test_a_link_to_what_is_no_issue_is_a_bad_call(target: object) -> None:
    made = check_call("c1", "link_card", LINK | {"target": target})
    assert isinstance(made, BadCall)
    assert made.problem.startswith("target: ")


def test_a_relation_that_does_not_exist_is_a_bad_call() -> None:
    assert isinstance(check_call("c1", "link_card", LINK | {"relation": "hates"}), BadCall)


def test_there_are_no_stages_yet() -> None:
    done = effect(call("go_to_stage", stage="verify", summary="Done."), history())
    assert "this column has no stages" in str(done.reply["error"])
    assert done.events == ()


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("create_card", CARD),
        ("link_card", LINK),
        ("go_to_stage", {"stage": "a", "summary": "b"}),
        ("finish", {"done": "x"}),
    ],
)
def test_a_turn_for_the_plan_is_for_nothing_else(tool: str, given: dict[str, Any]) -> None:
    done = effect(call(tool, **given), history(), planning=True)
    assert done == Effect((), {"error": "this turn is for the plan only: call `plan`"})


def test_the_same_call_again_proposes_nothing_again() -> None:
    done = effect(call("create_card", **CARD), history())
    again = effect(call("create_card", **CARD), history(*done.events))
    assert again == Effect((), {"ok": True, "repeated": True})


def test_a_report_is_taken_again_where_the_reported_work_was_lost() -> None:
    finish = call("finish", done="All of it.")
    done = effect(finish, history())
    kept, lost = (WorkspaceTaken(ORDER.run_id, "c1", "b", 2, left_on) for left_on in ("", "a"))
    assert effect(finish, history(*done.events, kept)).reply == {"ok": True, "repeated": True}
    assert effect(finish, history(*done.events, lost)) == done


def test_a_report_names_tests_for_the_criteria_of_the_brief_a_bounded_number_of_them() -> None:
    secret = "ghp_" + "a" * 36
    named = [{"criterion": "It greets\nall", "test": f"test_{number}" * 500} for number in range(40)]
    named[0] = {"criterion": secret, "test": "test_all"}
    done = effect(call("finish", done="All of it.", criteria=named), history())
    *_, final = report(ORDER, history(*done.events))
    assert isinstance(final, FinalReported)
    assert [len(it.test) <= 500 and "\n" not in it.criterion for it in final.criteria] == [True] * 40
    assert final.criteria[0].test == "test_all"
    assert secret not in repr((done, final))
    for wrong in ([*named, *named[:1]], [{"criterion": "", "test": "a"}], [{"criterion": "a"}], "all"):
        assert isinstance(check_call("c1", "finish", {"done": "x", "criteria": wrong}), BadCall)


def test_a_report_has_metadata_without_secrets_colours_and_hidden_characters_and_within_bounds() -> None:
    secret = "ghp_" + "a" * 36
    metadata = {
        "port": 8080,
        secret: True,
        "say": ["\x1b[1mhi\u200b", {"token": secret, "key": f"a:{secret}"}],
    }
    done = effect(call("finish", done="All of it.", metadata=metadata), history())
    *_, final = report(ORDER, history(*done.events))
    assert isinstance(final, FinalReported)
    kept = {"port": 8080, "[redacted]": True, "say": ["hi", {"token": "[redacted]", "key": "a:[redacted]"}]}
    assert final.metadata == kept
    assert secret not in repr((done, final))
    wrong = check_call("c1", "finish", {"done": "x", "metadata": {"text": "x" * 9_000}})
    assert isinstance(wrong, BadCall)
    assert "it has 9,012 bytes as JSON, and may have 8,000: leave out" in wrong.problem


def test_marks_that_are_longer_than_what_they_stand_for_keep_no_run_from_its_end() -> None:
    grows = {"addresses": "://a:bcd@ " * 790}  # within the bound, and beyond it with its marks
    wrong = check_call("c1", "finish", {"done": "x", "metadata": grows})
    assert isinstance(wrong, BadCall)
    assert "it has 11,867 bytes as JSON, and may have 8,000" in wrong.problem
    done = effect(call("finish", done="All of it.", metadata={"key": "x" * 7_900}), history())
    (called,) = (it for it in done.events if isinstance(it, BoardToolCalled))
    longer = replace(
        called, body=called.body.replace("x" * 7_900, "[redacted]" * 1_000)
    )  # a run's own secret
    *_, final = report(ORDER, history(longer))
    assert isinstance(final, FinalReported)
    assert final.metadata == {"key": "[redacted]" * 1_000}


def test_what_an_agent_quotes_of_a_terminal_reaches_people_without_its_colours_and_hides_no_secret() -> None:
    secret = "ghp_" + "a" * 36
    quoted: Any = {
        "done": "\x1b[1;31m2 failed\x1b[0m,\nmended",
        "check": [f"\x1b]0;x\x07{secret[:9]}\x1b[K{secret[9:]}"],
    }
    done = effect(call("finish", **quoted), history())
    *_, final = report(ORDER, history(*done.events))
    assert isinstance(final, FinalReported)
    assert (final.done, final.check) == ("2 failed,\nmended", ("[redacted]",))


def test_secrets_in_a_wanted_card_are_redacted() -> None:
    secret = "ghp_" + "a" * 36
    done = effect(call("create_card", **CARD | {"title": f"Use {secret}", "body": secret}), history())
    assert secret not in repr(done.events)


def test_a_long_title_fits_github() -> None:
    board_call = call("create_card", **CARD | {"title": "ö" * 300 + "\nsecond line"})
    assert len(board_call.input.model_dump()["title"]) <= 256


THREADS = (review_thread("T1", "a.py", 3, "Why?"), review_thread("T2", "b.py", 0, "And here?"))


def test_the_card_is_shown_as_the_run_knows_it() -> None:
    question = QuestionId("r1-q1")
    past = history(
        PlanProposed(RUN, 1, "Greet", ("Write", "Test")),
        PlanApproved(RUN, 1, "ann"),
        PlanTicked(RUN, 1),
        Noted(RUN, "The build needs make."),
        QuestionAsked(RUN, question, "agent", "In German?", ()),
        QuestionAnswered(RUN, question, "bob", "Yes"),
        BoardToolCalled(RUN, "s1", "c0", "thread", '{"thread_id": "T1", "text": "Fixed."}'),
    )
    done = effect(call("show_card"), past, spec=replace(ORDER, threads=THREADS))
    assert done.events == ()
    assert done.reply["ok"] is True
    assert done.reply["card"] == {
        "number": 12,
        "issue": "#12",
        "title": "Say hello",
        "repository": "acme/app",
        "branch": "cardinal/12-hello",
        "base_branch": "main",
        "attempt": 1,
        "kind": "first",
        "mode": "fix",
        "other_repositories": (),
        "new_cards": {"columns": (), "start": False, "skills": (), "agents": ()},
        "plan": {
            "state": "approved",
            "summary": "Greet",
            "steps": [{"step": "Write", "done": True}, {"step": "Test", "done": False}],
        },
        "threads": [
            {"thread_id": "T1", "path": "a.py", "line": 3, "text": "Why?", "answered": True},
            {"thread_id": "T2", "path": "b.py", "line": None, "text": "And here?", "answered": False},
        ],
        "notes": ["The build needs make."],
        "answers": [{"question": "In German?", "answer": "Yes"}],
        "briefing": "The issue says: hello.",
    }


def test_the_card_is_shown_as_often_as_it_is_asked_for_also_while_planning() -> None:
    for planning in (True, False):
        for _ in range(2):
            assert "card" in effect(call("show_card"), history(), planning=planning).reply


@pytest.mark.parametrize("letter", ["x", "ж", "字", "🐦", "\x00", '"'])
def test_however_much_a_card_holds_what_is_shown_fits_a_datagram(letter: str) -> None:
    long = letter * 10_000
    threads = tuple(review_thread(f"T{n}", long, n, long) for n in range(60))
    past = history(
        PlanProposed(RUN, 1, long, tuple(long for _ in range(40))),
        *(Noted(RUN, long) for _ in range(60)),
        *(QuestionAsked(RUN, QuestionId(f"q{n}"), "agent", long, ()) for n in range(60)),
        *(QuestionAnswered(RUN, QuestionId(f"q{n}"), "bob", long) for n in range(60)),
    )
    shown = card_shown(replace(ORDER, title=long, briefing=Briefing(long * 10), threads=threads), past)
    assert len(json.dumps(shown)) <= SHOWN_BYTES
    assert shown["briefing"]
    assert shown["notes"]


def test_a_turn_offers_what_can_be_used_in_it() -> None:
    assert offer_tools(read_only=True, threads=True) == PLANNING
    assert set(TOOLS) - set(offer_tools(read_only=False, threads=True)) == {"plan", "findings"}
    assert set(TOOLS) - set(offer_tools(read_only=False, threads=False)) == {"plan", "findings", "thread"}


def test_a_run_is_told_of_no_tool_and_field_that_its_policy_refuses() -> None:
    ways = {"column", "start", "skills", "agent", "repository", "relation"}
    assert set(withheld_tools(ORDER)) == {
        "go_to_stage",
        "finish.criteria",
        *(f"create_card.{name}" for name in ways),
    }
    assert "go_to_stage" not in offer_tools(read_only=False, threads=False, withheld=withheld_tools(ORDER))
    wide = replace(
        NAMED,
        limits=ORDER.limits.model_copy(update={"columns": ("Tasks",), "start": True, "skills": ("a",)}),
        stages=(StageSpec("implement", "tester"),),
        briefing=Briefing("It is planned.", has_brief=True),
        elsewhere=("acme/api",),
    )
    assert withheld_tools(wide) == ()


def test_every_tool_says_what_it_is_for() -> None:
    for tool in TOOLS:
        assert len(description_of(tool)) > 40
        schema = schema_of(tool)
        assert schema["type"] == "object"
        assert not [one for one in schema["properties"].values() if "title" in one]
        assert set(schema.get("required", ())) <= set(schema["properties"])


def test_ids_of_calls_tell_turn_tool_input_and_count_apart() -> None:
    given = {"text": "a"}
    ids = {
        call_id_of("work-1", "note", given, 1),
        call_id_of("work-2", "note", given, 1),
        call_id_of("work-1", "progress", given, 1),
        call_id_of("work-1", "note", {"text": "b"}, 1),
        call_id_of("work-1", "note", given, 2),
    }
    assert len(ids) == 5
    assert call_id_of("work-1", "plan", {"a": 1, "b": 2}, 1) == call_id_of(
        "work-1", "plan", {"b": 2, "a": 1}, 1
    )


MAY = replace(ORDER, limits=Limits(columns=("Planning",), start=True, skills=("fuzzing",)))


@pytest.mark.parametrize(
    ("spec", "given", "problem"),
    [
        (MAY, {"column": "planning", "skills": ["fuzzing"]}, ""),
        (MAY, {"start": True}, ""),
        (MAY, {"start": True, "column": "Planning"}, "leave out one or the other"),
        (MAY, {"column": "Done"}, "columns for it are Planning"),
        (MAY, {"skills": ["admin"]}, "skills for it are fuzzing"),
        (MAY, {"start": True, "repository": "acme/site"}, "leave them out"),
        (ORDER, {"column": "Planning"}, "columns for it are none"),
        (ORDER, {"start": True}, "the policy lets you start nothing"),
    ],
)
def test_a_new_card_goes_only_where_the_policy_allows(
    spec: RunSpec, given: dict[str, Any], problem: str
) -> None:
    new_effect = effect(call("create_card", **CARD | given), history(), spec=spec)
    assert problem in str(new_effect.reply.get("error", ""))
    wanted = [event for event in new_effect.events if isinstance(event, CardProposed)]
    assert bool(wanted) is not bool(problem)
    for event in wanted:
        chosen = (event.column, event.start, list(event.skills))
        assert chosen == (given.get("column", ""), given.get("start", False), given.get("skills", []))
    assert card_shown(spec, history())["new_cards"] == {
        "agents": (),
        **{name: getattr(spec.limits, name) for name in ("columns", "start", "skills")},
    }


@pytest.mark.parametrize(("name", "agent"), [("prober", "prober"), ("@prober", "prober"), ("", "")])
def test_a_card_is_proposed_for_an_agent_that_the_policy_names(name: str, agent: str) -> None:
    done = effect(call("create_card", **CARD, agent=name), history(), spec=NAMED)
    assert [event.agent for event in done.events if isinstance(event, CardProposed)] == [agent]
    new = card_shown(NAMED, history())["new_cards"]
    assert isinstance(new, dict)
    assert new["agents"] == ("prober", "codex")


def test_a_card_for_an_agent_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    for spec, names in ((NAMED, "prober, codex"), (ORDER, "none: leave `agent` out")):
        done = effect(call("create_card", **CARD, agent="nobody"), history(), spec=spec)
        assert done.reply["error"] == f"a card cannot be given to nobody: names for it are {names}"
        assert not [event for event in done.events if isinstance(event, CardProposed)]
