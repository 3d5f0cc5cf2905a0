"""`cardinal policy`: check or proposal of a policy file; list of built-in profiles."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from bot.admin.clone import own_git
from bot.admin.clone import proposal as proposals
from bot.admin.trial import trial
from bot.cli import CliError, _home
from bot.cli._described import CommandGroup
from bot.cli._show import clean, clone_option, json_option, show, text_block
from bot.render import missing_checks
from bot.repo_config import paths, personas, recipes, skills, workflow_files
from bot.repo_config import profiles as profile_files
from bot.repo_config.skill_sources import Shelf, folder_shelf
from bot.state import policy_names
from bot.system.clock import utc_now
from bot.system.env_file import PREFIX
from ledger.events.policy import WorkflowFile
from ledger.parts import charter
from rules.errors import PersonaError, PolicyError
from rules.policy import locations, schema
from rules.policy.edit import start_from
from rules.policy.messages import cap
from rules.policy.model import Policy, parse, personas_of
from rules.policy.schedule import coming
from rules.registry import PROFILES, BuiltInProfile
from rules.runs.skills import REPOSITORY

FETCHES = (
    "Put what `setup` fetches into the agents' image, or list the hosts in a column of the board:"
    " `tools: {network: [HOST]}`"
)
COMPLETES = "For completion in your editor, save the file and run `cardinal policy schema --write`"
SUFFIX = ".md"
COMING = 3  # times of a schedule that are shown
MAX_BYTES = 1_000_000  # the rules' own cap is lower; this one keeps a wrong file out of memory


def default_file() -> str:
    """Return the policy file of this folder: of a clone without one, that of its board by `cardinal try`."""
    of_trial = Path(trial.FOLDER, trial.POLICY)
    return str(of_trial) if of_trial.exists() and not Path(locations.PATH).exists() else locations.PATH


@click.group("policy", cls=CommandGroup)
def command() -> None:
    """Work with the policy file, .github/cardinal.yml."""


@command.command("validate")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=lambda: default_file()
)
@click.option("--home", default="", metavar="OWNER/REPOSITORY", help="The repository that the file is in.")
@json_option
def validate(file: Path, home: str, as_json: bool) -> None:
    """Check a policy file as strictly as Cardinal does. Exit code 1 if it would be refused.

    Also checks the repository's own profiles and personas, in .github/cardinal of the clone, or in the folder
    `cardinal` beside a file that is in none. Names skills there that cannot be used, and says when the next
    cards of a schedule are due. Without FILE, that is .github/cardinal.yml, or the policy of `cardinal try`
    in a clone without one.

    \b
    Example:
      cardinal policy validate
    """
    problems, hints = _read(file, home)
    result = {"file": str(file), "valid": not problems, "problems": problems, "hints": hints}
    said = [clean(problem) for problem in problems] or [f"{file} is valid", *map(clean, hints)]
    show(result, as_json=as_json, text=lambda: said)
    raise SystemExit(1 if problems else 0)


@command.command("propose")
@clone_option("A folder of the clone.")
def print_proposal(folder: Path) -> None:
    """Print a policy file that fits your clone.

    Its checks are those that the last commit appears to have. Nothing is written or run. Review it before
    you use it.

    \b
    Example:
      cardinal policy propose > .github/cardinal.yml
    """
    if not own_git.commit_of(folder, "HEAD"):
        raise own_git.CloneError(f"{folder} has no commits: go to your clone and commit first")
    proposal = proposals.propose_checks(folder, "HEAD")
    where = _schema_for(folder)
    click.echo(schema.name_schema(proposal.text(), where) if where else proposal.text(), nl=False)
    click.echo(
        f"taken from: {', '.join(map(clean, proposal.because)) or 'nothing: no checks known'}", err=True
    )
    if proposal.needs_setup():
        click.echo(FETCHES, err=True)
    for sentence in proposals.lacking_programs(proposal, image=""):
        click.echo(clean(sentence), err=True)
    for sentence in proposals.explain_environment(folder, "HEAD"):
        click.echo(clean(sentence), err=True)
    if not where:
        click.echo(COMPLETES, err=True)


@command.command("schema")
@click.option(
    "--write", is_flag=True, help="Write it beside the policy file, whose first line then names it."
)
def print_schema(write: bool) -> None:
    """Print the policy file's JSON Schema.

    With --write, it becomes the file cardinal.schema.json beside .github/cardinal.yml, or beside the policy
    of `cardinal try` in a clone without one. Do that again after an upgrade of Cardinal.

    \b
    Example:
      cardinal policy schema --write
    """
    if not write:
        click.echo(schema.schema_text(), nl=False)
        return
    policy = Path(default_file())
    beside = policy.parent / schema.FILE
    for file in (policy.parent, policy, beside):
        if file.is_symlink():
            raise CliError(f"{file} is a link: nothing was written. Replace it by what it leads to, first")
    policy.parent.mkdir(exist_ok=True)
    beside.write_text(schema.schema_text(), encoding="utf-8")
    click.echo(f"wrote {beside}")
    if policy.exists():
        _name_schema(policy)


def _name_schema(policy: Path) -> None:
    """Give the file its first line, unless it has one; the rest stays to the byte."""
    try:
        before = policy.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CliError(f"{policy} is not UTF-8: save it as UTF-8, then try again") from error
    after = schema.name_schema(before, schema.FILE)
    if after != before:
        policy.write_bytes(after.encode())
        click.echo(f"{policy} names it in its first line")


def _schema_for(folder: Path) -> str:
    """Return where editors find the schema of the clone's policy: only what is there; empty for nowhere."""
    url = os.environ.get(f"{PREFIX}PUBLIC_URL", "").rstrip("/")
    if url:
        return f"{url}{schema.ADDRESS}"
    top = own_git.git_output(folder, "rev-parse", "--show-toplevel").removesuffix("\n")
    beside = Path(top, locations.PATH).parent / schema.FILE
    return schema.FILE if beside.is_file() else ""


