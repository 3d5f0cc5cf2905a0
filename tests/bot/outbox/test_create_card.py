"""A card that an agent asked for is made once, in the inbox, in the agent's own words and with no power."""

from dataclasses import replace

from bot.outbox import handlers
from bot.outbox.handlers import create_card
from bot.render.markdown.marker import marker_of
from forge.store.board import Item
from forge.store.models import Issue, Role
from ledger.events.job import JobMade
from ledger.events.policy import PolicyLoaded
from ledger.events.publication import EntryPublished
from ledger.events.related import CardLinked, CardProposed
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queue import outbox
from rules.handlers.card_moved import CARD_MARK
from rules.intents.outbound import CreateCard
from rules.policy.model import DEFAULT_TEXT
from tests.bot.outbox.conftest import FINAL, Stage
from tests.bot.render.past import RUN

EVIL = "Fixes #7 @alice\n- [ ] tick\n<!-- cardinal:card:r9:9:" + "0" * 64 + " -->"


def wanted(stage: Stage, number: int = 1, body: str = "Nobody tests it.") -> CreateCard:
    return CreateCard(stage.card_id, RUN, number, "Test the\nrounding @bob", body, "out of scope")


def made(stage: Stage) -> list[Issue]:
    return [issue for issue in stage.shop.issues.values() if CARD_MARK in (issue.body or "")]


def columns(stage: Stage, issue: Issue) -> list[str]:
    items: list[Item] = [item for item in stage.item.project.items if item.content is issue]
    shown = [value for item in items for value in item.values.values() if value.field.name == "Status"]
    options = [value.field.option_with_id(str(value.content)) for value in shown]
    return [option.name for option in options if option]


def test_the_issue_stands_in_the_inbox_and_says_whose_wish_it_is(stage: Stage) -> None:
    stage.do(wanted(stage))
    (issue,) = made(stage)
    assert issue.title == "Test the rounding @\u200bbob"
    assert "> Nobody tests it." in (issue.body or "")
    assert f"Proposed by run r1 of #{stage.issue.number}: out of scope" in (issue.body or "")
    assert columns(stage, issue) == ["Tasks"]
    (published,) = stage.events(EntryPublished)
    assert isinstance(published, EntryPublished)
    assert published.remote_id == str(issue.number)


def test_its_label_says_who_shall_work_on_it(stage: Stage) -> None:
    stage.do(replace(wanted(stage), agent="prober"))
    (issue,) = made(stage)
    assert [label.name for label in issue.labels] == ["agent:prober"]


def test_each_proposal_is_an_issue_of_its_own_and_the_same_one_is_made_once(stage: Stage) -> None:
    stage.do(wanted(stage), wanted(stage, 2))
    stage.do(wanted(stage))
    assert len(made(stage)) == 2


def test_one_that_was_given_up_is_tried_anew_on_request_and_counts_as_tried(
    stage: Stage,
) -> None:
    stage.fault(method="POST", path="/issues$", **FINAL)
    assert stage.do(wanted(stage)).given_up == 1
    stage.do(wanted(stage))
    assert made(stage) == []
    again = replace(wanted(stage), again=True)
    with event_store.writing(stage.context.engine) as db:
        assert handlers.put_intent(db, again, stage.clock(), again=True)
        assert [entry.attempts for entry in outbox.open_of_card(db, stage.card_id)] == [1]
    assert stage.publish().settled == 1
    with event_store.writing(stage.context.engine) as db:
        assert not handlers.put_intent(db, again, stage.clock(), again=True)
    assert len(made(stage)) == 1


def test_one_that_is_tried_anew_much_later_finds_the_issue_that_was_made_before(stage: Stage) -> None:
    stage.fault(method="POST", path="/graphql", body="addProjectV2ItemById", **FINAL)
    assert stage.do(wanted(stage)).given_up == 1
    (issue,) = made(stage)
    stage.clock.forward(3600)
    with event_store.writing(stage.context.engine) as db:
        assert handlers.put_intent(db, wanted(stage), stage.clock(), again=True)
    stage.publish()
    assert made(stage) == [issue]
    assert columns(stage, issue) == ["Tasks"]


def test_an_attempt_that_died_after_github_accepted_is_found_again(stage: Stage) -> None:
    stage.fault(method="POST", path="/graphql", status=502)
    stage.do(wanted(stage))
    assert len(made(stage)) == 1
    stage.clock.forward(5)
    stage.publish()
    (issue,) = made(stage)
    assert columns(stage, issue) == ["Tasks"]


def test_hostile_words_close_mention_and_mark_nothing(stage: Stage) -> None:
    stage.do(wanted(stage, body=EVIL))
    (issue,) = made(stage)
    assert "@alice" not in (issue.body or "")
    assert "Fixes #7" not in (issue.body or "")
    assert "- [ ]" not in (issue.body or "")
    marker = marker_of(issue.body or "")
    assert marker is not None
    assert marker.key == create_card.ACT.key(CreateCard(stage.card_id, RunId("r1"), 1, "", "", ""))


