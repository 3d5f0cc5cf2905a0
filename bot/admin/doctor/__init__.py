"""Checks of `cardinal doctor`: a file for each theme, found by its name."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from bot.github.client import Hub
from bot.github.errors import GithubError, NotYetError, UnavailableError
from bot.state import policies, served_boards
from bot.system import lock_file, program
from bot.system.config import Config, ConfigError
from ledger.log import event_store
from ledger.parts import Registry
from ledger.queue.examinations import Level
from ledger.views import boards
from ledger.views.boards import BoardRow
from rules.policy.model import Policy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check; `next_step` is empty when nothing has to be done.

    `mends` names the repair of `cardinal doctor --fix`; empty where a person must act. `of_host`: it tells of
    this host alone.
    """

    name: str
    level: Level
    message: str
    next_step: str = ""
    mends: str = ""
    of_host: bool = False

    def document(self) -> dict[str, str]:
        """Return the result as programs read it."""
        return {
            "name": self.name,
            "level": self.level,
            "found": self.message,
            "next_step": self.next_step,
            "mends": self.mends,
        }


def ok(name: str, message: str, next_step: str = "") -> CheckResult:
    """Return a good result."""
    return CheckResult(name, Level.OK, message, next_step)


def warn(name: str, message: str, next_step: str, mends: str = "") -> CheckResult:
    """Return a result to look after, while Cardinal works on."""
    return CheckResult(name, Level.WARN, message, next_step, mends)


def fail(name: str, message: str, next_step: str) -> CheckResult:
    """Return a result that keeps Cardinal from its work."""
    return CheckResult(name, Level.FAIL, message, next_step)


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """Input of every check. `engine` is None while there is no readable ledger.

    `ledger_trouble`: why the ledger that should be there cannot be read, and the next step.
    """

    config: Config
    engine: Engine | None
    hub: Hub
    now: datetime
    ledger_trouble: tuple[str, str] | None = None

    @property
    def program(self) -> str:
        """The command that starts Cardinal in this home."""
        return program.of_home(self.config.home)

    def boards(self) -> tuple[BoardRow, ...]:
        """Return the boards of the ledger; none while there is no ledger."""
        return self.read(boards.all_boards, ())

    def policies(self) -> tuple[tuple[BoardRow, Policy], ...]:
        """Return the boards of the ledger, each with the policy in force there."""
        return self.read(
            lambda db: tuple((it, policies.in_force(db, it.board_id)) for it in boards.all_boards(db)), ()
        )

    def read(self, query: Callable[[Connection], T], otherwise: T) -> T:
        """Return the query's result; `otherwise` while there is no ledger."""
        if self.engine is None:
            return otherwise
        with event_store.reading(self.engine) as db:
            return query(db)

    def hub_of(self, repository: str) -> Hub:
        """Return GitHub as the installation at the repository's owner, if a board is served there."""
        if self.engine is None:
            return self.hub
        return served_boards.hub_of(self.engine, self.config, self.hub, repository)


Check = Callable[[DoctorContext], Iterator[CheckResult]]
Repair = Callable[[DoctorContext], str]


class DoctorCheck(Protocol):
    """A file of this folder: the checks of one theme, in order, and its place among the themes.

    `REPAIRS` are the repairs of `cardinal doctor --fix`, for results that name one in `mends`. Each is safe
    to do twice, and changes nothing that people wrote. Each returns a sentence. Checks in `OF_HOST` tell of
    this host alone, of no repository, owner or board, and ask nobody on GitHub. Those `ON_DEMAND` leave
    something behind, so only `cardinal doctor` makes them.
    """

    CHECKS: tuple[Check, ...]
    ORDER: int = 9
    REPAIRS: Mapping[str, Repair] = {}
    OF_HOST: tuple[Check, ...] = ()
    ON_DEMAND: tuple[Check, ...] = ()


THEMES = Registry[DoctorCheck]("doctor check", __name__, DoctorCheck)


def checks() -> tuple[Check, ...]:
    """Return the checks of all themes, in order."""
    themes = sorted((part for _, part in THEMES.all()), key=lambda part: part.ORDER)
    return tuple(check for theme in themes for check in theme.CHECKS)


def checks_of_host() -> tuple[Check, ...]:
    """Return the checks that tell of this host alone, in order."""
    own = {check for _, theme in THEMES.all() for check in theme.OF_HOST}
    return tuple(check for check in checks() if check in own)


def routine_checks() -> tuple[Check, ...]:
    """Return the other checks that leave nothing behind, in order."""
    left = {check for _, theme in THEMES.all() for check in (*theme.OF_HOST, *theme.ON_DEMAND)}
    return tuple(check for check in checks() if check not in left)


def examine(context: DoctorContext, chosen: Iterable[Check] | None = None) -> Iterator[CheckResult]:
    """Yield the results of all checks, or of the chosen ones.

    One that GitHub or the ledger fails says so, the next one goes on. Checks that lack a setting for GitHub
    are left out: `host.settings` names the setting.
    """
    own = checks_of_host()
    for check in checks() if chosen is None else chosen:
        try:
            yield from (replace(result, of_host=check in own) for result in check(context))
        except GithubError as error:
            yield CheckResult(check.__name__, Level.FAIL, str(error), _way_out(context, error))
        except DBAPIError as error:
            message = f"the ledger cannot be read: {' '.join(str(error.orig).split())[:300]}"
            yield CheckResult(
                check.__name__, Level.FAIL, message, "run `cardinal restore FILE` with a back-up"
            )
        except OSError as error:
            message = f"{error.filename}: {error.strerror}"
            yield CheckResult(check.__name__, Level.FAIL, message, "give this user write access")
        except ConfigError:
            continue


def _way_out(context: DoctorContext, error: GithubError) -> str:
    """Return the next step. The small GitHub of `cardinal try` runs only while that does."""
    home = context.config.home
    if (home / program.TRIAL).exists() and lock_file.read_presence(home) is None:
        return f"start `{context.program}`: it also starts the board's own GitHub"
    if isinstance(error, UnavailableError) and not isinstance(error, NotYetError):
        return f"check that this machine can reach {context.config.github_url}"
    return error.advice


def mend(context: DoctorContext, results: Iterable[CheckResult]) -> Iterator[str]:
    """Do the repairs that results name, each once, and yield a sentence for each, also for a failure."""
    repairs = {name: repair for _, theme in THEMES.all() for name, repair in theme.REPAIRS.items()}
    for name in dict.fromkeys(result.mends for result in results if result.mends):
        try:
            yield repairs[name](context)
        except GithubError as error:
            yield f"{name}: {error}"
