"""Runs the commands of one tier and records the evidence: command, commit, result."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ledger.events.bounds import RoundFailed
from ledger.events.run import CommandChecked, UsageMetered, ValidationEnded
from runner.artifacts.store import Stored, store_of
from runner.checks import failure
from runner.checks.command import RanCommand, run_command
from runner.checks.witnesses import Doubt, Passed, hear_witnesses
from runner.git.unfetched import explain_unfetched
from runner.run.run_spec import ValidationSpec
from runner.session.context import RunContext
from runner.session.keep import artifact_events
from runner.text.plain import cut_bytes, one_line, redact, tail
from runner.workspaces.contract import CleanWorkspace, Workspace

_TAIL_BYTES = 4_000
_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class Tier:
    """One round of checks in `workspace`: `name` is fast or full, `head` the checked commit, `base` GitHub's.

    The mirror has both. `checks` are those of this commit.
    """

    name: str
    iteration: int
    head: str
    base: str
    checks: ValidationSpec
    workspace: Workspace

    @property
    def clean(self) -> bool:
        """Whether it is the gate."""
        return False


@dataclass(frozen=True, slots=True)
class GateTier(Tier):
    """The gate: on a clean checkout where the agent never was, with set-up first."""

    workspace: CleanWorkspace

    @property
    def clean(self) -> bool:
        """Whether it is the gate."""
        return True


def run_tier(run: RunContext, tier: Tier, *, tidy: Callable[[], None] = lambda: None) -> bool:
    """Run the tier's commands in order until one fails, then `tidy`; return whether all passed.

    In the gate no exit code is believed alone where a witness can be heard.
    The result becomes an event at the very end, so an interrupted round leaves none. A failure has its
    signature, to be compared with the next one.
    """
    run_id, checks = run.spec.run_id, tier.checks
    set_up = checks.setup if tier.clean else ()
    commands = checks.full if tier.name == "full" else checks.fast
    passed: list[Passed] = []
    for number, command in enumerate((*set_up, *commands)):
        checked, ran, log = _check(run, tier, command)
        output = ran.log.text()
        run_events = artifact_events(run, f"{tier.name} {tier.iteration}: {command}", "log", log)
        run.log.append(
            checked,
            *run_events,
            UsageMetered(
                run_id=run_id, usd=0.0, input_tokens=0, output_tokens=0, turns=0, seconds=checked.duration_s
            ),
        )
        if checked.exit_code != 0:
            event = _fail_round(run, tier, checked, output, set_up=number < len(set_up), missing=ran.missing)
            tidy()
            run.log.append(_end_validation(run, tier, passed=False), event)
            return False
        if number >= len(set_up):
            passed.append(Passed(checked, output))
    tidy()
    is_gate = tier.clean and not checks.quick
    doubts = hear_witnesses(run, tier.workspace, set_up, tuple(passed)) if is_gate else ()
    rounds = [_fail_by_doubt(run, tier, doubt) for doubt in doubts[:1]]
    run.log.append(_end_validation(run, tier, passed=not doubts), *rounds)
    return not doubts


def _fail_by_doubt(run: RunContext, tier: Tier, doubt: Doubt) -> RoundFailed:
    """Return the failure of a command whose exit code alone says that it passed."""
    failed = _fail_round(run, tier, doubt.checked, doubt.output, set_up=False)
    said = f"{doubt.why}\n\n{failed.useful}"
    signature = failure.failure_signature(doubt.checked.command, (doubt.why,), (), ())
    names = (one_line(doubt.why, _NAME_BYTES),)
    return replace(
        failed, signature=signature, failing=1, names=names, useful=cut_bytes(said, failure.USEFUL_BYTES)
    )


def _end_validation(run: RunContext, tier: Tier, *, passed: bool) -> ValidationEnded:
    return ValidationEnded(
        run_id=run.spec.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        passed=passed,
        head=tier.head,
        base=tier.base,
        image=tier.workspace.image,
        clean=tier.clean,
        definition=tier.checks.definition,
        paths=tier.checks.covers,
    )


def _fail_round(
    run: RunContext, tier: Tier, checked: CommandChecked, output: str, *, set_up: bool, missing: str = ""
) -> RoundFailed:
    said = failure.read(checked.command, output)
    change = run.mirror.diff(tier.base, tier.head)
    return RoundFailed(
        run_id=run.spec.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        head=tier.head,
        tree=run.mirror.tree(tier.head),
        command=checked.command,
        exit_code=checked.exit_code,
        set_up=set_up,
        clean=tier.clean,
        signature=said.signature,
        failing=said.failing,
        names=said.names,
        useful=said.useful,
        files_changed=change.files_changed,
        lines_changed=change.lines_changed,
        missing=missing,
    )


def _check(run: RunContext, tier: Tier, command: str) -> tuple[CommandChecked, RanCommand, Stored]:
    """Run one command; return its result as an event, all about it, and the stored log."""
    ran = run_command(run, tier.workspace, command, of_column=tier.clean)
    why = explain_unfetched(run.mirror, tier.head) if ran.exit_code else ""
    if why:
        ran.log.add(why)
    log = ran.log.keep(store_of(run.spec.paths))
    checked = CommandChecked(
        run_id=run.spec.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        command=command,
        exit_code=ran.exit_code,
        duration_s=ran.duration_s,
        log_digest=log.digest,
        tail=tail(redact(f"{ran.output}\n{why}" if why else ran.output), _TAIL_BYTES),
        head=tier.head,
        base=tier.base,
        image=tier.workspace.image,
    )
    return checked, ran, log
