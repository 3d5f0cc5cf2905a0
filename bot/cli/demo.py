"""`cardinal demo`: a board to play with, beside a small GitHub on this machine."""

import click

from bot.admin.images import context
from bot.cli import _forge
from runner import agents


@click.command("demo")
@click.option(
    "--auto", is_flag=True, help="Play the whole story unattended; exit code 0 if every step happened."
)
@click.option(
    "--agent",
    type=click.Choice(agents.names()),
    default="scripted",
    show_default=True,
    help="The agent that works on cards.",
)
@click.option(
    "--workspace", type=click.Choice(["local", "docker"]), help="Where it works; real agents use containers."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The forge's port.  [default: a free one]"
)
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option("--json", "report", type=click.Path(dir_okay=False), help="Write a report into this file.")
@click.option("--enterprise", is_flag=True, help="GitHub is an Enterprise Server: /api/v3, no rate limit.")
@click.option("--keep", is_flag=True, help="Keep the demo's folder afterwards.")
@click.option("--clean", is_flag=True, help="Only remove what earlier demos left over.")
def command(
    auto: bool, agent: str, workspace: str | None, port: int, no_browser: bool, report: str | None, *,
    enterprise: bool, keep: bool, clean: bool,
) -> None:  # fmt: skip
    """Start a board to play with, until Ctrl-C.

    A small GitHub runs beside it, on this machine alone. A scripted model stands in for the
    provider of a real agent: no key, no cost. Containers need a Docker engine; as root on
    Debian one is installed, and runs as long as the demo.

    \b
    Examples:
      cardinal demo
      cardinal demo --auto
      cardinal demo --agent claude
    """
    if clean:
        _forge.replace("bash", str(context.script("clean")))
    workspace = workspace or ("local" if agent == "scripted" else "docker")
    args = [f"--agent={agent}", f"--workspace={workspace}", f"--port={port}"]
    switches = (
        ("--auto", auto), ("--enterprise", enterprise), ("--keep", keep),
        ("--browser", not (auto or no_browser)),
    )  # fmt: skip
    args += [word for word, wanted in switches if wanted]
    args += [f"--json={report}"] if report else []
    _forge.exec_program("forge.demo", *args, workspace=workspace, players=(agent,))
