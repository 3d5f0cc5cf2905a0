"""What the store refuses, each in GitHub's words, and what it tells Apps of what was done."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from forge.clock import Clock
from forge.errors import ForgeError
from forge.store.board import FieldType, Option, Project
from forge.store.models import Issue, Pull, Repo, User
from forge.store.pulls import MergeMethod
from forge.store.reviews import LineComment
from tests.forge.conftest import Town

NOWHERE = "0" * 40


@dataclass(frozen=True, slots=True)
class Scene:
    """The store of the demo's world, with two issues, a branch and its pull request by Bob."""

    store: Any
    shop: Repo
    project: Project
    bob: User
    issue: Issue
    other: Issue
    pull: Pull

    @classmethod
    def of(cls, town: Town) -> "Scene":
        store = town.store
        shop, bob = store.repos.get("acme", "shop"), store.users.get("bob")
        store.repos.create_ref(shop, "refs/heads/more", store.repos.commit_of(shop), actor=bob)
        store.repos.write_files(shop, "more", {"more.txt": b"more\n"}, "More", actor=bob)
        one, two = (store.issues.create(shop, title, actor=bob) for title in ("One", "Two"))
        pull = store.pulls.create(shop, "More", "", "more", "main", actor=bob)
        return cls(store, shop, town.world.project, bob, one, two, pull)


def close(it: Scene) -> Any:
    it.store.issues.set_state(it.pull.issue, "closed", actor=it.bob)


def merge(it: Scene, method: MergeMethod = MergeMethod.MERGE) -> Any:
    it.store.pulls.merge(it.pull, actor=it.bob, method=method)


def link(it: Scene) -> Any:
    it.store.links.add_sub_issue(it.issue, it.other, actor=it.bob)


def block(it: Scene) -> Any:
    it.store.links.add_blocked_by(it.issue, it.other, actor=it.bob)


def allow_auto(it: Scene) -> Any:
    it.shop.auto_merge_allowed = True


def draft(it: Scene) -> Any:
    it.store.pulls.set_draft(it.pull, True, actor=it.bob)


def auto(it: Scene, head: str | None = None) -> Any:
    allow_auto(it)
    it.store.merges.enable_auto(it.pull, MergeMethod.SQUASH, actor=it.bob, head=head)


def status(it: Scene, **changes: str) -> Any:
    given = {"sha": it.pull.head_sha, "context": "ci", "state": "success", **changes}
    it.store.statuses.create(it.shop, **given, actor=it.bob)


def field(it: Scene, name: str, *options: str) -> Any:
    made = [Option("", option, "GRAY", "") for option in options]
    it.store.projects.create_field(it.project, name, FieldType.SINGLE_SELECT, made)


def view(it: Scene, **changes: Any) -> Any:
    it.store.projects.create_view(it.project, **{"name": "V", "layout": "board", **changes}, actor=it.bob)


def ref(it: Scene, name: str, sha: str = "") -> Any:
    it.store.repos.create_ref(it.shop, name, sha or it.pull.head_sha, actor=it.bob)


def manifest(it: Scene, **changes: Any) -> Any:
    usual = {"name": "New", "url": "http://a.b", "redirect_url": "http://a.b"}
    it.store.manifests.check(json.dumps({**usual, **changes}))


def plain(it: Scene) -> Any:
    it.shop.drafts_supported = False


def protect(it: Scene) -> Any:
    it.shop.protected["main"] = 1


def move(it: Scene, name: str, sha: str) -> Any:
    it.store.repos.move_ref(it.shop, name, sha, actor=it.bob, force=False)


def part(it: Scene, *, blocks: bool = False) -> Any:
    made = it.store.issues.create(it.shop, "Part", actor=it.bob)
    add = it.store.links.add_blocked_by if blocks else it.store.links.add_sub_issue
    add(it.issue, made, actor=it.bob)


def elsewhere(it: Scene) -> Repo:
    repo: Repo = it.store.repos.get("acme", "board")
    return repo


def board(it: Scene) -> Project:
    made: Project = it.store.projects.create(it.project.owner, "Other", actor=it.bob)
    return made


