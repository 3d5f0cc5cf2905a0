"""Who moved a card is asked: without the right nothing starts, merges or is given up."""

import pytest

from bot.admin.audit import trail
from bot.ingest import delivery
from bot.sync import card
from forge.store.board import Item
from ledger.events.board import CardArchived, CardMoved, MoverFound
from ledger.events.run import RunQueued, RunStopAsked
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import inbox
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY

# Mallory may move cards on the project, and has no role in any repository; alice, bob and carol have one.
AUTOMATION = "github-project-automation[bot]"


def reviewed(cardinal: Cardinal) -> Item:
    """Return a card in review whose pull request is approved."""
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"prices.py": b"1\n"})
    cardinal.catch_up()
    cardinal.forge.store.reviews.submit(
        cardinal.pull_of(item), "APPROVE", "", [], actor=cardinal.person("bob")
    )
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    return item


def refused(cardinal: Cardinal, item: Item, *words: str, who: str = "`mallory`") -> None:
    """Assert that the card says on its issue and in its reason who moved it, and that nothing came of it."""
    said = cardinal.comment(item, who, *words).body
    assert "needs the role `write`" in said
    assert who in cardinal.card(item).because


def test_a_drag_by_somebody_without_a_role_starts_no_run_and_one_with_a_role_does(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress", who="mallory")
    cardinal.catch_up()
    assert cardinal.events(RunQueued) == []
    refused(cardinal, item, "nothing was started", "/cardinal retry")
    assert cardinal.column(item) == "In Progress", "people move cards"
    cardinal.say(item, "/cardinal explain", "carol")
    cardinal.catch_up()
    assert len([one for one in cardinal.told(item) if "`mallory` moved the card" in one]) == 2
    cardinal.say(item, "/cardinal retry", "bob")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.by, run.door) == ("bob", "comment")


