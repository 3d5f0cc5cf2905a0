"""Commits that GitHub makes anew: only with the judged files, once, and never in place of people's."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ledger.events.run import RunRequeued
from ledger.states import Ending
from runner.errors import KilledError
from runner.run.run_spec import Authorship, MadeCommit, RunSpec
from runner.supervisor import execute_run
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, COMMITTER, World, checks, git

LINK = {"run": "ln -s hello.txt link; printf 'true\n' > run.sh; chmod +x run.sh"}


@dataclass
class MakingRemote:
    """GitHub's way with commits, for a repository in a folder.

    `wrong` names a fault; `dies_at`: which git command is killed, of those after the first commit was made.
    """

    url: str
    wrong: str = ""
    dies_at: int = 0
    message: str = "{message} (signed {number})"
    made: list[str] = field(default_factory=list)
    commands: int = 0

    def git_environment(self) -> dict[str, str]:
        self.commands += bool(self.made)
        if self.dies_at and self.commands == self.dies_at:
            raise KilledError("git")
        return {}

    def make_commit(self, tree: str, parents: tuple[str, ...], message: str) -> MadeCommit:
        origin = Path(self.url)
        wanted = git(origin, "rev-parse", "main^{tree}") if self.wrong == "files" else tree
        words = [word for parent in parents for word in ("-p", parent)]
        message = self.message.format(message=message, number=len(self.made))
        made = git(origin, "commit-tree", wanted, *words, "-m", message)
        self.made.append(made)
        return MadeCommit(made, tree, parents, self.wrong != "unsigned", self.wrong or "valid")


def carry_out(world: World, remote: MakingRemote, spec: RunSpec) -> None:
    claimed, log = world.claim(spec)
    execute_run(claimed, log, remote, world.clock)


def order_of(world: World) -> RunSpec:
    git(world.origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    world.scenario(plan=[PLAN], work=[EDIT, LINK, FINISH])
    return world.spec(authorship=Authorship(COMMITTER, by_github=True), validation=checks(full=("true",)))


def test_the_branch_gets_githubs_commit_with_the_judged_files_and_modes(world: World) -> None:
    remote = MakingRemote(str(world.origin))
    carry_out(world, remote, order_of(world))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.head() == remote.made[-1] == world.only("BranchPushed").head
    signed, judged = world.only("CommitsSigned"), world.of("ValidationEnded")[-1]
    assert (signed.signed, signed.head) == (world.head(), judged.head)
    assert signed.tree == git(world.origin, "rev-parse", f"{BRANCH}^{{tree}}")
    modes = {row.split()[3]: row.split()[0] for row in git(world.origin, "ls-tree", BRANCH).splitlines()}
    assert (modes["link"], modes["run.sh"]) == ("120000", "100755")
    assert git(world.origin, "for-each-ref", "refs/cardinal") == ""


@pytest.mark.parametrize(("wrong", "said"), [("unsigned", "is unsigned"), ("files", "has other files than")])
def test_a_commit_that_is_not_signed_or_has_other_files_is_not_pushed(
    world: World, wrong: str, said: str
) -> None:
    carry_out(world, MakingRemote(str(world.origin), wrong), order_of(world))
    assert world.ended().ending is Ending.FAILED
    assert said in world.ended().detail
    assert git(world.origin, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize(("dies_at", "made"), [(1, 2), (3, 1)])
def test_a_claim_after_a_crash_pushes_the_recorded_commit_and_checks_nothing_again(
    world: World, dies_at: int, made: int
) -> None:
    remote, spec = MakingRemote(str(world.origin), dies_at=dies_at), order_of(world)
    with pytest.raises(KilledError):
        carry_out(world, remote, spec)
    world.write(RunRequeued(spec.run_id, "reclaimed"))
    carry_out(world, remote, spec)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.head() == world.only("CommitsSigned").signed == remote.made[-1]
    assert (len(remote.made), len(world.of("ValidationEnded"))) == (made, 1)


def test_no_commit_of_people_is_made_anew_in_the_apps_name(world: World) -> None:
    world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    world.commit({"base.txt": "Moved on\n"})
    before = world.head()
    carry_out(world, MakingRemote(str(world.origin)), order_of(world))
    assert "'Ann <ann@example.org>', which was rebased" in world.ended().detail
    assert world.head() == before
    assert COMMITTER.name not in world.ended().detail
