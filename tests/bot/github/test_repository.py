"""What Cardinal reads of a repository: people, the policy file, pull requests, reviews, and git itself."""

import base64
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.github import tokens
from bot.github.api import merge_queue, pulls, reviews, roles
from bot.github.client import Hub
from bot.github.errors import NotFoundError, PermissionMissingError
from bot.github.transport import READ, ApiCall, CallSlots, Wire
from bot.repo_config import policy_file
from forge.store.models import Pull, Role
from forge.store.registration import Token
from forge.store.reviews import LineComment
from rules.policy import locations
from tests.bot.github.conftest import Clock, Scripted
from tests.bot.github.world import World, utc_now


def git(*words: str, cwd: Path, environment: dict[str, str] | None = None) -> str:
    alone = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    variables = alone | (environment or {})
    who = ("-c", "user.name=c", "-c", "user.email=c@example.org")
    ran = subprocess.run(
        ["git", *who, *words], cwd=cwd, env=variables, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.strip()


def pull_of(world: World) -> Pull:
    store = world.forge.store
    store.repos.create_ref(world.shop, "refs/heads/x", store.repos.commit_of(world.shop), actor=world.alice)
    store.repos.write_files(world.shop, "x", {"a.py": b"one = 1\ntwo = 2\n"}, "More", actor=world.alice)
    return store.pulls.create(world.shop, "P", "", "x", "main", actor=world.alice, draft=True)


@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_the_one_in_the_repository(world: World, role: Role) -> None:
    carol = world.forge.store.users.add("carol")
    world.forge.store.repos.set_role(world.shop, carol, role)
    found = roles.role(world.hub, "acme/shop", "carol")
    assert found == (role.value if role is not Role.NONE else "read")  # everybody reads a public one
    assert roles.may_write(found) == role.reaches(Role.WRITE)


@pytest.mark.parametrize("login", ["nobody", "a/../b", "dependabot[bot]", "x?y=z", "%2e%2e", ""])
def test_whom_github_does_not_know_has_no_role(world: World, login: str) -> None:
    assert roles.role(world.hub, "acme/shop", login) == "none"


def test_a_role_is_asked_for_once_a_minute(world: World) -> None:
    roles.role(world.hub, "acme/shop", "alice")
    before = len(world.forge.gateway.calls)
    assert roles.role(world.hub, "acme/shop", "ALICE") == "admin"
    assert len(world.forge.gateway.calls) == before


def test_a_role_is_asked_for_again_after_a_minute(hub: Hub, scripted: Scripted, clock: Clock) -> None:
    scripted.tokens()
    path = "/repos/acme/shop/collaborators/alice/permission"
    scripted.answer("GET", path, {"permission": "write", "role_name": "maintain"})
    scripted.answer("GET", path, {"permission": "read", "role_name": "release-captain"})
    seen = [roles.role(hub, "acme/shop", "alice")]
    for _ in range(2):
        clock.forward(59)
        seen.append(roles.role(hub, "acme/shop", "alice"))
    assert seen == ["maintain", "maintain", "read"]


def test_the_policy_file_comes_with_the_commit_it_was_read_at(world: World) -> None:
    text = "version: 1\n# ünï\n"
    files = {locations.PATH: b"\xef\xbb\xbf" + text.encode()}
    commit = world.forge.store.repos.write_files(world.shop, "main", files, "Policy", actor=world.alice)
    assert policy_file.read(world.hub, "acme/shop") == (text, commit)


def test_without_a_file_there_is_still_a_commit(world: World) -> None:
    assert policy_file.read(world.hub, "acme/shop") == (None, world.forge.store.repos.commit_of(world.shop))


def test_a_repository_without_commits_has_neither(world: World) -> None:
    world.forge.store.repos.create(world.acme, "new")
    assert policy_file.read(world.hub, "acme/new") == (None, "")


def test_a_repository_that_is_gone_is_an_error(world: World) -> None:
    with pytest.raises(NotFoundError):
        policy_file.read(world.hub, "acme/gone")


def test_a_policy_file_that_is_no_text_holds_what_no_policy_may(world: World) -> None:
    world.forge.store.repos.write_files(
        world.shop, "main", {locations.PATH: b"\xff\xfe\x00"}, "Broken", actor=world.alice
    )
    assert policy_file.read(world.hub, "acme/shop").text == policy_file.NOT_TEXT


def test_a_folder_in_the_policys_place_is_no_policy(world: World) -> None:
    files = {f"{locations.PATH}/x": b"1"}
    world.forge.store.repos.write_files(world.shop, "main", files, "Folder", actor=world.alice)
    assert policy_file.read(world.hub, "acme/shop").text == policy_file.NOT_TEXT


def test_a_pull_request_is_read_as_it_is(world: World) -> None:
    pull = pull_of(world)
    pull_reading = pulls.read(world.hub, "acme/shop", pull.issue.number)
    assert (pull_reading.state, pull_reading.draft, pull_reading.head) == ("open", True, pull.head_sha)
    # As where somebody pushed between the last look and the call.
    assert not reviews.mark_ready(world.hub, "acme/shop", pull_reading.node_id, "f" * 40)
    assert pulls.read(world.hub, "acme/shop", pull.issue.number).draft is True
    for _ in range(2):
        assert reviews.mark_ready(world.hub, "acme/shop", pull_reading.node_id, pull_reading.head)
    assert pulls.read(world.hub, "acme/shop", pull.issue.number).draft is False
    world.forge.store.pulls.merge(pull, actor=world.alice)
    assert pulls.read(world.hub, "acme/shop", pull.issue.number).state == "merged"


CI = ".github/workflows/ci.yml"


@pytest.mark.parametrize(
    ("files", "wide"),
    [
        ({"a.py": b"x\n"}, False),
        ({CI: b"on: push\n"}, True),
        ({".github/workflows/old.yml": None}, True),
        ({".github/workflows/old.yml": None, "docs/old.yml": b"on: push\njobs: {}\n"}, True),  # moved away
        ({".github/workflows2/ci.yml": b"x\n", "docs/.github/workflows/ci.yml": b"x\n"}, False),
    ],
)
def test_a_merge_may_change_workflows_only_where_the_pull_request_does(
    world: World, files: dict[str, bytes | None], wide: bool
) -> None:
    store = world.forge.store
    old = {".github/workflows/old.yml": b"on: push\njobs: {}\n"}
    store.repos.write_files(world.shop, "main", old, "Old", actor=world.alice)
    store.repos.create_ref(world.shop, "refs/heads/x", store.repos.commit_of(world.shop), actor=world.alice)
    head = store.repos.write_files(world.shop, "x", files, "More", actor=world.alice)
    pull = store.pulls.create(world.shop, "P", "", "x", "main", actor=world.alice)
    assert pulls.merge(world.hub, "acme/shop", pull.number, method="squash", head=head, words={})
    tokens: list[Token] = list(store.apps._tokens.values())
    granted = {name for token in tokens for name in token.permissions}
    assert ("workflows" in granted) is wide


def test_with_more_files_than_github_lists_a_merge_may_change_workflows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = pull_of(world)
    monkeypatch.setattr(pulls, "MAX_PAGES", 1)
    monkeypatch.setattr(pulls, "PAGE", 2)
    assert pulls.changes_workflows(world.hub, "acme/shop", pull.number) is False
    world.forge.store.repos.write_files(world.shop, "x", {"b.py": b"x\n"}, "More", actor=world.alice)
    assert pulls.changes_workflows(world.hub, "acme/shop", pull.number) is True


def test_an_app_without_workflows_is_told_which_permission_the_merge_wants(world: World) -> None:
    pull, store = pull_of(world), world.forge.store
    head = store.repos.write_files(world.shop, "x", {CI: b"on: push\n"}, "More", actor=world.alice)
    store.pulls.set_draft(pull, False, actor=world.alice)
    (installation,) = store.apps._installations
    del installation.permissions["workflows"]
    with pytest.raises(PermissionMissingError, match="workflows: write"):
        pulls.merge(world.hub, "acme/shop", pull.number, method="squash", head=head, words={})
    assert pull.merged_at is None


def test_an_app_that_may_not_write_to_the_queue_is_told_which_permissions_it_wants(world: World) -> None:
    pull, store = pull_of(world), world.forge.store
    store.pulls.set_draft(pull, False, actor=world.alice)
    world.shop.merge_queues.add("main")
    (installation,) = store.apps._installations
    installation.permissions["merge_queues"] = "read"
    with pytest.raises(PermissionMissingError, match="and merge_queues: write"):
        enqueue(world, pull)
    store.access.accept(installation, actor=world.alice)
    world.hub._tokens.forget()
    assert enqueue(world, pull) == "queue"


def enqueue(world: World, pull: Pull) -> str:
    """Let Cardinal put the pull request into the queue; return how it is merged."""
    return merge_queue.wait(
        world.hub,
        "acme/shop",
        pull.node_id,
        method="squash",
        head=pull.head_sha,
        words={},
        refused="Changes must be made through the queue",
    )


def test_an_issue_is_no_pull_request(world: World) -> None:
    world.card("Do it")
    with pytest.raises(NotFoundError):
        pulls.read(world.hub, "acme/shop", 1)


def test_the_threads_of_one_review_are_read_and_resolved(world: World) -> None:
    pull, store = pull_of(world), world.forge.store
    bob = store.users.add("bob")
    said = [("Rename it", 1), ("And why?", 2), ("Split the file", None)]
    comments = [LineComment("a.py", text, line) for text, line in said]
    review = store.reviews.submit(pull, "REQUEST_CHANGES", "No.", comments, actor=bob)
    store.reviews.submit(pull, "COMMENT", "", [LineComment("a.py", "Another's", 1)], actor=bob)
    number = pull.issue.number
    threads = reviews.threads_of_review(world.hub, "acme/shop", number, review.id)
    assert [(thread.path, thread.line, thread.text) for thread in threads] == [
        ("a.py", 1, "Rename it"),
        ("a.py", 2, "And why?"),
        ("a.py", 0, "Split the file"),
    ]
    node_id = reviews.node_of_thread(world.hub, "acme/shop", number, threads[1].thread_id)
    reviews.resolve_thread(world.hub, "acme/shop", node_id)
    calls = len(world.forge.gateway.calls)
    reviews.node_of_thread(world.hub, "acme/shop", number, threads[2].thread_id)
    assert len(world.forge.gateway.calls) == calls
    assert [thread.resolved_by is not None for thread in pull.threads] == [False, True, *[False] * 2]


def test_a_thread_has_the_line_of_the_reviewed_commit_once_that_is_gone(world: World) -> None:
    pull, store = pull_of(world), world.forge.store
    bob = store.users.add("bob")
    review = store.reviews.submit(pull, "COMMENT", "", [LineComment("a.py", "Why?", 2)], actor=bob)
    store.repos.write_files(world.shop, pull.head_ref, {"a.py": b"x\n"}, "Shorten", actor=bob)
    assert pull.threads[0].outdated
    (thread,) = reviews.threads_of_review(world.hub, "acme/shop", pull.issue.number, review.id)
    assert (thread.path, thread.line) == ("a.py", 2)


def test_the_newest_review_is_read_from_a_thousand_comments(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "MAX_PAGES", 1)
    pull, store = pull_of(world), world.forge.store
    bob = store.users.add("bob")
    many = [LineComment("a.py", "Nit", 1)] * 120
    store.reviews.submit(pull, "COMMENT", "", many, actor=bob)
    review = store.reviews.submit(pull, "COMMENT", "", many[:2], actor=bob)
    first, second = reviews.threads_of_review(world.hub, "acme/shop", pull.issue.number, review.id)
    assert int(first.thread_id) < int(second.thread_id)
    store.reviews.reply(pull.threads[0], "Done?", actor=bob)
    answer = pull.reviews[-1]
    (thread,) = reviews.threads_of_review(world.hub, "acme/shop", pull.issue.number, answer.id)
    assert (thread.thread_id, thread.text) == (str(pull.threads[0].comments[0].id), "Done?")


def test_a_thread_that_is_not_there_is_an_error(world: World) -> None:
    with pytest.raises(NotFoundError, match="comment 5"):
        reviews.node_of_thread(world.hub, "acme/shop", pull_of(world).issue.number, "5")


def test_git_pushes_to_the_one_repository_only(world: World, tmp_path: Path) -> None:
    world.forge.store.repos.create(world.acme, "other")
    environment = dict(world.hub.git_environment("acme/shop"))
    git("clone", world.hub.git_url("acme/shop"), "here", cwd=tmp_path, environment=environment)
    here = tmp_path / "here"
    git("commit", "--allow-empty", "-m", "Mine", cwd=here)
    git("push", "origin", "HEAD:refs/heads/mine", cwd=here, environment=environment)
    assert world.forge.store.repos.commit_of(world.shop, "mine") == git("rev-parse", "HEAD", cwd=here)
    with pytest.raises(subprocess.CalledProcessError):
        git(
            "push",
            world.hub.git_url("acme/other"),
            "HEAD:refs/heads/x",
            cwd=here,
            environment=environment,
        )
    with pytest.raises(subprocess.CalledProcessError):
        git("push", "origin", "HEAD:refs/heads/again", cwd=here)


def test_the_token_for_git_can_do_nothing_else(world: World) -> None:
    word = world.hub.git_environment("acme/shop")["GIT_CONFIG_VALUE_0"].removeprefix("Authorization: Basic ")
    token = base64.b64decode(word).decode().removeprefix("x-access-token:")
    slots = CallSlots(world.config.home / "run" / "calls")
    wire = Wire(world.config.github_url, lambda _: token, utc_now, None, 10, places=slots)
    assert wire.send(ApiCall("GET", "/repos/acme/shop", READ)).status == 200
    with pytest.raises(PermissionMissingError):
        wire.send(ApiCall("POST", "/repos/acme/shop/issues", READ, {"title": "x"}))


def test_an_expired_token_is_renewed_unnoticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "NEW", timedelta())  # it is no new one
    world.hub.rest("GET", "/repos/acme/shop")
    assert world.forge.store.apps.expire_tokens() == 1
    assert world.hub.rest("GET", "/repos/acme/shop").body["full_name"] == "acme/shop"


def test_the_bot_knows_its_own_id(world: World) -> None:
    bot = world.forge.store.users.get("cardinal[bot]")
    assert (world.hub.bot_login, world.hub.bot_id) == (bot.login, bot.id)


def test_the_policy_file_is_read_at_that_very_commit(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    scripted.answer("GET", "/repos/acme/board/commits/HEAD", {"sha": "c0ffee"})
    large = {"type": "file", "encoding": "none", "content": "", "size": 3_000_000}
    scripted.answer("GET", f"/repos/acme/board/contents/{locations.PATH}", large)
    text, commit = policy_file.read(hub, "acme/board")
    (request,) = scripted.asked(f"/repos/acme/board/contents/{locations.PATH}")
    assert request.params == {"ref": commit} == {"ref": "c0ffee"}
    assert text == "#" * policy_file.INLINE_BYTES  # too large to be handed over: too long to be a policy
