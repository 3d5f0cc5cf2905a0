"""Can agents work here: git, engine, image, sandbox, the agents' versions and keys."""

import shutil
from collections.abc import Iterator

from bot.admin.doctor.check_result import CheckResult, DoctorContext, Level
from bot.runspec import builder
from bot.state import policies as policies_in_force
from ledger.log import event_store
from ledger.states import Archetype
from ledger.views import boards
from rules.policy.repository import BROWSER_IMAGE, IMAGE
from runner import agents as known_agents
from runner import workspaces as parts
from runner.agents.contract import Agent
from runner.errors import RunnerError
from runner.exec.launch import launch_problem
from runner.workspaces.bubblewrap import sandbox_problem
from runner.workspaces.docker import engine as docker
from runner.workspaces.docker.errors import ImageMissingError


def workspaces(patient: DoctorContext) -> Iterator[CheckResult]:
    """Can agents work here?"""
    if shutil.which("git") is None:
        yield CheckResult("git", Level.FAIL, "git is not on the PATH", "install git")
    if problem := launch_problem():
        yield CheckResult("launcher", Level.FAIL, "no program can be started", problem)
    if builder.workspace(patient.config) == "docker":
        yield from _containers()
    else:
        yield from _sandbox(patient)


def _containers() -> Iterator[CheckResult]:
    problem = parts.load("docker").problem()
    if problem:
        yield CheckResult("containers", Level.FAIL, "no Docker engine can be used", problem)
        return
    try:
        docker.Engine(docker.engine_address()).image(IMAGE)
    except RunnerError as error:
        yield CheckResult("containers", Level.FAIL, f"{IMAGE} cannot be used", str(error))
        return
    yield CheckResult("containers", Level.OK, f"the engine answers, and has {IMAGE}")
    try:
        docker.Engine(docker.engine_address()).image(BROWSER_IMAGE)
    except ImageMissingError:
        needed = "`scripts/images browser`, should a card's steps be played in a browser"
        yield CheckResult("browser", Level.WARN, f"{BROWSER_IMAGE} is not there", needed)
    else:
        yield CheckResult("browser", Level.OK, f"{BROWSER_IMAGE} is there")


def _sandbox(patient: DoctorContext) -> Iterator[CheckResult]:
    problem = sandbox_problem()
    step = "let users make namespaces (sysctl user.max_user_namespaces)"
    step = step if shutil.which("bwrap") else "install bubblewrap"
    if not problem:
        yield CheckResult("sandbox", Level.OK, "bubblewrap works")
    elif patient.config.allow_unsandboxed:
        yield CheckResult(
            "sandbox",
            Level.WARN,
            f"agents run without a sandbox: {problem}",
            f"{step}, and unset CARDINAL_ALLOW_UNSANDBOXED",
        )
    else:
        found = f"only the scripted agent may run: {problem}"
        yield CheckResult("sandbox", Level.WARN, found, f"{step}, or set CARDINAL_WORKSPACE=docker")


def agents(patient: DoctorContext) -> Iterator[CheckResult]:
    """Are the policy's agents known, of the image's version, and paid for?"""
    paid = builder.providers(patient.config)
    wanted = _wanted(patient)
    for name in sorted(wanted):
        if name not in known_agents.names():
            yield CheckResult(
                "agents", Level.FAIL, f"the policy asks for {name}", "correct .github/cardinal.yml"
            )
            continue
        agent = known_agents.load(name)
        unpaid = [one for one in agent.secrets if one not in paid]
        version = f" {agent.version}" if agent.version else ""
        if agent.secrets and len(unpaid) == len(agent.secrets):
            keys = " or ".join(f"CARDINAL_{one.upper()}_KEY" for one in unpaid)
            yield CheckResult("agents", Level.FAIL, f"nobody pays for {name}{version}", f"set {keys}")
        elif agent.version and builder.workspace(patient.config) == "docker" and not _has(agent):
            yield CheckResult(
                "agents", Level.FAIL, f"{IMAGE} has no {name}{version}", "build it anew: scripts/images agent"
            )
        else:
            yield CheckResult("agents", Level.OK, f"{name}{version} can work")
    if not paid:
        yield CheckResult(
            "models",
            Level.WARN,
            "no provider's key is set: only the scripted agent can work",
            "set CARDINAL_ANTHROPIC_KEY, CARDINAL_OPENAI_KEY or CARDINAL_COMPATIBLE_KEY with its _URL",
        )


def _wanted(patient: DoctorContext) -> frozenset[str]:
    if patient.engine is None:
        return frozenset()
    with event_store.reading(patient.engine) as db:
        policies = [policies_in_force.in_force(db, one.board_id) for one in boards.all_boards(db)]
    return frozenset(
        column.agent
        for policy in policies
        for column in policy.board.columns.values()
        if column.archetype is Archetype.EXECUTION
    )


def _has(agent: Agent) -> bool:
    """Tell whether the agents' image carries the very version that this agent was made for."""
    labels = {f"cardinal.agent.{agent.name}": agent.version}
    try:
        images = docker.Engine(docker.engine_address()).images(labels)
    except RunnerError:
        return True  # an engine that is away is another check's finding
    return any(IMAGE in image.names for image in images)
