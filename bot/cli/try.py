"""`cardinal try`: a board for your own repository, on this machine."""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from bot.admin.clone.own_git import CloneError
from bot.admin.trial import carried, trial
from bot.admin.trial.agent_switch import agents_under_way, plan_switch
from bot.admin.trial.checks import SCRIPTED, look_at_checks, store_packages, take_up
from bot.admin.trial.container_place import container_needs
from bot.admin.trial.move import carry, destination, local_board
from bot.admin.trial.payment import check_payment, keys_in
from bot.cli import CliError, _forge
from bot.cli._show import clean, clone_option
from bot.github.client import REPOSITORY
from bot.github.personal import PersonalHub
from bot.system import config
from bot.system.clock import utc_now
from bot.system.env_file import OWN_AGENTS
from bot.system.secret import Secret
from bot.system.setting_types import board_address
from rules.policy.model import agents_of
from runner import agents

MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,199}")
NOT_INSTALLED = "--yes installs no system packages: run `{}`, then start again"
TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")  # cli.github.com/manual/gh_help_environment
ADDRESSES = ("CARDINAL_GITHUB_URL", "CARDINAL_GIT_URL")


@click.command("try")
@click.option(
    "--into", default="", metavar="BRANCH", help="Where Done merges.  [default: the current branch]"
)
@click.option(
    "--agent", metavar="AGENT", help="Who works on the cards: one of `cardinal agents`.  [default: scripted]"
)
@click.option("--model", default="", help="The model of --agent, as its provider calls it.")
@click.option("--yes", is_flag=True, help="Ask nothing, and install no system packages.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--move-to", default="", metavar="OWNER/REPO", help="Move cards and open branches to GitHub.")
@click.option(
    "--board", default="", metavar="OWNER/NUMBER", help="Its board there.  [default: the owner's only one]"
)
@click.option("--dry-run", is_flag=True, help="List the cards to move, and write nothing.")
@clone_option("A folder of the repository.")
def command(
    into: str, agent: str | None, model: str, yes: bool, no_browser: bool, move_to: str, board: str,
    dry_run: bool, folder: Path,
) -> None:  # fmt: skip
    """Try Cardinal on your own repository.

    Runs a board on this machine until Ctrl-C; start it again to continue. Everything it keeps is in the
    folder .cardinal, hidden from git: delete that and Cardinal is gone. Finished work arrives in branches
    cardinal/..., and Done merges into your branch. Nothing else in your repository changes.

    The scripted agent needs no key, and does the same small thing on every card. A real one works in a
    container and needs your key: ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in the environment. On
    a board that is there, --agent switches the agent of its columns.

    --move-to acts as you, with the token in GH_TOKEN. If it is interrupted, run it again to continue.

    \b
    Examples:
      cardinal try
      cardinal try --agent claude --into develop
      cardinal try --agent opencode --model qwen3-coder:30b
      GH_TOKEN=$(gh auth token) cardinal try --move-to acme/shop --dry-run
    """
    place = trial.find(folder, into)
    if move_to:
        move(place, move_to, board, yes=yes, dry_run=dry_run)
        return
    if agent and agent not in (known := agents.names(place.folder / OWN_AGENTS)):
        raise CliError(f"--agent needs one of {', '.join(known)}")
    if board or dry_run:
        raise CliError("--board and --dry-run need --move-to: add it, or drop them")
    if model and not agent:
        raise CliError("--model needs --agent: add it, such as --agent opencode")
    if model and not MODEL.fullmatch(model):
        raise CliError("--model needs the name of a model, such as qwen3-coder:30b")
    if place.is_new:
        chosen = agent or SCRIPTED
        workspace = _prepare({chosen: trial.models_for(chosen, model)}, place, yes=yes)
        _begin(place, chosen, model, yes=yes)
    else:
        if not place.is_from_here():
            click.echo(
                f"{clean(str(place.folder))} was imported, or created by another user or on another machine."
            )
            click.confirm("Its settings decide what runs here, and who gets your key. Use it?", abort=True)
        policy = trial.policy_of(place)
        trial.remember(place, {**place.answers(), "columns": [*policy.board.columns]})
        workspace = (
            _switch(place, agent, model, yes=yes) if agent else _prepare(agents_of(policy), place, yes=yes)
        )
        if workspace == "local":
            _take_up_checks(place, yes=yes)
    args = [str(place.folder), f"--workspace={workspace}", *([] if no_browser else ["--browser"])]
    players = {*agents_of(trial.policy_of(place)), *agents_under_way(place)}
    _forge.exec_program("forge.portable", *args, workspace=workspace, players=players)


