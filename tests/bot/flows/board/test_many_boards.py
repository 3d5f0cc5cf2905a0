"""One ledger serves several boards: of one owner, and of another with an installation of its own."""

from dataclasses import replace

import pytest

from bot.admin import boards as admin
from bot.admin.boards import BoardInUseError, UnservedBoardError
from bot.github.errors import NotFoundError
from bot.state import served_boards
from bot.state.served_boards import OtherBoardError, ServedBoard
from bot.sync import sweep
from bot.system.config import BoardAddress
from forge.store.board import Item, Project
from forge.store.models import Repo, Role
from ledger.events.board import BoardServed, CardArchived
from ledger.events.run import RunEnded
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.states import Ending
from ledger.views import boards, cards
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.runs.test_validation import WORK, set_rules
from tests.bot.flows.settings import POLICY

COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done")


def second(cardinal: Cardinal) -> Project:
    """Make one more board of acme, and let Cardinal serve it with the policy of the first."""
    store = cardinal.forge.store
    project = store.projects.create(
        store.users.get("acme"), "Second", COLUMNS, actor=cardinal.person("alice")
    )
    admin.add(cardinal.services, ServedBoard("acme", project.number))
    return project


def elsewhere(cardinal: Cardinal) -> tuple[Project, Repo]:
    """Make an organisation globex with a repository, a policy and a board; install the App, and serve it."""
    store, alice, carol = cardinal.forge.store, cardinal.person("alice"), cardinal.person("carol")
    globex = store.users.add_organization("globex", [alice, carol])
    site, home = (store.repos.create(globex, name) for name in ("site", "board"))
    for repo in (site, home):
        for person in (alice, carol):
            store.repos.set_role(repo, person, Role.WRITE)
    rules = b"version: 1\nrepository: {validation: none}\n"
    store.repos.write_files(site, "main", {".github/cardinal.yml": rules}, "Start", actor=alice)
    policy = POLICY.replace("acme/board", "globex/board").encode()
    store.repos.write_files(home, "main", {".github/cardinal.yml": policy}, "Policy", actor=alice)
    project = store.projects.create(globex, "Globex", COLUMNS, actor=alice)
    store.apps.install(store.apps.all()[0], globex, actor=alice)
    admin.add(cardinal.services, ServedBoard("globex", project.number))
    return project, site


def new(cardinal: Cardinal, project: Project, repo: Repo) -> Item:
    store, carol = cardinal.forge.store, cardinal.person("carol")
    issue = store.issues.create(repo, "Add them up", "Please.", actor=carol)
    item = store.projects.add(project, issue, actor=carol)
    store.projects.drag(item, "Tasks", actor=carol)
    return item


def row(cardinal: Cardinal, project: Project) -> boards.BoardRow:
    with event_store.reading(cardinal.services.engine) as db:
        known = boards.get(db, BoardId(project.node_id))
    assert known is not None
    return known


def test_cards_of_three_boards_of_two_owners_are_worked_on(cardinal: Cardinal) -> None:
    cardinal.scenario(work=WORK)
    set_rules(cardinal, "version: 1\nrepository: {validation: none}\n")
    third, site = elsewhere(cardinal)
    of = {
        "first": cardinal.new(),
        "second": new(cardinal, second(cardinal), cardinal.repo),
        "third": new(cardinal, third, site),
    }
    cardinal.settle()
    for item in of.values():
        cardinal.drag(item, "In Progress")
    cardinal.settle(work=True)
    ended = [event.ending for event in cardinal.events(RunEnded)]
    assert ended == [Ending.SUCCEEDED] * 3, cardinal.events(RunEnded)
    pulls = {name: cardinal.card(item).pull_repository for name, item in of.items()}
    assert pulls == {"first": "acme/shop", "second": "acme/shop", "third": "globex/site"}
    for each in cardinal.services.on_every_board():
        sweep.sweep(each)
    cardinal.settle()
    assert cardinal.events(CardArchived) == []
    cardinal.assert_nothing_is_stuck()


