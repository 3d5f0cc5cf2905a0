"""One ledger serves several boards: of one owner, and of another with an installation of its own."""

from dataclasses import replace

import pytest

from bot.admin import boards as admin
from bot.admin.boards import BoardInUseError
from bot.admin.doctor import DoctorContext, backlog
from bot.github.client import Hub
from bot.github.errors import GithubError, NotFoundError
from bot.scheduler import ticker
from bot.state import served_boards
from bot.state.served_boards import NoBoardChosenError, OtherBoardError, ServedBoard, UnservedBoardError
from bot.sync import card as card_sync
from bot.sync import column_order, sweep
from bot.system.setting_types import BoardAddress
from forge.store.board import Item, Project
from forge.store.models import Repo, Role
from ledger.events.board import BoardServed, CardArchived
from ledger.events.publication import EntryGivenUp
from ledger.events.run import RunEnded
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queue import leases, outbox, refresh_requests
from ledger.queue.examinations import Level
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
    admin.add_board(cardinal.services, ServedBoard("acme", project.number))
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
    admin.add_board(cardinal.services, ServedBoard("globex", project.number))
    return project, site


def new(cardinal: Cardinal, project: Project, repo: Repo, title: str = "Add them up") -> Item:
    store, carol = cardinal.forge.store, cardinal.person("carol")
    issue = store.issues.create(repo, title, "Please.", actor=carol)
    item = store.projects.add(project, issue, actor=carol)
    store.projects.drag(item, "Tasks", actor=carol)
    return item


def row(cardinal: Cardinal, project: Project) -> boards.BoardRow:
    with event_store.reading(cardinal.services.engine) as db:
        board = boards.get(db, BoardId(project.node_id))
    assert board is not None
    return board


def test_cards_of_three_boards_of_two_owners_are_worked_on(cardinal: Cardinal) -> None:
    cardinal.scenario(work=WORK)
    set_rules(cardinal, "version: 1\nrepository: {validation: none}\n")
    third, site = elsewhere(cardinal)
    of = {
        "first": cardinal.new(),
        "second": new(cardinal, second(cardinal), cardinal.repo),
        "third": new(cardinal, third, site),
    }
    cardinal.catch_up()
    for item in of.values():
        cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    ended = [event.ending for event in cardinal.events(RunEnded)]
    assert ended == [Ending.SUCCEEDED] * 3, cardinal.events(RunEnded)
    pulls = {name: cardinal.card(item).pull_repository for name, item in of.items()}
    assert pulls == {"first": "acme/shop", "second": "acme/shop", "third": "globex/site"}
    for services in cardinal.services.on_every_board():
        sweep.sweep(services)
    cardinal.catch_up()
    assert cardinal.events(CardArchived) == []
    cardinal.assert_nothing_is_stuck()


def test_a_comment_on_another_owners_issue_is_answered_there(cardinal: Cardinal) -> None:
    project, site = elsewhere(cardinal)
    item = new(cardinal, project, site)
    cardinal.catch_up()
    cardinal.say(item, "/cardinal explain")
    cardinal.catch_up()
    assert cardinal.told(item)
    assert not cardinal.failures


