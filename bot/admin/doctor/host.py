"""Is this machine in order: settings, ledger, disk, home, processes, Redis."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.system import lock_file
from bot.system import redis as embedded_redis
from bot.system.config import ConfigError
from bot.system.redis_version import FIXES, RedisServer, read_server
from ledger.lifecycle.migrate import current_number
from ledger.lifecycle.open import journal_warning
from ledger.log import event_store

FREE_BYTES, FULL_BYTES = 1024**3, 100 * 1024**2


def settings(context: DoctorContext) -> Iterator[CheckResult]:
    """Are the settings complete?"""
    try:
        context.config.require_github()
    except ConfigError as error:
        for problem in error.problems:
            message, _, step = problem.partition(": ")
            yield fail("settings", message, step)
        return
    yield ok("settings", f"the settings are complete, the home is {context.config.home}")


def ledger(context: DoctorContext) -> Iterator[CheckResult]:
    """Can the ledger be read, is it of this version, and how does it write?"""
    if context.ledger_trouble is not None:
        message, step = context.ledger_trouble
        yield fail("ledger", message, step)
        return
    if context.engine is None:
        yield warn("ledger", "there is no ledger yet", f"start `{context.program}`: it makes one")
        return
    with event_store.reading(context.engine) as db:
        events, number = event_store.last_seq(db), current_number(db)
    warning = journal_warning(context.engine)
    if warning:
        yield warn("ledger", warning, "follow the sentence; until then it is slower, not unsafe")
    else:
        yield ok(
            "ledger",
            f"the ledger is in {context.engine.dialect.name}, with {events} events, of shape {number}",
        )


def free_bytes(place: Path) -> int:
    """Return the free bytes on the disk of a place."""
    return shutil.disk_usage(place).free


def disk(context: DoctorContext, free_in: Callable[[Path], int] = free_bytes) -> Iterator[CheckResult]:
    """Is there room?"""
    place = next(folder for folder in (context.config.home, *context.config.home.parents) if folder.exists())
    free = free_in(place)
    if free < FULL_BYTES:
        message = f"it is full: {free / 1e6:.0f} MB are free at {place}"
        yield fail("disk", message, "make room: deliveries are refused, and nothing goes on")
    elif free < FREE_BYTES:
        yield warn("disk", f"{free / 1e9:.1f} GB are free at {place}", "make room: runs clone repositories")
    else:
        yield ok("disk", f"{free / 1e9:.0f} GB are free")


def home(context: DoctorContext, may: Callable[[Path, int], bool] = os.access) -> Iterator[CheckResult]:
    """Can this user write in the home, and nobody else look into it?"""
    home = context.config.home
    if home.exists() and not may(home, os.W_OK):
        step = "let this user write there, or name another folder in CARDINAL_HOME"
        yield fail("home", f"{home} cannot be written", step)
    elif home.exists() and home.stat().st_mode & 0o077:
        message = f"others of this machine can look into {home}"
        yield warn("home", message, f"take their rights away: chmod 700 {home}")
    else:
        yield ok("home", "nobody else can look into the home")


def group(context: DoctorContext) -> Iterator[CheckResult]:
    """Does `cardinal up` run?"""
    running = lock_file.read_presence(context.config.home)
    if running is None:
        yield warn(
            "up", f"`{context.program}` does not run in this home", "start it, or serve and work elsewhere"
        )
    else:
        yield ok(
            "up",
            f"`{context.program}` runs at {running.address}: pid {running.up}, {len(running.parts)} parts",
        )


def redis(context: DoctorContext) -> Iterator[CheckResult]:
    """Does Redis answer, and has it the known security fixes?"""
    with embedded_redis.connect_redis(context.config) as client:
        if embedded_redis.answers(client):
            yield _of_server(client)
        elif context.config.redis_url is None:
            yield warn("redis", "no Redis runs here", f"`{context.program}` starts one")
        else:
            step = "start that Redis or correct the setting"
            yield fail("redis", "the Redis of CARDINAL_REDIS_URL does not answer", step)


def _of_server(client: Redis) -> CheckResult:
    try:
        server = read_server(client)
    except RedisError as error:
        step = "let its user call INFO, or look up its version yourself"
        return ok("redis", f"Redis answers, but does not tell its version: {error}", step)
    return judge_version(server)


def judge_version(server: RedisServer) -> CheckResult:
    """Return whether a server of this version has the known security fixes, as far as its number tells."""
    missing = server.missing_fixes()
    title = f"{server.product} {server.version}"
    if not missing:
        return ok("redis", f"{title} answers; it lacks none of the {len(FIXES)} security fixes known here")
    names, sources = " and ".join(fix.name for fix in missing), ", ".join(fix.source for fix in missing)
    if server.is_of_distribution:
        where = server.executable or "does not tell where its program is"
        message = f"{title} answers ({where}); its number does not tell whether it has the fixes for {names}"
        step = (
            f"look for them in the changes of its package or service, which may have brought them: {sources}"
        )
        return ok("redis", message, step)
    message = (
        f"{title} lacks the fixes for {names}, by which its users can stop it or run programs on its host"
    )
    return warn("redis", message, f"install a newer release of its series, or a newer series: {sources}")


ORDER = 1
CHECKS = (settings, ledger, home, disk, group, redis)
OF_HOST = (home, disk, group, redis)
