"""Private issues that a public card waits for: nothing that Cardinal writes tells of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.payloads.judging import Exchange
from forge.store.board import Item
from forge.store.models import Issue, Repo
from forge.web.server import Forge
from ledger.events.run import FinalReported
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY
from tests.conftest import COURT
from tests.published.kept import Kept

NAMED = POLICY.replace("  unknown_mover", "  private_issues: named\n  unknown_mover")
SECRET = ("vault", "Zebra", "4711")


class Keeping(Kept):
    """Keeps what the court of all tests judges, too."""

    def note_exchange(self, exchange: Exchange) -> None:
        super().note_exchange(exchange)
        COURT.note_exchange(exchange)

    def writes(self) -> list[str]:
        """Return the bodies of all that Cardinal wrote, as text."""
        exchanges = (
            it for it in self.exchanges if it.method != "GET" and not it.path.endswith("/access_tokens")
        )
        bodies = (json.dumps(json.loads(it.body or b"{}"), ensure_ascii=False) for it in exchanges)
        return [
            body for body in bodies if not body.startswith('{"query": "query') and "\\nquery " not in body
        ]


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch) -> Keeping:
    judge = Keeping()
    monkeypatch.setattr(Forge, "judge", judge)
    return judge


@pytest.fixture
def cardinal(tmp_path: Path, keeping: Keeping) -> Iterator[Cardinal]:
    with opened(tmp_path) as found_cardinal:
        yield found_cardinal


def vault(cardinal: Cardinal) -> Repo:
    store = cardinal.forge.store
    return store.repos.create(store.users.get("acme"), "vault", private=True)


def secret(cardinal: Cardinal, repo: Repo) -> Issue:
    """Open an issue with a number that is nowhere else."""
    repo.next_number = 4711
    return cardinal.forge.store.issues.create(repo, "Zebra key", "", actor=cardinal.person("alice"))


def blocked_by(cardinal: Cardinal, item: Item, issue: Issue) -> None:
    alice, links = cardinal.person("alice"), cardinal.forge.store.links
    links.add_blocked_by(issue_of(item), issue, actor=alice)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()


def test_no_write_names_a_private_issue_of_another_repository(cardinal: Cardinal, keeping: Keeping) -> None:
    store, alice = cardinal.forge.store, cardinal.person("alice")
    issue, item = secret(cardinal, vault(cardinal)), cardinal.new("Ship it")
    blocked_by(cardinal, item, issue)
    assert (
        cardinal.card(item).because == "waiting for an issue in another repository: it starts on its own then"
    )
    cardinal.say(item, "/cardinal explain")
    store.issues.set_state(issue, "closed", reason="not_planned", actor=alice)
    cardinal.catch_up()
    cardinal.comment(item, "an issue in another repository, closed as not planned")
    third = cardinal.new("Third")
    store.links.add_blocked_by(issue, issue_of(third), actor=alice)
    store.projects.add(cardinal.project, issue, actor=alice)
    store.links.add_blocked_by(issue_of(third), issue_of(item), actor=alice)
    cardinal.catch_up()
    store.issues.set_state(issue, "open", actor=alice)
    cardinal.catch_up()
    way = f"(#{issue_of(item).number} → an issue in another repository → #{issue_of(third).number} → "
    cardinal.comment(item, "in a circle", way)
    writes = keeping.writes()
    assert any("waiting for an issue" in body for body in writes)
    assert not [body for body in writes for word in SECRET if word.casefold() in body.casefold()]


def test_it_is_named_where_the_policy_says_so(cardinal: Cardinal) -> None:
    cardinal.set_policy(NAMED)
    item = cardinal.new("Ship it")
    blocked_by(cardinal, item, secret(cardinal, vault(cardinal)))
    cardinal.comment(item, "waiting for acme/vault#4711 (Zebra key)")


def test_it_is_named_as_long_as_its_repository_is_public(cardinal: Cardinal) -> None:
    repo, item = vault(cardinal), cardinal.new("Ship it")
    blocked_by(cardinal, item, secret(cardinal, repo))
    for private, named in ((False, True), (True, False)):
        cardinal.forge.store.access.set_private(repo, private, actor=cardinal.person("alice"))
        cardinal.clock.forward(11 * 60)
        cardinal.sweep()
        cardinal.catch_up()
        assert ("acme/vault#4711 (Zebra key)" in cardinal.card(item).because) is named


@pytest.mark.parametrize("named", [False, True])
def test_an_agent_reads_the_report_of_a_private_issue_only_where_the_policy_says_so(
    cardinal: Cardinal, named: bool
) -> None:
    store, alice = cardinal.forge.store, cardinal.person("alice")
    first = cardinal.new("Zebra", column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(first).run_id
    cardinal.begin(run_id)
    cardinal.write(run_id, FinalReported(run_id, "Made three tables.", (), (), ()))
    cardinal.finish(run_id, files={"t.sql": b"x\n"})
    store.access.set_private(cardinal.repo, True, actor=alice)
    if named:
        cardinal.set_policy(NAMED)
    issue = store.issues.create(cardinal.home_repo, "Keys", "Please.", actor=alice)
    item = store.projects.add(cardinal.project, issue, actor=alice)
    store.links.add_sub_issue(issue_of(first), issue, actor=alice)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    briefing = cardinal.claimed(item)[0].briefing.text
    assert ("Made three tables." in briefing, "acme/shop" in briefing) == (named, named)