def delivery(it: Scene) -> Any:
    return it.store.deliveries.record(it.store.apps.all()[0], "ping", None, b"{}", {})


def other_app(it: Scene) -> Any:
    return it.store.apps.register(it.bob, "Other", "other")[0]


def old_offer(it: Scene) -> Any:
    code = it.store.manifests.offer({}, it.bob)
    it.store.clock = Clock(lambda: datetime.now(UTC) + timedelta(hours=1, seconds=1))
    return code


def write(it: Scene, branch: str, path: str, text: str = "again\n") -> Any:
    it.store.repos.write_files(it.shop, branch, {path: text.encode()}, "Again", actor=it.bob)


def undo(it: Scene) -> Any:
    """Let a commit conflict with the base, and a later one of the same branch take it back."""
    before = it.store.repos.git(it.shop).read(it.pull.head_sha, "README.md").decode()
    for branch, text in (("more", "one\n"), ("more", before), ("main", "two\n")):
        write(it, branch, "README.md", text)


def commit_on_nothing(it: Scene) -> Any:
    tree = it.store.repos.git(it.shop).commit(it.pull.head_sha).tree
    it.store.repos.make_commit(it.shop, tree, [NOWHERE], "Made", actor=it.bob, signed=False)


REFUSED: list[tuple[str, Callable[[Scene], Any]]] = [
    ("title can't be blank", lambda it: it.store.issues.create(it.shop, " ", actor=it.bob)),
    ("title is too long", lambda it: it.store.issues.create(it.shop, "x" * 257, actor=it.bob)),
    ("itself", lambda it: it.store.links.add_sub_issue(it.issue, it.issue, actor=it.bob)),
    ("duplicate sub-issues", lambda it: [link(it), link(it)]),
    (
        "only have one parent",
        lambda it: [link(it), it.store.links.add_sub_issue(it.pull.issue, it.other, actor=it.bob)],
    ),
    ("already blocked by", lambda it: [block(it), block(it)]),
    ("not blocked by", lambda it: it.store.links.remove_blocked_by(it.issue, it.other, actor=it.bob)),
    ("Validation Failed", lambda it: it.store.issues.set_state(it.issue, "ajar", actor=it.bob)),
    (
        "state cannot be changed",
        lambda it: [merge(it), it.store.issues.set_state(it.pull.issue, "open", actor=it.bob)],
    ),
    ("Not Found", lambda it: it.store.issues.get_comment(it.shop, 1)),
    ("Validation Failed", lambda it: it.store.issues.react(it.issue, "shrug", actor=it.bob)),
    ("Auto merge is not allowed", lambda it: it.store.merges.enable_auto(it.pull, "squash", actor=it.bob)),
    ("is a draft", lambda it: [draft(it), auto(it)]),
    ("in clean status", auto),
    ("Pull request is closed", lambda it: [close(it), auto(it)]),
    ("Head", lambda it: auto(it, NOWHERE)),
    ("Can't disable", lambda it: it.store.merges.disable_auto(it.pull, actor=it.bob)),
    ("queue is not enabled", lambda it: it.store.merges.enqueue(it.pull, actor=it.bob)),
    ("not in the queue", lambda it: it.store.merges.dequeue(it.pull, actor=it.bob)),
    ("Validation Failed", lambda it: view(it, layout="round")),
    ("Validation Failed", lambda it: view(it, columns=[1], visible=[-1])),
    ("already been taken", lambda it: field(it, "Status", "a")),
    ("can't be blank", lambda it: field(it, "New")),
    ("must be unique", lambda it: field(it, "New", "a", "A")),
    (
        "not valid for this field",
        lambda it: it.store.projects.update_field(it.project.fields[0], options=[]),
    ),
    (
        "column with the name",
        lambda it: it.store.projects.drag(it.project.items[0], "Nowhere", actor=it.bob),
    ),
    ("Validation Failed", lambda it: it.store.pulls.set_base(it.pull, "nowhere", actor=it.bob)),
    ("Pull request is closed", lambda it: [close(it), draft(it)]),
    ("not mergeable", lambda it: [close(it), merge(it)]),
    ("still a draft", lambda it: [draft(it), merge(it)]),
    ("already exists", lambda it: ref(it, "refs/heads/more")),
    ("name is invalid", lambda it: ref(it, "heads/a..b")),
    ("Object does not exist", lambda it: ref(it, "refs/heads/new", NOWHERE)),
    ("does not exist", lambda it: it.store.repos.delete_ref(it.shop, "refs/heads/nowhere", actor=it.bob)),
    ("Validation Failed", lambda it: status(it, state="fine")),
    ("Validation Failed", lambda it: status(it, description="x" * 141)),
    ("No commit found", lambda it: status(it, sha=NOWHERE)),
    ("Not Found", lambda it: it.store.checks.get(it.shop, 1)),
    ("Not Found", lambda it: it.store.deliveries.get(1)),
    ("Not Found", lambda it: it.store.reviews.get_comment(it.shop, 1)),
    ("Validation Failed", lambda it: it.store.reviews.submit(it.pull, "SHRUG", "", [], actor=it.bob)),
    ("not JSON", lambda it: it.store.manifests.check("{")),
    ("not an object", lambda it: it.store.manifests.check("[]")),
    ("unknown keys", lambda it: manifest(it, extra=1)),
    ("redirect_url", lambda it: manifest(it, url="nowhere")),
    ("Callback urls", lambda it: manifest(it, callback_urls=["x"])),
    ("1 to", lambda it: manifest(it, name="")),
    ("already taken", lambda it: manifest(it, name=it.store.apps.all()[0].slug)),
    ("Hook url", lambda it: manifest(it, hook_attributes={})),
    ("Hook has only", lambda it: manifest(it, hook_attributes={"url": "http://a.b", "secret": "c"})),
    ("events unsupported", lambda it: manifest(it, default_events=["storm"])),
    ("records are invalid", lambda it: manifest(it, default_permissions={"issues": "all"})),
    ("already in the queue", lambda it: [queue(it), queue(it)]),
    ("not in a mergeable state", lambda it: [draft(it), queue(it)]),
    (
        "not valid for the field",
        lambda it: it.store.projects.set_value(card(it), it.project.status, "red", actor=it.bob),
    ),
    ("not supported", lambda it: [plain(it), draft(it)]),
    ("Reference does not exist", lambda it: move(it, "refs/heads/nowhere", it.pull.head_sha)),
    ("Object does not exist", lambda it: move(it, "refs/heads/more", NOWHERE)),
    ("not a fast forward", lambda it: move(it, "refs/heads/more", it.pull.base_sha)),
    (
        "protected branch",
        lambda it: [protect(it), it.store.repos.delete_ref(it.shop, "refs/heads/main", actor=it.bob)],
    ),
    ("more than 100 sub-issues", lambda it: [part(it) for _ in range(101)]),
    ("more than 50 issues", lambda it: [part(it, blocks=True) for _ in range(51)]),
    ("commented", lambda it: it.store.reviews.dismiss(remark(it).comments[0].review, "No", actor=it.bob)),
    ("Validation Failed", lambda it: it.store.users.add("bob", "Bob")),
    (
        "No commit found",
        lambda it: it.store.checks.create(it.shop, "ci", NOWHERE, {}, app_slug="x", actor=it.bob),
    ),
    ("Not Found", lambda it: it.store.checks.request(check(it), "again", actor=it.bob)),
    ("Not Found", lambda it: it.store.checks.get(elsewhere(it), check(it).id)),
    ("Not Found", lambda it: it.store.issues.get_comment(elsewhere(it), comment(it).id)),
    ("Not Found", lambda it: it.store.reviews.get_comment(elsewhere(it), remark(it).comments[0].id)),
    ("Not Found", lambda it: it.store.deliveries.get(delivery(it).id, other_app(it))),
    ("Not Found", lambda it: it.store.manifests.take(old_offer(it))),
    ("not mergeable", lambda it: [undo(it), merge(it, MergeMethod.REBASE)]),
    ("name already exists", lambda it: it.store.access.rename(it.shop, "board", actor=it.bob)),
    ("Parent SHA", commit_on_nothing),
    ("through a pull request", lambda it: [protect(it), write(it, "main", "more.txt")]),
    ("malformed path component", lambda it: write(it, "more", "a/../b")),
    (
        "does not belong",
        lambda it: it.store.projects.set_value(card(it), board(it).status, None, actor=it.bob),
    ),
    ("not a draft", lambda it: it.store.projects.convert_draft(card(it), it.shop, actor=it.bob)),
]