@command.command("profiles")
@json_option
def profiles(as_json: bool) -> None:
    """List the built-in profiles of repositories.

    Each is shown with its suggestions for a policy, and its skills.

    \b
    Example:
      cardinal policy profiles
    """
    profiles = [_profile(*part) for part in PROFILES.all()]
    show(profiles, as_json=as_json, text=lambda: [row for profile in profiles for row in _describe(profile)])


@command.command("recipes")
@click.argument("name", required=False, type=click.Choice(recipes.list_recipes()))
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A policy file that keeps what the recipe does not replace.",
)
@json_option
def print_recipe(name: str | None, file: Path | None, as_json: bool) -> None:
    """List recipes for boards, or print one.

    It is a whole policy file. With --file, it is that file with the recipe's columns.

    \b
    Example:
      cardinal policy recipes pipeline > .github/cardinal.yml
    """
    if name is None:
        titles = {each: recipes.recipe_title(recipes.read_recipe(each)) for each in recipes.list_recipes()}
        listed = [{"name": each, "title": title} for each, title in titles.items()]
        show(listed, as_json=as_json, text=lambda: [f"{each}: {title}" for each, title in titles.items()])
        return
    text = recipes.read_recipe(name)
    try:
        text = start_from(file.read_text(encoding="utf-8"), text) if file else text
        if as_json:
            show({"name": name, "text": text}, as_json=True, text=list)
        else:
            click.echo(text, nl=False)
    except UnicodeDecodeError as error:
        raise CliError(f"{file} is not UTF-8: save it as UTF-8, then try again") from error
    except PolicyError as error:
        raise CliError("; ".join(map(clean, error.problems))) from error


def _profile(name: str, part: BuiltInProfile) -> dict[str, object]:
    suggested = {"setup": part.SETUP, "fast": part.FAST, "full": part.FULL, "skills": part.SKILLS}
    suggested |= {
        "start": (part.START,) if part.START else (),
        "address": (part.ADDRESS,) if part.ADDRESS else (),
    }
    return {"name": name, "what": charter(part), "text": part.TEXT, **suggested}


def _describe(profile: dict[str, object]) -> Iterable[str]:
    yield f"{profile['name']}: {profile['what']}"
    yield from text_block(str(profile["text"]))
    for tier in ("setup", "fast", "full", "start", "address", "skills"):
        lines = profile[tier]
        yield from (
            f"  {tier}: {command_line}" for command_line in (lines if isinstance(lines, tuple) else ())
        )


