"""Checks of a policy beyond the shape of its keys: names must exist, actions must fit."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ledger.events.run import OWN
from ledger.model.column_names import column_key
from rules.policy.board import CAPS, BoardRules, LabelSettings
from rules.policy.column import ColumnPolicy
from rules.policy.messages import locate, sentences, unknown
from rules.policy.network import secret_problems
from rules.policy.repository import ROOT, Guardrails, RepositoryRules, folder
from rules.policy.roles import Role
from rules.policy.schedule import schedule_problems
from rules.policy.stages import MARK, Stage, Workflow, find_lost_ways, find_routes, find_wide_stages
from rules.policy.yaml_reader import Path, Written
from rules.registry import ACTIONS, ARCHETYPES, COMMANDS, PROFILES
from rules.text import alternatives, code

_DRIVE = re.compile(r"[A-Za-z]:")
_PATTERN = re.compile(r"[*?\[\]]")
NO_PROFILE = "none"
Names = tuple[str, ...]


def path_problems(rules: RepositoryRules, written: Written, at: Path) -> Iterator[str]:
    """Yield a sentence for each path that is no folder below the root, is there twice, or has no checks.

    `at` is where the paths are in the file.
    """
    if rules.paths and not (rules.waived or rules.checked):
        said = "files outside these paths have no checks: give the repository's `validation`, or write none"
        yield locate(written, at, said)
    seen: dict[str, str] = {}
    for name, path in rules.paths.items():
        if problem := folder_problem(folder(name)):
            yield locate(written, (*at, name), problem)
        twin = seen.setdefault(folder(name).casefold(), name)
        if twin != name:
            yield locate(written, (*at, name), f"differs from {code(twin)} only in case or a trailing slash")
        where = folder(path.working_directory)
        if where not in ("", ROOT) and (problem := folder_problem(where)):
            yield locate(written, (*at, name, "working_directory"), problem)
        if not (path.validation.fast or path.validation.full):
            said = (
                "has no checks, so its files would not be checked: add `fast` or `full`, or remove the path"
            )
            yield locate(written, (*at, name, "validation"), said)


def folder_problem(name: str) -> str:
    """Return why this is no folder below the repository's root; empty when it may be one."""
    parts = name.split("/")
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        return "is absolute: give the folder relative to the repository's root"
    if ".." in parts:
        return "contains `..`: give the folder relative to the repository's root"
    if "" in parts or ROOT in parts or "\\" in name or name != name.strip() or not name.isprintable():
        return "is not a folder below the root: write it as git does, such as `services/api`"
    if parts[0].casefold() == ".git":
        return "is git's own folder, which no commit contains: remove it"
    if _PATTERN.search(name):
        return "is a pattern: list each folder"
    return ""


@dataclass(frozen=True, slots=True)
class Installed:
    """The names of the runner's parts, which the rules do not see: a policy can name no other. None: any.

    `thinkers` are the agents that can be told an effort.
    """

    agents: Names | None = None
    guards: Names | None = None
    thinkers: Names | None = None
    all_workflows: bool = True  # False: files beside the policy's may have more


def board_problems(board: BoardRules, written: Written, installed: Installed) -> Iterator[str]:
    """Yield a sentence for each name that leads nowhere and each action that does not fit its column."""
    at: Path = ("board",)
    folded: dict[str, str] = {}
    for name, column in board.columns.items():
        where = (*at, "columns", name)
        twin = folded.setdefault(column_key(name), name)
        if twin != name:
            yield locate(written, where, f"differs from {code(twin)} only in case, spaces or emoji")
        yield from _agent_problems(column, installed.agents, written, where)
        yield from _effort_problems(column.agent, column.effort, installed, written, where)
        yield from _column_problems(board, column, written, where)
        wanted = column.workflow
        if installed.all_workflows and wanted is not None and wanted not in board.workflows:
            at_name = (*where, "workflow")
            yield locate(written, at_name, unknown("workflow", wanted, tuple(board.workflows)))
    yield from _board_agent_problems(board, written, installed, at)
    if board.repositories.home == "named" and board.home is None:
        where = (*at, "repositories", "home")
        yield locate(
            written, where, "needs board.home, the repository whose issues are about other repositories"
        )
    yield from _workflow_problems(board, written, at, installed)
    yield from _cap_problems(board, written, at)
    known = COMMANDS.names()
    for name, allowed in board.commands.items():
        where = (*at, "commands", name)
        if name not in known:
            yield locate(written, where, unknown("command", name, known))
        yield from _role_problems(allowed, written, where)
    yield from _role_problems(board.move, written, (*at, "move"))
    owner = board.home.partition("/")[0] if board.home else None
    yield from schedule_problems(board.schedule, board.columns, owner, written, (*at, "schedule"))
    where = (*at, "repositories", "without_policy")
    yield from repository_problems(board.repositories.without_policy, written, installed, (), where)


