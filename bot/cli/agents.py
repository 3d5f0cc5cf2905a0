"""`cardinal agents`: who can work on cards here, with the operator's own; checks, trials and images."""

import time
from dataclasses import asdict, dataclass

import click

from bot.admin.doctor.runner import image_command, image_of, lacks_program
from bot.admin.images import context
from bot.cli import CliError, _home
from bot.cli._show import answer_rows, clean, json_option, show
from bot.runspec import policy_fields
from bot.runspec.host_paths import make_host_paths
from bot.system import model_keys
from bot.system.config import Config
from rules.policy.images import BROWSER_IMAGE, IMAGE, full_name
from runner import agents
from runner.agents.acp.program import AcpAgent, AcpProgram
from runner.agents.acp.program_file import list_unread_files
from runner.errors import RunnerError
from runner.run.provider import how_to_pay
from runner.session import chat
from runner.workspaces.docker import engine as docker

_PROMPT = "Say in one short sentence that you can hear me. Use no tools."
_TRIAL_S = 180.0
_UNREAD = "is not read: name it NAME.yml, with a NAME of small letters, digits, - and _, or remove it"


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What is known of one agent; `problem` is empty unless it cannot work, and says what to do."""

    agent: str
    version: str = ""
    protocol: str = ""
    keys: str = ""
    metering: str = ""
    image: str = ""
    problem: str = ""


@click.command("agents")
@click.option("--check", is_flag=True, help="Also look whether each one's image is here, at its version.")
@click.option(
    "--try",
    "tried",
    metavar="AGENT",
    help="Let it answer once, in a container. That costs its model's price.",
)
@click.option("--model", default="small", show_default=True, help="The model of that answer.")
@click.option("--build", "built", metavar="AGENT", help="Build the image that contains its program.")
@json_option
def command(check: bool, tried: str | None, model: str, built: str | None, as_json: bool) -> None:
    """List the agents that can work on cards here.

    They are Cardinal's own, and those in the folder `agents` of the home: a file NAME.yml for each program
    that speaks the Agent Client Protocol. Exit code 1 if one of them cannot work.

    \b
    Examples:
      cardinal agents --check
      cardinal agents --build goose
      cardinal agents --try goose
    """
    config = _home.settings()
    if built is not None:
        raise SystemExit(_build_image(_program_of(built, config)))
    if tried is not None:
        answer = _try_agent(tried, model, config)
        show(
            answer,
            as_json=as_json,
            text=lambda: [f"{key}: {clean(str(text))}" for key, text in answer.items()],
        )
        return
    if check:
        docker.Engine(docker.engine_address()).ping()
    rows = [_facts_of(name, config, checks=check) for name in agents.names(config.agents)]
    unread = list_unread_files(config.agents)
    rows += [AgentFacts(path.name, problem=f"{path}: {_UNREAD}") for path in unread]
    show({"agents": [asdict(row) for row in rows]}, as_json=as_json, text=lambda: answer_rows(rows))
    raise SystemExit(1 if any(row.problem for row in rows) else 0)


def _facts_of(name: str, config: Config, *, checks: bool) -> AgentFacts:
    try:
        agent = agents.load(name, config.agents)
    except RunnerError as error:
        return AgentFacts(name, problem=str(error))
    lacks = checks and lacks_program(agent)
    return AgentFacts(
        agent=name,
        version=agent.version,
        protocol="ACP" if isinstance(agent, AcpAgent) else "its own",
        keys=" or ".join(agent.secrets),
        metering="" if agent.trusted else str(agent.metering),
        image=image_of(agent),
        problem=f"{image_of(agent)} has no {name} {agent.version}: {image_command(agent)}" if lacks else "",
    )


def _try_agent(name: str, model: str, config: Config) -> dict[str, object]:
    """Return what one answer was and cost. Raises CliError, and what the chat raises."""
    agent = agents.load(name, config.agents)
    paid = model_keys.providers(config, config.board_owner)
    if agent.secrets and not set(agent.secrets) & set(paid):
        raise CliError(f"no key pays for {name}: {how_to_pay(agent.provider(model))}")
    began = time.monotonic()
    answer = chat.ask_once(
        name,
        _PROMPT,
        model=model,
        places=make_host_paths(config),
        timeout_s=_TRIAL_S,
        workspace=policy_fields.workspace(config),
        allow_unsandboxed=config.allow_unsandboxed,
        providers=paid,
    )
    seconds = round(time.monotonic() - began, 1)
    cost = {"usd": answer.usd, "tokens": answer.tokens}
    return {"agent": name, "version": agent.version, "answer": answer.text, "seconds": seconds, **cost}


def _program_of(name: str, config: Config) -> AcpProgram:
    """Return the program whose image can be built. Raises CliError."""
    agent = agents.load(name, config.agents)
    if not agent.in_image:
        raise CliError(f"{name} comes with Cardinal and needs no image")
    built_in = agents.names()
    own_image = f"cardinal/agent-{name}:latest"
    if name in built_in and not agent.image:
        raise CliError(f"{name} is in the agents' image: run `cardinal images agent`")
    if not isinstance(agent, AcpAgent) or not agent.image:
        raise CliError(f"the file of {name} names no `image` to build, such as {own_image}: add it")
    taken = {IMAGE, BROWSER_IMAGE, *(agents.load(other).image for other in built_in if other != name)}
    if full_name(agent.image) in taken:
        raise CliError(f"{agent.image} is Cardinal's own: write another `image`, such as {own_image}")
    if not agent.program.package:
        raise CliError(f"the file of {name} names no `package`, such as npm:NAME or pypi:NAME: add it")
    return agent.program


def _build_image(program: AcpProgram) -> int:
    """Build it from the recipes that this installation has; return the exit code of that."""
    of_program = {
        "PROGRAM_TAG": program.image,
        "PROGRAM_AGENT": program.name,
        "PROGRAM_PACKAGE": program.package,
        "PROGRAM_VERSION": program.version,
        "PROGRAM_COMMAND": program.command[0],
        "PROGRAM_DEBIAN": " ".join(program.debian),
    }
    return context.build(("program",), {"IMAGES_NAME": "cardinal agents", **of_program})
