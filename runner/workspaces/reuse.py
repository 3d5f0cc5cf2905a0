"""A place where an agent has been: used again while Cardinal's git works there, else made anew."""

from collections.abc import Callable

from ledger.events.agent import SessionLost
from ledger.events.run import Progressed, RunEvent
from runner.artifacts.keep import keep
from runner.errors import CommandTimeoutError, RunnerError, WorkspaceError
from runner.run.context import RunContext
from runner.text.truncate import one_line

ASIDE = "set-aside.patch"
_ASIDE_BYTES = 10_000_000
_SHOWN_CHARS = 300


def unusable(run: RunContext, attempt: Callable[[], None]) -> str:
    """Make the attempt to go on in the place; return why that is impossible, or empty.

    A place that failed its last run or is over its share is not tried.
    """
    try:
        why = run.workspace.distrusted() or run.overweight()
        if not why:
            attempt()
    except (WorkspaceError, CommandTimeoutError) as error:
        why = str(error)
    return one_line(why, _SHOWN_CHARS)


def make_anew(run: RunContext, commit: str, why: str) -> None:
    """Keep the difference between `commit` and the files of the place as a patch, and empty the place.

    The agents' home stays, and with it the session, unless all together is over its share.
    """
    kept, note = _set_aside(run, commit)
    run.workspace.clear(home=False)
    gone = ""
    if run.weigh():
        run.workspace.clear(home=True)
        gone = run.history.session(run.order.session_id)
    text = f"The checkout was made anew, for it could not be used any more ({why}). {note}"
    lost = (SessionLost(run.order.run_id, gone),) if gone else ()
    run.log.append(*kept, *lost, Progressed(run.order.run_id, text))


def _set_aside(run: RunContext, commit: str) -> tuple[tuple[RunEvent, ...], str]:
    """Return the events of the patch that was kept, and what people are told of it."""
    target = run.order.places.mirrors / f"{run.order.run_id}-{run.log.generation}.patch"
    try:
        run.workspace.unlock()
        run.checkout.set_aside(commit, target, _ASIDE_BYTES)
        text = target.read_text(encoding="utf-8", errors="replace")
    except RunnerError as error:
        return (), f"What was not on GitHub could not be kept: {one_line(str(error), _SHOWN_CHARS)}"
    finally:
        target.unlink(missing_ok=True)
    if not text:
        return (), "Nothing in it was missing on GitHub."
    return keep(run, ASIDE, "patch", text), f"What was not on GitHub is in {ASIDE} of this run."