@pytest.mark.parametrize(("words", "ask"), REFUSED)
def test_it_is_refused_in_githubs_words(town: Town, words: str, ask: Callable[[Scene], Any]) -> None:
    scene = Scene.of(town)
    with pytest.raises(ForgeError) as refused:
        ask(scene)
    assert words in f"{refused.value.message} {refused.value.reasons}"


def comment(it: Scene) -> Any:
    return it.store.issues.comment(it.issue, "Hello", actor=it.bob)


def remark(it: Scene) -> Any:
    alice = it.store.users.get("alice")
    it.store.reviews.submit(it.pull, "COMMENT", "Look.", [LineComment("more.txt", "Why?", 1)], actor=alice)
    return it.pull.threads[0]


def review(it: Scene) -> Any:
    alice = it.store.users.get("alice")
    return it.store.reviews.submit(it.pull, "APPROVE", "", [], actor=alice)


def check(it: Scene, **changes: str) -> Any:
    return it.store.checks.create(
        it.shop, "ci", it.pull.head_sha, changes, app_slug="cardinal-demo", actor=it.bob
    )


def queue(it: Scene) -> Any:
    it.shop.merge_queues.add("main")
    it.store.merges.enqueue(it.pull, actor=it.bob)


def wait_for_approval(it: Scene) -> Any:
    it.shop.protected["main"] = 1
    auto(it)


