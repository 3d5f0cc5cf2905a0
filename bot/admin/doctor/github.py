"""Checks of GitHub's side: App, permissions, events, webhook, deliveries, signature, clock, rate budget."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.github import failed_deliveries as hook_deliveries
from bot.github.app_manifest import WEBHOOK_PATH, manifest
from bot.github.errors import NotFoundError
from bot.github.rate_limit import (
    CONTENTS_PER_HOUR,
    CONTENTS_PER_MINUTE,
    POINTS_PER_MINUTE,
    ApiBudget,
    until_now,
)
from bot.ingest.events import list_subscribed
from bot.system import github_address, lock_file
from ledger.ids import DeliveryId
from ledger.queue import inbox
from ledger.queue.examinations import Level
from rules.text import plain

CLOCK_OFF_S = 30  # GitHub refuses an App's word that is dated more than a minute ahead
FEW_CALLS = 500
ANSWER_S = 5
SETTINGS = "the App's settings on GitHub"


def app(context: DoctorContext) -> Iterator[CheckResult]:
    """Does the App match the settings and app.yml, and are the clocks in sync?"""
    if not context.config.app_id:
        return
    answer = context.hub.as_app("GET", "/app")
    yield ok("app", f"the App is {answer.body.get('name')}, as {answer.body.get('slug')}")
    off_s = _seconds_off(answer.headers.get("date", ""), context.now)
    if abs(off_s) > CLOCK_OFF_S:
        yield fail(
            "clock",
            f"this machine's clock is {off_s:+.0f} s from GitHub's",
            "set this machine's clock (NTP)",
        )
    else:
        yield ok("clock", "this machine's clock matches GitHub's")
    yield from _server(answer.headers.get("x-github-enterprise-version", ""))
    yield from _compare(answer.body, "permissions", "the App", f"add them in {SETTINGS}")


def _server(version: str) -> Iterator[CheckResult]:
    """Report the release of an Enterprise Server, and whether it is too old; nothing for github.com."""
    if problem := github_address.problem_of_server(version):
        yield fail("server", problem, "ask its administrator to upgrade to a release that GitHub supports")
    elif version:
        yield ok("server", f"GitHub Enterprise Server {plain(version, 20)}")


def installation(context: DoctorContext) -> Iterator[CheckResult]:
    """Is the App installed on each board's owner, not suspended, and with its current permissions?"""
    if not context.config.app_id:
        return
    for owner in _owners(context):
        yield from _installation_address(context, owner)


def _owners(context: DoctorContext) -> tuple[str, ...]:
    names = (context.config.board_owner, *(board.owner for board in context.boards()))
    return tuple({name.casefold(): name for name in reversed(names) if name}.values())[::-1]


def _installation_address(context: DoctorContext, owner: str) -> Iterator[CheckResult]:
    try:
        installed = context.hub.at(owner).installation()
    except NotFoundError:
        found_not = f"the App is not installed on {owner}"
        yield fail("installation", found_not, "run `cardinal init`, which says where to install it")
        return
    if installed.get("target_type") == "User":
        step = (
            "create an organisation on GitHub, copy the board there, then run `cardinal init --org` with "
            "its name"
        )
        yield fail(
            "boards",
            f"{owner} is a personal account, and GitHub does not give Apps access to personal boards",
            step,
        )
    if installed.get("suspended_at"):
        yield fail("installation", f"the App is suspended on {owner}", f"unsuspend it in {owner}'s settings")
        return
    yield ok("installation", f"the App is installed on {owner}")
    step = f"ask an owner of {owner} to accept them in the installation's settings"
    yield from _compare(installed, "accepted", "the installation", step)


def _compare(registered: Mapping[str, Any], name: str, whose: str, step: str) -> Iterator[CheckResult]:
    """Compare permissions and events with the manifest's."""
    lacking = manifest(list_subscribed()).lacking(registered.get("permissions") or {})
    unsubscribed = manifest(list_subscribed()).missing_events(tuple(registered.get("events") or ()))
    if lacking:
        yield fail(name, f"{whose} lacks {', '.join(lacking)}", step)
    if unsubscribed:
        yield fail(name, f"{whose} is not subscribed to {', '.join(unsubscribed)}", step)
    if not lacking and not unsubscribed:
        yield ok(name, f"{whose} has all permissions and events of app.yml")