def test_a_comment_on_another_owners_issue_is_answered_there(cardinal: Cardinal) -> None:
    project, site = elsewhere(cardinal)
    item = new(cardinal, project, site)
    cardinal.settle()
    cardinal.say(item, "/cardinal explain")
    cardinal.settle()
    assert cardinal.told(item)
    assert not cardinal.failures


def test_a_home_of_another_board_is_refused_before_it_touches_a_card(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.settle()
    store = cardinal.forge.store
    other = store.projects.create(store.users.get("acme"), "Second", COLUMNS, actor=cardinal.person("alice"))
    address = BoardAddress("acme", other.number)
    config = replace(cardinal.services.config, board=address)
    services = replace(
        cardinal.services, config=config, context=replace(cardinal.services.context, config=config)
    )
    with (
        event_store.reading(services.engine) as db,
        pytest.raises(OtherBoardError, match="serves acme/1, and"),
    ):
        served_boards.refuse_another(db, config)
    with pytest.raises(OtherBoardError, match="cardinal boards add acme/2"):
        sweep.sweep(services)
    assert not cardinal.card(item).archived
    assert not cardinal.events(CardArchived)
    admin.add(cardinal.services, ServedBoard(*address))
    sweep.sweep(services)
    cardinal.answer_bells()
    assert not cardinal.events(CardArchived)


def test_a_removed_board_keeps_its_cards_as_they_are_and_starts_nothing(cardinal: Cardinal) -> None:
    project = second(cardinal)
    address = BoardAddress("acme", project.number)
    item = new(cardinal, project, cardinal.repo)
    cardinal.settle()
    cardinal.drag(item, "In Progress")
    cardinal.settle()
    (run_id,) = cardinal.ready()
    cardinal.begin(run_id)
    with pytest.raises(BoardInUseError, match="1 run at work there"):
        admin.remove(cardinal.services, address)
    cardinal.ask(run_id, "Which?", "this", "that")
    admin.remove(cardinal.services, address)
    assert (row(cardinal, project).served, row(cardinal, project).removed) == (False, True)
    before = cardinal.card(item)
    cardinal.drag(item, "Done")
    cardinal.settle(publish=False)
    assert cardinal.card(item) == before
    assert cardinal.ready() == ()
    with pytest.raises(UnservedBoardError, match="cardinal boards list"):
        admin.remove(cardinal.services, address)
    with pytest.raises(BoardInUseError, match="CARDINAL_BOARD names it"):
        admin.remove(cardinal.services, BoardAddress("ACME", 1))


def test_a_board_that_the_app_cannot_see_is_not_served(cardinal: Cardinal) -> None:
    cardinal.forge.store.users.add_organization("initech", [cardinal.person("alice")])
    for board in (ServedBoard("acme", 99), ServedBoard("initech", 1)):
        with pytest.raises(NotFoundError):
            admin.add(cardinal.services, board)
    assert [each.board.owner for each in cardinal.services.on_every_board()] == ["acme"]


def test_adding_again_changes_weight_and_policy_once(cardinal: Cardinal) -> None:
    project = second(cardinal)
    wanted = ServedBoard("acme", project.number, "acme/shop", weight=3)
    admin.add(cardinal.services, wanted)
    admin.add(cardinal.services, wanted)
    assert (row(cardinal, project).weight, row(cardinal, project).policy_repository) == (3, "acme/shop")
    mine = [event for event in cardinal.events(BoardServed) if event.board_id == project.node_id]
    assert [event.weight for event in mine] == [1, 3]


def test_a_card_whose_board_nobody_named_is_found_on_the_second(cardinal: Cardinal) -> None:
    project = second(cardinal)
    item = new(cardinal, project, cardinal.repo)
    cardinal.mail.clear()  # no delivery tells of it
    cardinal.say(item, "Any news?")
    cardinal.settle()
    with event_store.reading(cardinal.services.engine) as db:
        known = cards.get(db, CardId(item.node_id))
    assert known is not None
    assert known.board_id == project.node_id
