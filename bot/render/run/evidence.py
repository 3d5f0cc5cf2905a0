"""Evidence of the gate: tables of checks, and the ends of their logs."""

from itertools import chain, islice

from bot.render import missing_checks
from bot.render.markdown import links
from bot.render.markdown.escape import block, code, fold, line
from bot.render.run.story import Story, minutes
from ledger.events.witness import witness_text
from ledger.views.checks import CheckRow
from runner.checks import failure

MAX_CHECKS = 20
LOG = "log.txt"


def newest(checks: tuple[CheckRow, ...]) -> list[CheckRow]:
    """Return the newest result of each command of a tier."""
    return list({(check.tier, check.command): check for check in checks}.values())


def list_failed_checks(checks: tuple[CheckRow, ...]) -> list[CheckRow]:
    """Return the newest result of each command that fails now."""
    return [check for check in newest(checks) if check.exit_code != 0 or not check.believed]


def failing_tests(checks: tuple[CheckRow, ...], most: int) -> list[str]:
    """Return the names of the first tests that fail now; of a command that names none, the command."""
    named = (failure.read(it.command, it.tail).names or (it.command,) for it in list_failed_checks(checks))
    return list(islice(chain.from_iterable(named), most))


def checks_table(checks: tuple[CheckRow, ...], *, names_commit: bool = False) -> str:
    """Return one row for the newest result of each command of a tier; empty without checks. `names_commit`:
    each row that passed has its commit.
    """
    rows = [
        f"| {check.tier} | {code(check.command, 120)} | {_result(check, checks, names_commit)}"
        f" | {minutes(check.duration_s)} |"
        for check in newest(checks)[-MAX_CHECKS:]
    ]
    if not rows:
        return ""
    return "\n".join(["| tier | command | result | took |", "| --- | --- | --- | --- |", *rows])


def checks_or_waiver(story: Story, *, names_commit: bool = False) -> str:
    """Return the table of checks, or the note that nothing was checked."""
    return checks_table(story.checks, names_commit=names_commit) or (
        missing_checks.WAIVED if story.waived else ""
    )


def failing(checks: tuple[CheckRow, ...]) -> str:
    """Return the end of the newest failing command's output, folded; empty when all pass now."""
    failed = list_failed_checks(checks)
    if not failed:
        return ""
    return fold("Output of the failing check", f"{code(failed[-1].command)}\n\n{block(failed[-1].tail)}")


def proof(
    checks: tuple[CheckRow, ...],
    *,
    head: str,
    base: str,
    image: str,
    definition: str = "",
    paths: tuple[str, ...] = (),
    site: str = "",
) -> str:
    """Return the proof of the result, folded: commits, image, checks and digests of logs.

    A digest leads to its log where Cardinal's pages are served, at `site`.
    """
    shown = checks[-MAX_CHECKS:]
    rows = [
        f"| {code(check.command, 120)} | {check.exit_code} | {check.duration_s:.1f} s | {_log(check, site)} |"
        for check in shown
    ]
    where = "on this machine, without an image" if image == "local" else code(image or "not recorded", 100)
    facts = (
        f"head {code(head, 64)}",
        f"base {code(base or 'not recorded', 64)}",
        f"image: {where}",
        *((f"checks as defined on the default branch, {code(definition, 64)}",) if definition else ()),
        *((f"checked for these paths: {', '.join(code(path) for path in paths)}",) if paths else ()),
        *(
            f"{code(check.command, 120)}: {line(said, 600)}"
            for check in shown
            if (said := witness_text(check))
        ),
        *_whole(checks, site),
    )
    table = ["| command | exit code | took | SHA-256 of its log |", "| --- | --- | --- | --- |", *rows]
    return fold("Evidence", "\n".join((*(f"* {fact}" for fact in facts), "", *(table if rows else ()))))


def _log(check: CheckRow, site: str) -> str:
    digest = code(check.log_digest, 64)
    if not site or not check.log_digest:
        return digest
    return f"[{digest}]({links.of_file(site, check.run_id, check.log_digest, LOG)})"


def _whole(checks: tuple[CheckRow, ...], site: str) -> tuple[str, ...]:
    runs = dict.fromkeys(check.run_id for check in checks)
    if site:
        return tuple(
            f"full logs: [files of run {run_id}]({links.files_link(site, run_id)})" for run_id in runs
        )
    return tuple(f"full logs: `cardinal artifacts {run_id}` where Cardinal runs" for run_id in runs)


def tails(checks: tuple[CheckRow, ...]) -> tuple[str, ...]:
    """Return the end of each passing command's output, folded; an empty one is left out."""
    return tuple(
        fold("End of a passing check's output", f"{code(check.command)}\n\n{block(check.tail)}")
        for check in newest(checks)[-MAX_CHECKS:]
        if check.exit_code == 0 and check.tail.strip()
    )


def _result(check: CheckRow, checks: tuple[CheckRow, ...], names_commit: bool) -> str:
    if check.exit_code != 0:
        return f"❌ exit code {check.exit_code}"
    same = [other for other in checks if (other.tier, other.command) == (check.tier, check.command)]
    if not check.believed:
        return f"❌ exit code 0, {line(witness_text(check), 600)}"
    failures = sum(other.exit_code != 0 for other in same)
    times = {0: "", 1: ", after failing once"}.get(failures, f", after failing {failures} times")
    said = witness_text(check)
    where = f" on {check.head[:7]}" if names_commit and check.head else ""
    return f"✅ passed{where}{times}{f' ({line(said)})' if said else ''}"
