"""What `cardinal doctor` looks at: each check says what it found and, when that is bad, the one next step."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from sqlalchemy import Engine

from bot import orders, presence
from bot import policies as policies_in_force
from bot import redis as embedded
from bot.config import Config, ConfigError
from bot.github.errors import GithubError
from bot.github.hub import Hub
from ledger import book, inbox, outbox
from ledger.engine import journal_warning
from ledger.views import boards, failures, policies, remotes
from rules.policy_repository import IMAGE
from runner import workspaces
from runner.docker import engine as docker
from runner.errors import RunnerError

STUCK_S = 300
FREE_BYTES = 1024**3
CLOCK_OFF_S = 30  # GitHub refuses an App's word that is dated more than a minute ahead
FEW_CALLS = 500


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `next_step` is empty when nothing has to be done."""

    name: str
    level: Level
    found: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """What the checks look at. `engine` is None while there is no ledger."""

    config: Config
    engine: Engine | None
    hub: Hub
    now: datetime


def examine(patient: Patient) -> Iterator[Finding]:
    """Yield the findings of all checks; where GitHub fails, the check says so and the next one goes on."""
    for check in CHECKS:
        try:
            yield from check(patient)
        except GithubError as error:
            yield Finding(check.__name__.strip("_"), Level.FAIL, str(error), "see the reason in brackets")


def _settings(patient: Patient) -> Iterator[Finding]:
    try:
        patient.config.require_github()
    except ConfigError as error:
        for problem in error.problems:
            found, _, step = problem.partition(": ")
            yield Finding("settings", Level.FAIL, found, step)
        return
    yield Finding("settings", Level.OK, f"complete, home is {patient.config.home}")


def _ledger(patient: Patient) -> Iterator[Finding]:
    if patient.engine is None:
        yield Finding("ledger", Level.WARN, "there is none yet", "start `cardinal up`: it makes one")
        return
    with book.reading(patient.engine) as db:
        events = book.last_seq(db)
    warning = journal_warning(patient.engine)
    if warning:
        yield Finding(
            "ledger", Level.WARN, warning, "follow the sentence; until then it is slower, not unsafe"
        )
    else:
        yield Finding("ledger", Level.OK, f"{patient.engine.dialect.name}, {events} events")


