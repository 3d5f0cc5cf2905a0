"""Effects of board calls on a run: events, and the reply to the agent."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ledger.events import run as happened
from ledger.events.related import CardLinked, CardProposed, PipelineLimited
from ledger.events.turn import BoardToolCalled
from ledger.rows.limit_answers import MAKE_CARD, NO_CARD, Subject, is_reserved, of_agent, question
from runner.agents import board_tools
from runner.run.history import History
from runner.run.run_spec import RunSpec
from runner.session.stage_machine import refusal_of_stage
from runner.text.plain import cut_bytes, each_text, redact
from runner.text.untrusted import without_invisible
from runner.text.visible import strip_hidden

SHOWN_BYTES = 40_000  # an answer travels in one datagram
_BRIEFING_BYTES = 8_000
_TEXT_BYTES = 600
_ITEMS = 20
_ELSEWHERE = 2  # cards that a run may propose in other repositories
_ELSEWHERE_BYTES = 4_000  # people read all of such a card before it is made
_FILES = 10
_WORK_ONLY = frozenset({"finish", "tick", "thread", "go_to_stage", "create_card", "link_card", "attach"})
_REST = "name further ones in `finish`, open_questions"


@dataclass(frozen=True, slots=True)
class LimitReached:
    """A limit that keeps a call from its effect.

    `limit`: cards, links or depth; `problem` is for the agent.
    """

    limit: str
    most: int
    problem: str


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a call. `parks`: the turn is over, people are asked. `attaches` is a text for the store."""

    events: tuple[happened.RunEvent, ...]
    reply: Mapping[str, object]
    parks: bool = False
    attaches: board_tools.AttachInput | None = None


def effect_of(
    call: board_tools.BoardCall, spec: RunSpec, history: History, *, planning: bool, session_id: str
) -> Effect:
    """Return the effect of `call`. A repeated call has none, and its reply says so."""
    if isinstance(call.input, board_tools.ShowCardInput):
        return Effect((), {"ok": True, "card": card_shown(spec, history)})
    if (session_id, call.call_id) in history.calls:
        return _reply_again(call, history)
    problem = (
        _refusal(call, spec, planning=planning)
        or refusal_of_stage(call.input, spec, history)
        or _misfit(call, spec, history)
    )
    if problem:
        return Effect((), {"error": problem})
    reached = limit_reached(call.input, spec, history)
    if reached:
        news = PipelineLimited(spec.run_id, reached.limit, reached.most)
        return Effect(() if reached.limit in history.cards.limited else (news,), {"error": reached.problem})
    # Each text by itself: in JSON an unterminated secret would remove the rest.
    clean = type(call.input).model_validate(each_text(call.input.model_dump(mode="json"), redact))
    attaches = clean if isinstance(clean, board_tools.AttachInput) else None
    stored = {"name": attaches.name} if attaches else clean.model_dump(mode="json")  # the store has the text
    body = json.dumps(stored, ensure_ascii=False)
    recorded = BoardToolCalled(spec.run_id, session_id, call.call_id, call.tool, body)
    run_events = _meaning(board_tools.BoardCall(call.call_id, call.tool, clean), spec, history)
    parks = _asks(clean) is not None
    return Effect((recorded, *run_events), {"ok": True}, parks, attaches)


def _asks(given: board_tools.Tool) -> Subject | None:
    """Return the subject of a call's question to people; None: it asks nothing."""
    if isinstance(given, board_tools.AskInput | board_tools.BlockInput):
        return Subject.WORK
    elsewhere = isinstance(given, board_tools.CreateCardInput) and given.repository
    return Subject.ELSEWHERE if elsewhere else None


def _reply_again(call: board_tools.BoardCall, history: History) -> Effect:
    subject = _asks(call.input)
    if subject is None:
        return Effect((), {"ok": True, "repeated": True})
    question = history.newest(subject)
    if question is None or question.answer is None:
        return Effect((), {"ok": True, "repeated": True}, parks=True)
    return Effect((), {"ok": True, "repeated": True, "answer": question.answer})


def withheld_tools(spec: RunSpec) -> tuple[str, ...]:
    """Return the tools, and the fields as `tool.field`, that can only be refused in this run, or say nothing
    there: no agent is told of them.
    """
    limits = spec.limits
    useful = {
        "go_to_stage": spec.stages,
        "finish.criteria": spec.briefing.has_brief,
        "create_card.repository": spec.elsewhere,
        "create_card.relation": spec.elsewhere,
        "create_card.column": limits.columns,
        "create_card.start": limits.start,
        "create_card.skills": limits.skills,
        "create_card.agent": spec.agents,
    }
    return tuple(name for name, use in useful.items() if not use)


