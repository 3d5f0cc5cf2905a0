"""Prepare phase: mirror, workspace, and a branch on top of its base."""

from collections.abc import Callable, Iterator

from ledger.events.agent import SessionLost
from ledger.events.artifact import BRIEFING, SET_ASIDE, SET_ASIDE_NAME
from ledger.events.instruction import SkillsChosen
from ledger.events.run import BriefingMade, Progressed, RunEvent
from ledger.events.workspace import WorkspaceTaken
from ledger.rows.limit_answers import STOP, TRY_AGAIN, WITHOUT_REBASE, Code, Subject
from ledger.states import RunState
from runner import errors, workspaces
from runner.branch.export import export_commit, go_back_to_head, head_name, read_base_head, record_base_head
from runner.checks.by_path import all_lines
from runner.checks.places import clear_away, tenancy
from runner.checks.set_up import set_up
from runner.git.commits import find_run_of_commit
from runner.git.mirror import Heads
from runner.git.unfetched import explain_unfetched
from runner.phases.checkpoint import (
    FILES,
    KEPT,
    Brought,
    as_folder,
    bring,
    claim_signature,
    record_restored,
    session_patterns,
)
from runner.phases.stage_transitions import stands_at
from runner.prompts.briefing import digest_of
from runner.run.exits import fail
from runner.run.instructions import stack_event
from runner.run.run_spec import RunSpec
from runner.session.context import RunContext
from runner.session.keep import keep
from runner.session.stage_machine import may_edit
from runner.text.plain import one_line

_SHOWN, _NAMED = 10, 3


def take_in_pushes(run: RunContext, known: str) -> bool:
    """Rebase the work on people's pushes, up to `known` (empty: no branch); return whether there were any.

    Commits that people dropped in a rewrite are dropped from the work too. The push carries a lease on
    `known`, so it overwrites nothing else. Raises Park.
    """
    spec = run.spec
    if not known or known == read_base_head(run):
        return False
    before = _find_rewritten_head(run, known)
    fetched = f"refs/remotes/origin/{spec.base_branch}"  # another card may move the mirror's meanwhile
    conflicts = _rebase_on(run, known, *((before, fetched) if before else ()))
    if conflicts:
        if run.history.turn is None and not spec.has_repository:  # it is an ended run's, and is set aside
            run.mirror.remember(head_name(run), known)  # where the checkout is made again
            raise errors.WorkspaceError("git rebase", f"the folder was changed meanwhile: {conflicts}")
        run.ask(
            Subject.REBASE,
            _describe_conflict(run, known, conflicts),
            (TRY_AGAIN, STOP),
        )
    if before:
        text = (
            f"{spec.branch} was rewritten on GitHub (it stood at {before[:12]}): the work goes on from"
            f" {known[:12]}, and what was dropped there stays dropped"
        )
        run.log.append(Progressed(spec.run_id, text))
    record_base_head(run, known)
    return True


def _describe_conflict(run: RunContext, known: str, conflicts: str) -> str:
    makers = _makers(run, known)
    if not run.spec.has_repository:
        return (
            f"The folder was changed meanwhile, by {makers}, and the run changed the same: {conflicts}."
            " Stop it, then /cardinal retry: the next run begins with the folder as it is now. Or bring the"
            " folder back with /cardinal folder, and let it try again."
        )
    return (
        f"{run.spec.branch} has new commits on GitHub by {makers}, and the run changed the same:"
        f" {conflicts}. Undo one of the two on the branch, then let it try again."
    )


def take_in_base(run: RunContext, head: str) -> None:
    """Rebase the branch on `head` of its base, unless people said to go on without. Raises Park."""
    question = run.history.newest(Subject.REBASE)
    if question is not None and question.code is Code.WITHOUT_REBASE:
        return
    branch, base = run.spec.branch, run.spec.base_branch
    conflicts = _rebase_on(run, head)
    if conflicts:
        run.ask(
            Subject.REBASE,
            f"{branch} cannot be rebased on {base}: both change {conflicts}. What now?",
            (WITHOUT_REBASE, TRY_AGAIN, STOP),
        )