def _disk(patient: Patient) -> Iterator[Finding]:
    place = next(folder for folder in (patient.config.home, *patient.config.home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if free < FREE_BYTES:
        yield Finding(
            "disk",
            Level.WARN,
            f"{free / 1e9:.1f} GB are free at {place}",
            "make room: runs clone repositories",
        )
    else:
        yield Finding("disk", Level.OK, f"{free / 1e9:.0f} GB are free")


def _home(patient: Patient) -> Iterator[Finding]:
    home = patient.config.home
    if home.exists() and home.stat().st_mode & 0o077:
        found = f"others of this machine can look into {home}"
        yield Finding("home", Level.WARN, found, f"take their rights away: chmod 700 {home}")
    else:
        yield Finding("home", Level.OK, "nobody else can look into it")


def _group(patient: Patient) -> Iterator[Finding]:
    running = presence.look(patient.config.home)
    if running is None:
        yield Finding(
            "up",
            Level.WARN,
            "`cardinal up` does not run in this home",
            "start it, or serve and work elsewhere",
        )
    else:
        yield Finding("up", Level.OK, f"pid {running.up} at {running.address}, {len(running.parts)} parts")


def _redis(patient: Patient) -> Iterator[Finding]:
    client = embedded.connect(patient.config)
    alive = embedded.answers(client)
    client.close()
    if alive:
        yield Finding("redis", Level.OK, "answers")
    elif patient.config.redis_url is None:
        yield Finding("redis", Level.WARN, "does not run", "`cardinal up` starts it")
    else:
        yield Finding(
            "redis",
            Level.FAIL,
            "CARDINAL_REDIS_URL does not answer",
            "start that Redis or correct the setting",
        )


def _workspaces(patient: Patient) -> Iterator[Finding]:
    if shutil.which("git") is None:
        yield Finding("git", Level.FAIL, "git is not on the PATH", "install git")
    if orders.workspace(patient.config) == "docker":
        yield from _containers()
    else:
        yield from _sandbox(patient)
    if not orders.providers(patient.config):
        yield Finding(
            "models",
            Level.WARN,
            "no provider's key is set: only the scripted agent can work",
            "set CARDINAL_ANTHROPIC_KEY, CARDINAL_OPENAI_KEY or CARDINAL_COMPATIBLE_KEY with its _URL",
        )


def _containers() -> Iterator[Finding]:
    problem = workspaces.load("docker").problem()
    if problem:
        yield Finding("containers", Level.FAIL, "no Docker engine can be used", problem)
        return
    try:
        docker.Engine(docker.engine_address()).image(IMAGE)
    except RunnerError as error:
        yield Finding("containers", Level.FAIL, f"{IMAGE} cannot be used", str(error))
        return
    yield Finding("containers", Level.OK, f"the engine answers, and has {IMAGE}")


def _sandbox(patient: Patient) -> Iterator[Finding]:
    if shutil.which("bwrap") is not None:
        yield Finding("sandbox", Level.OK, "bubblewrap is there")
    elif patient.config.allow_unsandboxed:
        yield Finding(
            "sandbox",
            Level.WARN,
            "agents run without one",
            "install bubblewrap, unset CARDINAL_ALLOW_UNSANDBOXED",
        )
    else:
        yield Finding("sandbox", Level.WARN, "only the scripted agent may run", "install bubblewrap")


def _github(patient: Patient) -> Iterator[Finding]:
    if not patient.config.app_id:
        return
    answer = patient.hub.as_app("GET", "/app")
    yield Finding("app", Level.OK, f"{answer.body.get('name')} as {answer.body.get('slug')}")
    off_s = _seconds_off(answer.headers.get("date", ""), patient.now)
    if abs(off_s) > CLOCK_OFF_S:
        yield Finding(
            "clock", Level.FAIL, f"{off_s:+.0f} s beside GitHub's", "set this machine's clock (NTP)"
        )
    else:
        yield Finding("clock", Level.OK, "agrees with GitHub's")
    patient.hub.rest("GET", "/rate_limit")
    yield Finding("installation", Level.OK, f"is installed at {patient.config.board_owner}")


def _seconds_off(date: str, now: datetime) -> float:
    if not date:
        return 0.0
    return (now - parsedate_to_datetime(date).astimezone(UTC)).total_seconds()


def _budget(patient: Patient) -> Iterator[Finding]:
    for name, window in patient.hub.budget.seen().windows.items():
        if window.reset_s < patient.now.timestamp():
            continue
        level = Level.WARN if window.remaining < FEW_CALLS else Level.OK
        step = "wait: Cardinal leaves out what matters least" if level is Level.WARN else ""
        yield Finding(f"budget {name}", level, f"{window.remaining} of {window.limit} calls are left", step)


def _board(patient: Patient) -> Iterator[Finding]:
    if patient.engine is None:
        return
    with book.reading(patient.engine) as db:
        seen = boards.all_boards(db)
        rejected = {board.board_id: policies.current(db, board.board_id) for board in seen}
    if not seen:
        yield Finding(
            "board", Level.WARN, "no board was seen yet", "let `cardinal up` run until its first sweep"
        )
    for board in seen:
        name = f"{board.owner}/{board.number}"
        yield Finding(
            "board", Level.OK, f"{name} has {len(board.columns)} columns, {len(board.fields)} fields"
        )
        policy = rejected[board.board_id]
        if policy is not None and not policies_in_force.is_readable(policy.text):
            found = f"{name}: this version cannot read the policy that was in force, so nothing is started"
            yield Finding("policy", Level.FAIL, found, "correct .github/cardinal.yml for this version")
        if policy is not None and policy.problems:
            found = f"{name}: the file at {policy.rejected_commit[:12]} is refused: {policy.problems[0]}"
            yield Finding(
                "policy", Level.FAIL, found, "correct .github/cardinal.yml; the last good one is in force"
            )
        else:
            where = (
                f"from {policy.commit[:12]}" if policy is not None and policy.commit else "the built-in one"
            )
            yield Finding("policy", Level.OK, f"{name}: {where}")


def _lines(patient: Patient) -> Iterator[Finding]:
    if patient.engine is None:
        return
    with book.reading(patient.engine) as db:
        inward = inbox.counts(db)
        late = outbox.stuck(db, patient.now, STUCK_S)
        lost = remotes.given_up(db)
    if inward["quarantined"]:
        yield Finding(
            "inbox",
            Level.FAIL,
            f"{inward['quarantined']} deliveries are quarantined",
            "`cardinal replay` lists them",
        )
    else:
        yield Finding("inbox", Level.OK, f"{inward['waiting']} wait, {inward['done']} are done")
    if late:
        yield Finding(
            "outbox",
            Level.WARN,
            f"{len(late)} entries wait for over {STUCK_S // 60} min",
            "look at the workers' log",
        )
    else:
        yield Finding("outbox", Level.OK, "nothing waits too long")
    if lost:
        newest = lost[-1]
        yield Finding(
            "outbox",
            Level.WARN,
            f"{len(lost)} acts were given up, the last: {newest.because}",
            "do it by hand",
        )


def _decisions(patient: Patient) -> Iterator[Finding]:
    if patient.engine is None:
        return
    with book.reading(patient.engine) as db:
        count, newest = failures.count(db), failures.newest(db, 1)
    if not newest:
        yield Finding("decisions", Level.OK, "every event was decided")
        return
    last = newest[0]
    found = f"{count} events were passed by, the last: {last.of} (event {last.failed}): {last.because}"
    yield Finding("decisions", Level.FAIL, found, "report it with the log; /cardinal retry or a drag goes on")


CHECKS: tuple[Callable[[Patient], Iterator[Finding]], ...] = (
    _settings, _ledger, _home, _disk, _group, _redis, _workspaces, _github, _budget, _board, _lines,
    _decisions,
)  # fmt: skip
