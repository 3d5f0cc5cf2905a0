"""The table of what was checked before a pull request is offered."""

from bot.texts.safe import block, code, folded
from bot.texts.story import minutes
from ledger.views.checks import CheckRow

MOST_CHECKS = 20


def table(checks: tuple[CheckRow, ...]) -> str:
    """Return one row for the newest result of each command of a tier; empty without checks."""
    newest = {(check.tier, check.command): check for check in checks}
    rows = [
        f"| {check.tier} | {code(check.command, 120)} | {_result(check, checks)}"
        f" | {minutes(check.duration_s)} |"
        for check in list(newest.values())[-MOST_CHECKS:]
    ]
    if not rows:
        return ""
    return "\n".join(["| tier | command | result | took |", "| --- | --- | --- | --- |", *rows])


def failing(checks: tuple[CheckRow, ...]) -> str:
    """Return the end of the newest failing command's output, folded; empty when all pass now."""
    newest = {(check.tier, check.command): check for check in checks}
    failed = [check for check in newest.values() if check.exit_code != 0]
    if not failed:
        return ""
    return folded("What the failing check said", f"{code(failed[-1].command)}\n\n{block(failed[-1].tail)}")


def _result(check: CheckRow, checks: tuple[CheckRow, ...]) -> str:
    if check.exit_code != 0:
        return f"❌ exit code {check.exit_code}"
    same = [one for one in checks if (one.tier, one.command) == (check.tier, check.command)]
    failures = sum(one.exit_code != 0 for one in same)
    times = {0: "", 1: ", after failing once"}.get(failures, f", after failing {failures} times")
    return f"✅ passed{times}"