def _switch(place: trial.Trial, agent: str, model: str, *, yes: bool) -> str:
    """Give the columns that agent, once its key is tried and the person agrees; return where agents work."""
    with carried.hold_board(place.folder):
        switch = plan_switch(place, agent, model)
        workspace = _prepare(agents_of(switch.policy), place, yes=yes)
        if switch.changes:
            for change in switch.changes:
                click.echo(clean(change))
            click.echo("Runs that are under way keep the agent that they have.")
            if not yes:
                click.confirm(f"Write this into {clean(str(place.folder / trial.POLICY))}?", abort=True)
            trial.write_policy(place, switch.text)
    return workspace


def _prepare(wanted: Mapping[str, Iterable[str]], place: trial.Trial, *, yes: bool) -> str:
    """Try the keys of these agents, say what has to be fetched, with its size, and return where they work.

    Only the scripted agent needs no container. Raises CloneError and CliError where they cannot work.
    """
    check_payment(wanted, keys_in(place, os.environ), lambda text: click.echo(clean(text)))
    if {*wanted, *agents_under_way(place)} <= {SCRIPTED}:
        return "local"
    needs = container_needs()
    for sentence in needs.sentences():
        click.echo(sentence)
    if needs.packages and yes:
        raise CliError(NOT_INSTALLED.format(needs.command))
    if needs.packages:
        click.confirm("Install these packages on this machine?", abort=True)
    return "docker"


def _begin(place: trial.Trial, agent: str, model: str, *, yes: bool) -> None:
    """Propose how work is checked, and make the folder once the person agrees."""
    looked = look_at_checks(place, agent)
    checks = looked.proposal
    click.echo(f"repository: {clean(str(place.top))}\nDone merges into: {clean(place.into)}")
    if checks is None:
        click.echo("checks: those of its .github/cardinal.yml")
    else:
        because = ", ".join(map(clean, checks.because))
        click.echo(f"checks, taken from {because}:" if because else "checks: none found, so none will run")
        for rule in checks.rules():
            click.echo(f"  {clean(rule)}")
    for sentence in looked.notes:
        click.echo(clean(sentence))
    click.echo(f"You can change all of this later in {trial.FOLDER}/{trial.POLICY}.")
    if not yes and not click.confirm("Start? (--yes skips this question)", default=True):
        raise click.Abort
    trial.write(place, agent, checks, os.environ, model=model, offline=looked.offline)
    store_packages(place, looked)


def _take_up_checks(place: trial.Trial, *, yes: bool) -> None:
    """Offer the checks that were left out for want of packages, once those are installed in the clone."""
    looked = look_at_checks(place, SCRIPTED)
    store_packages(place, looked)
    if not (text := take_up(place, looked)):
        return
    for sentence in looked.notes:
        click.echo(clean(sentence))
    if yes or click.confirm("The checks that were left out can run now. Run them from now on?", default=True):
        with carried.hold_board(place.folder):
            trial.write_policy(place, text)


def move(place: trial.Trial, repository: str, board: str, *, yes: bool, dry_run: bool) -> None:
    """Carry the board's cards and branches over. Raises CliError, CloneError."""
    if not REPOSITORY.fullmatch(repository):
        raise CliError("--move-to needs an owner and a name, such as acme/shop")
    if board and not board_address(board):
        raise CliError("--board needs an owner and a project number, such as acme/1")
    if place.is_new:
        raise CloneError("there is no board here: start `cardinal try` first")
    addresses = {name: os.environ[name] for name in ADDRESSES if name in os.environ}
    home = place.folder / "move"  # the board's own settings are those of its forge
    settings = config.read({**addresses, "CARDINAL_HOME": str(home)}, place.folder)
    hub = PersonalHub(settings, _token(), utc_now, _say)
    with carried.hold_board(place.folder), destination.in_words():
        local = local_board.read(place)
        there = destination.find(hub, repository, board)
        carry.show_plan(there, local, _say)
        if dry_run:
            click.echo("Nothing was written.")
            return
        if not yes:
            click.confirm("Move it?", abort=True)
        carry.carry(there, local, _say)
    click.echo(
        f"Everything has been moved. This board is unchanged: delete {clean(str(place.folder))} if you "
        "no longer need it."
    )


def _token() -> Secret:
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), "")
    if not token and sys.stdin.isatty():
        token = click.prompt(
            "Your token for GitHub, with the scopes repo and project", hide_input=True, err=True
        )
    if not token:
        raise CliError(
            "no GitHub token: run `gh auth refresh -s project` once, then put GH_TOKEN=$(gh auth "
            "token) before the command"
        )
    return Secret(token)


def _say(text: str) -> None:
    click.echo(clean(text) if text[:1] != " " else f"  {clean(text)}")
