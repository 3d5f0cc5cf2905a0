"""Advice for a repository whose policy file names no checks."""

from rules.policy.locations import PATH
from rules.policy.model import Policy, default_policy

LINE = '`repository: {validation: {full: ["make test"]}}`'
WAIVED = (
    "**Nothing was checked.** The repository's policy says `validation: none`: no test, linter or build ran"
    " on this work."
)
EXAMPLE = """\
```yaml
version: 1
repository:
  validation: {full: ["make test"]}
```"""


def describe_gaps(repository: str, *, has_file: bool) -> str:
    """Return why no agent works there, and the line to write; the card shows the first 160 characters."""
    return (
        f"{lack(repository, has_file=has_file)}: name your tests, {LINE}, then retry."
        " There would be nothing to check an agent's work with."
        " To work without checks, write `validation: none` instead."
    )


def lack(repository: str, *, has_file: bool) -> str:
    """Return the sentence that names the missing file or checks."""
    return f"{repository}'s {PATH} names no checks" if has_file else f"{repository} has no {PATH}"


def hints(policy: Policy) -> tuple[str, ...]:
    """Return the effects of a file on runs that may surprise somebody.

    A board's file mostly has a repository of its own, with nothing to check.
    """
    rules = policy.repository
    is_boards = not rules.model_fields_set and policy.board != default_policy(policy.board.home or "").board
    if rules.paths or is_boards:
        return ()
    if rules.waived:
        return ("validation is none: nothing checks agents' work in this repository",)
    if not rules.checked:
        return (
            "no validation: runs on this repository's cards end before an agent starts; write"
            f" {LINE}, or `validation: none`",
        )
    return ()


def next_steps() -> str:
    """Return the text to paste, for somebody who never wrote such a file."""
    return (
        f"Next: put this into `{PATH}` on the default branch, with the command that runs your tests, then try"
        f" again. If the file exists, add only the last two lines.\n\n{EXAMPLE}\n\n"
        "`validation: none` works without checks; every pull request says so then."
    )
