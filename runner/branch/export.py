"""Export of a workspace: HEAD goes into the host's mirror as a pack, and its commits become Cardinal's own.

Commits get the name, trailers and the time of the log at which their turn ended. So the same commits are
rewritten to the same ones, also by the next claim after a crash.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from runner.errors import LongHistoryError
from runner.git.commits import Commit, git_time, own_commit
from runner.git.left_files import without_set_up
from runner.run.run_spec import Committer
from runner.session.context import RunContext

_PACK_CAP_BYTES = 500_000_000


def note_head(run: RunContext) -> None:
    """Remember the pushes on which the newest export is based."""
    base = run.mirror.head(run.spec.base_branch)
    run.mirror.remember(_ref_by_head(run), read_base_head(run) or base)


def go_back_to_head(run: RunContext) -> None:
    """Forget the pushes since the newest export: the checkout is that one again."""
    then = run.mirror.read_ref(_ref_by_head(run))
    if then and read_base_head(run):
        record_base_head(run, then)


def read_base_head(run: RunContext) -> str:
    """Return GitHub's newest head of the branch that the work is based on; empty without one."""
    return run.mirror.read_ref(_ref_of_base_head(run))


def record_base_head(run: RunContext, commit: str) -> None:
    """Remember the base of the work, for this run and for the next one in its workspace."""
    run.workspace.record_base(commit)  # first: a seen commit is not looked at again
    run.mirror.remember(_ref_of_base_head(run), commit)


def _ref_of_base_head(run: RunContext) -> str:
    return f"{run.spec.run_id}-seen"


def _ref_by_head(run: RunContext) -> str:
    return f"{run.spec.run_id}-brought"


def commit_work(run: RunContext, message: str, *unwanted: str) -> str:
    """Commit uncommitted changes; return HEAD, which `export_commit` brings next unless it is unwanted."""
    mirror = run.mirror
    known = filter(None, (*unwanted, mirror.read_ref(head_name(run))))
    return run.checkout.commit_leftovers(message, mirror.head(run.spec.base_branch), *known)


def export_commit(run: RunContext, head: str) -> str:
    """Export `head`, the workspace's HEAD; return its commit, which mirror and workspace then share.

    In the mirror it is refs/cardinal/<run>-head. A commit that is there already names the same files
    wherever it is, so it is not brought again. Raises WorkspaceError, OversizedRepositoryError,
    LongHistoryError, UnsoundObjectsError or GitError.
    """
    mirror = run.mirror
    if not head == mirror.read_ref(head_name(run)) == mirror.read_ref(_ref_of_rewrite(run)):
        with _pack(run) as pack:
            base = mirror.head(run.spec.base_branch)
            rows = run.checkout.export(pack, head, base, _PACK_CAP_BYTES)
            mirror.take_pack(pack, head, head_name(run), base)
        ended = run.history.turn_ended_at or run.history.began_at
        brought, head = head, stamp_commits(run, head, ended, rows)
        if head != brought:
            mirror.remember(head_name(run), head)
            run.checkout.adopt(head)
    note_head(run)
    return head


def export_apart(run: RunContext, unwanted: Sequence[str]) -> tuple[str, str]:
    """Export HEAD while an agent is at work; return it and its commit in the mirror, which has other ids.

    Both are empty where HEAD is unwanted. The workspace stays as it is: the next `export_commit` makes the
    same commits of it. Raises as that.
    """
    base = run.mirror.head(run.spec.base_branch)
    with _pack(run) as pack:
        head, rows = run.checkout.export_apart(pack, base, unwanted, _PACK_CAP_BYTES)
        if not head:
            return "", ""
        run.mirror.take_pack(pack, head, f"{run.spec.run_id}-apart")
    return head, stamp_commits(run, head, run.clock.now(), rows)


@contextmanager
def _pack(run: RunContext) -> Iterator[Path]:
    """Yield where a pack is to lie on its way into the mirror."""
    mirrors, run_id = run.spec.paths.mirrors, run.spec.run_id
    for left in mirrors.glob(f"{run_id}-*.pack"):
        left.unlink()  # by a claim that was killed while it exported
    pack = mirrors / f"{run_id}-{run.log.generation}.pack"
    try:
        yield pack
    finally:
        pack.unlink(missing_ok=True)


def head_name(run: RunContext) -> str:
    return f"{run.spec.run_id}-head"


