"""Which repository a card of the home is about: label, line, field; else it asks and touches no code."""

from typing import Any

import pytest

from bot.admin.doctor import DoctorContext, repositories
from forge.store.board import FieldType, Item
from forge.store.models import Role
from ledger.events.instruction import SkillsChosen
from ledger.events.placement import RepositoryResolved
from ledger.events.run import RunEnded, RunQueued
from ledger.states import CardState, Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY

NAMED = POLICY + '  repositories: {home: named, labels: {"area:shop": acme/shop, "area:far": other/far}}\n'
WORK: list[dict[str, Any]] = [
    {"edit": {"path": "new.txt", "content": "x\n"}},
    {"finish": {"done": "Done."}},
]


def at_home(
    cardinal: Cardinal, body: str = "Please.", who: str = "alice", labels: tuple[str, ...] = ()
) -> Item:
    """Put an issue of the board's home into the execution column."""
    cardinal.set_policy(NAMED)
    cardinal.scenario(work=WORK, investigate=[{"findings": {"summary": "Seen."}}])
    store, carol = cardinal.forge.store, cardinal.person("carol")
    issue = store.issues.create(cardinal.home_repo, "Add them up", body, actor=cardinal.person(who))
    if labels:
        store.issues.set_labels(issue, list(labels), actor=carol)
    item = store.projects.add(cardinal.project, issue, actor=carol)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    return item


def give_skill(cardinal: Cardinal) -> None:
    """Give the services, not the board's home, a skill that all its cards have."""
    files: dict[str, bytes | None] = {
        ".github/cardinal/skills/tidy/SKILL.md": b"---\nname: tidy\ndescription: Tidy.\n---\nTidy up.\n",
        ".github/cardinal.yml": b"version: 1\nrepository: {validation: none, skills: {default: [tidy]}}\n",
    }
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "A skill", actor=alice)


def relabel(cardinal: Cardinal, item: Item, *names: str) -> None:
    cardinal.forge.store.issues.set_labels(issue_of(item), list(names), actor=cardinal.person("carol"))
    cardinal.catch_up()


def decided(cardinal: Cardinal) -> list[tuple[str, str, str]]:
    return [(event.repository, event.rule, event.value) for event in cardinal.events(RepositoryResolved)]


def test_a_card_of_the_home_is_worked_on_in_the_repository_that_its_label_means(cardinal: Cardinal) -> None:
    give_skill(cardinal)
    item = at_home(cardinal, labels=("area:shop",))
    assert decided(cardinal) == [("acme/shop", "label", "area:shop")]
    cardinal.catch_up(work=True)
    skills = cardinal.events(SkillsChosen)[-1].considered
    assert [(considered.name, considered.loaded) for considered in skills] == [("tidy", True)]
    run = cardinal.run_of(item)
    assert (run.repository, run.ending) == ("acme/shop", Ending.SUCCEEDED), run.detail
    pull = cardinal.pull_of(item)
    number = issue_of(item).number
    assert f"Closes acme/board#{number}" in (pull.issue.body or "")
    assert cardinal.comment(item, f"acme/shop#{pull.issue.number}")
    assert cardinal.comment(item, "works in `acme/shop`")
    message = cardinal.forge.store.repos.git(cardinal.repo).commit(pull.head_sha).message
    assert f"acme/board#{number}" in message.partition("\n")[0]  # a number alone is another issue there
    assert pull.head_ref.startswith(f"cardinal/acme-board-{number}-")


def test_comments_of_the_run_stand_on_the_cards_own_issue_and_its_boxes_work(cardinal: Cardinal) -> None:
    item = at_home(cardinal, labels=("area:shop",))
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.ask(run_id, "Which till?", "Front", "Back")
    cardinal.catch_up()
    question = cardinal.comment(item, "Which till?")
    cardinal.tick(question, f"choice:{run_id}-q1:2")
    cardinal.catch_up()
    assert "answered by alice" in question.body


def test_a_line_by_somebody_with_write_access_names_it(cardinal: Cardinal) -> None:
    item = at_home(cardinal, body="Please.\n\nRepo: acme/shop\n")
    assert decided(cardinal) == [("acme/shop", "line", "Repo: acme/shop")]
    assert cardinal.run_of(item).repository == "acme/shop"


def test_a_line_by_somebody_without_write_access_names_nothing(cardinal: Cardinal) -> None:
    item = at_home(cardinal, body="Repo: acme/shop", who="mallory")
    card = cardinal.card(item)
    assert (card.run_id, card.state) == (None, CardState.BLOCKED)
    assert "`mallory`, who has no write access here, names `acme/shop`" in card.because
    assert cardinal.events(RunQueued) == []


