"""Fields of a specification that the policy and the operator decide: nothing is read for them."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

from bot.render import missing_checks
from bot.system.config import Config
from ledger.model.run_modes import FOLDER
from rules.policy import network as policy_network
from rules.policy.column import ColumnPolicy
from rules.policy.repository import Guardrails, RepositoryRules, folder
from rules.policy.stages import tools_of_choice
from runner import workspaces
from runner.guards import builtin as guards
from runner.run.run_spec import (
    Guards,
    Limits,
    PathSpec,
    RunSpec,
    ServiceSpec,
    ToolServerSpec,
    ToolSpec,
    ValidationSpec,
)

BYTES_PER_MB = 1_000_000
BASE = "main"  # the branch of files that have no repository
_OF_CONTENTS = ("secrets",)


def from_policy(config: Config, column: ColumnPolicy, rules: RepositoryRules) -> dict[str, Any]:
    return {
        "early": column.publish == "early",
        "model": column.model,
        "effort": column.effort or "",
        "models": column.models,
        "instructions": column.instructions,
        "limits": Limits(
            timeout_s=column.timeout_minutes * 60,
            silence_s=column.silence_minutes * 60,
            checkpoint_s=config.checkpoint_s,
            max_turns=column.max_turns,
            max_tokens=column.max_tokens,
            budget_usd=column.budget_usd,
            output_bytes=int(column.max_output_mb * BYTES_PER_MB),
            **column.pipelines.model_dump(),
            **rules.limits.model_dump(),
        ),
        "tools": _tools(column, rules),
        "servers": _servers(rules),
        "services": _services(rules),
        "secrets": column.secrets,
        "resources": column.resources,
        "image": rules.image,
        "guards": guards_of(rules.guardrails),
        "workspace": workspace(config),
        "private_hosts": config.private_hosts,
    }


def without_repository(spec: RunSpec, column: ColumnPolicy) -> RunSpec:
    """Return the specification of a run that works on files of its own: what is about a clone is not in it.

    Its gate is the column's checks. Of the guards those stay that look at what is in a file.
    """
    servers = tuple(server for server in spec.servers if not server.reads)  # the others serve the clone
    names = {server.name for server in servers}
    tools = replace(
        spec.tools, mcp=tuple(tool for tool in spec.tools.mcp if tool.partition("__")[0] in names)
    )
    checks = ValidationSpec(full=column.checks, waived=not column.checks, definition=_digest(column.checks))
    return replace(
        spec,
        branch=BASE if spec.mode == FOLDER else spec.branch,
        base_branch=BASE,
        early=False,
        start="",
        failing="",
        validation=checks,
        tools=tools,
        servers=servers,
        guards=Guards({name: spec.guards.action(name) for name in _OF_CONTENTS}),
        authorship=replace(spec.authorship, key=None, by_github=False),
        limits=spec.limits.model_copy(update={"files_changed": 0, "lines_changed": 0}),
        folder_mb=column.folder_mb,
    )


def _digest(lines: tuple[str, ...]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()


def validation_of(repository: str, base: str, rules: RepositoryRules, *, has_file: bool) -> ValidationSpec:
    """Return set-up and checks as the policy at the commit `base` has them."""
    checks = rules.validation
    paths = tuple(
        PathSpec(
            path=folder(name),
            directory=folder(path.working_directory) or folder(name),
            setup=path.setup,
            fast=path.validation.fast,
            full=path.validation.full,
        )
        for name, path in rules.paths.items()
    )
    known: dict[str, Any] = {"definition": rules.definition, "paths": paths}
    if checks is None or not base:  # without a commit the run ends with that, before any check
        return ValidationSpec(rules.setup, waived=True, **known)
    absent = "" if rules.checked else missing_checks.describe_gaps(repository, has_file=has_file)
    return ValidationSpec(rules.setup, checks.fast, checks.full, absent=absent, **known)


def workspace(config: Config) -> str:
    """Return the workspace backend of runs here: the operator's choice, else the best that can be used."""
    return workspaces.first_usable() if config.workspace == "auto" else config.workspace


def _tools(column: ColumnPolicy, rules: RepositoryRules) -> ToolSpec:
    allowed = column.tools
    network = policy_network.word(allowed.network)
    return ToolSpec(
        edit=str(allowed.edit),
        run=str(allowed.run),
        commit=str(allowed.commit),
        network=network,
        hosts=allowed.network if network == "list" else (),
        ask=allowed.ask,
        deny=rules.guardrails.commands.deny,
        mcp=tools_of_choice(
            tuple(f"{name}__{tool}" for name, server in rules.mcp.items() for tool in server.tools),
            allowed.mcp,
        ),
    )


def _servers(rules: RepositoryRules) -> tuple[ToolServerSpec, ...]:
    return tuple(
        ToolServerSpec(
            name=name,
            command=server.command,
            image=server.image,
            hosts=server.network,
            reads=server.repository == "read",
            secrets=server.secrets,
        )
        for name, server in rules.mcp.items()
    )


def _services(rules: RepositoryRules) -> tuple[ServiceSpec, ...]:
    return tuple(
        ServiceSpec(
            name=name,
            image=service.image,
            command=service.command,
            environment=tuple(service.environment.items()),
            ports=service.ports,
            health=service.health,
            writable=service.writable,
            memory_mb=service.memory_mb,
        )
        for name, service in rules.services.items()
    )


def guards_of(written: Guardrails) -> Guards:
    """Return the rules of the guards, each under the name of its file, which is its key."""
    actions = {name: written.actions.get(name, guard.ACTION) for name, guard in guards.GUARDS.all()}
    return Guards(actions, written.protect, written.allow, written.max_file_kb)