def _board_agent_problems(
    board: BoardRules, written: Written, installed: Installed, at: Path
) -> Iterator[str]:
    """Yield a sentence for each agent that is unknown or cannot do what is asked of it."""
    for name, specialist in board.specialists.items():
        where = (*at, "specialists", name)
        if installed.agents is not None and specialist.agent not in installed.agents:
            yield locate(written, (*where, "agent"), unknown("agent", specialist.agent, installed.agents))
        yield from _effort_problems(specialist.agent, specialist.effort, installed, written, where)
    told = {column.agent for column in board.columns.values()} & {*(installed.thinkers or ())}
    for label, settings in board.labels.items():
        if settings.effort and installed.thinkers is not None and not told:
            having = alternatives(map(code, installed.thinkers))
            said = f"no column has an agent that can be told an effort: use {having}, or remove this"
            yield locate(written, (*at, "labels", label, "effort"), said)


def _cap_problems(board: BoardRules, written: Written, at: Path) -> Iterator[str]:
    """Yield a sentence for each limit of a run that is above what the board's limits let any run have."""
    for name, column in board.columns.items():
        if ARCHETYPES.load(column.archetype).STARTS_RUNS:
            where = (*at, "columns", name)
            yield from _above_caps(board, column, ("timeout_minutes", "max_turns"), written, where)
    for name, settings in board.labels.items():
        yield from _above_caps(board, settings, tuple(CAPS), written, (*at, "labels", name))


def _above_caps(
    board: BoardRules, settings: ColumnPolicy | LabelSettings, keys: Names, written: Written, at: Path
) -> Iterator[str]:
    for key in keys:
        value, most = getattr(settings, key), getattr(board.limits, CAPS[key])
        if value is not None and most is not None and value > most:
            said = f"{value:g} is more than `limits: {CAPS[key]}`, {most:g}: lower it, or raise that"
            yield locate(written, (*at, key), said)


def _agent_problems(
    column: ColumnPolicy, known: Names | None, written: Written, where: Path
) -> Iterator[str]:
    if known is None:
        return
    if column.agent not in known:
        yield locate(written, (*where, "agent"), unknown("agent", column.agent, known))
    if column.agent == OWN and _asks_model(column):
        said = f"cannot be {code(OWN)}: the assistant or `ai_task` answers here, which takes an agent's model"
        yield locate(written, (*where, "agent"), said)
    for index, choice in enumerate(column.agents):
        name = choice.partition("/")[0]
        if name not in known and not name.startswith(MARK):
            yield locate(written, (*where, "agents", index), unknown("agent", name, known))


def _effort_problems(
    agent: str, effort: str | None, installed: Installed, written: Written, where: Path
) -> Iterator[str]:
    if effort is not None and installed.thinkers is not None and agent not in installed.thinkers:
        having = alternatives(code(name) for name in installed.thinkers)
        said = f"{code(agent)} cannot be told an effort, only {having}: remove it, or change the agent"
        yield locate(written, (*where, "effort"), said)


def _asks_model(column: ColumnPolicy) -> bool:
    """Return whether something of the column asks a model without a run."""
    if column.archetype in ARCHETYPES.names() and ARCHETYPES.load(column.archetype).HAS_ASSISTANT:
        return True
    return any(step.get("action") == "ai_task" for step in (*(column.on_entry or ()), *column.on_exit))


def _role_problems(allowed: Iterable[str], written: Written, where: Path) -> Iterator[str]:
    for word in allowed:
        if word.startswith("@") and word[1:] in set(Role):
            yield locate(written, where, f"{code(word)} is a role: remove the @")


