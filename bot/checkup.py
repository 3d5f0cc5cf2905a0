"""What `cardinal doctor` looks at: each check says what it found and, when that is bad, the one next step."""

from collections.abc import Callable, Iterator

from bot.checkups import board, github, lines, machine, workplace
from bot.checkups.finding import Finding, Level, Patient
from bot.github.errors import GithubError

__all__ = ["CHECKS", "Finding", "Level", "Patient", "examine"]

CHECKS: tuple[Callable[[Patient], Iterator[Finding]], ...] = (
    machine.settings,
    machine.ledger,
    machine.home,
    machine.disk,
    machine.group,
    machine.redis,
    workplace.workspaces,
    workplace.agents,
    github.app,
    github.installation,
    github.hook,
    github.deliveries,
    github.signature,
    github.budget,
    board.boards,
    board.fields,
    board.headers,
    lines.waiting,
    lines.decisions,
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Yield the findings of all checks; where GitHub fails, the check says so and the next one goes on."""
    for check in CHECKS:
        try:
            yield from check(patient)
        except GithubError as error:
            yield Finding(check.__name__, Level.FAIL, str(error), "see the reason in brackets")
