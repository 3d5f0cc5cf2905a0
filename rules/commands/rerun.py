"""Do again what a run did, beside it: with its briefing, policy and commit, or another agent."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import ValidationError

from ledger.events.conversation import CommandGiven
from ledger.events.run import CHECK, OWN, RERUN
from ledger.rows.runs import PastRun
from rules.chatops.parser import Parsed, RefusedCommand, door_of, permit
from rules.chatops.replies import say
from rules.intents.internal import QueueRun
from rules.intents.outbound import Decision
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.policy.stages import MARK
from rules.runs.rerun import MAX_AT_ONCE
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal rerun [run] [--agent A] [--model M] [--base now]"
ROLE = Role.WRITE
TAKES = "optional"
ALSO = ("retry", "approve")  # it starts a run, and its plan waits for nobody
INSTEAD = "Options: `--agent`, `--model` and `--base`."
NAMES_RUN = True
AS_THEN, NOW = "as-then", "now"
RUN = re.compile(r"r[1-9][0-9]{0,17}")
_DASHES = re.compile(r"(?:--|—|–)(agent|model|base)")  # a telephone makes one dash of two


@dataclass(frozen=True, slots=True)
class Wish:
    """The words of a `rerun` or `fork`; empty where nothing is said. `wrong` is a word that means nothing, or
    an option without its value.
    """

    run: str = ""
    agent: str = ""
    model: str = ""
    base: str = AS_THEN
    at: str = ""
    words: str = ""
    wrong: str = ""


def read_wish(argument: str) -> Wish:
    """Return the wish in the words after the command."""
    said: dict[str, str] = {}
    words = argument.replace("`", " ").replace("=", " ").split()
    while words:
        word = words.pop(0)
        option = _DASHES.fullmatch(word)
        if option and words and not _DASHES.fullmatch(words[0]) and option[1] not in said:
            said[option[1]] = words.pop(0)
        elif not option and "run" not in said and RUN.fullmatch(word.lower()):
            said["run"] = word.lower()
        else:
            return Wish(wrong=word)
    if said.get("base", AS_THEN) not in (AS_THEN, NOW):
        return Wish(wrong=said["base"])
    return Wish(**said)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue the run where the earlier one is known well enough, and the policy has that agent and model."""
    wish, past = read_wish(given.argument), snapshot.past
    queued = queue_beside(policy, given, past, wish, _obstacle(snapshot, past, wish))
    if isinstance(queued, str) or past is None:
        return say(snapshot, given, f"No run was started: {queued}.")
    run, as_then = past.run, wish.base == AS_THEN
    repeated = replace(
        queued,
        mode_rule="repeat",
        asked=run.asked,
        reproduces=run.reproduces,
        base_commit=past.base if as_then else "",
    )
    where = "on its original commit" if as_then else "on today's base"
    return Decision((repeated,), (f"{run.run_id} is done again{with_whom(queued)}, {where}, beside it",))


def queue_beside(
    policy: Policy, given: CommandGiven, past: PastRun | None, wish: Wish, because: str
) -> QueueRun | str:
    """Return the run beside the card's own that is like that one, or why there is none; `because` is what
    else stands against it.
    """
    if because or past is None:
        return because
    choice, run = _pick_agent(past, wish), past.run
    if choice and (unfit := _refuse_choice(policy, given, past, choice)):
        return unfit
    return QueueRun(
        given.card_id,
        RERUN,
        given.by,
        plan_required=False,
        mode=run.mode,
        mode_value=run.run_id,
        door=door_of(given.source),
        other_agent=choice,
        again_of=run.run_id,
    )


def with_whom(queued: QueueRun) -> str:
    return f" with {code(queued.other_agent, 80)}" if queued.other_agent else ""


def find_obstacle(snapshot: Snapshot, past: PastRun | None, named: str) -> str:
    """Return why nothing can be started beside that run, with the way out; empty when it can."""
    if snapshot.archived:
        return "the card left the board"
    if past is None:
        which = f"no {named}: name one of its own runs" if named else "no run yet"
        return f"this card has {which}"
    run = past.run
    if _settings_of(past) is None:
        return f"{run.run_id} had settings that this Cardinal cannot read: `/cardinal retry` starts a new run"
    if len(snapshot.reruns) >= MAX_AT_ONCE:
        names = ", ".join(it.run_id for it in snapshot.reruns)
        return f"{names} are at work beside this card already: wait for one, or `/cardinal cancel`"
    return ""


def _obstacle(snapshot: Snapshot, past: PastRun | None, wish: Wish) -> str:
    """Return why that run cannot be done again, with the way out; empty when it can."""
    if wish.wrong:
        return f"{code(wish.wrong, 60)} is unclear. Write `{USAGE}`"
    if past is None or snapshot.archived:
        return find_obstacle(snapshot, past, wish.run)
    run = past.run
    if run.kind == CHECK:
        return f"{run.run_id} only checked a commit: `/cardinal check` does so again"
    if run.agent == OWN and not wish.agent:
        said = "somebody's own worker did it and cannot be asked again: name an agent"
        return f"{run.run_id} has no agent: {said}, such as `--agent claude --base {NOW}`"
    if not past.briefed:
        return (
            f"no briefing of {run.run_id} is kept, since no agent began: `/cardinal retry` starts a new run"
        )
    if wish.base == AS_THEN and not past.base and _settings_of(past) is not None:
        return f"it was not recorded on which commit {run.run_id} began: add `--base {NOW}`"
    return find_obstacle(snapshot, past, wish.run)


def _settings_of(past: PastRun) -> ColumnPolicy | None:
    """Return the column's policy of then; None where an older Cardinal wrote what this one does not know."""
    try:
        return ColumnPolicy.model_validate_json(past.run.settings)
    except ValidationError:
        return None


def _pick_agent(past: PastRun, wish: Wish) -> str:
    """Return the agent, with its model, that is to play it; empty for that of then."""
    if not (wish.agent or wish.model):
        return ""
    agent = wish.agent or past.run.agent
    return f"{agent}/{wish.model}" if wish.model else agent


def _refuse_choice(policy: Policy, given: CommandGiven, past: PastRun, choice: str) -> str:
    """Return why that person may choose no agent, or not this one; empty where they may, as by
    `/cardinal agent`.
    """
    may = permit(policy, Parsed("agent", ""), role=given.role, login=given.by)
    return may.because.rstrip(".") if isinstance(may, RefusedCommand) else _unknown(policy, past, choice)


def _unknown(policy: Policy, past: PastRun, choice: str) -> str:
    """Return why today's policy, and that of then, have no such agent or model; empty where one has it."""
    known: dict[str, set[str]] = {}
    then = _settings_of(past)
    for column in (*filter(None, (then,)), *policy.board.columns.values()):
        known.setdefault(column.agent, set()).update({column.model, *column.models})
        for name in (it for it in column.agents if not it.startswith(MARK)):
            agent, _, model = name.partition("/")
            known.setdefault(agent, set()).update({model or "default", *column.models})
    known.pop(OWN, None)  # it claims cards, and no run beside them
    agent, _, model = choice.partition("/")
    if agent not in known:
        return f"no column of the policy has the agent {code(agent, 60)}: choose {_listed(known)}"
    if model and model not in known[agent]:
        return (
            f"no column gives {code(agent, 60)} the model {code(model, 60)}: choose {_listed(known[agent])}"
        )
    return ""


def _listed(names: "set[str] | dict[str, set[str]]") -> str:
    return alternatives(code(name, 60) for name in sorted(names)[:20])