def test_a_home_of_another_board_is_refused_before_it_touches_a_card(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    store = cardinal.forge.store
    other = store.projects.create(store.users.get("acme"), "Second", COLUMNS, actor=cardinal.person("alice"))
    address = BoardAddress("acme", other.number)
    config = replace(cardinal.services.config, board=address)
    context = replace(cardinal.services.context, config=config)
    services = replace(cardinal.services, config=config, context=context).on_configured()
    with (
        event_store.reading(services.engine) as db,
        pytest.raises(OtherBoardError, match="serves acme/1, and"),
    ):
        served_boards.refuse_another(db, config)
    with pytest.raises(OtherBoardError, match="cardinal boards add acme/2"):
        sweep.sweep(services)
    assert not cardinal.card(item).archived
    assert not cardinal.events(CardArchived)
    admin.add_board(cardinal.services, ServedBoard(*address))
    sweep.sweep(services)
    cardinal.serve_refreshes()
    assert not cardinal.events(CardArchived)


def test_a_removed_board_keeps_its_cards_as_they_are_and_starts_nothing(cardinal: Cardinal) -> None:
    project = second(cardinal)
    address = BoardAddress("acme", project.number)
    item = new(cardinal, project, cardinal.repo)
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    (run_id,) = cardinal.ready()
    cardinal.begin(run_id)
    with pytest.raises(BoardInUseError, match="1 run still active there"):
        admin.remove_board(cardinal.services, address)
    cardinal.ask(run_id, "Which?", "this", "that")
    admin.remove_board(cardinal.services, address)
    assert (row(cardinal, project).served, row(cardinal, project).removed) == (False, True)
    before = cardinal.card(item)
    cardinal.drag(item, "Done")
    cardinal.catch_up(publish=False)
    assert cardinal.card(item) == before
    assert cardinal.ready() == ()
    with pytest.raises(UnservedBoardError, match="cardinal boards list"):
        admin.remove_board(cardinal.services, address)
    with pytest.raises(BoardInUseError, match="CARDINAL_BOARD names it"):
        admin.remove_board(cardinal.services, BoardAddress("ACME", 1))


def test_a_removed_board_costs_no_call_and_goes_on_where_it_was_when_it_is_added_again(
    cardinal: Cardinal,
) -> None:
    project = second(cardinal)
    item = new(cardinal, project, cardinal.repo)
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    (run_id,) = cardinal.ready()
    cardinal.begin(run_id)
    queued = new(cardinal, project, cardinal.repo)
    cardinal.catch_up()
    cardinal.drag(queued, "In Progress")
    cardinal.catch_up()
    cardinal.ask(run_id, "Which currency?", "EUR", "USD")
    admin.remove_board(cardinal.services, BoardAddress("acme", project.number))
    ticker.write_places(cardinal.process)
    with event_store.reading(cardinal.services.engine) as db:
        assert [entry.act for entry in outbox.open_of_card(db, CardId(queued.node_id))] == []
    with event_store.writing(cardinal.services.engine) as db:
        refresh_requests.add(db, CardId(item.node_id), BoardId(project.node_id))
        leases.take(db, f"{column_order.PREFIX}{project.node_id}:In Progress", "rank:", ttl_s=0)
    cardinal.forge.gateway.calls.clear()
    for _ in range(5):  # more often than an entry without access is tried
        cardinal.clock.forward(301)
        cardinal.catch_up()
    assert not cardinal.forge.gateway.calls
    assert not any("Which currency?" in text for text in cardinal.told(item))
    context = DoctorContext(
        cardinal.services.config, cardinal.services.engine, cardinal.services.hub, cardinal.clock()
    )
    results = [result for result in backlog.waiting(context) if result.name == "outbox"]
    assert [result.level for result in results] == [Level.WARN, Level.OK]
    assert outbox.SHUT_OUT in results[0].message
    with event_store.reading(cardinal.services.engine) as db:
        assert refresh_requests.list_requested_cards(db, limit=10) == ()
        assert not column_order.is_due(db)
    admin.add_board(cardinal.services, ServedBoard("acme", project.number))
    cardinal.catch_up()
    assert sum("cardinal:question:" in text for text in cardinal.told(item)) == 1
    assert cardinal.events(EntryGivenUp) == []


def test_a_suspended_owner_holds_up_no_other_and_loses_nothing(cardinal: Cardinal) -> None:
    project, site = elsewhere(cardinal)
    own_item, theirs = cardinal.new(), new(cardinal, project, site)
    cardinal.catch_up()
    store, alice = cardinal.forge.store, cardinal.person("alice")
    (globex,) = (one for one in store.apps.installations() if one.account.login == "globex")
    for item in (own_item, theirs):
        cardinal.say(item, "/cardinal explain")
        cardinal.catch_up(publish=False)
    store.access.suspend(globex, actor=alice)
    for _ in range(6):  # more often than an entry without access is tried
        cardinal.clock.forward(301)
        cardinal.catch_up()
    assert cardinal.told(own_item)
    assert not cardinal.told(theirs)
    store.access.unsuspend(globex, actor=alice)
    cardinal.catch_up()
    assert cardinal.told(theirs)
    assert cardinal.events(EntryGivenUp) == []


def test_cards_of_one_owner_are_read_while_another_is_out_of_reach(cardinal: Cardinal) -> None:
    project, site = elsewhere(cardinal)
    item, theirs = cardinal.new(), new(cardinal, project, site)
    cardinal.catch_up()
    store = cardinal.forge.store
    (acme,) = (one for one in store.apps.installations() if one.account.login == "acme")
    store.access.suspend(acme, actor=cardinal.person("alice"))
    cardinal.mail.clear()  # and nobody tells of it
    both = {CardId(item.node_id): "acme", CardId(theirs.node_id): "globex"}
    store.projects.drag(theirs, "Planning", actor=cardinal.person("carol"))
    with event_store.writing(cardinal.services.engine) as db:
        for card_id in both:
            card = cards.get(db, card_id)
            assert card is not None
            refresh_requests.add(db, card_id, card.board_id)
    with pytest.raises(GithubError):
        card_sync.sync_cards(cardinal.process, tuple(both))
    assert cardinal.card(theirs).column == "Planning"


def test_failed_deliveries_are_requested_while_the_first_owner_is_out_of_reach(cardinal: Cardinal) -> None:
    elsewhere(cardinal)
    store = cardinal.forge.store
    (acme,) = (one for one in store.apps.installations() if one.account.login == "acme")
    store.access.suspend(acme, actor=cardinal.person("alice"))
    cardinal.mail.clear()
    sweep.sweep(cardinal.services)
    lost = store.deliveries.all()[-1]
    lost.status_code, lost.status, lost.delivered_at = 502, "failed to connect", cardinal.clock()
    sweep.recover_deliveries(cardinal.process)
    assert [delivery.guid for delivery in cardinal.mail] == [lost.guid]


def test_deliveries_of_one_owner_are_read_while_the_app_is_gone_from_the_first(cardinal: Cardinal) -> None:
    project, site = elsewhere(cardinal)
    item = new(cardinal, project, site)
    cardinal.catch_up()
    store = cardinal.forge.store
    (acme,) = (one for one in store.apps.installations() if one.account.login == "acme")
    store.apps.uninstall(acme, actor=cardinal.person("alice"))
    cardinal.mail.clear()
    # As a process that starts now, which knows no token and no name of the App yet.
    config = replace(cardinal.services.config, home=cardinal.services.config.home / "new")
    app = Hub(config, cardinal.clock)
    cardinal.services = replace(cardinal.services, context=replace(cardinal.services.context, app=app))
    cardinal.say(item, "/cardinal explain")
    cardinal.catch_up()
    assert cardinal.told(item)
    assert not cardinal.failures
    cardinal.forge.gateway.calls.clear()
    assert cardinal.process.bot_id
    assert not cardinal.forge.gateway.calls


def test_no_board_stands_in_for_another(cardinal: Cardinal) -> None:
    with pytest.raises(NoBoardChosenError):
        _ = cardinal.process.hub
    with pytest.raises(UnservedBoardError, match="serve the board B_unknown"):
        cardinal.process.on_board(BoardId("B_unknown"))


def test_a_board_that_the_app_cannot_see_is_not_served(cardinal: Cardinal) -> None:
    cardinal.forge.store.users.add_organization("initech", [cardinal.person("alice")])
    for board in (ServedBoard("acme", 99), ServedBoard("initech", 1)):
        with pytest.raises(NotFoundError):
            admin.add_board(cardinal.services, board)
    assert [services.board.owner for services in cardinal.services.on_every_board()] == ["acme"]


def test_adding_again_changes_weight_and_policy_once(cardinal: Cardinal) -> None:
    project = second(cardinal)
    served_board = ServedBoard("acme", project.number, "acme/shop", weight=3)
    admin.add_board(cardinal.services, served_board)
    admin.add_board(cardinal.services, served_board)
    assert (row(cardinal, project).weight, row(cardinal, project).policy_repository) == (3, "acme/shop")
    mine = [event for event in cardinal.events(BoardServed) if event.board_id == project.node_id]
    assert [event.weight for event in mine] == [1, 3]


def test_a_card_whose_board_nobody_named_is_found_on_the_second(cardinal: Cardinal) -> None:
    project = second(cardinal)
    item = new(cardinal, project, cardinal.repo)
    cardinal.mail.clear()  # no delivery tells of it
    cardinal.say(item, "Any news?")
    cardinal.catch_up()
    with event_store.reading(cardinal.services.engine) as db:
        card = cards.get(db, CardId(item.node_id))
    assert card is not None
    assert card.board_id == project.node_id
