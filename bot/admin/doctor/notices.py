"""Can notices be sent: the file of subscribers, and the servers behind their addresses."""

from collections.abc import Iterator

from bot import frontends
from bot.admin.doctor import CheckResult, DoctorContext, fail, ok
from bot.outbox import subscribers
from rules.text import code, count


def readable(context: DoctorContext) -> Iterator[CheckResult]:
    """Can the subscribers to notices be read?"""
    try:
        known = subscribers.read(context.config.home)
    except subscribers.SubscribersError as error:
        yield fail(
            "notices",
            str(error),
            "correct the file, or move it away and add its subscribers again with `cardinal notify add`",
        )
        return
    lost = sorted({subscriber.escalate_to for subscriber in known.values()} - {"", *known})
    if lost:
        names = ", ".join(code(name, 40) for name in lost)
        yield fail(
            "notices",
            f"questions escalate to {names}, who is not a subscriber",
            "add them with `cardinal notify add`",
        )
    elif known:
        yield ok("notices", f"{count(len(known), 'subscriber')} can be notified")


def served(context: DoctorContext) -> Iterator[CheckResult]:
    """Do the services that notices go to let Cardinal in?"""
    try:
        known = subscribers.read(context.config.home)
    except subscribers.SubscribersError:
        return  # another check says so
    for name, part in frontends.FRONT_ENDS.all():
        if part.examine and any(frontends.front_end_of(it.address) is part for it in known.values()):
            found, result = part.examine(context.config), f"notices by {name}"
            bad = found.next_step
            yield fail(result, found.message, found.next_step) if bad else ok(result, found.message)


CHECKS = (readable, served)
OF_HOST = (readable,)
