"""What `cardinal doctor` looks at: each check says what it found and, when that is bad, the one next step."""

from collections.abc import Callable, Iterator

from sqlalchemy.exc import DBAPIError

from bot.admin.doctor import backlog, board, github, host, repositories, runner
from bot.admin.doctor.check_result import CheckResult, DoctorContext, Level
from bot.github.errors import GithubError
from bot.system.config import ConfigError

__all__ = ["CHECKS", "CheckResult", "DoctorContext", "Level", "examine"]

CHECKS: tuple[Callable[[DoctorContext], Iterator[CheckResult]], ...] = (
    host.settings,
    host.ledger,
    host.home,
    host.disk,
    host.group,
    host.redis,
    runner.workspaces,
    runner.agents,
    github.app,
    github.installation,
    github.hook,
    github.deliveries,
    github.signature,
    github.budget,
    board.boards,
    board.columns,
    board.fields,
    board.headers,
    repositories.names,
    repositories.checks,
    backlog.waiting,
    backlog.starts,
    backlog.decisions,
)


def examine(patient: DoctorContext) -> Iterator[CheckResult]:
    """Yield the findings of all checks; one that GitHub or the ledger fails says so, the next one goes on.

    What GitHub cannot be asked for lack of a setting is left out: `machine.settings` names the setting.
    """
    for check in CHECKS:
        try:
            yield from check(patient)
        except GithubError as error:
            yield CheckResult(check.__name__, Level.FAIL, str(error), "see the reason in brackets")
        except DBAPIError as error:
            found = f"the ledger cannot be read: {' '.join(str(error.orig).split())[:300]}"
            yield CheckResult(check.__name__, Level.FAIL, found, "`cardinal restore FILE` with a back-up")
        except OSError as error:
            found = f"{error.filename}: {error.strerror}"
            yield CheckResult(check.__name__, Level.FAIL, found, "let this user write there")
        except ConfigError:
            continue