def _find_rewritten_head(run: RunContext, known: str) -> str:
    """Return the old head where people rewrote GitHub's branch; else empty.

    Empty as well when all of the work is there, as after a crash right behind the push.
    """
    before = run.workspace.read_base()
    if not before or any(run.mirror.goes_on_from(known, head) for head in (before, run.checkout.commit())):
        return ""
    return before


def _makers(run: RunContext, known: str) -> str:
    """Return who made the commits up to `known` that the work was not on: people by name, runs by theirs."""
    base = run.mirror.head(run.spec.base_branch) if run.spec.branch != run.spec.base_branch else ""
    before = tuple(filter(None, (read_base_head(run), run.workspace.read_base(), base)))
    authorship = run.spec.authorship
    ours = {f"{it.name} <{it.email}>" for it in (authorship.author, authorship.committer, *authorship.past)}
    commits = run.mirror.commits(known, *before)
    makers = [find_run_of_commit(commit, ours) or one_line(commit.author, 80) for commit in commits]
    named = list(dict.fromkeys(makers))
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def _rebase_on(run: RunContext, commit: str, *dropped: str) -> str:
    """Rebase on `commit`; return the conflicting paths for people, empty without any."""
    message = f"Unfinished work before run {run.spec.run_id}"
    conflicts = run.checkout.put_on(commit, message, *dropped)
    if conflicts and export_commit(run, head := run.checkout.commit_leftovers(message)) != head:
        conflicts = run.checkout.put_on(commit, message, *dropped)  # what set-up left was in its way
    return ", ".join(conflicts[:_SHOWN]) + (" …" if len(conflicts) > _SHOWN else "")


THIS_HOST = "this host"  # where a host has no name
_ASIDE_BYTES = 10_000_000
_SHOWN_CHARS = 300
_NOBODY = "-"  # signs files that are not the newest


def admit(run: RunContext, *, allow_unsandboxed: bool) -> None:
    """Record the instructions, and refuse agents and commands that this workspace cannot hold.

    Raises Park on an open question, BackendError, NetworkError or UnsandboxedError.
    """
    spec = run.spec
    clear_away(spec)
    briefing, digest = spec.briefing, digest_of(spec.briefing.text)
    told: tuple[RunEvent, ...] = ()
    if run.history.instructed.briefed != digest:
        event = BriefingMade(spec.run_id, briefing.text, digest, briefing.omitted, briefing.issue, spec.base)
        said = (*_say_unlike(spec), *_say_effort(run))
        told = (event, *keep(run, "briefing.md", BRIEFING, briefing.text), *said)
    run.log.append(*run.steps_to(RunState.PREPARING), *told, *_list_instructions(run))
    run.workspace.equip({file.path: file.content for file in spec.equipment.files})
    if run.history.open_question is not None and not run.workspace.fresh and not _stale(run)[0]:
        take_workspace(run)  # whoever asked may have died before the work was kept: this claim keeps it
    run.deliver_answers()
    workspaces.require_program(run.agent, spec.workspace)
    if spec.tools.network not in run.workspace.networks:
        raise errors.NetworkError(spec.workspace, spec.tools.network, run.workspace.networks)
    if run.workspace.locked and not allow_unsandboxed:
        if not run.agent.trusted:
            raise errors.UnsandboxedError(run.agent.name, run.workspace.locked)
        if all_lines(spec.validation):  # the repository's commands, on an agent's work
            raise errors.UnsandboxedError("what the repository's policy runs", run.workspace.locked)


def _say_unlike(spec: RunSpec) -> tuple[Progressed, ...]:
    """Return the line about what is not as in the run that this one does again; none where all is."""
    text = f"Different from {spec.again_of}: {'; '.join(spec.unlike)}."
    return (Progressed(spec.run_id, text),) if spec.unlike else ()


def _say_effort(run: RunContext) -> tuple[Progressed, ...]:
    """Return the line about an effort that the run's agent cannot be told; none where it can."""
    effort = run.spec.effort
    text = f"{run.agent.name} cannot be told an effort: `{effort}` has no effect here."
    return () if not effort or effort in run.agent.efforts else (Progressed(run.spec.run_id, text),)