def test_the_dragger_is_the_person_of_the_run_and_of_the_move(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress", who="bob")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.by, run.door) == ("bob", "board")
    moved = cardinal.events(CardMoved)[-1]
    assert (moved.by, moved.role, moved.by_cardinal) == ("bob", "write", False)


def test_the_dragger_is_in_the_persons_budget_and_in_the_audit(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("limits: {", "limits: {usd_per_person: 2, "))
    cardinal.catch_up()
    first, second, other = (cardinal.new(f"Card {n}", "Tasks") for n in range(3))
    cardinal.catch_up()
    for item, who in ((first, "bob"), (second, "bob"), (other, "carol")):
        cardinal.drag(item, "In Progress", who=who)
        cardinal.catch_up()
    run_id = cardinal.run_of(first).run_id
    cardinal.begin(run_id)
    assert cardinal.ready() == (cardinal.run_of(other).run_id,)
    cardinal.catch_up()
    assert "the budget of bob for today" in cardinal.card(second).because
    with event_store.reading(cardinal.services.engine) as db:
        said = trail.make_trail(db, run_id, at=cardinal.clock())["summary"]
    assert (said["asked"]["by"], said["asked"]["door"]) == ("bob", "board")
    moves = [(one["what"], one["by"], one["role"], one["door"]) for one in said["commands"]]
    assert moves == [
        ("move to In Progress", "bob", "write", "board"),
    ]


def test_a_draft_that_mallory_drags_stays_a_draft_and_starts_once_bob_drags_it(cardinal: Cardinal) -> None:
    draft = cardinal.draft("An idea", "Tasks")
    cardinal.catch_up()
    cardinal.drag(draft, "In Progress", who="mallory")
    cardinal.catch_up()
    assert cardinal.card(draft).number is None
    assert "mallory" in cardinal.card(draft).because
    cardinal.forge.store.projects.convert_draft(draft, cardinal.repo, actor=cardinal.person("mallory"))
    cardinal.catch_up()
    assert cardinal.events(RunQueued) == []
    cardinal.drag(draft, "Tasks", who="bob")
    cardinal.catch_up()
    cardinal.drag(draft, "In Progress", who="bob")
    cardinal.catch_up()
    assert cardinal.run_of(draft).by == "bob"


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize(("who", "state"), [("mallory", "open"), ("bob", "closed")])
def test_archiving_gives_work_up_only_by_somebody_with_the_right(
    cardinal: Cardinal, who: str, state: str
) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    cardinal.forge.store.projects.set_archived(item, True, actor=cardinal.person(who))
    cardinal.catch_up()
    assert pull.issue.state == state
    assert cardinal.events(CardArchived)[-1].by == who
    branches = cardinal.forge.store.repos.git(cardinal.repo).refs()
    assert any(ref.endswith(cardinal.card(item).branch) for ref in branches) == (state == "open")
    if who == "mallory":
        refused(cardinal, item, "off the board")


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("gone", ["deleted", "archived"])
def test_a_run_goes_on_whose_card_mallory_takes_away(cardinal: Cardinal, gone: str) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    projects, mallory = cardinal.forge.store.projects, cardinal.person("mallory")
    if gone == "deleted":
        projects.delete_item(item, actor=mallory)
    else:
        projects.set_archived(item, True, actor=mallory)
    cardinal.catch_up()
    assert cardinal.events(RunStopAsked) == []
    refused(cardinal, item, f"{run_id} continues")
    cardinal.finish(run_id, files={"prices.py": b"1\n"})
    cardinal.catch_up()
    assert cardinal.pull_of(item).issue.state == "open"


def test_a_drag_out_by_mallory_asks_nothing_and_the_run_goes_on(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("concurrency: 3", "concurrency: 3, on_leave: cancel"))
    cardinal.catch_up()
    item = cardinal.at_work()
    run_id = cardinal.run_of(item).run_id
    cardinal.drag(item, "Tasks", who="mallory")
    cardinal.catch_up()
    assert cardinal.events(RunStopAsked) == []
    refused(cardinal, item, f"{run_id} continues")
    assert cardinal.column(item) == "Tasks", "nobody fights over the column"
    cardinal.say(item, "/cardinal explain", "carol")
    cardinal.catch_up()
    assert "is working; `mallory` moved the card to `Tasks`" in cardinal.told(item)[-1]
    cardinal.drag(item, "In Progress", who="bob")
    cardinal.catch_up()
    cardinal.drag(item, "Tasks", who="bob")
    cardinal.catch_up()
    assert [event.by for event in cardinal.events(RunStopAsked)] == ["bob"]


@pytest.mark.after(scene=reviewed)
def test_a_drag_to_done_merges_only_for_somebody_with_the_right(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.drag(item, "Done", who="mallory")
    cardinal.catch_up()
    assert cardinal.pull_of(item).issue.state == "open"
    refused(cardinal, item, "`Done`")
    cardinal.say(item, "/cardinal retry", "bob")
    cardinal.catch_up()
    assert cardinal.pull_of(item).merged_at is not None


def test_a_workflow_of_githubs_starts_runs_only_where_the_policy_names_it(cardinal: Cardinal) -> None:
    cardinal.set_policy("\n".join(line for line in POLICY.splitlines() if "  move:" not in line))
    cardinal.catch_up()
    store, item = cardinal.forge.store, cardinal.new(column="Tasks")
    cardinal.catch_up()
    store.projects.drag(item, "In Progress", actor=store.automation())
    cardinal.catch_up()
    refused(cardinal, item, "`In Progress`", who=f"`{AUTOMATION}`")
    cardinal.set_policy(POLICY)
    cardinal.catch_up()
    for column in ("Tasks", "In Progress"):
        store.projects.drag(item, column, actor=store.automation())
        cardinal.catch_up()
    assert cardinal.run_of(item).by == AUTOMATION


@pytest.mark.parametrize(("who", "queued"), [("bob", ["bob"]), ("mallory", [])])
def test_the_issues_timeline_says_who_moved_a_card_whose_delivery_was_lost(
    cardinal: Cardinal, who: str, queued: list[str]
) -> None:
    cardinal.set_policy(POLICY.replace("unknown_mover: allow", "unknown_mover: wait"))
    cardinal.catch_up()
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress", who=who)
    cardinal.mail.clear()
    cardinal.sweep()
    cardinal.catch_up()
    assert [event.by for event in cardinal.events(RunQueued)] == queued
    if not queued:
        refused(cardinal, item, "nothing was started")


def test_a_move_of_which_nobody_knows_whose_it_was_waits_until_its_delivery_comes(cardinal: Cardinal) -> None:
    cardinal.forge.store.settings.timeline = False
    cardinal.set_policy(POLICY.replace("unknown_mover: allow", "unknown_mover: wait"))
    cardinal.catch_up()
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress", who="bob")
    late = list(cardinal.mail)
    cardinal.mail.clear()
    cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.events(RunQueued) == []
    assert "GitHub did not say who moved the card" in cardinal.card(item).because
    cardinal.mail.extend(late)
    cardinal.catch_up()
    found = [event for event in cardinal.events(MoverFound) if event.column == "In Progress"]
    assert [event.by for event in found] == ["bob"]
    assert cardinal.run_of(item).by == "bob"


def test_a_policy_can_let_unknown_movers_start_runs(cardinal: Cardinal) -> None:
    cardinal.forge.store.settings.timeline = False
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress", who="bob")
    cardinal.mail.clear()
    cardinal.sweep()
    assert cardinal.run_of(item).by == "the board"


def test_of_several_drags_that_wait_together_the_one_that_is_seen_counts(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Tasks")
    cardinal.catch_up()
    hands: list[tuple[str, str]] = [("In Progress", "bob"), ("Tasks", "carol"), ("In Progress", "mallory")]
    for column, who in hands:
        cardinal.drag(item, column, who=who)
        cardinal.clock.forward(1)
    together(cardinal, item)
    assert cardinal.events(RunQueued) == []
    refused(cardinal, item, "`In Progress`")


def together(cardinal: Cardinal, item: Item) -> None:
    """Ingest all that waits, then look once."""
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    for delivery_id in inbox.due_deliveries(cardinal.services.engine, limit=100):
        delivery.ingest(cardinal.services, delivery_id)
    card.sync_card(cardinal.services, CardId(item.node_id))
    cardinal.catch_up()


def test_a_label_chooses_the_mode_only_by_somebody_with_the_right(cardinal: Cardinal) -> None:
    issues, item = cardinal.forge.store.issues, cardinal.new(column="Tasks")
    cardinal.catch_up()
    issues.set_labels(issue_of(item), ["cardinal:investigate"], actor=cardinal.person("mallory"))
    cardinal.catch_up()
    assert "it chooses nothing" in cardinal.comment(item, "`mallory`").body
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).mode == "fix"
    cardinal.say(item, "/cardinal cancel")
    issues.set_labels(issue_of(item), [], actor=cardinal.person("bob"))
    issues.set_labels(issue_of(item), ["cardinal:investigate"], actor=cardinal.person("bob"))
    cardinal.catch_up()
    cardinal.drag(item, "Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).mode == "investigate"