def hook(context: DoctorContext) -> Iterator[CheckResult]:
    """Does the App's webhook point here, as JSON, with certificates verified?"""
    if not context.config.app_id:
        return
    if not context.config.webhooks:
        yield ok("webhook", "CARDINAL_WEBHOOKS is false: only the sweep finds changes")
        return
    config = context.hub.as_app("GET", "/app/hook/config").body
    url = str(config.get("url") or "")
    step = f"correct the webhook in {SETTINGS}"
    if not url:
        message = "the App has no webhook: only the sweep finds changes"
        yield warn("webhook", message, f"set one in {SETTINGS}, or ignore this behind a firewall")
    elif not urlsplit(url).path.endswith(WEBHOOK_PATH):
        message = f"the webhook goes to {url}, not to {WEBHOOK_PATH}"
        yield warn("webhook", message, f"{step}, unless that is a relay which forwards to it")
    elif config.get("content_type") != "json":
        yield fail("webhook", "the webhook's content type is not application/json", step)
    elif str(config.get("insecure_ssl", "0")) != "0":
        yield warn("webhook", "GitHub does not check the webhook's certificate", step)
    else:
        yield ok("webhook", f"the webhook goes to {url}")


def _step_for(status: int) -> str:
    """Return the mend of a webhook whose deliveries all end with this HTTP status; 0: no answer came."""
    match status:
        case 401:
            where = f"Webhook secret in {SETTINGS}"
            return f"make CARDINAL_WEBHOOK_SECRET and the {where} the same, then restart Cardinal"
        case 404 | 405:
            return f"something else answers at the webhook's address: point it to Cardinal's {WEBHOOK_PATH}"
        case 413:
            return "let the proxy in front of Cardinal accept bodies of 25 MB"
        case status if 300 <= status < 400:
            return "GitHub does not follow redirects: give the App the address that it redirects to"
        case 502 | 503 | 504 | 0:
            return "make the webhook's address reachable from outside"
        case status if status >= 500:
            return (
                "Cardinal fails on deliveries: see logs/web.log, or send `cardinal doctor --bundle "
                "help.tar.gz`"
            )
        case _:
            return "a firewall or login page in front of Cardinal blocks GitHub: let deliveries through"


def deliveries(context: DoctorContext) -> Iterator[CheckResult]:
    """Do GitHub's deliveries arrive?"""
    if not context.config.app_id or not context.config.webhooks:
        return
    newest = context.hub.as_app("GET", "/app/hook/deliveries", params={"per_page": 30}).body
    if not newest:
        yield warn("deliveries", "GitHub sent no delivery in three days", "check the webhook above")
        return
    came = [attempt for attempt in newest if attempt.get("status_code", 0) in hook_deliveries.OK]
    lost = hook_deliveries.list_failed(context.hub, context.now, partial(find_arrived, context))
    if not came:
        message = f"none of the last {len(newest)} deliveries arrived: {newest[0].get('status', 'no answer')}"
        yield fail("deliveries", message, _step_for(int(newest[0].get("status_code") or 0)))
    elif lost and all(delivery.is_hopeless(context.now) for delivery in lost):
        message = f"{len(lost)} were refused repeatedly, since {lost[0].tried_at:%Y-%m-%d %H:%M} UTC on"
        step = "they will not be requested again: people must repeat comments made since then"
        yield warn("deliveries", message, step)
    elif lost:
        message = f"{len(lost)} were lost"
        yield warn("deliveries", message, "run `cardinal doctor --fix`", mends="deliveries")
    else:
        yield ok("deliveries", f"{len(came)} of the last {len(newest)} deliveries arrived, none are lost")


def find_arrived(context: DoctorContext, ids: Iterable[DeliveryId]) -> frozenset[DeliveryId]:
    """Return those of the deliveries that the ledger has."""
    return context.read(lambda db: frozenset(it for it in ids if inbox.is_known(db, it)), frozenset())