def card(it: Scene) -> Any:
    return it.store.projects.add(it.project, it.issue, actor=it.bob)


def push(it: Scene) -> Any:
    write(it, "more", "more.txt")


def installation(it: Scene) -> Any:
    return it.store.apps.installations()[0]


def wait_for_status(it: Scene) -> Any:
    it.shop.required_checks["main"] = ("ci",)
    auto(it)


def judge_group(it: Scene, conclusion: str) -> Any:
    it.shop.required_checks["main"] = ("ci",)
    check(it, conclusion="success")
    queue(it)
    sha, changes = it.store.groups.of_pull(it.pull).head_sha, {"conclusion": conclusion}
    it.store.checks.create(it.shop, "ci", sha, changes, app_slug="x", actor=it.bob)


def wait_for_deployment(it: Scene) -> Any:
    wanted = {"required_deployment_environments": ["shop"]}
    it.store.repos.set_rules(it.shop, "main", {"type": "required_deployments", "parameters": wanted})
    auto(it)


def deploy(it: Scene) -> Any:
    it.store.repos.deploy(it.shop, "shop", it.pull.head_sha)


def finish(it: Scene) -> Any:
    it.store.issues.set_state(it.issue, "closed", actor=it.bob)


def edit_update(it: Scene) -> Any:
    update = it.store.projects.add_status_update(it.project, "Fine", None, actor=it.bob)
    it.store.projects.edit_status_update(update, body="Late", actor=it.bob)


def aim(it: Scene, base: str) -> Any:
    it.store.pulls.set_base(it.pull, base, actor=it.bob)


