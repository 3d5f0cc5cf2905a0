"""Is this machine in order: settings, ledger, disk, home, processes, Redis."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.admin.redis_version import FIXES, RedisServer, read_server
from bot.scheduler.alarms import FULL_BYTES, free_bytes
from bot.system import lock_file
from bot.system import redis as embedded_redis
from bot.system.config import ConfigError
from ledger.lifecycle.migrate import current_number
from ledger.lifecycle.open import journal_warning
from ledger.log import event_store

FREE_BYTES = 1024**3


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
    """Can the ledger be read, does it match this version, and how is it written?"""
    if context.ledger_trouble is not None:
        message, step = context.ledger_trouble
        yield fail("ledger", message, step)
        return
    if context.engine is None:
        yield warn("ledger", "no ledger yet", f"start `{context.program}`, which creates one")
        return
    with event_store.reading(context.engine) as db:
        events, number = event_store.last_seq(db), current_number(db)
    warning = journal_warning(context.engine)
    if warning:
        yield warn("ledger", warning, "do as it says; until then it is slower, not unsafe")
    else:
        yield ok(
            "ledger",
            f"the ledger is in {context.engine.dialect.name}, with {events} events, of shape {number}",
        )


def disk(context: DoctorContext, free_in: Callable[[Path], int] = free_bytes) -> Iterator[CheckResult]:
    """Is there enough disk space?"""
    place = next(folder for folder in (context.config.home, *context.config.home.parents) if folder.exists())
    free = free_in(place)
    if free < FULL_BYTES:
        message = f"it is full: {free / 1e6:.0f} MB are free at {place}"
        yield fail("disk", message, "free some space: deliveries are refused and no work continues")
    elif free < FREE_BYTES:
        yield warn(
            "disk", f"{free / 1e9:.1f} GB are free at {place}", "free some space: runs clone repositories"
        )
    else:
        yield ok("disk", f"{free / 1e9:.0f} GB are free")


def home(context: DoctorContext, may: Callable[[Path, int], bool] = os.access) -> Iterator[CheckResult]:
    """Can this user write to the home, and no one else read it?"""
    home = context.config.home
    if home.exists() and not may(home, os.W_OK):
        step = "give this user write access, or name another folder in CARDINAL_HOME"
        yield fail("home", f"{home} cannot be written", step)
    elif home.exists() and home.stat().st_mode & 0o077:
        message = f"other users of this machine can read {home}"
        yield warn("home", message, f"remove their access: chmod 700 {home}")
    else:
        yield ok("home", "no one else can read the home")


def group(context: DoctorContext) -> Iterator[CheckResult]:
    """Is `cardinal up` running?"""
    running = lock_file.read_presence(context.config.home)
    if running is None:
        yield warn(
            "up",
            f"`{context.program}` is not running in this home",
            "start it, or run `cardinal serve` and `cardinal work` elsewhere",
        )
    else:
        yield ok(
            "up",
            f"`{context.program}` is running at {running.address}: pid {running.up}, "
            f"{len(running.parts)} parts",
        )


def redis(context: DoctorContext) -> Iterator[CheckResult]:
    """Does Redis answer, and does it have the known security fixes?"""
    with embedded_redis.connect_redis(context.config) as client:
        if embedded_redis.is_reachable(client):
            yield _check_server(client)
        elif context.config.redis_url is None:
            yield warn("redis", "no Redis is running here", f"`{context.program}` starts one")
        else:
            step = "start that Redis, or correct the setting"
            yield fail("redis", "the Redis of CARDINAL_REDIS_URL does not answer", step)


def _check_server(client: Redis) -> CheckResult:
    try:
        server = read_server(client)
    except RedisError as error:
        step = "allow its user to call INFO, or check its version yourself"
        return ok("redis", f"Redis answers, but does not report its version: {error}", step)
    return judge_version(server)


def judge_version(server: RedisServer) -> CheckResult:
    """Return whether a server of this version has the known security fixes, as far as its number tells."""
    missing = server.missing_fixes()
    title = f"{server.product} {server.version}"
    if not missing:
        return ok("redis", f"{title} answers, with all {len(FIXES)} security fixes known here")
    names, sources = " and ".join(fix.name for fix in missing), ", ".join(fix.source for fix in missing)
    if server.is_of_distribution:
        where = server.executable or "does not report where its program is"
        message = (
            f"{title} answers ({where}); its version number does not show whether it has the fixes for "
            f"{names}"
        )
        step = f"check the changelog of its package or service for them: {sources}"
        return ok("redis", message, step)
    message = f"{title} lacks the fixes for {names}: its users can stop it or run programs on its host"
    return warn("redis", message, f"upgrade it, within its series or to a newer one: {sources}")


ORDER = 1
CHECKS = (settings, ledger, home, disk, group, redis)
OF_HOST = (home, disk, group, redis)
