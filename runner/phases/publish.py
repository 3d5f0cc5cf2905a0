"""Publish phase: the branch is exported as a pack, judged on the host, and pushed to GitHub."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ledger.events.branch import CommitsSigned
from ledger.events.run import MAX_FILES, BranchExported, BranchPushed, RunEnded
from ledger.rows.limit_answers import PUBLISH, STOP, Size, Subject
from ledger.states import Ending, RunState
from runner.branch.export import (
    export_commit,
    head_name,
    list_lost_commits,
    list_published,
    list_rebased,
    read_base_head,
    record_base_head,
    remember_stamped,
)
from runner.checks.repair_limits import oversize
from runner.errors import MovedBranchError, UnverifiedCommitError
from runner.git.commits import Commit
from runner.git.credentials import credentials_served
from runner.git.mirror import DiffStat
from runner.phases.guard import ask_people
from runner.run.exits import fail
from runner.run.instructions import layers_digest
from runner.run.run_spec import MadeCommit
from runner.session import keep
from runner.session.context import RunContext
from runner.session.tool_effects import report
from runner.text.plain import one_line
from runner.text.untrusted import flat

MAX_COMMITS = 100  # a call each


def sign_on_github(run: RunContext, head: str, *, apart: bool = False) -> str:
    """Return GitHub's commit in place of the exported `head`; the mirror stands on it then.

    So does the workspace, unless an agent is at work (`apart`).

    The event is written before anything is pushed, so that the next claim pushes the same commit. Raises
    UnverifiedCommitError where GitHub's commits are not signed, or have other files; RepositoryError.
    """
    mirror, fresh = run.mirror, run.mirror.commits(head, *list_published(run))
    if head in run.history.early.signed or not fresh:
        return head
    _demand_own(run, fresh)
    made = _make_on_github(run, head, fresh)
    run.log.append(CommitsSigned(run.spec.run_id, head, made, mirror.tree(made)))
    if not apart:
        run.checkout.adopt(made)
        mirror.remember(head_name(run), made)
    remember_stamped(run, made)
    return made


def _demand_own(run: RunContext, fresh: tuple[Commit, ...]) -> None:
    author = run.spec.authorship.author
    ours = f"{author.name} <{author.email}>"
    foreign = next((commit for commit in fresh if commit.author != ours), None)
    if foreign is not None:
        whose = f"{foreign.commit[:8]} by {one_line(foreign.author, 80)!r}, which was rebased"
        raise UnverifiedCommitError(f"the author of {whose}, would be its App")
    if len(fresh) > MAX_COMMITS:
        raise UnverifiedCommitError(f"{len(fresh)} commits are more than {MAX_COMMITS}: squash some")


def _make_on_github(run: RunContext, head: str, fresh: tuple[Commit, ...]) -> str:
    """Let GitHub make the commits, bring the newest one here and compare the files of all.

    GitHub gets the objects by a ref that is no branch, and that is removed again: no rule of branches, no
    workflow and no person sees unsigned commits.
    """
    mirror, lent = run.mirror, f"refs/cardinal/{run.spec.run_id}"
    mirror.exchange("push", "--no-verify", refs=f"+{head}:{lent}")
    try:
        made: dict[str, str] = {}
        for commit in fresh:
            made[commit.commit] = _make_commit(run, commit, made)
        mirror.exchange("fetch", "--no-tags", "--no-write-fetch-head", refs=f"+{made[head]}:{lent}-signed")
    finally:
        mirror.exchange("push", "--no-verify", refs=f":{lent}")
    commits = mirror.commits(made[head], *list_published(run))
    if [each.tree for each in commits] != [each.tree for each in fresh]:
        raise UnverifiedCommitError(f"{made[head][:12]} has other files than {head[:12]}")
    return made[head]


def _make_commit(run: RunContext, commit: Commit, made: dict[str, str]) -> str:
    parents = tuple(made.get(parent, parent) for parent in commit.parents)
    remote, wait = run.mirror.remote, run.mirror.beat
    answer: MadeCommit = credentials_served(
        lambda: remote.make_commit(commit.tree, parents, commit.message), wait
    )
    if not answer.verified:
        raise UnverifiedCommitError(f"{answer.commit[:12]} is {one_line(answer.why, 80)}")
    if (answer.tree, answer.parents) != (commit.tree, parents):
        raise UnverifiedCommitError(f"{answer.commit[:12]} has other files or parents than it was asked for")
    return answer.commit


# docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+(?P<where>[\w./:-]{0,200}?)(?:#|GH-|/issues/)(?P<number>\d{1,9})",
    re.IGNORECASE,
)
# docs.github.com/actions/managing-workflow-runs/skipping-workflow-runs
_SKIPPING = re.compile(
    r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|^skip-checks:\s*true",
    re.IGNORECASE | re.MULTILINE,
)
_SHOWN = 3


def publish_work(run: RunContext, start: str) -> None:
    """Push the branch if it moved, then write answers, report and ending in one transaction.

    Raises Park when the change is too large or touches protected files, MovedBranchError when others pushed
    meanwhile, another RepositoryError when GitHub refuses the push.
    """
    run.step(RunState.PUBLISHING)
    spec = run.spec
    events: list[BranchPushed] = []
    stands = run.checkout.commit()
    if stands != start:
        head = _export(run, stands)
        run.log.append(*keep.patch(run, run.mirror.head(spec.base_branch), head))
        head = push(run, head)
        events.append(BranchPushed(spec.run_id, spec.branch, head))
    ended = RunEnded(spec.run_id, Ending.SUCCEEDED, "", "", one_line(run.history.last_line))
    run.log.append(*events, *report(spec, run.history), *keep.keep_report(run), ended)


def _export(run: RunContext, head: str) -> str:
    """Export HEAD to the mirror and record the size of the change; return the commit."""
    head = export_commit(run, head)
    stands_as_checked(run, head)
    change = measure(run, head)
    if change.commits == 0 or change.files_changed == 0:
        raise fail("no_changes", "the branch does not differ from its base")
    ask_people(run, head)
    open_yet = open_concerns(run, change, head)
    if open_yet.text:
        text = f"{open_yet.text} Publish it?"
        run.ask(Subject.SIZE, text, (PUBLISH, STOP), size=open_yet.size, digest=open_yet.digest)
    return head


def measure(run: RunContext, head: str) -> DiffStat:
    """Return the whole change of an exported commit, and record its size."""
    spec, base = run.spec, run.mirror.head(run.spec.base_branch)
    change = run.mirror.diff(base, head)
    event = run.history.exported
    if change.commits and change.files_changed and (event is None or event.head != head):
        size = change.files_changed, change.lines_changed, change.commits
        files = tuple(flat(path) for path in change.paths[:MAX_FILES])
        run.log.append(BranchExported(spec.run_id, spec.branch, base, head, *size, files))
    return change


def stands_as_checked(run: RunContext, head: str) -> None:
    """Raise Finish unless the commit is the one that passed the gate."""
    passed = run.history.validation
    if run.spec.validation.waived and run.history.waived == head:
        return
    judged = run.history.early.signed.get(head, head)
    if passed is None or not (passed.passed and passed.clean) or passed.head not in (head, judged):
        raise fail("validation", f"the branch stands at {head}, which is not what passed the full checks")


@dataclass(frozen=True, slots=True)
class OpenConcerns:
    """Concerns that people must agree to before a change is published; `text` is empty for none."""

    text: str
    size: Size
    digest: str


def open_concerns(run: RunContext, change: DiffStat, head: str) -> OpenConcerns:
    """Return the concerns that nobody agreed to yet: a large change, odd commits."""
    over = oversize(change, run.spec.limits, run.list_published(Subject.SIZE))
    odd = _odd_commits(run, head)
    digest = layers_digest("\n".join(odd)) if odd else ""
    large = f"The change is large: {over.message}." if over.message else ""
    strange = f"Commit {'; '.join(odd)}." if odd else ""
    open_yet = over.message or (odd and not run.may_publish(Subject.SIZE, digest))
    return OpenConcerns(" ".join(filter(None, (large, strange))) if open_yet else "", over.size, digest)


def _odd_commits(run: RunContext, head: str) -> tuple[str, ...]:
    """Return the remarks about commits that GitHub does not have yet."""
    said = concerns(
        run.mirror.commits(head, *list_published(run)), list_rebased(run, head), run.spec.own_number
    )
    lost = tuple(
        f"{commit.commit[:8]} by {one_line(commit.author, 80)!r} is on GitHub's branch,"
        " and is missing or altered here"
        for commit in list_lost_commits(run, head)
    )
    return (*said, *lost[:_SHOWN])


def push(run: RunContext, head: str, *, apart: bool = False) -> str:
    """Push with a lease on the commit that the work is based on; a push before a crash is not repeated.

    With `apart` the workspace is not touched, since an agent is at work there. Return the commit that GitHub
    has: another one, with the same files, where GitHub signs.
    """
    run.log.hold(0)  # who lost the claim pushes nothing
    if run.spec.authorship.by_github:
        head = sign_on_github(run, head, apart=apart)
    sent = run.mirror.read_ref(_ref_of_last_push(run))
    if sent not in ("", read_base_head(run)):  # nobody heard whether GitHub took it
        run.mirror.fetch(run.spec.base_branch)
        if run.mirror.head(run.spec.branch) == sent:
            record_base_head(run, sent)
    try:
        _push_onto_known(run, head)  # usually nothing moved since this claim fetched
    except MovedBranchError:
        run.mirror.fetch(run.spec.base_branch)
        _push_onto_known(run, head)
    record_base_head(run, head)
    return head


def _push_onto_known(run: RunContext, head: str) -> None:
    """Push unless the branch is there; raise MovedBranchError where it has commits that the work has not."""
    now = run.mirror.head(run.spec.branch)
    if now == head:  # it was pushed early, and nothing is sent by which GitHub could tell of a push since
        run.mirror.fetch(run.spec.base_branch)
        now = run.mirror.head(run.spec.branch)
    if now not in ("", head, read_base_head(run)):
        raise MovedBranchError(run.spec.branch)
    if now != head:
        run.mirror.remember(_ref_of_last_push(run), head)
        run.mirror.push(head, run.spec.branch, now)


def _ref_of_last_push(run: RunContext) -> str:
    """Return the mirror's name for the commit that was pushed last, whether GitHub took it or not."""
    return f"{run.spec.run_id}-sent"


def concerns(commits: Iterable[Commit], known_commits: Iterable[Commit], number: int) -> tuple[str, ...]:
    """Return remarks for people about commits before they are published.

    `known_commits` are commits of GitHub's branch: rebased they keep author and message. The card's issue,
    `number`, may be closed.
    """
    theirs = {(commit.author, commit.message) for commit in known_commits}
    remarks: list[str] = []
    for commit in commits:
        if (commit.author, commit.message) in theirs:
            continue
        short = commit.commit[:8]
        closing = _CLOSING.finditer(commit.message)
        others = [word[0] for word in closing if word["where"] or int(word["number"]) != number]
        if others:
            remarks.append(f"{short} says {one_line(others[0], 80)!r}, which closes another issue")
        if _SKIPPING.search(commit.message):
            remarks.append(f"{short} tells GitHub to skip its checks")
    more = (f"{len(remarks) - _SHOWN} more of the kind",) if len(remarks) > _SHOWN else ()
    return (*remarks[:_SHOWN], *more)