def _refusal(call: board_tools.BoardCall, spec: RunSpec, *, planning: bool) -> str:
    if spec.investigates:
        known = call.tool in board_tools.INVESTIGATING
        return "" if known else "this run only reads: end it with `findings`, or `ask` what keeps you"
    if call.tool == "findings":
        return "this run is no investigation: do the work, then call `finish`"
    if call.tool == "plan" and not planning:
        return "the plan is settled: do the work, or `ask` when it cannot be done as planned"
    if call.tool in _WORK_ONLY and planning:
        return "this turn is for the plan only: call `plan`"
    return ""


def _misfit(call: board_tools.BoardCall, spec: RunSpec, history: History) -> str:
    """Return why the call does not fit this card and run, or nothing."""
    match call.input:
        case board_tools.AskInput(choices=choices) if any(map(is_reserved, choices)):
            return "one of these choices is Cardinal's own, about limits or leave: word yours otherwise"
        case board_tools.ThreadInput(thread_id=thread_id):
            known = [thread.thread_id for thread in spec.threads]
            if thread_id not in known:
                return f"there is no such thread; there are {', '.join(known) or 'none'}"
        case board_tools.CreateCardInput() as card:
            return _unfit_card(card, spec, history)
        # Not a matter of the schema: a text that was redacted may be a little longer than the agent's.
        case board_tools.AttachInput(content=content) if (
            len(content.encode("utf-8", "replace")) > board_tools.ATTACHED_BYTES
        ):
            return f"a text may have {board_tools.ATTACHED_BYTES:,} bytes: attach what matters of it"
        case board_tools.AttachInput() if history.attached >= _FILES:
            return f"this run attached {_FILES} files already: say the rest in `finish`"
        case board_tools.LinkCardInput(target=target):
            if _full_reference(target, spec).lower() == spec.full_reference.lower():
                return "this is the card itself: name the number of another one"
    return ""


def _unfit_card(card: board_tools.CreateCardInput, spec: RunSpec, history: History) -> str:
    """Return why the card cannot be proposed, or nothing."""
    repository, body = card.repository, card.body
    if card.agent and _agent_name(card.agent) not in spec.agents:
        known = ", ".join(spec.agents) or "none: leave `agent` out"
        return f"a card cannot be given to {card.agent}: names for it are {known}"
    if not repository:
        return _unfit_place(card, spec) or _unfit_parents(card, spec, history)
    if card.parents or card.after or card.column or card.start or card.skills or card.agent:
        theirs = "`parents`, `after`, `column`, `start`, `skills` or `agent`"
        return f"`repository` goes with no {theirs}: leave them out"
    if repository.casefold() not in map(str.casefold, spec.elsewhere):
        known = ", ".join(spec.elsewhere) or "none"
        return f"this card has no work in {repository}: repositories for it are {known}"
    if sum(question.subject is Subject.ELSEWHERE for question in history.questions) >= _ELSEWHERE:
        return f"this run proposed {_ELSEWHERE} cards in other repositories already: say the rest in `finish`"
    if len(body.encode("utf-8", "replace")) > _ELSEWHERE_BYTES:
        return f"people read all of it before it is made: a body there may have {_ELSEWHERE_BYTES:,} bytes"
    return ""


def _unfit_place(card: board_tools.CreateCardInput, spec: RunSpec) -> str:
    """Return why the policy does not let the new card go there, start, or have these skills; or nothing."""
    limits = spec.limits
    if card.column and card.start:
        return "`start` chooses the column: leave out one or the other"
    if card.start and not limits.start:
        return "the policy lets you start nothing: leave out `start`, and people decide"
    if card.column and card.column.casefold() not in map(str.casefold, limits.columns):
        return f"you may put no card into {card.column}: columns for it are {_join_names(limits.columns)}"
    if strange := next((skill for skill in card.skills if skill not in limits.skills), ""):
        return f"you may not pin the skill {strange}: skills for it are {_join_names(limits.skills)}"
    return ""