def test_it_is_a_sub_issue_of_the_asking_cards_issue_however_often_it_is_tried(stage: Stage) -> None:
    stage.fault(method="POST", path="/graphql", status=502, after=True)
    stage.do(wanted(stage))
    stage.clock.forward(5)
    stage.publish()
    (issue,) = made(stage)
    assert issue.parent is stage.issue
    assert stage.issue.sub_issues == [issue]
    assert columns(stage, issue) == ["Tasks"]


def test_it_waits_for_its_parents_and_for_the_runs_earlier_cards(stage: Stage) -> None:
    parent = stage.forge.store.issues.create(stage.shop, "Tables", "", actor=stage.alice)
    item = stage.forge.store.projects.add(stage.item.project, parent, actor=stage.alice)
    card_id = CardId(item.node_id)
    stage.past.card(card_id, board_id=stage.board_id, number=parent.number, content_id=parent.node_id)
    stage.happen(CardProposed(RUN, 1, "Test it", "b", "r"))
    stage.do(wanted(stage))
    (first,) = made(stage)
    first_id = CardId(next(it.node_id for it in stage.item.project.items if it.content is first))
    stage.past.card(first_id, board_id=stage.board_id, number=first.number, content_id=first.node_id)
    stage.do(replace(wanted(stage, 2), parents=(f"acme/shop#{parent.number}",), after=(1,)))
    assert made(stage)[1].blocked_by == [parent, first]


def test_what_it_was_to_wait_for_and_cannot_keeps_it_in_the_inbox_and_is_said_once(stage: Stage) -> None:
    stage.happen(CardProposed(RUN, 1, "Test it", "b", "r"))  # which was given up
    stage.fault(method="POST", path="/graphql", status=502)
    stage.do(replace(wanted(stage, 2), parents=("acme/shop#999",), after=(1,), column="Planning"))
    stage.clock.forward(5)
    stage.publish()
    (issue,) = made(stage)
    (comment,) = issue.comments
    assert "was to wait for `acme/shop#999`, `“Test it”`, and GitHub has no such dependency" in comment.body
    assert issue.blocked_by == []
    assert stage.events(JobMade) == []


def test_a_refused_dependency_keeps_it_in_the_inbox_after_an_attempt_without_answer_too(
    stage: Stage,
) -> None:
    parent, store = stage.issue, stage.forge.store
    stage.ask(replace(wanted(stage), parents=(f"acme/shop#{parent.number}",), column="Planning"))
    stage.fault(method="POST", path="/graphql", status=502)
    stage.publish()
    (issue,) = made(stage)
    for _ in range(50):  # as many as GitHub takes
        blocker = store.issues.create(stage.shop, "Blocker", "", actor=stage.alice)
        store.links.add_blocked_by(issue, blocker, actor=stage.alice)
    stage.clock.forward(120)
    stage.publish()
    assert parent not in issue.blocked_by
    assert any("GitHub has no such dependency" in comment.body for comment in issue.comments)
    assert stage.events(JobMade) == []


def test_a_card_with_a_column_is_asked_for_by_whoever_asked_for_the_run(stage: Stage) -> None:
    stage.do(replace(wanted(stage), column="Planning", skills=("fuzzing",)))
    (issue,) = made(stage)
    assert columns(stage, issue) == ["Tasks"]  # it goes on once it is seen there
    (placed,) = stage.events(JobMade)
    assert isinstance(placed, JobMade)
    assert (placed.number, placed.column, placed.skills) == (issue.number, "Planning", ("fuzzing",))


def test_a_sub_issue_too_many_is_a_card_all_the_same(stage: Stage) -> None:
    others = [stage.forge.store.issues.create(stage.shop, "Part", "", actor=stage.alice) for _ in range(100)]
    for other in others:
        stage.forge.store.links.add_sub_issue(stage.issue, other, actor=stage.alice)
    stage.do(wanted(stage))
    (issue,) = made(stage)
    assert issue.parent is None
    assert columns(stage, issue) == ["Tasks"]


def test_a_card_in_another_repository_is_linked_once_whenever_an_attempt_dies(stage: Stage) -> None:
    site = stage.forge.store.repos.create(stage.shop.owner, "site")
    stage.forge.store.repos.set_role(site, stage.alice, Role.WRITE)
    policy = DEFAULT_TEXT + "  repositories: {labels: {site: acme/site}}\n"
    stage.happen(PolicyLoaded(stage.board_id, "d" * 64, policy, "c" * 40))
    agreed = replace(wanted(stage), repository="acme/site", relation="blocked_by", by="alice")
    stage.fault(method="POST", path="/graphql", status=502)
    stage.ask(agreed)
    for _ in range(3):
        stage.publish()
        stage.clock.forward(120)
    (issue,) = site.issues.values()
    assert stage.issue.blocked_by == [issue]
    assert f"of acme/shop#{stage.issue.number}" in (issue.body or "")
    assert stage.events(CardLinked) == [
        CardLinked(RUN, f"acme/site#{issue.number}", "blocked_by", "out of scope")
    ]
