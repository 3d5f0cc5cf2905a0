"""The start of a claim: mirror, workspace, and a branch that stands on its base."""

import json
import logging
from hashlib import sha256

from ledger.events.agent import SessionLost
from ledger.events.run import BriefingMade
from ledger.states import RunState
from runner.briefing import digest_of
from runner.child import finish
from runner.errors import BackendError, NetworkError, RunnerError, UnsandboxedError
from runner.gate import clear_away
from runner.leaving import failed
from runner.live import LiveRun
from runner.rebasing import take_in_base, take_in_pushes
from runner.redact import redact
from runner.shell import note_hosts, start_command

_SETUP_S = 900.0
_KEEP_S = 420.0  # packing or unpacking what set-up left: nothing can renew the claim meanwhile
log = logging.getLogger(__name__)
_SETUP_OUTPUT_BYTES = 20_000_000


def prepare(run: LiveRun, *, allow_unsandboxed: bool) -> str:
    """Make everything ready and return the commit that the run began at: GitHub's head of the branch, or the
    base, as the run's first claim found it.

    Raises Park on an open question, NetworkError, UnsandboxedError, RepositoryError or WorkspaceError.
    """
    order = run.order
    run.step(RunState.PREPARING)
    digest = digest_of(order.briefing)
    if run.history.briefed != digest:
        told = BriefingMade(order.run_id, order.briefing, digest, order.briefing_omitted, order.issue)
        run.log.append(told)
    clear_away(order)
    run.heed_answers()
    if order.workspace not in run.agent.backends:
        raise BackendError(run.agent.name, order.workspace, run.agent.backends)
    if order.tools.network not in run.workspace.networks:
        raise NetworkError(order.workspace, order.tools.network, run.workspace.networks)
    if run.workspace.locked and not allow_unsandboxed:
        checks = order.validation
        if not run.agent.trusted:
            raise UnsandboxedError(run.agent.name, run.workspace.locked)
        if checks.setup or checks.fast or checks.full:  # commands of the repository, on what an agent wrote
            raise UnsandboxedError("what the repository's policy runs", run.workspace.locked)
    heads = run.mirror.fetch_heads(order.branch, order.base_branch)
    if run.workspace.fresh:
        session = run.history.session(order.session_id)
        if session:  # the card was done, or worked on elsewhere: its place was removed with the agent's home
            run.log.append(SessionLost(order.run_id, session))
        run.checkout.clone(order.branch, order.base_branch, heads)
        _set_up(run, heads.base)
    else:
        run.checkout.fetch(order.branch, order.base_branch, heads)
    take_in_pushes(run, heads.branch)
    if run.history.turn is None:
        take_in_base(run, heads.base)
    return _start(run, heads.branch or heads.base)


def _start(run: LiveRun, now: str) -> str:
    """Remember the start over crashes: after one that came just behind the push, GitHub's head is our own."""
    name = f"{run.order.run_id}-start"
    start = run.mirror.recall(name)
    if not start:
        run.mirror.remember(name, now)
    return start or now


def _set_up(run: LiveRun, base: str) -> None:
    """Run the repository's own set-up once, or bring back what it left elsewhere under the same key; a
    failure ends the run, since nothing could be checked after it.

    Only what an untouched base made is kept for others: on a branch the set-up may be the agent's.
    """
    commands = run.order.validation.setup
    if not commands:
        return
    key = setup_key(run.order.repository, commands, run.checkout.lock_files())
    run.log.hold(_KEEP_S)
    if run.workspace.restore_setup(key):
        return
    for command in commands:
        child = start_command(run, run.workspace, command, cap_bytes=_SETUP_OUTPUT_BYTES)
        ran = finish(child, what=command, timeout_s=_SETUP_S, beat=run.beat)
        note_hosts(run)
        if ran.exit_code != 0:
            why = child.fate or redact(ran.tail)[-600:]
            raise failed("repository", f"set-up failed: $ {command}: {why}")
    if run.checkout.commit() == base:
        run.log.hold(_KEEP_S)
        try:
            run.workspace.keep_setup(key)
        except RunnerError as error:  # the next card pays for it; this one has what it needs
            log.warning("set-up not kept run=%s reason=%s", run.order.run_id, error)


def setup_key(repository: str, commands: tuple[str, ...], locks: tuple[str, ...]) -> str:
    """Return the digest of what decides what set-up leaves behind, besides the image."""
    return sha256(json.dumps([repository, commands, locks]).encode()).hexdigest()


def take_in_again(run: LiveRun) -> None:
    """Put the finished work on what people pushed while it was made. Raises Park on a conflict."""
    order = run.order
    heads = run.mirror.fetch_heads(order.branch, order.base_branch)
    run.checkout.fetch(order.branch, order.base_branch, heads)
    take_in_pushes(run, heads.branch)
