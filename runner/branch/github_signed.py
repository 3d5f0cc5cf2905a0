"""Commits that GitHub makes anew and signs in place of those that were judged, with the same files."""

from ledger.events.branch import CommitsSigned
from runner.branch.export import head_name, published, remember_stamped
from runner.errors import UnverifiedCommitError
from runner.git.commits import Commit
from runner.git.credentials import credentials_served
from runner.run.run_spec import MadeCommit
from runner.session.context import RunContext
from runner.text.plain import one_line

MAX_COMMITS = 100  # a call each


def sign_on_github(run: RunContext, head: str, *, apart: bool = False) -> str:
    """Return GitHub's commit in place of the exported `head`; the mirror stands on it then.

    So does the workspace, unless an agent is at work (`apart`).

    The event is written before anything is pushed, so that the next claim pushes the same commit. Raises
    UnverifiedCommitError where GitHub's commits are not signed, or have other files; RepositoryError.
    """
    mirror, fresh = run.mirror, run.mirror.commits(head, *published(run))
    if head in run.history.early.signed or not fresh:
        return head
    _demand_own(run, fresh)
    made = _made_anew(run, head, fresh)
    run.log.append(CommitsSigned(run.order.run_id, head, made, mirror.tree(made)))
    if not apart:
        run.checkout.adopt(made)
        mirror.remember(head_name(run), made)
    remember_stamped(run, made)
    return made


def _demand_own(run: RunContext, fresh: tuple[Commit, ...]) -> None:
    author = run.order.authorship.author
    ours = f"{author.name} <{author.email}>"
    foreign = next((commit for commit in fresh if commit.author != ours), None)
    if foreign is not None:
        whose = f"{foreign.commit[:8]} by {one_line(foreign.author, 80)!r}, which was rebased"
        raise UnverifiedCommitError(f"the author of {whose}, would be its App")
    if len(fresh) > MAX_COMMITS:
        raise UnverifiedCommitError(f"{len(fresh)} commits are more than {MAX_COMMITS}: squash some")


def _made_anew(run: RunContext, head: str, fresh: tuple[Commit, ...]) -> str:
    """Let GitHub make the commits, bring the newest one here and compare the files of all.

    GitHub gets the objects by a ref that is no branch, and that is removed again: no rule of branches, no
    workflow and no person sees unsigned commits.
    """
    mirror, lent = run.mirror, f"refs/cardinal/{run.order.run_id}"
    mirror.exchange("push", "--no-verify", refs=f"+{head}:{lent}")
    try:
        made: dict[str, str] = {}
        for commit in fresh:
            made[commit.commit] = _made(run, commit, made)
        mirror.exchange("fetch", "--no-tags", "--no-write-fetch-head", refs=f"+{made[head]}:{lent}-signed")
    finally:
        mirror.exchange("push", "--no-verify", refs=f":{lent}")
    there = mirror.commits(made[head], *published(run))
    if [each.tree for each in there] != [each.tree for each in fresh]:
        raise UnverifiedCommitError(f"{made[head][:12]} has other files than {head[:12]}")
    return made[head]


def _made(run: RunContext, commit: Commit, made: dict[str, str]) -> str:
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
