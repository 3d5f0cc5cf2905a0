"""Entering and leaving stages: clean-up, commit, measurement and hand-over."""

import time
from collections.abc import Iterable

from ledger.events import stage as staged
from ledger.events.brief import StageBriefed
from ledger.events.run import UsageMetered
from ledger.rows.limit_answers import question
from ledger.states import RunState
from runner.branch.export import commit_work, export_commit, head_name
from runner.checks.places import note_hosts, start_command
from runner.errors import CommandTimeoutError
from runner.exec.child import finish
from runner.git.mirror import DiffStat
from runner.phases.checkpoint import checkpoint
from runner.prompts.compose import of_stage
from runner.run.exits import Park
from runner.run.facts import StageVisit
from runner.run.instructions import layers_digest
from runner.run.run_spec import StageSpec
from runner.session.context import RunContext
from runner.session.stage_machine import Ask, Enter, may_edit, stage_named
from runner.text.plain import cut_bytes, redact, tail
from runner.text.untrusted import flat

FILES = 60  # that a snapshot names
NOTES = 20
_PATH_BYTES = 400  # of a file that a stage touched
_NOTE_BYTES = 1_000
_BRIEF_BYTES = 64_000  # a persona, all that was handed over, and the plan
_TIDY_S = 300.0
_TAIL_BYTES = 1_000
TIMED_OUT = 124  # as timeout(1) says it


def enter_stage(run: RunContext, due: Enter) -> None:
    """Open a stage; the host's mirror then has its start commit."""
    log, stage = run.history.stages, due.stage
    head = run.checkout.commit()
    if not run.mirror.has(head):
        head = export_commit(run, head)
    run.log.append(
        staged.StageEntered(
            run_id=run.spec.run_id,
            stage=stage.name,
            entry=len(log.visits) + 1,
            number=1 + sum(visit.stage == stage.name for visit in log.visits),
            source=due.source,
            by=due.by,
            sent_back=due.sent_back,
            persona=stage.persona,
            persona_source=stage.source,
            persona_digest=stage.digest,
            model=stage.model or run.spec.model,
            head=head,
        )
    )


def brief_stage(run: RunContext, visit: StageVisit) -> None:
    """Record the agent's instructions before the first turn of the entry; again after a kill there."""
    text = cut_bytes(run.secrecy.redact_private_skills(redact(of_stage(run.spec, run.history))), _BRIEF_BYTES)
    run.log.append(StageBriefed(run.spec.run_id, visit.stage, visit.entry, layers_digest(text), text))


def ask(run: RunContext, due: Ask) -> None:
    """Ask people how the stages continue, with the last hand-over. Raises Park."""
    run_id, log = run.spec.run_id, run.history.stages
    last = log.visits[-1] if log.visits else None
    said = f"\n\n{last.stage} hands over: {cut_bytes(last.summary, 1_500)}" if last is not None else ""
    question_id = run.history.next_question_id(run_id)
    run.step(RunState.WORKING)
    run.log.append(
        question(run_id, question_id, due.subject, f"{due.text}{said}", due.choices),
        staged.StageAwaited(
            run_id=run_id,
            question_id=question_id,
            why=due.why,
            source=due.source,
            target=due.target,
            entry=len(log.visits) + 1,
        ),
    )
    raise Park("question")


