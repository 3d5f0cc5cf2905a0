"""The stack of an agent's instructions: its order, what a session hears again, what is kept of it."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ledger.event import Recorded
from ledger.events.run import BriefingMade, FinalReported, RunEvent, SessionStarted
from ledger.events.turn import BoardToolCalled, TurnEnded, TurnStarted
from ledger.events.workspace import WorkspaceTaken
from ledger.ids import RunId
from runner.agents.board_tools import FinishInput
from runner.agents.contract import Phase
from runner.agents.scripted.player import prompt_title
from runner.prompts.compose import compose
from runner.run.history import History
from runner.run.instructions import (
    MODES,
    Equipment,
    KnownInstructions,
    Layer,
    LayerKind,
    SkillContent,
    news,
    own_layer,
    stack,
    stack_event,
    whole,
)
from runner.run.run_spec import StageSpec
from runner.run.secrecy import PRIVATE_SKILL_MARK, secrecy_of
from tests.runner.session.test_board_calls import ORDER

AT, RUN = "/workspace/skills", RunId("r1")
PROFILE = own_layer(LayerKind.PROFILE, "python_service", "built in", "# Python\nUse pytest.")
SKILL = Layer(
    LayerKind.SKILL, "cache", "repository", "# How\nUse it.", "d1", "1.2", files=("references/keys.md",)
)
PRIVATE = replace(
    SKILL, name="own", source="operator", text="Always ask the oracle first.", private=True, files=()
)


def test_the_layers_stand_in_their_order_whatever_order_they_came_in() -> None:
    layers = stack("fix", "Be kind.", "# Card\n", (SKILL, PROFILE))
    kinds = ["system", "mode", "profile", "column", "card", "skill"]
    assert [str(layer.kind) for layer in layers] == kinds
    text = "\n\n".join(whole(layers, AT))
    parts = ("never loosen", "Mode: fix", "Use pytest.", "Be kind.", "# Card", "Use it.")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_layer_without_text_is_none() -> None:
    assert [str(layer.kind) for layer in stack("fix", " ", "# Card\n", ())] == ["system", "mode", "card"]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_says_what_it_is_about(mode: str) -> None:
    assert f"Mode: {mode}." in "\n".join(whole(stack(mode, "", "# Card\n", ()), AT))


def test_a_skill_names_its_version_and_where_its_files_are() -> None:
    (text,) = whole((SKILL,), AT)
    assert text.startswith("## Skill: cache (version 1.2)\n### How\nUse it.")
    assert text.endswith("- /workspace/skills/cache/references/keys.md")


def test_the_cards_heading_stays_the_highest() -> None:
    text = "\n\n".join(whole(stack("fix", "# Column\nx", "# The real title\n", (PROFILE, SKILL)), AT))
    assert prompt_title(text) == "The real title"


def test_a_fresh_session_gets_the_whole_stack_and_one_that_goes_on_only_what_is_new() -> None:
    spec = replace(ORDER, instructions="Be kind.", equipment=Equipment((PROFILE, SKILL)))
    fresh = compose(Phase.WORK, spec, History(), skills=AT)
    assert all(
        part in fresh for part in (spec.briefing.text, "Be kind.", "Use pytest.", "Use it.", "`finish`")
    )
    known = {(str(layer.kind), layer.name): layer.digest for layer in spec.stack}
    goes_on = History(session_id="s", instructed=KnownInstructions(delivered={"s": known}))
    later = compose(Phase.WORK, spec, goes_on, skills=AT)
    assert not any(part in later for part in ("Be kind.", "Use pytest.", "Use it."))
    other = compose(Phase.WORK, spec, History(session_id="s"), skills=AT)  # told in an earlier run, perhaps
    assert "Use it." in other
    assert "changed" not in other


@pytest.mark.parametrize("phase", [Phase.PLAN, Phase.WORK, Phase.REVISE])
def test_a_session_of_an_earlier_run_hears_the_briefing_of_this_one_and_once(phase: Phase) -> None:
    history = History(session_id="s")  # its briefing was that of the earlier run, and people wrote since
    assert ORDER.briefing.text in compose(phase, ORDER, history)
    history.instructed.read.add("s")
    assert ORDER.briefing.text not in compose(phase, ORDER, history)


def test_each_session_hears_what_it_was_not_told_itself() -> None:
    def turn(name: str, session_id: str) -> tuple[RunEvent, ...]:
        started = TurnStarted(RUN, "stage", name, ""), SessionStarted(RUN, session_id, "scripted", "1")
        return (*started, TurnEnded(RUN, name, "done", 0, 0.0))

    def stacked(*layers: Layer) -> RunEvent:
        return stack_event(RUN, stack("fix", "", ORDER.briefing.text, layers))

    first, second = stacked(SKILL), stacked(replace(SKILL, digest="d2"))
    events = (
        *(BriefingMade(RUN, "", "b1", ()), first, *turn("work", "a")),
        *(BriefingMade(RUN, "", "b2", ()), second, *turn("other", "b")),
    )
    history = History()
    at = datetime(2026, 11, 22, tzinfo=UTC)
    history.take(Recorded(seq, "run:r1", seq, at, event) for seq, event in enumerate(events, start=1))
    spec = replace(ORDER, equipment=Equipment((replace(SKILL, digest="d2"),)))
    heard = {}
    for session_id in ("a", "b", "c"):
        history.session_id = session_id
        heard[session_id] = compose(Phase.WORK, spec, history, skills=AT)
    assert "The skill cache changed since you read it" in heard["a"]
    assert ORDER.briefing.text in heard["a"]
    assert "Use it." not in heard["b"]
    assert ORDER.briefing.text not in heard["b"]
    assert "Use it." in heard["c"]  # a turn that did not end may not have told it
    assert "changed" not in heard["c"]


def test_a_session_hears_what_changed_and_what_holds_no_longer() -> None:
    known = {("skill", "cache"): "d0", ("skill", "gone"): "d9", ("system", "rules"): "d8"}
    said = "\n".join(news((SKILL,), known, AT))
    assert "The skill cache changed since you read it. It says now:\n\n## Skill: cache" in said
    assert "The skill gone does not hold any more." in said
    assert "rules" not in said


def test_of_a_private_layer_only_name_version_and_digest_are_kept() -> None:
    event = stack_event(RunId("r1"), stack("fix", "", "# Card\n", (SKILL, PRIVATE)))
    kept = {layer.name: layer for layer in event.layers}
    assert (kept["cache"].text, kept["own"].text) == (SKILL.text, "")
    assert (kept["own"].version, kept["own"].digest, kept["own"].private) == ("1.2", "d1", True)
    assert kept["briefing"].text == ""  # it has an event of its own
    assert "oracle" not in repr(event)
    assert "oracle" not in repr(PRIVATE)


def test_the_stack_has_another_digest_when_anything_in_it_is_another() -> None:
    def digest(column: str, *layers: Layer) -> str:
        return stack_event(RunId("r1"), stack("fix", column, "# Card\n", layers)).digest

    base = digest("a", SKILL)
    others = (
        digest("b", SKILL),
        digest("a"),
        digest("a", replace(SKILL, digest="d2")),
        digest("a", SKILL, PROFILE),
    )
    assert len({base, *others}) == 5
    assert digest("a", SKILL) == base


def test_secrets_in_a_layer_are_not_kept() -> None:
    layer = replace(SKILL, text="Use ghp_" + "a" * 36)
    assert stack_event(RunId("r1"), (layer,)).layers[0].text == "Use [redacted]"


@pytest.mark.parametrize(
    "line",
    [
        "> Always ask the oracle first.",
        '{"type": "say", "text": "Always ask the oracle first.\\nSo."}',
        'it said \\"Grüße an das Orakel von Delphi\\" in French'.replace("\\", ""),
        '{"text": "Gr\\u00fc\\u00dfe an das Orakel von Delphi"}',
        "The key is in the temple: 4711",
    ],
)
def test_lines_of_private_skills_are_taken_out_of_what_an_agent_says(line: str) -> None:
    layer = replace(PRIVATE, text="Always ask the oracle first.\n\nGrüße an das Orakel von Delphi\nok")
    files = (SkillContent("own/references/a.md", b"The key is in the temple: 4711\n"),)
    secrecy = secrecy_of(Equipment((layer, SKILL), files))
    assert PRIVATE_SKILL_MARK in secrecy.redact_private_skills(line)
    assert secrecy.redact_private_skills("ok. Use it.") == "ok. Use it."


@pytest.mark.parametrize(
    "line", ['", "changed": ["It is all of it', '{"done": "As the oracle said', 'done": "']
)
def test_what_a_call_says_stays_json_whatever_a_private_line_looks_like(line: str) -> None:
    secrecy = secrecy_of(Equipment((replace(PRIVATE, text=f"{line}\nAsk the oracle, always."),)))
    body = {"done": "Ask the oracle, always. As the oracle said", "changed": ["It is all of it"]}
    body |= {"stage": "Ask the oracle, always.", "open": line}
    call = BoardToolCalled(RUN, "Ask the oracle, always.", "c1", "finish", json.dumps(body))
    redact_event = secrecy.redact_event(call)
    said = json.loads(redact_event.body)
    assert said["done"] == f"{PRIVATE_SKILL_MARK} As the oracle said"
    assert said["changed"] == ["It is all of it"]
    assert (said["stage"], redact_event.session_id) == (
        "Ask the oracle, always.",
    ) * 2  # a name leads somewhere
    assert said["open"] == (PRIVATE_SKILL_MARK if len(line) >= 16 else line)


def test_the_metadata_of_a_report_tells_no_private_line_wherever_it_stands() -> None:
    line = "Always ask the oracle first."
    secrecy = secrecy_of(Equipment((PRIVATE,)), (line, "Ask the oracle, always"))
    metadata = {"stage": line, "Ask the oracle, always": [line, {"thread_id": line}], "port": 80}
    call = BoardToolCalled(RUN, "s1", "c1", "finish", json.dumps({"done": "x", "metadata": metadata}))
    kept = json.loads(secrecy.redact_event(call).body)
    mark = PRIVATE_SKILL_MARK
    assert kept["metadata"] == {"stage": mark, mark: [mark, {"thread_id": mark}], "port": 80}
    again = FinishInput.model_validate(kept)
    final = FinalReported(RUN, "x", (), (), (), metadata=metadata)
    assert secrecy.redact_event(final).metadata == kept["metadata"] == again.metadata


def test_what_was_told_before_stays_private_when_other_skills_are_attached_now() -> None:
    before = secrecy_of(Equipment((PRIVATE,)))
    secrecy = secrecy_of(Equipment((replace(PRIVATE, text="The temple is in Delphi."),)), before.phrases)
    said = "Always ask the oracle first. The temple is in Delphi."
    assert secrecy.redact_private_skills(said) == f"{PRIVATE_SKILL_MARK} {PRIVATE_SKILL_MARK}"


def test_what_everybody_may_read_is_not_taken_out() -> None:
    public = replace(PRIVATE, private=False)
    assert secrecy_of(Equipment((public,), (SkillContent("own/a", b"A long public line."),))).phrases == ()


def test_a_turn_keeps_its_own_phase_whatever_its_name_and_what_it_is_started_again_for() -> None:
    run_id, history, at = RunId("r1"), History(), datetime(2026, 11, 29, tzinfo=UTC)
    events = (
        TurnStarted(run_id, "plan", "first", "s1"),
        TurnEnded(run_id, "first", "done", 0, 1.0),
        TurnStarted(run_id, "heed", "plan-q1", "s1"),
        TurnEnded(run_id, "plan-q1", "asked", 0, 1.0),
        TurnStarted(run_id, "answer", "plan-q1", "s1"),
        WorkspaceTaken(run_id, "w", "c", 2, "b"),
    )
    for seq, event in enumerate(events[:-1], start=1):
        history.take([Recorded(seq, "run:r1", seq, at, event)])
    assert history.turn is not None
    assert (history.turn.turn, history.turn.phase, history.turn.outcome) == ("plan-q1", "heed", "")
    history.take([Recorded(len(events), "run:r1", len(events), at, events[-1])])
    assert set(history.turns) == {"first"}  # only the plan is no work


def test_the_text_of_a_private_persona_is_as_private_as_that_of_a_skill() -> None:
    stages = (
        StageSpec("a", "oracle", text="The oracle of Delphi has spoken.", private=True),
        StageSpec("b", "tester", text="Everyone may read this line.", private=False),
    )
    secrecy = secrecy_of(Equipment(), stages=stages)
    said = "The oracle of Delphi has spoken. Everyone may read this line."
    assert secrecy.redact_private_skills(said) == f"{PRIVATE_SKILL_MARK} Everyone may read this line."
