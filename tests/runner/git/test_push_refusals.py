"""A refused push is sorted by its cause: nobody reads that somebody pushed where nobody did."""

import pytest

from runner.errors import MovedBranchError, PushRefusedError
from runner.git.mirror import Mirror
from runner.git.push_refusals import PushCause, PushRefusal, find_push_refusal
from tests.runner.world import REPOSITORY, World, git

BRANCH = "cardinal/7-totals"
WAY, STEP = PushCause.IN_THE_WAY, "rename or delete the branch"
LOCK = "cannot lock ref 'refs/heads/cardinal/7'"
CI = "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml`"
SECRET = "remote: error: GH013: Repository rule violations\nremote: - GITHUB PUSH PROTECTION"
SAID = (
    ("!\tx:refs/heads/x\t[rejected] (stale info)", PushCause.MOVED, "takes those commits in"),
    ("!\tx:refs/heads/x\t[rejected] (non-fast-forward)", PushCause.MOVED, "takes those commits in"),
    (f"!\tx\t[remote rejected] ({LOCK}: is at a but expected b)", PushCause.MOVED, "takes"),
    (f"error: {LOCK}: 'refs/heads/cardinal' exists; cannot create 'refs/heads/cardinal/7'", WAY, STEP),
    ("!\tx\t[remote rejected] (directory file conflict)", WAY, STEP),
    (CI, PushCause.RULE, "`/cardinal allow workflows`"),
    ("remote: error: GH013: Commits must have verified signatures.", PushCause.RULE, "sign: github"),
    ("remote: error: GH013: a required workflow is not configured", PushCause.RULE, "change the rule"),
    ("remote: error: GH006: Protected branch update failed for x.", PushCause.RULE, "change the rule"),
    ("!\tx\t[remote rejected] (pre-receive hook declined)", PushCause.RULE, "change the rule"),
    ("remote: error: GH001: Large files detected.", PushCause.CONTENT, "Git LFS"),
    ("remote: fatal: pack exceeds maximum allowed size", PushCause.CONTENT, "Git LFS"),
    (SECRET, PushCause.CONTENT, "secret"),
    ("remote: error: GH007: Your push would publish a private email address.", PushCause.CONTENT, "noreply"),
    ("remote: This repository was archived so it is read-only.", PushCause.CLOSED, "open the repository"),
)


def refused(push_refusal: PushRefusal, said: str) -> str:
    return str(
        PushRefusedError(
            BRANCH, said, cause=push_refusal.cause, because=push_refusal.because, step=push_refusal.step
        )
    )


@pytest.mark.parametrize(("said", "cause", "step"), SAID)
def test_each_refusal_has_its_cause_and_its_step(said: str, cause: PushCause, step: str) -> None:
    push_refusal = find_push_refusal(said)
    assert push_refusal is not None
    assert push_refusal.cause is cause
    assert step in push_refusal.step
    if cause is not PushCause.MOVED:
        sentence = refused(push_refusal, said)
        assert f"{push_refusal.step}, then retry. GitHub: " in sentence


@pytest.mark.parametrize(
    "said",
    [
        "fatal: the remote end hung up unexpectedly",
        "error: RPC failed; HTTP 500",
        "remote: Repository not found.",
    ],
)
def test_a_failure_that_is_no_refusal_is_none(said: str) -> None:
    assert find_push_refusal(said) is None


def test_a_refused_push_says_the_rules_reason_without_its_frame() -> None:
    said = "remote: error: GH013: Repository rule violations found for refs/heads/x. remote: remote: - No."
    refusal = find_push_refusal(said)
    assert refusal is not None
    assert refused(refusal, said).endswith("GitHub: GH013: - No.")


@pytest.mark.parametrize("other", ["cardinal", f"{BRANCH}/x"])
def test_gits_own_words_for_a_branch_in_the_way_are_known(world: World, other: str) -> None:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    mirror.fetch("main")
    git(world.origin, "branch", other, "main")
    with pytest.raises(PushRefusedError) as error:
        mirror.push(mirror.head("main"), BRANCH, "")
    assert error.value.cause == PushCause.IN_THE_WAY


def test_gits_own_words_for_a_branch_that_moved_are_known(world: World) -> None:
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    mirror.fetch("main")
    world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    with pytest.raises(MovedBranchError):
        mirror.push(mirror.head("main"), BRANCH, "")