def prepare(run: RunContext, *, allow_unsandboxed: bool) -> str:
    """Prepare the workspace; return the start commit: GitHub's head or the base at the run's first claim.

    Raises Park on an open question, NetworkError, UnsandboxedError, RepositoryError or WorkspaceError.
    """
    spec = run.spec
    admit(run, allow_unsandboxed=allow_unsandboxed)
    heads = run.mirror.fetch_heads(spec.branch, spec.base_branch)
    tell_what_is_missing(run, heads.base)
    now = heads.branch or heads.base
    brought = bring_newer(run)
    if outdated := take_workspace(run, brought):
        if brought is None or not brought.head:
            # What this host brought out is not the newest either, but for what the ledger knows of.
            handed = _commit_of_last_stage(run)
            run.mirror.remember(head_name(run), handed if handed and run.mirror.has(handed) else now)
        if not run.workspace.fresh:
            make_anew(run, now, outdated)
            run.workspace.clear()  # no session in it goes on
    if run.workspace.fresh and brought is not None:
        _restore(run, heads, brought)
    elif run.workspace.fresh:
        forget_session(run)
        _check_out(run, heads)
    elif why := why_unusable(run, lambda: _take_over(run, heads)):
        make_anew(run, now, why)
        _check_out(run, heads)
    return _start(run, heads)


def tell_what_is_missing(run: RunContext, base: str) -> None:
    """Record the missing parts of every checkout for people, before the first turn."""
    if run.history.turn is not None:
        return
    lacks = (explain_unfetched(run.mirror, base), run.mirror.explain_missing())
    if text := " ".join(filter(None, lacks)):
        run.log.append(Progressed(run.spec.run_id, text))


def bring_newer(run: RunContext) -> Brought | None:
    """Fetch the newest checkpoint where the files here are not the newest; None where there is none."""
    why, _, _ = _stale(run)
    return bring(run) if why or run.workspace.fresh else None


def _stale(run: RunContext) -> tuple[str, str, str]:
    """Return why the files here are not the newest, or empty; who has those; the last claim's signature.

    They are where the card's last claim worked on this host, and nobody replaced them since.
    """
    spec, card_id = run.spec, tenancy(run.spec).card_id
    last, signed = run.log.workspace(card_id), run.workspace.read_signatures()
    known = claim_signature(last.run_id, last.generation) if last is not None else ""
    holder = (last.host if last is not None else spec.host) or THIS_HOST
    if last is not None and last.host != spec.host:
        return f"host {holder} worked on the card since", holder, known
    if run.workspace.fresh or known in signed or (last is None and not signed):
        return "", holder, known
    why = "its last claim left other files, or left them before this machine was restarted"
    return why, holder, known


def take_workspace(run: RunContext, brought: Brought | None = None) -> str:
    """Record that this claim has the workspace; return why its files are not the newest, or empty.

    Files `brought` from the store are here then.
    """
    spec, card_id = run.spec, tenancy(run.spec).card_id
    where, holder, known = _stale(run)
    if not where:
        # Both, until it is recorded: a crash between the two makes nobody else's files of these. Not longer:
        # a ledger that is restored knows the older claim, and may not take what came after it.
        own = claim_signature(spec.run_id, spec.generation)
        run.workspace.sign(known, own)
        run.log.append(WorkspaceTaken(spec.run_id, card_id, spec.host, spec.generation))
        run.workspace.sign(own)
        return ""
    run.workspace.sign(_NOBODY)  # else this claim's name could be there, from before a ledger was restored
    if brought is not None:
        left_on = "" if brought.exact or run.history.turn is None else holder
        run.log.append(WorkspaceTaken(spec.run_id, card_id, spec.host, spec.generation, left_on))
        return where
    event = WorkspaceTaken(spec.run_id, card_id, spec.host, spec.generation, holder)
    begins = f"The work starts over on host {spec.host}: {where}. What was not on GitHub is not here."
    goes_on = run.history.turn is not None or spec.session_id
    run.log.append(event, *((Progressed(spec.run_id, begins),) if goes_on else ()))
    return where


def mark_prepared(run: RunContext) -> None:
    """Mark the workspace as complete, and as this claim's."""
    run.workspace.sign(claim_signature(run.spec.run_id, run.spec.generation))
    run.workspace.mark_ready()


