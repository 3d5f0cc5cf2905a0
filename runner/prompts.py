"""What an agent is told in each phase. Pure."""

from typing import assert_never

from runner.agent import Phase
from runner.fence import flat
from runner.history import History, Plan
from runner.order import WorkOrder
from runner.unseen import shown

_TOOLS = (
    "Say what you mean through the board tools: `plan`, `tick`, `progress`, `note`, `ask`, `thread`, `block` "
    "and `finish`. A question to people is `ask`, and ends this turn. The work ends with `finish`, and only "
    "with it. Where you have no such tools, write the call on lines of its own in what you say: ```board, "
    'then {"tool": "<name>", "input": {…}}, then ```.'
)
_PLAN = (
    "Plan this card. Read what you need and change nothing: the repository is read-only now. "
    "Then call `plan` with a summary and steps that can be ticked, and end the turn."
)
_WORK = (
    "Do the work on the branch you are on, commit in small steps, tick the plan's steps, and call `finish`."
)
_WORDS = "The run had stopped to ask people how to go on, and this is what they wrote"
_CI = (
    "Checks of the pull request are red on GitHub. Repair the cause on the branch you are on, commit in "
    "small steps, and call `finish`. Do not weaken a check to make it pass."
)
CI_TURN = "repair-ci"
_REPORT = (
    "You stopped without saying how it ended. Change nothing more; call `finish` with what was done, what "
    "changed, what to check and what is open, or `block` with what keeps you from going on."
)


def compose(phase: Phase, order: WorkOrder, history: History, *, turn: str = "", detail: str = "") -> str:
    """Return the prompt of one turn; its first line names run, turn and phase.

    A session that goes on has the briefing already; a fresh one gets it whole. `detail`: a person's words
    or the failing output.
    """
    parts = [f"Run {order.run_id}, turn {turn or phase} ({phase})."]
    if not history.session(order.session_id):
        parts += [order.briefing, order.instructions, _TOOLS]
    elif phase is Phase.REVISE or history.unread:
        parts += [order.briefing]
    parts += [_core(phase, order, history, detail) if turn != CI_TURN or phase is not Phase.REPAIR else _CI]
    if order.failing and turn in (CI_TURN, str(Phase.WORK), str(Phase.REVISE)):
        parts += [f"This is what the red checks of the pull request said:\n\n{order.failing}"]
    words = history.unheeded_words()
    if words is not None and phase is not Phase.HEED:
        parts += [f"{_WORDS}:\n{shown(words.words)}"]
    if history.steering:
        parts += ["People wrote meanwhile:\n" + "\n\n".join(map(shown, history.steering.values()))]
    return "\n\n".join(part for part in parts if part)


def _core(phase: Phase, order: WorkOrder, history: History, detail: str) -> str:
    match phase:
        case Phase.PLAN:
            return _PLAN
        case Phase.REDIRECT:
            said = f"Make another one; this is what was said:\n{shown(detail)}"
            return f"The plan was not approved. {said}\n\n{_PLAN}"
        case Phase.WORK:
            return f"{_approved(history.plan)}{_WORK}"
        case Phase.REVISE:
            return f"People reviewed the branch. Do what the review asks for.\n\n{_threads(order)}{_WORK}"
        case Phase.ANSWER:
            return f"Your question was answered:\n{shown(detail)}\n\nGo on from where you stopped."
        case Phase.REPAIR:
            return f"The repository's checks fail. Repair the cause, commit, and end the turn.\n\n{detail}"
        case Phase.HEED:
            return f"{_WORDS}:\n{shown(detail)}\n\nDo what they ask for, commit, and end the turn."
        case Phase.REPORT:
            return _REPORT
        case Phase.CHAT:
            return detail
    assert_never(phase)


def _approved(plan: Plan | None) -> str:
    if plan is None:
        return ""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan.steps, start=1))
    return f"The plan is approved:\n{plan.summary}\n{steps}\n\n"


def _threads(order: WorkOrder) -> str:
    if not order.threads:
        return ""
    asked = (
        f"[{thread.thread_id}] {flat(thread.path)}{f':{thread.line}' if thread.line else ''}\n"
        f"{shown(thread.text)}"
        for thread in order.threads
    )
    return "Answer each of these review threads with `thread`:\n\n" + "\n\n".join(asked) + "\n\n"
