"""Keeps the run's branch on top of others' pushes; conflicts become a question."""

from ledger.events.run import Progressed
from ledger.model.limit_answers import STOP, TRY_AGAIN, WITHOUT_REBASE, Code, Subject
from runner.branch.export import export_commit
from runner.branch.position import seen, stand_on
from runner.git.commits import made_by
from runner.session.context import RunContext
from runner.text.plain import one_line

_SHOWN, _NAMED = 10, 3


def take_in_pushes(run: RunContext, known: str) -> bool:
    """Rebase the work on people's pushes, up to `known` (empty: no branch); return whether there were any.

    Commits that people dropped in a rewrite are dropped from the work too. The push carries a lease on
    `known`, so it overwrites nothing else. Raises Park.
    """
    order = run.order
    if not known or known == seen(run):
        return False
    before = _written_anew(run, known)
    fetched = f"refs/remotes/origin/{order.base_branch}"  # another card may move the mirror's meanwhile
    conflicts = _put_on(run, known, *((before, fetched) if before else ()))
    if conflicts:
        run.ask(
            Subject.REBASE,
            f"{order.branch} has new commits on GitHub by {_makers(run, known)}, and the run changed"
            f" the same: {conflicts}. Undo one of the two on the branch, then let it try again.",
            (TRY_AGAIN, STOP),
        )
    if before:
        text = (
            f"{order.branch} was rewritten on GitHub (it stood at {before[:12]}): the work goes on from"
            f" {known[:12]}, and what was dropped there stays dropped"
        )
        run.log.append(Progressed(order.run_id, text))
    stand_on(run, known)
    return True


def take_in_base(run: RunContext, head: str) -> None:
    """Rebase the branch on `head` of its base, unless people said to go on without. Raises Park."""
    question = run.history.newest(Subject.REBASE)
    if question is not None and question.code is Code.WITHOUT_REBASE:
        return
    branch, base = run.order.branch, run.order.base_branch
    conflicts = _put_on(run, head)
    if conflicts:
        run.ask(
            Subject.REBASE,
            f"{branch} cannot be rebased on {base}: both change {conflicts}. What now?",
            (WITHOUT_REBASE, TRY_AGAIN, STOP),
        )


def _written_anew(run: RunContext, known: str) -> str:
    """Return the old head where people rewrote GitHub's branch; else empty.

    Empty as well when all of the work is there, as after a crash right behind the push.
    """
    before = run.workspace.stood_on()
    if not before or any(run.mirror.goes_on_from(known, head) for head in (before, run.checkout.commit())):
        return ""
    return before


def _makers(run: RunContext, known: str) -> str:
    """Return who made the commits up to `known` that the work was not on: people by name, runs by theirs."""
    base = run.mirror.head(run.order.base_branch)
    before = tuple(filter(None, (seen(run), run.workspace.stood_on(), base)))
    by = run.order.authorship
    ours = {f"{it.name} <{it.email}>" for it in (by.author, by.committer, *by.past)}
    commits = run.mirror.commits(known, *before)
    makers = [made_by(commit, ours) or one_line(commit.author, 80) for commit in commits]
    named = list(dict.fromkeys(makers))
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def _put_on(run: RunContext, commit: str, *dropped: str) -> str:
    """Rebase on `commit`; return the conflicting paths for people, empty without any."""
    message = f"Unfinished work before run {run.order.run_id}"
    conflicts = run.checkout.put_on(commit, message, *dropped)
    if conflicts and export_commit(run, head := run.checkout.commit_leftovers(message)) != head:
        conflicts = run.checkout.put_on(commit, message, *dropped)  # what set-up left was in its way
    return ", ".join(conflicts[:_SHOWN]) + (" …" if len(conflicts) > _SHOWN else "")