def _check_out(run: RunContext, heads: Heads) -> None:
    brought = _bring_back(run, heads)
    if not brought:
        run.checkout.clone(run.spec.branch, run.spec.base_branch, heads)
    set_up(run, run.workspace, run.checkout, heads.base, run.beat)
    mark_prepared(run)  # not before: a set-up that was cut short, or failed, is no set-up
    if brought or heads.branch or run.spec.validation.setup:  # else it stands on the base, and is that
        _put_on(run, heads)


def _restore(run: RunContext, heads: Heads, brought: Brought) -> None:
    """Fill an empty workspace from the checkpoint, and report the missing parts."""
    spec = run.spec
    if brought.head:
        run.checkout.clone_from(f"refs/cardinal/{spec.run_id}-{KEPT}", spec.branch, spec.base_branch)
        run.checkout.fetch(spec.branch, spec.base_branch, heads)
        if brought.row.stood_on:
            run.workspace.record_base(brought.row.stood_on)
    else:
        run.checkout.clone(spec.branch, spec.base_branch, heads)
    set_up(run, run.workspace, run.checkout, heads.base, run.beat)
    if brought.files and brought.files != brought.head:
        run.checkout.uncommit(f"refs/cardinal/{spec.run_id}-{FILES}")
    unpack_session(run, brought)
    mark_prepared(run)
    _put_on(run, heads)


def unpack_session(run: RunContext, brought: Brought) -> None:
    """Put the session in place, and report the brought and the missing parts."""
    spec = run.spec
    if brought.session is None:
        forget_session(run)
    else:
        with as_folder(run, brought.session) as folder:
            run.checkout.unpack_home(folder)
    missing = f" Not here: {'; '.join(brought.missing)}." if brought.missing else ""
    text = f"The work continues on host {spec.host} as it was kept on host {brought.row.host}.{missing}"
    if spec.origin is not None and brought.row.run_id != spec.run_id:
        memory = " and remembers it" if brought.session is not None else ""
        text = f"It begins as {brought.row.run_id} stood {spec.origin.stood},{memory}.{missing}"
    run.log.append(record_restored(run, brought), Progressed(spec.run_id, text))


def _take_over(run: RunContext, heads: Heads) -> None:
    """Continue in a workspace where an agent has worked. Raises WorkspaceError when that is impossible."""
    run.checkout.fetch(run.spec.branch, run.spec.base_branch, heads)
    _clear_after_commands(run)
    _put_on(run, heads)


def _put_on(run: RunContext, heads: Heads) -> None:
    """Rebase the work on pushes, and before the agent's first turn on the base. Raises Park."""
    if take_in_pushes(run, heads.branch) and run.history.stages.open is not None:
        export_commit(run, run.checkout.commit())  # a stage that may not edit is left at that commit
    if run.history.turn is None:
        take_in_base(run, heads.base)


def _clear_after_commands(run: RunContext) -> None:
    """Undo the changes of a killed claim's checks and clean-up commands to the workspace and the branch."""
    visit, stage = run.history.stages.open, run.stage
    if run.history.checking:
        run.checkout.restore(run.history.checking)
    elif visit is not None and stage is not None and not may_edit(stage):
        run.checkout.restore(stands_at(run, visit))
        go_back_to_head(run)


def _bring_back(run: RunContext, heads: Heads) -> bool:
    """Check out the newest hand-over of a stage, or the last export, from the mirror; False without one.

    Raises Finish when the hand-over is not in the mirror: the next stage could not continue from it.
    """
    handed, brought = _commit_of_last_stage(run), run.mirror.read_ref(head_name(run))
    if not handed and brought and not run.mirror.goes_on_from(heads.branch or heads.base, brought):
        handed = brought
    if handed in ("", heads.branch or heads.base):
        return False
    if not run.mirror.has(handed):
        raise fail("repository", "the workspace is gone, and with it what the stages made: retry")
    if not brought:  # it is the start commit, or the ref was lost
        run.mirror.remember(head_name(run), handed)
    spec = run.spec
    run.checkout.clone_from(f"refs/cardinal/{head_name(run)}", spec.branch, spec.base_branch)
    run.checkout.fetch(spec.branch, spec.base_branch, heads)
    go_back_to_head(run)
    return True