def test_a_line_names_no_repository_that_its_author_may_not_write_to(cardinal: Cardinal) -> None:
    repos, alice = cardinal.forge.store.repos, cardinal.person("alice")
    repos.set_role(cardinal.repo, alice, Role.READ)
    item = at_home(cardinal, body="Repo: acme/shop")
    card = cardinal.card(item)
    assert (card.run_id, card.state) == (None, CardState.BLOCKED)
    assert "means `acme/shop`, where its author has no write access" in card.because
    cardinal.say(item, "/cardinal investigate")
    cardinal.catch_up()
    assert cardinal.events(RunQueued) == []


@pytest.mark.parametrize(("who", "where"), [("alice", "acme/shop"), ("mallory", None)])
def test_a_line_of_a_draft_counts_as_its_creators(cardinal: Cardinal, who: str, where: str | None) -> None:
    cardinal.set_policy(NAMED)
    projects, maker = cardinal.forge.store.projects, cardinal.person(who)
    item = projects.add_draft(cardinal.project, "Add them up", "Repo: acme/shop", actor=maker)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert issue_of(item).author is cardinal.bot
    assert issue_of(item).repo is cardinal.home_repo
    card = cardinal.card(item)
    if where is None:
        assert (card.run_id, card.state) == (None, CardState.BLOCKED)
        assert "`mallory`, who has no write access here, names `acme/shop`" in card.because
    else:
        assert cardinal.run_of(item).repository == where


def test_a_line_that_nobody_sees_names_nothing(cardinal: Cardinal) -> None:
    item = at_home(cardinal, body="Please.\n<!--\nRepo: acme/shop\n-->\n")
    assert cardinal.card(item).run_id is None


def test_the_projects_field_names_it(cardinal: Cardinal) -> None:
    projects = cardinal.forge.store.projects
    field = projects.create_field(cardinal.project, "Repo", FieldType.TEXT)
    item = at_home(cardinal)
    assert "set the label `area:shop` (acme/shop)" in cardinal.card(item).because
    projects.set_value(item, field, "acme/shop", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert decided(cardinal)[1:] == [("acme/shop", "field", "acme/shop")]
    assert cardinal.run_of(item).repository == "acme/shop"


@pytest.mark.parametrize("rule", ["field", "label"])
def test_what_mallory_sets_names_nothing_until_somebody_who_may_sets_it(
    cardinal: Cardinal, rule: str
) -> None:
    projects, issues = cardinal.forge.store.projects, cardinal.forge.store.issues
    field = projects.create_field(cardinal.project, "Repo", FieldType.TEXT)
    item = at_home(cardinal)

    def choose(who: str) -> None:
        for wanted in (False, True):
            if rule == "field":
                projects.set_value(item, field, "acme/shop" if wanted else None, actor=cardinal.person(who))
            else:
                labels = ["area:shop"] if wanted else []
                issues.set_labels(issue_of(item), labels, actor=cardinal.person(who))
            cardinal.clock.forward(1)
            cardinal.catch_up()

    choose("mallory")
    assert f"`mallory` set the {rule}" in cardinal.card(item).because
    cardinal.clock.forward(300)
    cardinal.forge.store.issues.edit(issue_of(item), title="Another", actor=cardinal.person("carol"))
    cardinal.catch_up()
    assert f"`mallory` set the {rule}" in cardinal.card(item).because, "forgotten who it was"
    choose("bob")
    assert cardinal.run_of(item).repository == "acme/shop"


def test_the_field_names_no_repository_that_whoever_set_it_may_not_write_to(cardinal: Cardinal) -> None:
    projects, repos = cardinal.forge.store.projects, cardinal.forge.store.repos
    repos.set_role(cardinal.repo, cardinal.person("bob"), Role.READ)
    field = projects.create_field(cardinal.project, "Repo", FieldType.TEXT)
    item = at_home(cardinal)
    projects.set_value(item, field, "acme/shop", actor=cardinal.person("bob"))
    cardinal.catch_up()
    cardinal.clock.forward(300)
    cardinal.forge.store.issues.edit(issue_of(item), title="Another", actor=cardinal.person("carol"))
    cardinal.catch_up()
    assert "`bob` set the field to `acme/shop` and has no write access there" in cardinal.card(item).because
    assert cardinal.events(RunQueued) == []


def test_an_ambiguous_card_asks_once_and_goes_on_when_it_is_told(cardinal: Cardinal) -> None:
    item = at_home(cardinal, labels=("area:far", "area:shop"))
    card = cardinal.card(item)
    assert (card.run_id, card.state) == (None, CardState.BLOCKED)
    said = "Labels name `area:far` (other/far) and `area:shop` (acme/shop): leave only one of them"
    assert said.lower() in cardinal.comment(item, "No code is touched until then").body.lower()
    cardinal.drag(item, "Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert len([text for text in cardinal.told(item) if "No code is touched" in text]) == 1
    relabel(cardinal, item, "area:shop")
    assert cardinal.run_of(item).repository == "acme/shop"


def test_a_repository_without_cardinal_is_asked_about_and_a_command_says_the_same(cardinal: Cardinal) -> None:
    item = at_home(cardinal, labels=("area:far",))
    assert "where Cardinal is not installed" in cardinal.card(item).because
    for command in ("fix", "investigate", "retry"):
        cardinal.say(item, f"/cardinal {command}")
    cardinal.catch_up()
    assert len([text for text in cardinal.told(item) if text.startswith("No run was started: which")]) == 3
    assert cardinal.events(RunQueued) == []


def test_a_public_repository_of_somebody_else_is_none_to_work_in(cardinal: Cardinal) -> None:
    store, alice = cardinal.forge.store, cardinal.person("alice")
    store.repos.create(store.users.add_organization("other", [alice]), "far", private=False)
    item = at_home(cardinal, labels=("area:far",))
    assert "where Cardinal is not installed" in cardinal.card(item).because
    assert not cardinal.calls("/repos/other/far")


def test_a_command_goes_by_the_card_as_it_is_even_when_no_delivery_told_of_it(cardinal: Cardinal) -> None:
    item = at_home(cardinal, labels=("area:shop",))
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    issues, carol = cardinal.forge.store.issues, cardinal.person("carol")
    issues.set_labels(issue_of(item), [], actor=carol)
    cardinal.mail.clear()
    cardinal.say(item, "/cardinal fix")
    cardinal.catch_up()
    assert len(cardinal.events(RunQueued)) == 1
    assert cardinal.comment(item, "nothing says it")


def test_a_card_whose_work_began_elsewhere_is_not_carried_over(cardinal: Cardinal) -> None:
    item = at_home(cardinal, body="Repo: acme/board")
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "gave_up", "It stopped.", "working"))
    relabel(cardinal, item, "area:shop")
    assert decided(cardinal)[-1] == ("acme/shop", "label", "area:shop")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.comment(item, "its work began in acme/board, and it now names acme/shop")
    assert len(cardinal.events(RunQueued)) == 1