def exit_stage(run: RunContext, visit: StageVisit) -> None:
    """Clean up, commit, and record the entry's changes, usage and hand-over."""
    spec, stage, begun = run.spec, stage_named(run.spec.stages, visit.stage), visit.head
    _tidy(run, visit, stage)
    if may_edit(stage):
        said = f"Stage {stage.name} of run {spec.run_id} on {spec.reference}"
        head = commit_work(run, said, begun)
    else:
        begun = head = stands_at(run, visit)
        if stage.cleanup or run.checkout.commit() != head:
            run.checkout.restore(head)  # a read-only stage: changes by clean-up are no work
    head, touched, change = _measure_change(run, begun, head)
    paths = tuple(file.path for file in touched)
    known = visit.snapshot.files if visit.snapshot is not None else ()
    files = tuple(dict.fromkeys((*known, *paths)))
    plan = run.history.plan
    files_changed = visit.files_changed + sum(path not in known for path in paths)
    # Before the stage is left: who takes over from here leaves it again. Nothing follows the last one.
    checkpoint(run, "" if run.history.stages.over or not visit.target else f"stage:{visit.stage}")
    run.log.append(
        staged.SnapshotTaken(
            run_id=spec.run_id,
            stage=visit.stage,
            entry=visit.entry,
            summary=visit.summary,
            files=files[:FILES],
            files_omitted=files_changed - len(files[:FILES]),
            notes=tuple(cut_bytes(note, _NOTE_BYTES) for note in visit.notes[-NOTES:]),
            open_points=visit.open_points,
            open_steps=plan.steps[plan.done :] if plan is not None else (),
            head=head,
        ),
        staged.StageLeft(
            run_id=spec.run_id,
            stage=visit.stage,
            entry=visit.entry,
            target="" if run.history.stages.over else visit.target or "",
            usd=visit.usd,
            input_tokens=visit.input_tokens,
            output_tokens=visit.output_tokens,
            turns=visit.turns,
            seconds=visit.seconds,
            files_changed=files_changed,
            lines_changed=visit.lines_changed + (change.lines_changed if change else 0),
            lines_added=visit.lines_added + (change.lines_added if change else 0),
            touched=_add_up((*visit.touched, *touched))[:FILES],
        ),
    )


def reopen_stage(run: RunContext, why: str) -> None:
    """Reopen the newest entry that may edit, in its session; a run without stages does nothing."""
    log = run.history.stages
    if log.open is not None or not log.visits:
        return
    editing = (entry for entry in reversed(log.visits) if may_edit(stage_named(run.spec.stages, entry.stage)))
    visit = next(editing, log.visits[-1])
    run.log.append(
        staged.StageReopened(run.spec.run_id, visit.stage, visit.entry, why, run.checkout.commit())
    )


def close(run: RunContext) -> None:
    """Leave the reopened entry; a run without stages does nothing."""
    visit = run.history.stages.open
    if visit is not None:
        exit_stage(run, visit)


def stands_at(run: RunContext, visit: StageVisit) -> str:
    """Return the commit of a read-only entry: as entered, or rebased on pushes."""
    return run.mirror.read_ref(head_name(run)) or visit.head


def _measure_change(
    run: RunContext, before: str, head: str
) -> tuple[str, tuple[staged.FileTouched, ...], DiffStat | None]:
    """Return HEAD in the mirror, each file that differs from `before`, and the change; None for none."""
    unchanged = head == before
    if head != (run.mirror.read_ref(head_name(run)) or before):
        head = export_commit(run, head)
    if unchanged:
        return head, (), None
    change = run.mirror.diff(before, head)
    files = zip(change.paths, change.sizes, strict=True)
    touched = tuple(staged.FileTouched(cut_bytes(flat(path), _PATH_BYTES), *size) for path, size in files)
    return head, touched, change


def _add_up(touched: Iterable[staged.FileTouched]) -> tuple[staged.FileTouched, ...]:
    """Return each file once, with the lines of all its parts."""
    sums: dict[str, tuple[int, int]] = {}
    for file in touched:
        added, removed = sums.get(file.path, (0, 0))
        sums[file.path] = added + (file.added or 0), removed + (file.removed or 0)
    return tuple(staged.FileTouched(path, *lines) for path, lines in sums.items())


def _tidy(run: RunContext, visit: StageVisit, stage: StageSpec) -> None:
    """Run the remaining clean-up commands in order; each is an event, and none ends the run."""
    for command in stage.cleanup[len(visit.tidied) :]:
        began = time.monotonic()
        child = start_command(run, run.workspace, command, cap_bytes=run.spec.limits.output_bytes)
        try:
            ran = finish(child, what=command, timeout_s=_TIDY_S, beat=run.beat)
            exit_code, said = ran.exit_code, child.fate or ran.tail
        except CommandTimeoutError as error:
            exit_code, said = TIMED_OUT, str(error)
        note_hosts(run)
        took_s = round(time.monotonic() - began, 3)
        run_id = run.spec.run_id
        run.log.append(
            staged.StageTidied(
                run_id=run_id,
                stage=visit.stage,
                entry=visit.entry,
                command=command,
                exit_code=exit_code,
                duration_s=took_s,
                tail=tail(redact(said), _TAIL_BYTES),
            ),
            UsageMetered(run_id=run_id, usd=0.0, input_tokens=0, output_tokens=0, turns=0, seconds=took_s),
        )