def repository_problems(
    rules: RepositoryRules,
    written: Written,
    installed: Installed,
    own: Names | None,
    at: Path = ("repository",),
) -> Iterator[str]:
    """Yield a sentence for each key that is no guard's, for paths that are no folders, and where the profile
    is neither built in nor one of the repository's `own`, if known. `at` is where these rules stand.
    """
    yield from path_problems(rules, written, (*at, "paths"))
    if installed.guards is not None:
        keys = (*Guardrails.model_fields, *installed.guards)
        for key in rules.guardrails.actions:
            if key not in installed.guards:
                yield locate(written, (*at, "guardrails", key), unknown("key", key, keys))
    known = tuple(sorted({NO_PROFILE, *PROFILES.names(), *(own or ())}))
    if own is not None and rules.profile not in known:
        yield locate(written, (*at, "profile"), unknown("profile", rules.profile, known))


def workflow_problems(
    board: BoardRules, workflow: Workflow, written: Written, where: Path = ()
) -> Iterator[str]:
    """Yield a sentence for each way that leads nowhere, to a stage or a column of the board."""
    yield from find_lost_ways(workflow.stages, written, (*where, "stages"))
    yield from _route_problems(board, workflow, written, where)


def _workflow_problems(board: BoardRules, written: Written, at: Path, installed: Installed) -> Iterator[str]:
    for name, workflow in board.workflows.items():
        where = (*at, "workflows", name)
        if where in written.lines:  # else it has a file of its own
            yield from workflow_problems(board, workflow, written, where)
    folded: dict[str, str] = {}
    for label, settings in board.labels.items():
        where, wanted = (*at, "labels", label), settings.workflow
        if installed.all_workflows and wanted is not None and wanted not in board.workflows:
            yield locate(written, (*where, "workflow"), unknown("workflow", wanted, tuple(board.workflows)))
        twin = folded.setdefault(label.casefold(), label)
        if twin != label:
            yield locate(written, where, f"differs from {code(twin)} only in case: keep one of them")


def _route_problems(
    board: BoardRules, rules: ColumnPolicy | Workflow, written: Written, where: Path
) -> Iterator[str]:
    for key, move in find_routes(rules).items():
        if move is not None and move.move not in board.columns:
            yield locate(written, (*where, key, "move"), unknown("column", move.move, tuple(board.columns)))


def _stages_of(board: BoardRules, column: ColumnPolicy, where: Path) -> tuple[tuple[Stage, ...], Path]:
    """Return the stages of a column's runs, and where in the file they are."""
    workflow = board.workflows.get(column.workflow or "")
    if workflow is None:
        return column.stages, (*where, "stages")
    return workflow.stages, ("board", "workflows", column.workflow or "", "stages")


def _column_problems(board: BoardRules, column: ColumnPolicy, written: Written, where: Path) -> Iterator[str]:
    yield from _route_problems(board, column, written, where)
    if column.workflow is not None and column.stages:
        said = "the column has `stages` of its own: remove them, or this key"
        yield locate(written, (*where, "workflow"), said)
    if column.workflow is not None and not ARCHETYPES.load(column.archetype).STARTS_RUNS:
        fitting = alternatives(name for name, part in ARCHETYPES.all() if part.STARTS_RUNS)
        said = f"workflows fit columns of kind {fitting}, not {column.archetype}"
        yield locate(written, (*where, "workflow"), said)
    if column.stages and not ARCHETYPES.load(column.archetype).STARTS_RUNS:
        fitting = alternatives(name for name, part in ARCHETYPES.all() if part.STARTS_RUNS)
        yield locate(
            written, (*where, "stages"), f"stages fit columns of kind {fitting}, not {column.archetype}"
        )
    for index, name in enumerate(column.pipelines.columns):
        if name not in board.columns:
            at = (*where, "pipelines", "columns", index)
            yield locate(written, at, unknown("column", name, tuple(board.columns)))
    if column.retry is not None and column.retry not in column.agents:
        said = f"{code(column.retry, 150)} is not one of the column's `agents`: add it there"
        yield locate(written, (*where, "retry"), said)
    allowed = {"edit": column.tools.edit, "run": column.tools.run, "commit": column.tools.commit}
    yield from find_lost_ways(column.stages, written, (*where, "stages"))
    stages, place = _stages_of(board, column, where)
    said = f"the column {code(str(where[-1]))}" if column.workflow else "the column"
    yield from find_wide_stages(stages, allowed, column.tools.network, written, place, column=said)
    yield from _specialist_problems(board, column, written, where)
    yield from secret_problems(column.secrets, column.tools.network, written, (*where, "secrets"))
    for key, steps in (("on_entry", column.on_entry or ()), ("on_exit", column.on_exit)):
        for index, step in enumerate(steps):
            yield from _step_problems(column.archetype, step, written, (*where, key, index))
            yield from _label_problems(board, step, written, (*where, key, index, "labels"))