def _join_names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _unfit_parents(card: board_tools.CreateCardInput, spec: RunSpec, history: History) -> str:
    """Return why the new card cannot wait for its parents, or nothing."""
    for parent in (_full_reference(parent, spec).lower() for parent in card.parents):
        if parent == spec.full_reference.lower():
            return "a part cannot wait for the card that it is a part of: leave this card out of `parents`"
        if parent.rpartition("#")[0] != spec.repository.lower():
            return f"{parent} is in another repository: say it in the body"
    made = history.cards.proposed
    if any(number > made for number in card.after):
        return f"this run made {made} cards so far: `after` names earlier ones, 1 is the first"
    return ""


def _agent_name(agent: str) -> str:
    return agent.strip().removeprefix("@")


def _full_reference(target: str, spec: RunSpec) -> str:
    return target if "/" in target else f"{spec.repository}#{target.removeprefix('#')}"


def _meaning(call: board_tools.BoardCall, spec: RunSpec, history: History) -> tuple[happened.RunEvent, ...]:
    run_id = spec.run_id
    match call.input:
        case board_tools.PlanInput(summary=summary, steps=steps):
            revision = history.plan.revision + 1 if history.plan else 1
            return (
                happened.PlanProposed(
                    run_id=run_id,
                    revision=revision,
                    summary=summary,
                    steps=steps,
                    base=spec.base,
                    policy=spec.policy,
                ),
            )
        case board_tools.TickInput(done=done):
            return (
                happened.PlanTicked(run_id, min(done, len(history.plan.steps)) if history.plan else done),
            )
        case board_tools.ProgressInput(text=text):
            return (happened.Progressed(run_id, text),)
        case board_tools.NoteInput(text=text):
            return (happened.Noted(run_id, text),)
        case board_tools.AskInput(question=question, choices=choices):
            return (_question(spec, history, question, choices),)
        case board_tools.BlockInput(reason=reason):
            return (_question(spec, history, reason, ()),)
        case board_tools.CreateCardInput() as card if card.repository:
            return _propose_elsewhere(card, spec, history)
        case board_tools.CreateCardInput(title=title, body=body, reason=reason) as card:
            parents = tuple(dict.fromkeys(_full_reference(parent, spec) for parent in card.parents))
            after = tuple(dict.fromkeys(card.after))
            proposal = history.cards.proposed + 1
            return (
                CardProposed(
                    *(run_id, proposal, title, body, reason),
                    parents=parents,
                    after=after,
                    column=card.column,
                    start=card.start,
                    skills=tuple(dict.fromkeys(card.skills)),
                    agent=_agent_name(card.agent),
                ),
            )
        case board_tools.LinkCardInput(target=target, relation=relation, reason=reason):
            return (CardLinked(run_id, _full_reference(target, spec), relation, reason),)
    return ()  # attach is for the store; finish and thread wait until the branch is on GitHub: see `report`


def _propose_elsewhere(
    card: board_tools.CreateCardInput, spec: RunSpec, history: History
) -> tuple[happened.RunEvent, ...]:
    """Return the proposal, and the question that shows people all of it."""
    there = next(name for name in spec.elsewhere if name.casefold() == card.repository.casefold())
    question_id = history.next_question_id(spec.run_id)
    stands = "is blocked by" if card.relation == "blocked_by" else "blocks"
    text = (
        f"Make an issue in {there}? This card {stands} it then. {card.reason}\n\n{card.title}\n\n{card.body}"
    )
    proposal = history.cards.proposed + 1
    given = (card.title, card.body, card.reason, there, card.relation, question_id)
    return (
        CardProposed(spec.run_id, proposal, *given),
        question(spec.run_id, question_id, Subject.ELSEWHERE, text, (MAKE_CARD, NO_CARD)),
    )


def _question(spec: RunSpec, history: History, text: str, choices: tuple[str, ...]) -> happened.QuestionAsked:
    return of_agent(spec.run_id, history.next_question_id(spec.run_id), text, choices)


def report(spec: RunSpec, history: History) -> tuple[happened.RunEvent, ...]:
    if history.reported:
        return ()
    known = [thread.thread_id for thread in spec.threads]
    replies = map(board_tools.ThreadInput.model_validate, history.threads.values())
    answers = (
        happened.ThreadAnswered(spec.run_id, reply.thread_id, reply.text, reply.addressed)
        for reply in replies
        if reply.thread_id in known
    )
    return (*answers, *final_report(spec, history))