def signature(context: DoctorContext) -> Iterator[CheckResult]:
    """Does this home's receiver accept signed deliveries and refuse forged ones?"""
    running = lock_file.read_presence(context.config.home)
    if running is None or not context.config.webhook_secret or not context.config.webhooks:
        return
    body = json.dumps({"zen": "Is anybody there?"}).encode()
    guid = f"doctor-{int(context.now.timestamp())}"
    secret = context.config.webhook_secret.reveal().encode()
    good = hmac.new(secret, body, hashlib.sha256).hexdigest()
    try:
        answers = [_post(running.address, body, guid, sign) for sign in (good, "0" * 64)]
    except (OSError, HTTPException) as error:
        message = f"{running.address} does not answer: {type(error).__name__}"
        yield fail("signature", message, f"start `{context.program}` again")
        return
    if answers == [202, 401]:
        yield ok("signature", "signed deliveries are accepted, others refused")
    else:
        message = f"a signed delivery was answered with {answers[0]}, a forged one with {answers[1]}"
        yield fail("signature", message, f"start `{context.program}` again with these settings")


def _post(address: str, body: bytes, guid: str, sign: str) -> int:
    """Return the status of one delivery to the receiver, a ping that nothing follows from."""
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "ping",
        "X-GitHub-Delivery": guid,
        "X-Hub-Signature-256": f"sha256={sign}",
    }
    door = HTTPConnection(urlsplit(address).netloc, timeout=ANSWER_S)
    try:
        door.request("POST", WEBHOOK_PATH, body, headers)
        return door.getresponse().status
    finally:
        door.close()


def budget(context: DoctorContext) -> Iterator[CheckResult]:
    """How much of GitHub's and the policy's allowance is left?"""
    if not context.config.app_id:
        return
    for owner in _owners(context) or ("",):
        yield from _seconds_left(context.hub.at(owner).budget, _ceiling(context, owner))


def _seconds_left(budget: ApiBudget, ceiling: int | None) -> Iterator[CheckResult]:
    usage, now_s = budget.read_usage()
    if usage.closed_until_s > now_s:
        message = (
            f"GitHub asked for a pause: no requests for {usage.closed_until_s - now_s:.0f} s nothing is asked"
        )
        yield warn("budget", message, "wait: it resumes on its own")
    for name, window in usage.windows.items():
        if window.reset_s < now_s:
            continue
        left = min(window.remaining, max(0, (ceiling or window.limit) - (window.limit - window.remaining)))
        level = Level.WARN if left < FEW_CALLS else Level.OK
        step = "wait: Cardinal skips the least important calls" if level is Level.WARN else ""
        capped = f" ({ceiling} by the policy)" if ceiling and ceiling < window.limit else ""
        yield CheckResult(f"budget {name}", level, f"{left} of {window.limit}{capped} left this hour", step)
    used = (
        f"{budget.installation}: "
        f"{until_now(usage.points, 60, now_s)} of {POINTS_PER_MINUTE} points this minute, "
        f"{until_now(usage.contents, 60, now_s)} of {CONTENTS_PER_MINUTE} writings; "
        f"{until_now(usage.contents, 3600, now_s)} of {CONTENTS_PER_HOUR} writings this hour"
    )
    yield ok("budget", used)


def _ceiling(context: DoctorContext, owner: str) -> int | None:
    """Return the lowest cap on calls an hour that a policy in force on the owner's boards sets."""
    policies = (policy for board, policy in context.policies() if board.owner.casefold() == owner.casefold())
    return min((policy.board.limits.points_per_hour for policy in policies), default=None)


def _seconds_off(date: str, now: datetime) -> float:
    if not date:
        return 0.0
    return (now - parsedate_to_datetime(date).astimezone(UTC)).total_seconds()


def _request_redelivery(context: DoctorContext) -> str:
    if context.engine is None:
        return f"no ledger yet: start `{context.program}` first"
    failed_deliveries = hook_deliveries.recover(context.hub, context.now, partial(find_arrived, context))
    if not failed_deliveries:
        return "the lost deliveries were requested a moment ago: check again in a few minutes"
    return f"requested {len(failed_deliveries)} lost deliveries again"


ORDER = 3
CHECKS = (app, installation, hook, deliveries, signature, budget)
ON_DEMAND = (signature,)
REPAIRS = {"deliveries": _request_redelivery}
