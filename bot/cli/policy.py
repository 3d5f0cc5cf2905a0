"""`cardinal policy validate`: whether a policy file would be taken."""

from pathlib import Path

import click

from bot.cli._show import json_option, line, show
from rules.errors import PolicyError
from rules.policy import parse

MOST_BYTES = 1_000_000  # the rules' own cap is lower; this one keeps a wrong file out of memory


@click.group("policy")
def command() -> None:
    """Work with the policy file, .github/cardinal.yml."""


@command.command("validate")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=".github/cardinal.yml"
)
@click.option("--home", default="", metavar="OWNER/REPOSITORY", help="The repository that the file is in.")
@json_option
def validate(file: Path, home: str, as_json: bool) -> None:
    """Check a policy file as strictly as Cardinal does. Exit code 1 when it would be refused."""
    problems = _problems(file, home)
    found = {"file": str(file), "valid": not problems, "problems": problems}
    show(found, as_json=as_json, text=lambda: [line(one) for one in problems] or [f"{file} is valid"])
    raise SystemExit(1 if problems else 0)


def _problems(file: Path, home: str) -> tuple[str, ...]:
    with file.open("rb") as opened:
        raw = opened.read(MOST_BYTES)
    try:
        parse(raw.decode("utf-8"), home=home)
    except UnicodeDecodeError:
        return ("the file is not UTF-8",)
    except PolicyError as error:
        return error.problems
    return ()