def final_report(spec: RunSpec, history: History) -> tuple[happened.FinalReported, ...]:
    """Return what the agent said in `finish`, also of a run that failed after it; nothing without that."""
    if history.reported or history.finish is None or spec.investigates:
        return ()
    # Accepted once, the metadata is reported as it was recorded: without what was taken out on the way.
    said = {name: value for name, value in history.finish.items() if name != "metadata"}
    metadata = history.finish.get("metadata") or {}
    finish_input = board_tools.FinishInput.model_validate(said)
    criteria = tuple(happened.CriterionTest(it.criterion, it.test) for it in finish_input.criteria)
    lists = (finish_input.changed, finish_input.check, finish_input.open_questions, criteria)
    return (happened.FinalReported(spec.run_id, finish_input.done, *lists, metadata),)


@lru_cache(maxsize=200)  # about the texts of a card, which is shown again and again, and cut to fit
def _visible(text: str, *, tags: bool = True) -> str:
    return strip_hidden(text, tags=tags)


def card_shown(spec: RunSpec, history: History) -> dict[str, object]:
    """Return the card as facts for JSON, at most SHOWN_BYTES; long and old parts are left out."""
    for share in (1, 2, 4):
        facts = _facts(spec, history, share)
        if len(json.dumps(facts)) <= SHOWN_BYTES:
            return facts
    return _facts(spec, history, 16)


def _facts(spec: RunSpec, history: History, share: int) -> dict[str, object]:
    text_bytes, items = _TEXT_BYTES // share, _ITEMS // share
    answers = [question for question in history.questions if question.answer is not None]
    return {
        "number": spec.number,
        "issue": spec.reference,
        "title": cut_bytes(without_invisible(spec.title), _TEXT_BYTES),
        "repository": spec.repository,
        "branch": spec.branch,
        "base_branch": spec.base_branch,
        "attempt": spec.attempt,
        "kind": spec.kind,
        "mode": spec.mode,
        "other_repositories": spec.elsewhere,
        "new_cards": {
            "columns": spec.limits.columns,
            "start": spec.limits.start,
            "skills": spec.limits.skills,
            "agents": spec.agents,
        },
        "plan": _plan(history, text_bytes),
        "threads": [
            {
                "thread_id": thread.thread_id,
                "path": cut_bytes(thread.path, text_bytes),
                "line": thread.line or None,
                "text": cut_bytes(_visible(thread.text), text_bytes),
                "answered": thread.thread_id in history.threads,
            }
            for thread in spec.threads[:items]
        ],
        "notes": [cut_bytes(_visible(note, tags=False), text_bytes) for note in history.notes[-items:]],
        "answers": [
            {
                "question": cut_bytes(_visible(question.event.text, tags=False), text_bytes),
                "answer": cut_bytes(redact(_visible(question.answer or "")), text_bytes),
            }
            for question in answers[-items:]
        ],
        "briefing": cut_bytes(spec.briefing.text, _BRIEFING_BYTES // share),
    }


def _plan(history: History, text_bytes: int) -> dict[str, object] | None:
    plan = history.plan
    if plan is None:
        return None
    return {
        "state": plan.state,
        "summary": cut_bytes(_visible(plan.summary, tags=False), 3 * text_bytes),
        "steps": [
            {"step": cut_bytes(_visible(step, tags=False), text_bytes // 2), "done": number <= plan.done}
            for number, step in enumerate(plan.steps, start=1)
        ],
    }


def limit_reached(given: board_tools.Tool, spec: RunSpec, history: History) -> LimitReached | None:
    """Return the limit that a new card or link would exceed; None where it may be made."""
    limits = spec.limits
    if history.cards.linked + _links(given) > limits.links:
        said = f"this run linked {history.cards.linked} cards already, and may link {limits.links}: {_REST}"
        return LimitReached("links", limits.links, said)
    if not isinstance(given, board_tools.CreateCardInput):
        return None
    if history.cards.proposed >= limits.cards:
        return LimitReached("cards", limits.cards, f"this run proposed {limits.cards} cards already: {_REST}")
    if spec.depth >= limits.depth:
        said = f"this card came from {spec.depth} cards of agents, so it may make none: {_REST}"
        return LimitReached("depth", limits.depth, said)
    return None


def _links(given: board_tools.Tool) -> int:
    match given:
        case board_tools.LinkCardInput():
            return 1
        case board_tools.CreateCardInput(parents=parents, after=after):
            return len(parents) + len(after)
    return 0