def stamp_commits(run: RunContext, head: str, at: datetime, rows: Collection[str] = ()) -> str:
    """Return `head` with all new commits made Cardinal's own, of that time.

    People's stay theirs, also when rebased. Those of which the same was made already become the same again.
    `rows`, set-up's changes, are in none of them, and a commit of nothing else is dropped.

    Raises LongHistoryError, SigningError or GitError.
    """
    spec, mirror = run.spec, run.mirror
    gone = list_rebased(run, head)
    signed, theirs = set(map(_signature_of, gone)), Counter(_likeness(run, commit) for commit in gone)
    made: dict[str, str] = {}
    before = {_content(commit): commit.commit for commit in _earlier_rewrites(run, head)}
    fresh = mirror.commits(head, *list_published(run), mirror.read_ref(_ref_of_rewrite(run)))
    for left, commit in zip(reversed(range(len(fresh))), fresh, strict=True):
        when = git_time(at, left)  # a second apart: GitHub lists commits by their time
        kept_commit = replace(commit, parents=tuple(made.get(parent, parent) for parent in commit.parents))
        likeness = _likeness(run, commit) if _signature_of(commit) in signed else None
        if likeness and theirs[likeness]:
            theirs[likeness] -= 1  # once: a second of the kind is the agent's
            tree = without_set_up(mirror, commit, kept_commit.parents, rows, is_own=False)
            kept_commit = replace(kept_commit, tree=tree, committed=when)
        else:
            kept_commit = replace(kept_commit, tree=without_set_up(mirror, commit, kept_commit.parents, rows))
            if kept_commit.tree != commit.tree and [kept_commit.tree] == _trees(run, kept_commit.parents):
                made[commit.commit] = kept_commit.parents[0]
                continue
            kept_commit = own_commit(
                kept_commit, spec.authorship.author, spec.run_id, spec.full_reference, when
            )
        # GitHub verifies a signature by the committer's address; who wrote it is the author.
        kept_commit = replace(kept_commit, committer=_name(spec.authorship.committer))
        made[commit.commit] = before.get(_content(kept_commit)) or mirror.make_commit(
            kept_commit, spec.authorship.key
        )
    stamped = made.get(head, head)
    remember_stamped(run, stamped)
    return stamped


def _trees(run: RunContext, commits: Sequence[str]) -> list[str]:
    return [commit.tree for commit in run.mirror.read_commits(commits)]


def _earlier_rewrites(run: RunContext, head: str) -> tuple[Commit, ...]:
    """Return commits made Cardinal's own that are not in `head`: the agent was at work, and has its own."""
    stamped = run.mirror.read_ref(_ref_of_rewrite(run)) if run.spec.early else ""
    return run.mirror.commits(stamped, run.mirror.head(run.spec.base_branch), head) if stamped else ()


def _content(commit: Commit) -> tuple[str, tuple[str, ...], str]:
    return commit.tree, commit.parents, commit.message


def remember_stamped(run: RunContext, commit: str) -> None:
    run.mirror.remember(_ref_of_rewrite(run), commit)


def _ref_of_rewrite(run: RunContext) -> str:
    """Return the mirror's name for the newest rewritten commit, which is not rewritten again."""
    return f"{run.spec.run_id}-stamped"


def list_published(run: RunContext) -> tuple[str, ...]:
    """Return commits that GitHub has with their history, whatever its branches are moved to."""
    spec, mirror = run.spec, run.mirror
    base, start = mirror.head(spec.base_branch), mirror.read_ref(f"{spec.run_id}-start")
    return tuple(dict.fromkeys(filter(None, (base, read_base_head(run), start))))


def peoples(run: RunContext) -> tuple[Commit, ...]:
    """Return the commits of GitHub's branch that the work is based on."""
    known = read_base_head(run)
    return run.mirror.commits(known, run.mirror.head(run.spec.base_branch)) if known else ()


def list_rebased(run: RunContext, head: str) -> tuple[Commit, ...]:
    """Return people's commits that are not in `head` any more, because of a rebase."""
    known, base = read_base_head(run), run.mirror.head(run.spec.base_branch)
    return run.mirror.commits(known, base, head) if known else ()


def list_lost_commits(run: RunContext, head: str) -> tuple[Commit, ...]:
    """Return people's commits that `head` has neither unchanged nor rebased.

    Merges, Cardinal's own commits and commits that the base has by now do not count.
    """
    gone, authorship = list_rebased(run, head), run.spec.authorship
    if not gone:
        return ()
    signed = set(map(_signature_of, gone))
    there = Counter(
        _likeness(run, commit)
        for commit in run.mirror.commits(head, *list_published(run))
        if _signature_of(commit) in signed
    )
    left = Counter(_likeness(run, commit) for commit in gone) - there
    if left:
        left -= Counter(
            _likeness(run, commit) for commit in _new_in_base(run) if _signature_of(commit) in signed
        )
    ours = {_name(committer) for committer in (authorship.author, *authorship.past)}
    return tuple(
        commit
        for commit in gone
        if left[_likeness(run, commit)] and commit.author not in ours and len(commit.parents) == 1
    )


def _new_in_base(run: RunContext) -> tuple[Commit, ...]:
    """Return the base's commits that people's branch did not have; none where there are too many."""
    try:
        return run.mirror.commits(run.mirror.head(run.spec.base_branch), read_base_head(run))
    except LongHistoryError:  # people are asked about each commit that may be among them
        return ()


def _name(committer: Committer) -> str:
    return f"{committer.name} <{committer.email}>"


def _signature_of(commit: Commit) -> tuple[str, str, str]:
    return commit.author, commit.authored, commit.message


def _likeness(run: RunContext, commit: Commit) -> tuple[str, ...]:
    """Return the invariants of a rebase: author, time, message, lines. A merge equals only itself."""
    same = run.mirror.change_digest(commit.commit) if len(commit.parents) == 1 else commit.commit
    return *_signature_of(commit), same