def test_the_run_reads_the_policy_of_the_repository_that_it_works_in(cardinal: Cardinal) -> None:
    rules = b"version: 1\nrepository: {validation: {fast: ['true']}}\n"
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(
        cardinal.repo, "main", {".github/cardinal.yml": rules}, "Rules", actor=alice
    )
    item = at_home(cardinal, labels=("area:shop",))
    order, remote = cardinal.claimed(item)
    assert (order.repository, remote.repository) == ("acme/shop", "acme/shop")
    assert order.validation.fast == ("true",)
    assert order.reference == f"acme/board#{issue_of(item).number}"


@pytest.mark.parametrize("labels", [(), ("area:shop",)])
def test_an_issue_of_another_repository_is_about_that_one(
    cardinal: Cardinal, labels: tuple[str, ...]
) -> None:
    cardinal.set_policy(NAMED)
    item = cardinal.new(column=None, body="Repo: acme/board")
    relabel(cardinal, item, *labels)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).repository == "acme/shop"
    assert decided(cardinal) == []


def test_without_the_key_an_issue_of_the_home_is_about_the_home(cardinal: Cardinal) -> None:
    store, carol = cardinal.forge.store, cardinal.person("carol")
    issue = store.issues.create(cardinal.home_repo, "Add", "Repo: acme/shop", actor=cardinal.person("alice"))
    item = store.projects.add(cardinal.project, issue, actor=carol)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).repository == "acme/board"
    assert decided(cardinal) == []


def test_doctor_looks_at_the_repositories_that_cards_are_placed_in(cardinal: Cardinal) -> None:
    store, alice = cardinal.forge.store, cardinal.person("alice")
    tools = store.repos.create(cardinal.repo.owner, "tools", private=False)
    store.repos.write_files(tools, "main", {"README.md": b"Tools.\n"}, "First", actor=alice)
    store.repos.set_role(tools, alice, Role.WRITE)
    at_home(cardinal, body="Repo: acme/tools")  # no issue of its own is on the board
    services = cardinal.services
    results = repositories.checks(
        DoctorContext(services.config, services.engine, services.hub, cardinal.clock())
    )
    assert "acme/tools" in {result.message.split()[0] for result in results}
