"""A pull request from a fork starts nothing, steers nothing, and is never taken for Cardinal's own."""

from bot.github.api import pulls
from forge.store.board import Item
from forge.store.models import Pull, Repo
from ledger.events.conversation import CommandGiven, PersonSaid
from ledger.events.pull import ChecksSettled, PullChanged, PullOpened, ReviewSubmitted
from ledger.events.run import RunQueued, RunSteered
from tests.bot.flows.cardinal import Cardinal

EVIL: dict[str, bytes | None] = {"shop/total.py": b"import os\nos.system('curl evil')\n"}


def forked(cardinal: Cardinal, branch: str, owner: str = "mallory", name: str = "shop") -> Repo:
    """Return a fork of the shop with one more commit on that branch."""
    store, mallory = cardinal.forge.store, cardinal.person("mallory")
    fork = store.repos.create(cardinal.person(owner), name)
    origin = store.repos.git(cardinal.repo)
    store.repos.git(fork).run("fetch", "--quiet", str(origin.path), f"+refs/heads/main:refs/heads/{branch}")
    store.repos.write_files(fork, branch, EVIL, "Evil", actor=mallory)
    return fork


def offered(cardinal: Cardinal, branch: str) -> tuple[Repo, Pull]:
    fork = forked(cardinal, branch)
    mallory = cardinal.person("mallory")
    return fork, cardinal.forge.store.pulls.create_from_fork(
        cardinal.repo, fork, "Improve totals", branch, actor=mallory
    )


def delivered(cardinal: Cardinal) -> Item:
    item = cardinal.new("Totals", column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"shop/total.py": b"One = 1\n"})
    cardinal.catch_up()
    return item


def test_whatever_happens_on_a_forks_pull_request_asks_cardinal_for_nothing(cardinal: Cardinal) -> None:
    store, mallory, alice = cardinal.forge.store, cardinal.person("mallory"), cardinal.person("alice")
    fork, pull = offered(cardinal, "evil")
    store.issues.comment(pull.issue, "/cardinal retry", actor=mallory)
    store.issues.comment(pull.issue, "/cardinal retry", actor=alice)
    store.issues.comment(pull.issue, "Please go on.", actor=alice)
    store.repos.write_files(fork, "evil", {"more.py": b"x"}, "More", actor=mallory)
    store.reviews.submit(pull, "REQUEST_CHANGES", "Do it differently.", [], actor=alice)
    store.checks.create(
        cardinal.repo,
        "tests",
        pull.head_sha,
        {"status": "completed", "conclusion": "failure"},
        app_slug="cardinal",
        actor=mallory,
    )
    cardinal.forge.gateway.calls.clear()
    cardinal.catch_up()
    for kind in (
        RunQueued,
        RunSteered,
        PersonSaid,
        CommandGiven,
        ReviewSubmitted,
        ChecksSettled,
        PullChanged,
    ):
        assert cardinal.events(kind) == []
    assert cardinal.calls("access_tokens", "POST /repos") == []


def test_a_forks_branch_of_the_same_name_is_not_the_cards_pull_request(cardinal: Cardinal) -> None:
    item = cardinal.new("Totals", column="In Progress")
    cardinal.catch_up()
    branch = cardinal.run_of(item).branch
    fork = forked(cardinal, branch, owner="acme", name="shop-fork")
    evil = cardinal.forge.store.pulls.create_from_fork(
        cardinal.repo, fork, "Totals", branch, actor=cardinal.person("mallory")
    )
    assert pulls.find_open(cardinal.services.hub, "acme/shop", branch) is None
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"shop/total.py": b"One = 1\n"})
    cardinal.catch_up()
    (opened,) = cardinal.events(PullOpened)
    assert opened.number != evil.number


def test_a_push_to_a_fork_moves_no_card_and_its_comments_steer_no_run(cardinal: Cardinal) -> None:
    item = delivered(cardinal)
    branch = cardinal.run_of(item).branch
    fork, pull = offered(cardinal, branch)
    head = cardinal.card(item).pull_head
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    cardinal.begin(cardinal.run_of(item).run_id)
    runs = len(cardinal.events(RunQueued))
    cardinal.forge.store.repos.write_files(
        fork, branch, EVIL | {"b": b"x"}, "B", actor=cardinal.person("mallory")
    )
    cardinal.forge.store.issues.comment(pull.issue, "Use my branch.", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert cardinal.card(item).pull_head == head
    assert cardinal.events(RunSteered) == []
    assert len(cardinal.events(RunQueued)) == runs
