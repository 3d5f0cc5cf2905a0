"""The world of `cardinal try` has the rules of a real repository, and a merge that comes early waits."""

from forge.portable.world import GATE, add_columns
from forge.store.pulls import MergeMethod
from tests.forge.portable.conftest import Portable


def test_columns_that_the_policy_has_since_are_added_and_no_card_leaves_its_column(
    portable: Portable,
) -> None:
    project = portable.world.project
    (card,) = project.items
    before = dict(card.values)
    for _ in range(2):
        add_columns(portable.store, portable.world, ("Ideas", "DONE", "Vote"))
        status = project.field_named("Status")
        assert status is not None
        names = [option.name for option in status.options]
        assert names == ["Ideas", "Done", "Vote", "Tasks", "In Progress"]
    assert card.values == before


def test_done_right_after_a_push_is_merged_once_the_gate_has_passed(portable: Portable) -> None:
    store, app = portable.store, portable.world.app
    repo, ann = store.repos.get("local", "shop"), store.users.get("ann")
    portable.work("cardinal/1-hello", "Hello.")
    pull = store.pulls.create(repo, "Hello", None, "cardinal/1-hello", "main", actor=app.bot)
    store.reviews.submit(pull, "APPROVE", actor=ann)
    head = portable.work("cardinal/1-hello", "Hello, all.")
    running = {"status": "in_progress"}
    gate = store.checks.create(repo, GATE, head, running, app_slug=app.slug, actor=app.bot)
    store.merges.enable_auto(pull, actor=app.bot, method=MergeMethod.SQUASH, head=head)
    assert (pull.merged_at, pull.head_sha) == (None, head)
    passed = {"status": "completed", "conclusion": "success"}
    store.checks.update(gate, passed, actor=app.bot)
    assert pull.merged_at is not None
    assert store.repos.git(repo).read("main", "hello.txt") == b"Hello, all."