def _read(file: Path, home: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the mistakes in file and folder, and hints at surprising effects."""
    further = cap((*_of_profiles(file), *_of_personas(file)))  # each of them fails a run
    with file.open("rb") as opened:
        raw = opened.read(MAX_BYTES)
    try:
        text, own = raw.decode("utf-8"), _own_profiles(file)
        installed, flows = policy_names.list_installed(_home.settings().agents), _list_workflows(file)
        policy = parse(text, home=home, installed=installed, profiles=own, workflows=flows)
    except UnicodeDecodeError:
        return ("the file is not UTF-8", *further), ()
    except PolicyError as error:
        return (*error.problems, *further), ()
    root = _folder(file).resolve().parent.parent
    absent = paths.missing(root, text, policy.repository)
    hints = (
        *missing_checks.hints(policy),
        *absent,
        *_skill_hints(file),
        *_persona_hints(file, policy),
        *_coming_cards(policy),
    )
    return (*paths.links(root, text, policy.repository), *further), hints


def _coming_cards(policy: Policy) -> Iterator[str]:
    """Yield for each schedule when its next cards are due."""
    for name, schedule in policy.board.schedule.items():
        if schedule.on is not None:
            continue
        zone = ZoneInfo(schedule.time_zone)
        times = (f"{at.astimezone(zone):%a %d %b %Y %H:%M}" for at in coming(schedule, utc_now(), COMING))
        yield f"schedule {name}: next {', '.join(times)} {schedule.time_zone}"


def _own_profiles(file: Path) -> tuple[str, ...]:
    """Return the names of the repository's own profiles, in the folder beside its policy file."""
    return _names(_shelf(file), "profiles")[: profile_files.MAX_OWN]


def _skill_hints(file: Path) -> tuple[str, ...]:
    """Return a sentence for each skill that no run can use; a run goes on without it."""
    root = _folder(file) / "skills"
    return tuple(
        f"{root / offer.name}: runs will skip this skill: {offer.problem}"
        for offer in skills.unusable(folder_shelf(root, REPOSITORY))
    )


def _of_profiles(file: Path) -> Iterator[str]:
    shelf = _shelf(file)
    for name in _own_profiles(file):
        path = f"profiles/{name}{SUFFIX}"
        try:
            profile_files.profile_of(str(_folder(file) / path), shelf.read(path, profile_files.PROFILE_BYTES))
        except PolicyError as error:
            yield from error.problems


def _list_workflows(file: Path) -> tuple[WorkflowFile, ...]:
    return workflow_files.list_workflows(folder_shelf(_folder(file) / "workflows", REPOSITORY))


def _of_personas(file: Path) -> Iterator[str]:
    root = _folder(file) / "personas"
    shelf = folder_shelf(root, REPOSITORY)
    for name in personas.list_names(shelf):
        try:
            personas.read(shelf, name)
        except PersonaError as error:
            yield from (f"{root / name}{SUFFIX}: {problem}" for problem in error.problems)


def _persona_hints(file: Path, policy: Policy) -> Iterator[str]:
    """Yield from where each persona of the policy's stages comes, unless a card's repository has its own."""
    root = _folder(file) / "personas"
    here = personas.list_names(folder_shelf(root, REPOSITORY))
    for name in sorted(personas_of(policy)):
        if name in here:
            yield f"persona {name}: from {root}, unless a card's own repository has another"
        elif name not in personas.list_built_in():
            yield f"persona {name}: not in {root} or built in: add it there, or to each card's repository"


def _names(shelf: Shelf, folder: str) -> tuple[str, ...]:
    """Return the names of Markdown files, without links, as GitHub lists them."""
    listed = (entry.name for entry in shelf.listing(folder) if entry.kind == "file")
    return tuple(name.removesuffix(SUFFIX) for name in listed if name.endswith(SUFFIX))


def _shelf(file: Path) -> Shelf:
    return folder_shelf(_folder(file), REPOSITORY)


def _folder(file: Path) -> Path:
    """Return the folder that the file's repository has beside its policy, wherever in a clone the file is:
    that of `cardinal try` is elsewhere, and cards' runs read this one.
    """
    here = file.resolve().parent
    top = own_git.git_output(here, "rev-parse", "--show-toplevel").removesuffix("\n")
    beside = here.name == Path(locations.PATH).parent.name or not top
    return (file.parent if beside else Path(top, locations.PATH).parent) / "cardinal"
