"""Can agents work here: git, engine, image, sandbox, the agents' versions and keys."""

import shutil
from collections.abc import Callable, Iterator, Mapping

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.runspec import policy_fields
from bot.system import model_keys
from bot.system.config import ConfigError
from ledger.events.run import OWN
from ledger.parts import UnknownPartError
from rules.policy.images import BROWSER_IMAGE, IMAGE
from rules.policy.model import agents_of
from rules.text import plain
from runner import agents as known_agents
from runner import workspaces as parts
from runner.agents.contract import AgentAdapter
from runner.errors import ProgramError, RunnerError
from runner.exec.launch import launch_problem
from runner.gateway.models.prices import UnknownPriceError, price_of
from runner.gateway.models.routes import missing_extra, payer_of
from runner.run.provider import BedrockProvider, Provider, how_to_pay, setting_of
from runner.workspaces.bubblewrap import sandbox_problem
from runner.workspaces.docker import engine as docker
from runner.workspaces.docker.errors import ImageMissingError

_SHIM = "io.containerd."  # names of such runtimes are looked up only when a container starts


def workspaces(context: DoctorContext) -> Iterator[CheckResult]:
    """Can agents work here?"""
    if shutil.which("git") is None:
        yield fail("git", "git is not on the PATH", "install git")
    if problem := launch_problem():
        yield fail("launcher", "no program can be started", problem)
    match policy_fields.workspace(context.config):
        case "docker":
            yield from _containers(context.config.runtime)
        case "local":
            yield from _sandbox(context)
        case other if problem := parts.load(other).problem():
            yield fail("workspace", f"{other} cannot be used", problem)


def _containers(runtime: str) -> Iterator[CheckResult]:
    problem = parts.load("docker").problem()
    if problem:
        yield fail("containers", "no Docker engine can be used", problem)
        return
    engine = docker.Engine(docker.engine_address())
    try:
        version = engine.version()
        known = engine.runtimes() if runtime else ()
        engine.image(IMAGE)
    except RunnerError as error:
        yield fail("containers", f"{IMAGE} cannot be used", str(error))
        return
    if runtime and runtime not in known and not runtime.startswith(_SHIM):
        step = "register it under `runtimes` in the engine's daemon.json, or unset CARDINAL_RUNTIME"
        message = f"the engine has no runtime {runtime}, only {', '.join(known)}: no container starts"
        yield fail("containers", message, step)
        return
    yield ok("containers", f"Docker engine {plain(version, 40)} answers, and has {IMAGE}")
    try:
        engine.image(BROWSER_IMAGE)
    except ImageMissingError:
        needed = "run `cardinal images browser` to play a card's steps in a browser"
        yield warn("browser", f"{BROWSER_IMAGE} is missing", needed)
    else:
        yield ok("browser", f"{BROWSER_IMAGE} is present")


def _sandbox(context: DoctorContext) -> Iterator[CheckResult]:
    problem = sandbox_problem()
    step = "allow users to create namespaces (sysctl user.max_user_namespaces)"
    step = step if shutil.which("bwrap") else "install bubblewrap"
    if not problem:
        yield ok("sandbox", "bubblewrap works")
    elif context.config.allow_unsandboxed:
        yield warn(
            "sandbox",
            f"agents run without a sandbox: {problem}",
            f"{step}, and unset CARDINAL_ALLOW_UNSANDBOXED",
        )
    else:
        message = f"{_only(lambda agent: agent.trusted)} may run: {problem}"
        yield warn("sandbox", message, f"{step}, or set CARDINAL_WORKSPACE=docker")


def _only(fits: Callable[[AgentAdapter], bool]) -> str:
    """Return the beginning of a sentence about the agents that `fits` lets through."""
    fitting = (name for name in known_agents.names() if fits(known_agents.load(name)))
    return f"of the agents, only {' and '.join(fitting)}"


def _is_free(agent: AgentAdapter) -> bool:
    """Whether it works without a provider's key."""
    return not agent.secrets