def _label_problems(board: BoardRules, step: dict[str, Any], written: Written, where: Path) -> Iterator[str]:
    """Yield a sentence for each label that an answer may not set: that choice is a person's."""
    labels = step.get("labels")
    choosing = {*board.repositories.labels, *board.modes.labels, *board.labels}
    for index, label in enumerate(labels if isinstance(labels, list) else ()):
        if str(label).casefold() in {name.casefold() for name in choosing}:
            why = "chooses a card's repository or mode, or its limits, which a model's answer must not do"
            yield locate(written, (*where, index), f"{code(str(label))} {why}: remove it")


def _specialist_problems(
    board: BoardRules, column: ColumnPolicy, written: Written, where: Path
) -> Iterator[str]:
    """Yield a sentence for each specialist in a column's `agents` that is unknown or unfit for its stages."""
    for index, choice in enumerate(column.agents):
        name = choice.removeprefix(MARK)
        if name == choice:
            continue
        if name not in board.specialists:
            yield locate(
                written, (*where, "agents", index), unknown("specialist", name, tuple(board.specialists))
            )
        elif _stages_of(board, column, where)[0] and board.specialists[name].persona:
            said = f"`{name}` has a persona, and the column has stages with their own: remove one of them"
            yield locate(written, (*where, "agents", index), said)


def _step_problems(archetype: str, step: dict[str, Any], written: Written, where: Path) -> Iterator[str]:
    name = step.get("action")
    if not isinstance(name, str) or name not in ACTIONS.names():
        yield locate(written, where, unknown("action", str(name), ACTIONS.names()))
        return
    action = ACTIONS.load(name)
    try:
        action.Settings.model_validate(step)
    except ValidationError as error:
        yield from sentences(error, action.Settings, written, where)
    if not action.fits(ARCHETYPES.load(archetype)):
        fitting = alternatives(kind for kind, part in ARCHETYPES.all() if action.fits(part))
        yield locate(written, where, f"{name} fits columns of kind {fitting}, not {archetype}")


def tool_problems(board: BoardRules, repository: RepositoryRules, written: Written) -> Iterator[str]:
    """Yield a sentence for each name in `tools.mcp` that no server of the file has, or that its column lacks.

    In a file without servers any name may be right: other repositories have servers of their own.
    """
    known: dict[str, tuple[str, ...]] = {}
    for rules in (repository, board.repositories.without_policy):
        for name, server in rules.mcp.items():
            known[name] = (*known.get(name, ()), *server.tools)
    for name, column in board.columns.items():
        where: Path = ("board", "columns", name)
        lent = column.tools.mcp
        yield from _unknown(lent or (), known, written, (*where, "tools", "mcp"))
        stages, place = _stages_of(board, column, where)
        of = f"the column {code(name)}" if column.workflow else "the column"
        for index, stage in enumerate(stages):
            at: Path = (*place, index, "tools", "mcp")
            if not column.workflow:
                yield from _unknown(stage.tools.mcp or (), known, written, at)
            for wanted in stage.tools.mcp or ():
                if lent is not None and not any(_overlaps(wanted, it) for it in lent):
                    said = f"{of} does not allow {code(wanted)}: a stage may only narrow it"
                    yield locate(written, at, said)
    for name, workflow in board.workflows.items():
        for index, stage in enumerate(workflow.stages):
            at = ("board", "workflows", name, "stages", index, "tools", "mcp")
            yield from _unknown(stage.tools.mcp or (), known, written, at)


def _unknown(
    names: tuple[str, ...], known: Mapping[str, tuple[str, ...]], written: Written, at: Path
) -> Iterator[str]:
    for index, name in enumerate(names if known else ()):
        server, _, tool = name.partition("__")
        if server not in known:
            said = f"{unknown('tool server', server, tuple(known))}; one of another repository's has to be"
            yield locate(written, (*at, index), f"{said} under `repositories: without_policy: mcp`, too")
        elif tool and tool not in known[server]:
            yield locate(written, (*at, index), unknown(f"tool of {server}", tool, known[server]))


def _overlaps(wanted: str, lent: str) -> bool:
    """Tell whether two names have a tool in common: a server's name stands for all of its tools."""
    return wanted == lent or lent == wanted.partition("__")[0] or wanted == lent.partition("__")[0]