DONE: list[tuple[str, Callable[[Scene], Any]]] = [
    ("issues.opened", lambda it: it.store.issues.create(it.shop, "New", actor=it.bob)),
    ("issues.labeled", lambda it: it.store.issues.create(it.shop, "New", actor=it.bob, labels=["bug"])),
    ("issues.edited", lambda it: it.store.issues.edit(it.issue, actor=it.bob, title="Other")),
    ("issues.closed", finish),
    ("issues.labeled", lambda it: it.store.issues.add_labels(it.issue, ["bug"], actor=it.bob)),
    (
        "issues.unlabeled",
        lambda it: [
            it.store.issues.add_labels(it.issue, ["bug"], actor=it.bob),
            it.store.issues.remove_label(it.issue, "bug", actor=it.bob),
        ],
    ),
    ("issues.assigned", lambda it: it.store.issues.set_assignees(it.issue, ["bob"], actor=it.bob)),
    ("issues.deleted", lambda it: it.store.issues.delete(it.issue, actor=it.bob)),
    ("projects_v2_item.deleted", lambda it: [card(it), it.store.issues.delete(it.issue, actor=it.bob)]),
    ("sub_issues.sub_issue_added", link),
    ("sub_issues.parent_issue_added", link),
    ("issue_dependencies.blocked_by_added", block),
    ("issue_dependencies.blocking_added", block),
    (
        "issue_dependencies.blocked_by_removed",
        lambda it: [block(it), it.store.links.remove_blocked_by(it.issue, it.other, actor=it.bob)],
    ),
    ("issue_comment.created", comment),
    ("issue_comment.edited", lambda it: it.store.issues.edit_comment(comment(it), "Other", actor=it.bob)),
    ("issue_comment.deleted", lambda it: it.store.issues.delete_comment(comment(it), actor=it.bob)),
    ("pull_request.converted_to_draft", draft),
    ("pull_request.closed", close),
    ("pull_request.closed", merge),
    ("push.None", merge),
    ("push.None", push),
    ("pull_request.synchronize", push),
    ("create.None", lambda it: ref(it, "refs/heads/new")),
    ("delete.None", lambda it: it.store.repos.delete_ref(it.shop, "refs/heads/more", actor=it.bob)),
    ("pull_request.closed", lambda it: it.store.repos.delete_ref(it.shop, "refs/heads/more", actor=it.bob)),
    ("pull_request_review.submitted", review),
    (
        "pull_request_review.dismissed",
        lambda it: it.store.reviews.dismiss(review(it), "No", actor=it.bob),
    ),
    ("pull_request_review_comment.created", remark),
    (
        "pull_request_review_thread.resolved",
        lambda it: it.store.reviews.set_resolved(remark(it), True, actor=it.bob),
    ),
    ("check_run.created", check),
    ("check_run.completed", lambda it: check(it, status="completed", conclusion="success")),
    ("check_suite.completed", lambda it: check(it, status="completed", conclusion="success")),
    ("status.None", status),
    ("pull_request.auto_merge_enabled", wait_for_approval),
    (
        "pull_request.auto_merge_disabled",
        lambda it: [wait_for_approval(it), it.store.merges.disable_auto(it.pull, actor=it.bob)],
    ),
    ("pull_request.closed", lambda it: [wait_for_approval(it), review(it)]),
    ("pull_request.enqueued", queue),
    ("merge_group.checks_requested", queue),
    ("pull_request.dequeued", lambda it: [queue(it), it.store.merges.dequeue(it.pull, actor=it.bob)]),
    ("merge_group.destroyed", lambda it: [queue(it), it.store.merges.dequeue(it.pull, actor=it.bob)]),
    ("pull_request.dequeued", lambda it: [queue(it), push(it)]),
    ("projects_v2_item.created", card),
    ("projects_v2_item.archived", lambda it: it.store.projects.set_archived(card(it), True, actor=it.bob)),
    ("projects_v2_item.edited", lambda it: it.store.projects.drag(card(it), "Done", actor=it.bob)),
    (
        "projects_v2_status_update.created",
        lambda it: it.store.projects.add_status_update(it.project, "Fine", None, actor=it.bob),
    ),
    ("installation.suspend", lambda it: it.store.access.suspend(installation(it), actor=it.bob)),
    ("installation.unsuspend", lambda it: it.store.access.unsuspend(installation(it), actor=it.bob)),
    (
        "installation.new_permissions_accepted",
        lambda it: it.store.access.accept(installation(it), actor=it.bob),
    ),
    ("installation.deleted", lambda it: it.store.apps.uninstall(installation(it), actor=it.bob)),
    (
        "installation_repositories.removed",
        lambda it: it.store.access.choose(installation(it), [], actor=it.bob),
    ),
    ("repository.archived", lambda it: it.store.access.archive(it.shop, True, actor=it.bob)),
    ("repository.privatized", lambda it: it.store.access.set_private(it.shop, True, actor=it.bob)),
    ("repository.renamed", lambda it: it.store.access.rename(it.shop, "other", actor=it.bob)),
    ("repository.transferred", lambda it: it.store.access.transfer(it.shop, it.bob, actor=it.bob)),
    ("repository.deleted", lambda it: it.store.repos.delete(it.shop, actor=it.bob)),
    (
        "pull_request_review_comment.created",
        lambda it: it.store.reviews.reply(remark(it), "So", actor=it.bob),
    ),
    (
        "pull_request_review_comment.edited",
        lambda it: it.store.reviews.edit_comment(remark(it).comments[0], "Why not?", actor=it.bob),
    ),
    (
        "pull_request_review_comment.deleted",
        lambda it: it.store.reviews.delete_comment(remark(it).comments[0], actor=it.bob),
    ),
    ("pull_request.closed", lambda it: [wait_for_status(it), status(it)]),
    (
        "pull_request.closed",
        lambda it: [wait_for_status(it), check(it, status="completed", conclusion="success")],
    ),
    ("projects_v2_item.reordered", lambda it: it.store.projects.move(card(it), None, actor=it.bob)),
    ("pull_request.edited", lambda it: [ref(it, "refs/heads/new"), aim(it, "new")]),
    ("projects_v2_item.edited", lambda it: [card(it), finish(it)]),
    ("projects_v2_status_update.edited", edit_update),
    (
        "pull_request.opened",
        lambda it: [
            ref(it, "refs/heads/new", it.pull.base_sha),
            it.store.pulls.create(it.shop, "More", "", "more", "new", actor=it.bob),
        ],
    ),
    ("pull_request.closed", lambda it: [wait_for_deployment(it), deploy(it)]),
    ("pull_request.closed", lambda it: judge_group(it, "success")),
    ("pull_request.dequeued", lambda it: judge_group(it, "failure")),
    ("delete.None", lambda it: [queue(it), it.store.merges.dequeue(it.pull, actor=it.bob)]),
    (
        "installation.created",
        lambda it: it.store.apps.install(it.store.apps.all()[0], it.bob, actor=it.bob),
    ),
    ("projects_v2_item.deleted", lambda it: [card(it), it.store.repos.delete(it.shop, actor=it.bob)]),
    (
        "projects_v2_item.edited",
        lambda it: [it.store.projects.add(it.project, it.pull, actor=it.bob), merge(it)],
    ),
]