def agents(context: DoctorContext) -> Iterator[CheckResult]:
    """Are the policy's agents known, paid for, and in the image at the right version?"""
    paid = model_keys.providers(context.config, context.config.board.owner)
    wanted = _list_agents(context)
    backend = policy_fields.workspace(context.config)
    on_images = parts.load(backend).runs_images
    for name in sorted(wanted):
        if name == OWN:
            yield ok("agents", f"{OWN}: workers of your own claim its runs")
            continue
        try:
            agent = known_agents.load(name, context.config.agents)
        except UnknownPartError:
            step = f"correct .github/cardinal.yml, or describe it in {context.config.agents / name}.yml"
            yield fail("agents", f"the policy asks for {name}, which is not here", step)
            continue
        except ProgramError as error:
            yield fail("agents", f"{error.path}: {error.problem}", "correct it, then run `cardinal agents`")
            continue
        said, problem, step = _payment(agent, sorted(wanted[name]), paid)
        known = f"{name} {agent.version}{said}"
        if problem:
            yield fail("agents", f"{problem} {known}", step)
        elif backend not in parts.backends_of(agent):
            chosen = "" if context.config.workspace == "auto" else "set CARDINAL_WORKSPACE=docker, then "
            step = f"{chosen}start a Docker engine and run `cardinal images agent`"
            yield fail("agents", f"{known}: works in containers only, and there are none here", step)
        elif on_images and lacks_program(agent):
            yield fail("agents", f"{image_of(agent)} has no {known}", f"rebuild it: {image_command(agent)}")
        else:
            yield ok("agents", f"{known}: can work")
    if not paid:
        yield warn(
            "models",
            f"no provider's key is set: {_only(_is_free)} can work",
            f"{how_to_pay('anthropic', subscription=True)}; {how_to_pay('openai')}; "
            f"{how_to_pay('gemini')}; or set CARDINAL_COMPATIBLE_KEY with its _URL",
        )


def _list_agents(context: DoctorContext) -> dict[str, set[str]]:
    """Return the agents that columns name, each with the models that they ask it for."""
    wanted: dict[str, set[str]] = {}
    for _, policy in context.policies():
        for name, models in agents_of(policy).items():
            wanted.setdefault(name, set()).update(models)
    return wanted


def _payment(agent: AgentAdapter, models: list[str], paid: Mapping[str, Provider]) -> tuple[str, str, str]:
    """Return who pays for an agent's models, as a sentence's end; and the first problem with a step."""
    allowed = {name: provider for name, provider in paid.items() if name in agent.secrets}
    said: dict[str, None] = {}
    for wanted in models:
        if not (protocol := agent.provider(wanted)):
            continue
        provider = payer_of(protocol, allowed)
        if provider is None:
            step = how_to_pay(protocol, subscription="subscription" in agent.secrets)
            return f", model {wanted}", "nobody pays for", step
        said[f", {_pays(provider)}"] = None
        if missing := missing_extra(provider):
            return "".join(said), "nobody can pay for", missing
        try:
            for model in agent.models(wanted):
                price_of(provider, model)
        except UnknownPriceError as error:
            return "".join(said), "the gateway would refuse", str(error)
    return "".join(said), "", ""


def _pays(provider: Provider) -> str:
    """Return in words who pays for an agent; never a key."""
    if isinstance(provider, BedrockProvider) and not provider.access_key:
        return "this machine's own credentials of AWS pay"
    return f"{setting_of(provider)} pays"


def image_of(agent: AgentAdapter) -> str:
    """Return the image with the agent's program, where a policy names none; empty without a program."""
    return (agent.image or IMAGE) if agent.in_image else ""


def image_command(agent: AgentAdapter) -> str:
    """Return the command that builds that image."""
    return f"cardinal agents --build {agent.name}" if agent.image else "cardinal images agent"


def lacks_program(agent: AgentAdapter) -> bool:
    """Tell whether the image of the agent lacks exactly the version that it was made for, as its labels say.

    An agent of the operator's may be in an image without such a label.
    """
    image, label = image_of(agent), f"cardinal.agent.{agent.name}"
    if not image:
        return False
    try:
        engine = docker.Engine(docker.engine_address())
        if any(image in found.names for found in engine.images({label: agent.version})):
            return False
        return agent.name in known_agents.names() or label in engine.image(image).labels
    except ImageMissingError:
        return True
    except RunnerError:
        return False  # an engine that is away is another check's finding


ORDER = 2


def owners(context: DoctorContext) -> Iterator[CheckResult]:
    """Can each owner's key file be read, and does every other board owner have a key for its agents?"""
    first = context.config.board.owner.casefold()
    for owner in sorted({row.owner.casefold() for row in context.boards() if row.served} | {first}):
        path = model_keys.file_of(context.config, owner)
        try:
            paid = model_keys.providers(context.config, owner)
        except ConfigError as error:
            yield fail("owners", str(error), "correct the file")
            continue
        for missing in filter(None, map(missing_extra, paid.values())):
            yield fail("owners", f"{owner} cannot pay", missing)
        if owner == first:
            continue
        if paid:
            whose = path.name if path.exists() else "the operator's keys"
            yield ok("owners", f"{owner} may call {', '.join(paid)}, by {whose}")
        else:
            message = f"{owner} has no key: {_only(_is_free)} can work on its boards"
            yield warn("owners", message, f"put its key into {path}")


CHECKS = (workspaces, agents, owners)
OF_HOST = (workspaces,)
