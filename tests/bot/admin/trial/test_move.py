"""A board carried over to GitHub: whole, once, whatever breaks on the way, and by nobody's token in sight."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.admin.clone.own_git import CloneError
from bot.admin.trial import trial
from bot.admin.trial.move import carry, destination, local_board
from bot.admin.trial.move.local_board import LocalBoard
from bot.cli import main
from bot.github.errors import UnavailableError
from bot.github.personal import PersonalHub
from bot.system.clock import utc_now
from bot.system.config import read
from bot.system.secret import Secret
from forge.portable.saved import SavedForge
from forge.portable.world import Wanted, build
from forge.seed.world import World
from forge.store import Store
from forge.store.board import Item, Project
from forge.store.faults import EVERYTHING, ApiFault
from forge.store.models import Issue, Repo, Role
from forge.web.server import Forge
from tests.bot.admin.clone.conftest import every_byte
from tests.runner.world import git

TOKEN = "forge-user-alice"
WRITES = re.compile(r'mutation |"body"|"state"')
COLUMNS = ["Tasks", "Planning", "In Progress", "Review", "QA", "Done"]


@dataclass
class Moving:
    """A board of `cardinal try` that has stopped, and a GitHub with a repository and a board."""

    clone: Path
    local: Store
    world: World
    forge: Forge
    shop: Repo
    board: Project

    @property
    def home(self) -> Path:
        """The folder of the board."""
        return self.clone / ".cardinal"

    def save(self) -> None:
        SavedForge(self.home / "forge").write(self.local, self.world, {})

    def move(self, *words: str, token: str = TOKEN, code: int = 0) -> str:
        """Run the command; return what it said."""
        path = "/api/v3" if self.forge.store.settings.server_version else ""
        env = {"CARDINAL_GITHUB_URL": f"{self.forge.url}{path}", "GH_TOKEN": token, "GITHUB_TOKEN": ""}
        wanted = ["try", "--move-to", "acme/shop", "--yes", "-C", str(self.clone), *words]
        invoked = CliRunner().invoke(main, wanted, env=env)
        assert invoked.exit_code == code, invoked.output
        assert "forge-user-" not in invoked.output
        return invoked.output

    def read(self) -> LocalBoard:
        return local_board.read(trial.find(self.clone, ""))

    def hub(self) -> PersonalHub:
        settings = {"CARDINAL_GITHUB_URL": self.forge.url, "CARDINAL_HOME": str(self.home / "move")}
        return PersonalHub(read(settings, self.clone), Secret(TOKEN), utc_now, lambda _: None)

    def find(self) -> destination.Destination:
        return destination.find(self.hub(), "acme/shop", "acme/1")

    def cards(self) -> list[tuple[str, str, str, list[str], int]]:
        """Return title, column, state, labels and comments of each card there."""
        return [_printed(item) for item in self.board.items]

    def there(self) -> str:
        """Return everything there that somebody sees, and every ref."""
        issues = [
            (it.number, it.body, [said.body for said in it.comments]) for it in self.shop.issues.values()
        ]
        return repr((self.cards(), issues, self.forge.store.repos.git(self.shop).refs()))


def _printed(item: Item) -> tuple[str, str, str, list[str], int]:
    issue, column = item.content, item.column()
    assert isinstance(issue, Issue)
    assert column is not None
    return issue.title, column.name, issue.state, [label.name for label in issue.labels], len(issue.comments)


@pytest.fixture
def moving(request: pytest.FixtureRequest, clone: Path, tmp_path: Path) -> Iterator[Moving]:
    git(clone, "switch", "--quiet", "main")
    place = trial.find(clone, "main")
    trial.write(place, "scripted", None, {})
    local = Store(place.folder / "forge")
    world = build(local, Wanted.of((place.folder / trial.ANSWERS).read_text()))
    (repo,) = (each for each in local.repos.all() if each.name == clone.name)
    person, bot, project = world.project.creator, world.app.bot, world.project
    hello = repo.issues[1]
    local.issues.comment(hello, "@bob look at #7", actor=person)
    local.issues.comment(hello, "The plan\n<!-- cardinal:run:r1:" + "0" * 64 + " -->", actor=bot)
    local.issues.add_labels(hello, ["small"], actor=person)
    local.projects.drag(project.items[0], "Review", actor=person)
    issue = local.issues.create(repo, "Old work", "Was done.", actor=person)
    local.issues.set_state(issue, "closed", "not_planned", actor=person)
    local.projects.drag(local.projects.add(project, issue, actor=person), "Done", actor=person)
    local.issues.set_assignees(hello, [person.login], actor=person)
    local.links.add_blocked_by(hello, issue, actor=person)
    local.links.add_sub_issue(issue, hello, actor=person)
    sha = git(clone, "rev-parse", "main")
    local.repos.create_ref(repo, "refs/heads/cardinal/1-say-hello", sha, actor=bot)
    local.repos.write_files(repo, "cardinal/1-say-hello", {"hello.txt": b"Hi\n"}, "Work", actor=bot)
    forge = Forge(tmp_path / "github").start()
    forge.store.settings.server_version = getattr(request, "param", "")
    alice = forge.store.users.add("alice")
    acme = forge.store.users.add_organization("acme", [alice])
    shop = forge.store.repos.create(acme, "shop")
    forge.store.repos.set_role(shop, alice, Role.ADMIN)
    forge.store.issues.create(shop, "Theirs", "", actor=alice)
    board = forge.store.projects.create(acme, "Shop", COLUMNS, actor=alice)
    it = Moving(clone, local, world, forge, shop, board)
    it.save()
    yield it
    forge.stop()


CARRIED = [("Say hello", "Review", "open", ["small"], 1), ("Old work", "Done", "closed", [], 1)]


def linked(moving: Moving) -> tuple[list[int], list[int], list[str]]:
    """Return sub-issues of the second card, what the first waits for, and who is assigned to the first."""
    hello, issue = moving.shop.issues[2], moving.shop.issues[3]
    return (
        [it.number for it in issue.sub_issues],
        [it.number for it in hello.blocked_by],
        [user.login for user in hello.assignees],
    )


@pytest.mark.parametrize("moving", ["", "3.20.1"], indirect=True, ids=["github.com", "enterprise"])
def test_cards_history_and_branches_come_over_once(moving: Moving) -> None:
    before, empty = every_byte(moving.clone / ".git"), moving.there()
    said = moving.move("--dry-run")
    first = "shop card 1 Say hello: becomes an issue in Review, assigned to you, with 1 link"
    assert f"{first}, with 2 comments as its history" in said
    assert "shop card 2 Old work: becomes an issue in Done, closed, with 1 link" in said
    assert "is pushed as cardinal/NUMBER-say-hello" in said
    assert moving.there() == empty
    said = moving.move()
    assert moving.cards() == CARRIED
    hello = moving.shop.issues[2]
    assert linked(moving) == ([2], [3], ["alice"])
    (history,) = (comment.body for comment in hello.comments)
    assert "> The plan" in history
    assert "@bob" not in history
    assert "#7" not in history
    assert "cardinal:run:r1" not in history
    assert (moving.shop.issues[3].state_reason, hello.author.login) == ("not_planned", "alice")
    branches = moving.forge.store.repos.git(moving.shop).branches()
    assert "pushed cardinal/2-say-hello" in said
    assert moving.forge.store.repos.git(moving.shop).read("cardinal/2-say-hello", "hello.txt") == b"Hi\n"
    assert every_byte(moving.clone / ".git") == before
    there = moving.there()
    said = moving.move()
    assert "already exists as #2" in said
    assert "branch cardinal/1-say-hello: already exists" in said
    assert (moving.there(), moving.forge.store.repos.git(moving.shop).branches()) == (there, branches)


def test_whatever_breaks_off_the_next_start_goes_on(moving: Moving) -> None:
    """The nth start gets n writes further, and the answer to its last one is lost."""
    board, place = moving.read(), moving.find()
    faults = moving.forge.store.faults
    lost = 0
    for writes in range(16):
        faults.clear()
        going = ApiFault(EVERYTHING, count=writes, body=WRITES, people=True)
        faults.api += [going, ApiFault(EVERYTHING, 502, after=True, body=WRITES, people=True)]
        try:
            carry.carry(place, board, lambda _: None)
        except UnavailableError:
            lost += 1
            continue
        break
    assert lost >= 4
    assert moving.cards() == CARRIED
    assert linked(moving) == ([2], [3], ["alice"])
    assert [issue.title for issue in moving.shop.issues.values()] == ["Theirs", "Say hello", "Old work"]
    assert "cardinal/2-say-hello" in moving.forge.store.repos.git(moving.shop).branches()


def test_a_link_that_github_refuses_is_said(moving: Moving) -> None:
    refusal = ApiFault(EVERYTHING, 422, body=re.compile("addBlockedBy"), people=True)
    moving.forge.store.faults.api.append(refusal)
    said: list[str] = []
    carry.carry(moving.find(), moving.read(), said.append)
    assert linked(moving) == ([2], [], ["alice"])
    assert any("refuses to link acme/shop#2 and #3, so that link is skipped" in line for line in said)


def test_a_limit_of_githubs_is_waited_for(moving: Moving) -> None:
    limit = ApiFault(EVERYTHING, 429, headers={"Retry-After": "1"}, body=WRITES, people=True)
    moving.forge.store.faults.api.append(limit)
    assert "GitHub wants fewer calls: it goes on in 1 s" in moving.move()
    assert moving.cards() == CARRIED


def test_what_people_did_there_since_stays_and_what_is_new_here_follows(moving: Moving) -> None:
    carry.carry(moving.find(), moving.read(), lambda _: None)
    alice, hello = moving.forge.store.users.get("alice"), moving.shop.issues[2]
    moving.forge.store.projects.drag(moving.board.items[0], "Done", actor=alice)
    moving.forge.store.issues.edit(hello, body=f"{hello.body}\n\nMore.", actor=alice)
    more: dict[str, bytes | None] = {"more.txt": b"More\n"}
    moving.forge.store.repos.write_files(moving.shop, "cardinal/2-say-hello", more, "More", actor=alice)
    moving.forge.store.links.remove_blocked_by(hello, moving.shop.issues[3], actor=alice)
    moving.forge.store.issues.set_assignees(hello, [], actor=alice)
    repo = moving.local.repos.get("local", "shop")
    moving.local.issues.comment(repo.issues[1], "Later.", actor=moving.world.project.creator)
    moving.save()
    carry.carry(moving.find(), moving.read(), lambda _: None)
    assert [(row[1], row[4]) for row in moving.cards()] == [("Done", 1), ("Done", 1)]
    assert linked(moving) == ([2], [], [])
    assert "> Later." in hello.comments[0].body
    assert moving.forge.store.repos.git(moving.shop).read("cardinal/2-say-hello", "more.txt") == b"More\n"


def test_what_is_in_the_way_is_said_before_anything_is_written(moving: Moving) -> None:
    board, store, there = moving.read(), moving.forge.store, moving.there()
    alice, acme = store.users.get("alice"), store.users.get("acme")

    def said(repository: str = "acme/shop", number: str = "") -> str:
        with pytest.raises(CloneError) as raised, destination.in_words():
            carry.show_plan(destination.find(moving.hub(), repository, number), board, lambda _: None)
        return str(raised.value)

    assert "it does not exist, or the token cannot see it" in said("acme/nothing")
    assert "check the name, and the scopes" in said(number="acme/7")
    store.repos.set_role(moving.shop, alice, Role.READ)
    assert "alice may not write to acme/shop: ask one of its owners" in said()
    store.repos.set_role(moving.shop, alice, Role.ADMIN)
    store.projects.create(acme, "Second", ["Tasks"], actor=alice)
    assert "acme has several projects, acme/1, acme/2: say which with --board" in said()
    assert "the board acme/2 has no column Done, Review: add them" in said(number="acme/2")
    assert moving.there() == there
    carry.carry(moving.find(), board, lambda _: None)
    git, name = store.repos.git(moving.shop), "refs/heads/cardinal/2-say-hello"
    store.repos.write_files(moving.shop, "other", {"x": b"x"}, "Other", actor=alice)
    git.run("update-ref", name, git.branches()["other"])
    other = "cardinal/2-say-hello is in acme/shop with other commits: rename or remove it there"
    assert other in said(number="acme/1")
    assert git.refs()[name] == git.branches()["other"]


def test_a_branch_that_is_not_as_on_the_board_is_said(moving: Moving) -> None:
    git(moving.clone, "branch", "cardinal/1-say-hello", "main")
    assert "has different commits here and on the board: run `cardinal try` once" in moving.move(code=2)


def test_a_wrong_token_is_said_and_shown_nowhere(moving: Moving) -> None:
    assert "GitHub rejects this token" in moving.move(token="forge-user-nobody", code=2)
    assert "GH_TOKEN=$(gh auth token)" in moving.move(token="", code=2)
    left = [path for path in moving.home.rglob("*") if path.is_file() and b"forge-user-" in path.read_bytes()]
    assert left == []
