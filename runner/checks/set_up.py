"""The repository's set-up: its kept result, which only a clean place makes, or a run of its commands."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from runner import workspaces
from runner.checks.by_path import set_up_of
from runner.checks.places import SERVERS, SET_UP, check_out, clean_room, note_hosts, start_command
from runner.errors import RunnerError, SetUpError, WorkspaceError
from runner.exec.child import finish
from runner.git.checkout import Checkout
from runner.git.left_files import MAX_FILES
from runner.run.run_spec import FACTS, RunSpec
from runner.session.context import RunContext, Scales
from runner.text.plain import redact
from runner.workspaces.bubblewrap import sandbox_problem
from runner.workspaces.contract import CleanWorkspace, Workspace
from runner.workspaces.packages import read_packages

_SETUP_S = 900.0
_KEEP_S = 420.0  # to pack or unpack the result of set-up: nothing can renew the claim meanwhile
_OUTPUT_BYTES = 20_000_000
_TOO_MANY = "it left {:,} new or changed files that git sees: name their folders in .gitignore"
log = logging.getLogger(__name__)


def spare_set_up(spec: RunSpec) -> RunSpec:
    """Return `spec` without the set-up lines that packages of a clone stand for, where checks see them."""
    installed = read_packages(spec.paths.packages)
    if installed is None or workspaces.load(spec.workspace).runs_images or sandbox_problem():
        return spec

    def drop_installed(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line for line in lines if line not in installed.setup)

    validation = spec.validation
    paths = tuple(replace(path, setup=drop_installed(path.setup)) for path in validation.paths)
    return replace(spec, validation=replace(validation, setup=drop_installed(validation.setup), paths=paths))


def set_up(
    run: RunContext, workspace: Workspace, checkout: Checkout, base: str, beat: Callable[[], None]
) -> None:
    """Bring the result of set-up into `workspace`; note its changes to the card's place. Raises SetUpError.

    A result for others is made on the base, in a place where no agent ever was.
    """
    validation = run.spec.validation
    commands = validation.setup
    if validation.paths:
        commands = set_up_of(run.mirror, validation, checkout.commit())
    if not commands:
        return
    if not _bring_kept(run, workspace, checkout, commands, base):
        _run_commands(run, workspace, commands, beat)
    if workspace is not run.workspace:
        return  # nothing is committed there
    left = checkout.note_set_up(run.spec.branch)
    if left > MAX_FILES and not run.spec.investigates:
        raise SetUpError(commands[-1], _TOO_MANY.format(left))


def _bring_kept(
    run: RunContext, workspace: Workspace, checkout: Checkout, commands: tuple[str, ...], base: str
) -> bool:
    """Bring the kept result, made now where there is none; return whether there is one."""
    # Set-up may fill a service, and that is one place's.
    if run.spec.services or not may_share(commands) or not workspaces.load(run.spec.workspace).runs_images:
        return False
    locks = checkout.lock_files()
    if locks.more:
        return False
    key = setup_key(run.spec.repository, commands, locks.names)
    if _restore(run, workspace, key):
        return True
    # Also where the kept one is damaged: it is made anew, and takes the other's name.
    return (
        checkout.commit() == base and _make_kept(run, commands, key, base) and _restore(run, workspace, key)
    )


def may_share(commands: tuple[str, ...]) -> bool:
    """Tell whether other cards may have the result of these lines: none of them names a fact of its card."""
    return not any(fact in command for command in commands for fact in FACTS)


def setup_key(repository: str, commands: tuple[str, ...], locks: tuple[str, ...]) -> str:
    """Return the digest of everything that decides the result of set-up, except the image."""
    return sha256(json.dumps([repository, commands, locks]).encode()).hexdigest()


def stand_for_servers(run: RunContext, *, checked_out: bool) -> CleanWorkspace:
    """Return the clean place of the claim's tool servers, which is removed with it.

    `checked_out`: with the base and its set-up. Raises RunnerError.
    """
    workspace = run.ground.workspace
    if workspace is None:
        workspace = run.ground.workspace = run.ground.stack.enter_context(clean_room(run, SERVERS))
    if checked_out and workspace.fresh:
        base = run.mirror.head(run.spec.base_branch)
        name = f"{run.spec.run_id}-served"
        run.mirror.remember(name, base)
        set_up(run, workspace, check_out(run, workspace, name), base, _weighing(run, workspace))
        workspace.mark_ready()
    return workspace


def _restore(run: RunContext, workspace: Workspace, key: str) -> bool:
    with run.log.holding(_KEEP_S):
        return workspace.restore_setup(key)


def _make_kept(run: RunContext, commands: tuple[str, ...], key: str, base: str) -> bool:
    """Run set-up on the base in a clean place, and keep the result; return whether that could be kept."""
    name = f"{run.spec.run_id}-set-up"
    run.mirror.remember(name, base)
    with clean_room(run, SET_UP, name) as workspace:
        _run_commands(run, workspace, commands, _weighing(run, workspace), shared=True)
        try:
            with run.log.holding(_KEEP_S):
                workspace.keep_setup(key)
        except RunnerError as error:  # the next card pays for it
            log.warning("set-up not kept run=%s reason=%s", run.spec.run_id, error)
            return False
    return True


def _run_commands(
    run: RunContext,
    workspace: Workspace,
    commands: tuple[str, ...],
    beat: Callable[[], None],
    *,
    shared: bool = False,
) -> None:
    for command in commands:
        child = start_command(run, workspace, command, cap_bytes=_OUTPUT_BYTES, of_column=True, shared=shared)
        ran = finish(child, what=command, timeout_s=_SETUP_S, beat=beat)
        note_hosts(run)
        if ran.exit_code != 0:
            raise SetUpError(command, child.fate or redact(ran.tail)[-600:])


def _weighing(run: RunContext, workspace: Workspace) -> Callable[[], None]:
    """Return the beat of a command in a clean place: that one is measured, and not the card's."""
    weighed = replace(run, workspace=workspace, scales=Scales())

    def beat() -> None:
        run.log.beat_or_stop()
        over_disk_limit = weighed.over_disk_limit()
        if over_disk_limit:
            raise WorkspaceError("a clean place", over_disk_limit)

    return beat
