"""`cardinal policy`: would a policy file, and what lies beside it, be taken; which profiles are built in."""

from collections.abc import Iterable
from pathlib import Path

import click

from bot.cli import CommandGroup, _policy_folder
from bot.cli._show import block, json_option, line, show
from bot.render import missing_checks
from rules import registry
from rules.errors import PolicyError
from rules.policy.model import parse
from rules.policy.validate import PROFILES

MAX_BYTES = 1_000_000  # the rules' own cap is lower; this one keeps a wrong file out of memory


@click.group("policy", cls=CommandGroup)
def command() -> None:
    """Work with the policy file, .github/cardinal.yml."""


@command.command("validate")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=".github/cardinal.yml"
)
@click.option("--home", default="", metavar="OWNER/REPOSITORY", help="The repository that the file is in.")
@json_option
def validate(file: Path, home: str, as_json: bool) -> None:
    """Check a policy file as strictly as Cardinal does. Exit code 1 when it would be refused.

    The repository's own profiles and personas, in the folder `cardinal` beside the file, are checked, too. A
    skill there that cannot be used is told.
    """
    problems, hints = _read(file, home)
    found = {"file": str(file), "valid": not problems, "problems": problems, "hints": hints}
    said = [line(one) for one in problems] or [f"{file} is valid", *map(line, hints)]
    show(found, as_json=as_json, text=lambda: said)
    raise SystemExit(1 if problems else 0)


@command.command("profiles")
@json_option
def profiles(as_json: bool) -> None:
    """List the built-in profiles of repositories.

    Each with what it suggests for a policy, and its skills.
    """
    found = [_profile(name) for name in registry.names(PROFILES)]
    show(found, as_json=as_json, text=lambda: [one for profile in found for one in _described(profile)])


def _profile(name: str) -> dict[str, object]:
    part = registry.part(PROFILES, name)
    suggested = {"setup": part.SETUP, "fast": part.FAST, "full": part.FULL, "skills": part.SKILLS}
    suggested |= {
        "start": (part.START,) if part.START else (),
        "address": (part.ADDRESS,) if part.ADDRESS else (),
    }
    return {"name": name, "what": registry.charter(part), "text": part.TEXT, **suggested}


def _described(profile: dict[str, object]) -> Iterable[str]:
    yield f"{profile['name']}: {profile['what']}"
    yield from block(str(profile["text"]))
    for tier in ("setup", "fast", "full", "start", "address", "skills"):
        lines = profile[tier]
        yield from (f"  {tier}: {one}" for one in (lines if isinstance(lines, tuple) else ()))


def _read(file: Path, home: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is wrong with file and folder, and what somebody may not have meant by them."""
    beside = _policy_folder.problems(file)
    with file.open("rb") as opened:
        raw = opened.read(MAX_BYTES)
    try:
        policy = parse(raw.decode("utf-8"), home=home, profiles=_policy_folder.own_profiles(file))
    except UnicodeDecodeError:
        return ("the file is not UTF-8", *beside), ()
    except PolicyError as error:
        return (*error.problems, *beside), ()
    return beside, (*missing_checks.hints(policy.repository), *_policy_folder.hints(file))