@pytest.mark.parametrize(("told", "act"), DONE)
def test_apps_are_told_of_it(town: Town, told: str, act: Callable[[Scene], Any]) -> None:
    scene, heard = Scene.of(town), list[str]()
    scene.store.listeners.append(lambda it: heard.append(f"{it.event}.{it.action}"))
    act(scene)
    assert told in heard


def test_what_is_said_about_a_line_comes_in_a_review_of_its_own(town: Town) -> None:
    scene, heard = Scene.of(town), list[str]()
    thread, reviews = remark(scene), scene.store.reviews
    scene.store.listeners.append(lambda it: heard.append(f"{it.event}.{it.action}"))
    told = ["pull_request_review.submitted", "pull_request_review_comment.created"]
    reviews.comment_on_line(scene.pull, LineComment("more.txt", "And this?", 1), actor=scene.bob)
    assert heard == told
    reviews.reply(thread, "So", actor=scene.bob)
    assert heard == told * 2


def test_who_waits_in_a_queue_is_tested_anew_on_what_was_merged(town: Town) -> None:
    scene = Scene.of(town)
    queue(scene)
    ref(scene, "refs/heads/new")
    write(scene, "new", "new.txt")
    later = scene.store.pulls.create(scene.shop, "New", "", "new", "main", actor=scene.bob)
    scene.store.merges.enqueue(later, actor=scene.bob)
    scene.store.merges.finish_queue(scene.pull, passed=True, actor=scene.bob)
    assert scene.store.groups.of_pull(later).base_sha == scene.store.repos.commit_of(scene.shop)


def test_a_repository_that_moved_is_found_where_it_is(town: Town) -> None:
    scene = Scene.of(town)
    scene.store.access.rename(scene.shop, "other", actor=scene.bob)
    assert scene.store.repos.get("acme", "other") is scene.shop
    scene.store.access.transfer(scene.shop, scene.bob, actor=scene.bob)
    assert scene.store.repos.get("bob", "other") is scene.shop