def _commit_of_last_stage(run: RunContext) -> str:
    """Return the commit that a stage handed over last, or empty."""
    visits = reversed(run.history.stages.visits)
    return next((visit.snapshot.head for visit in visits if visit.snapshot is not None), "")


def _list_instructions(run: RunContext) -> Iterator[RunEvent]:
    """Yield the events of new instructions."""
    spec, history = run.spec, run.history.instructed
    if spec.equipment.considered != history.considered:
        yield SkillsChosen(spec.run_id, spec.equipment.considered)
    stacked = stack_event(spec.run_id, spec.stack)
    if stacked.digest != history.digest:
        yield stacked


def forget_session(run: RunContext) -> None:
    """Record the sessions as lost: their home was removed with the workspace."""
    history = run.history
    sessions = (history.session(run.spec.session_id), *(visit.session_id for visit in history.stages.visits))
    gone = dict.fromkeys(filter(None, sessions))
    run.log.append(*(SessionLost(run.spec.run_id, session_id) for session_id in gone))


def _start(run: RunContext, heads: Heads) -> str:
    """Remember the start across crashes: right after a push, GitHub's head is our own.

    Unfinished work that stands on GitHub's branch is part of the run's: the start is where that began.
    """
    name = f"{run.spec.run_id}-start"
    start = run.mirror.read_ref(name)
    if not start:
        known = (run.history.early.start or run.spec.start) if heads.branch else ""
        start = known if known and run.mirror.has(known) else heads.branch or heads.base
        run.mirror.remember(name, start)
    return start


def refetch(run: RunContext) -> None:
    """Rebase the finished work on pushes that were made meanwhile. Raises Park on a conflict."""
    spec = run.spec
    heads = run.mirror.fetch_heads(spec.branch, spec.base_branch)
    run.checkout.fetch(spec.branch, spec.base_branch, heads)
    take_in_pushes(run, heads.branch)


def why_unusable(run: RunContext, attempt: Callable[[], None]) -> str:
    """Try to continue in the workspace; return why that is impossible, or empty.

    A workspace that failed its last run, or is over its share, is not tried.
    """
    try:
        why = run.workspace.why_untrusted() or run.over_disk_limit()
        if not why:
            attempt()
    except (errors.WorkspaceError, errors.CommandTimeoutError) as error:
        why = str(error)
    return one_line(why, _SHOWN_CHARS)


def make_anew(run: RunContext, commit: str, why: str) -> None:
    """Keep the workspace's difference to `commit` as a patch, and empty the workspace.

    Of the agents' home the files of the session stay, unless they too are over the share: set-up runs in it.
    """
    run_events, note = _set_aside(run, commit)
    run.workspace.clear(session_patterns(run))
    gone = ""
    if run.weigh():
        run.workspace.clear()
        gone = run.history.session(run.spec.session_id)
    text = f"The checkout was made again, since it could no longer be used ({why}). {note}"
    lost = (SessionLost(run.spec.run_id, gone),) if gone else ()
    run.log.append(*run_events, *lost, Progressed(run.spec.run_id, text))


def _set_aside(run: RunContext, commit: str) -> tuple[tuple[RunEvent, ...], str]:
    """Return the events of the kept patch, and a sentence for people."""
    target = run.spec.paths.mirrors / f"{run.spec.run_id}-{run.log.generation}.patch"
    try:
        run.workspace.unlock()
        run.checkout.set_aside(commit, target, _ASIDE_BYTES)
        text = target.read_text(encoding="utf-8", errors="replace")
    except errors.RunnerError as error:
        return (), f"What was not on GitHub could not be kept: {one_line(str(error), _SHOWN_CHARS)}"
    finally:
        target.unlink(missing_ok=True)
    if not text:
        return (), "Nothing in it was missing on GitHub."
    note = f"What was not on GitHub is in {SET_ASIDE_NAME} of this run, which `cardinal artifacts` lists."
    return keep(run, SET_ASIDE_NAME, SET_ASIDE, text), note
