"""Which repository a card is about, from what stands on it."""

from dataclasses import replace

import pytest

from ledger.events.board import CardConverted, CardMoved
from ledger.events.placement import RepositoryResolved
from ledger.rows.placements import PlacementRow
from ledger.states import CardState, Reason
from rules.card.target_repository import (
    ASKS,
    LOOKING,
    Hints,
    is_shared,
    lines_of,
    problem,
    resolve_target,
)
from rules.errors import PolicyError
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import Say
from rules.policy.model import Policy, parse
from rules.snapshot import Snapshot, say_loss
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, a_loss, a_placement, asks, card, ended, kinds, only, pull, states


def named(repositories: str = 'home: named, labels: {"area:api": acme/api, "area:web": acme/web}') -> Policy:
    columns = "{Tasks: {archetype: inbox}, In Progress: {archetype: execution}}"
    text = (
        f"version: 1\nboard:\n  home: acme/board\n  columns: {columns}\n  repositories: {{{repositories}}}\n"
    )
    return parse(text, home="acme/board")


def hints(
    *labels: str, lines: tuple[str, ...] = (), field: str = "", trusted: bool = True, author: str = "alice"
) -> Hints:
    return Hints(CARD, labels, lines, field, author, trusted)


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        (hints("area:api"), ("acme/api", "label", "area:api")),
        (hints("bug", "Area:API"), ("acme/api", "label", "Area:API")),
        (hints("area:api", lines=("a/b",), field="c/d"), ("acme/api", "label", "area:api")),
        (hints("area:api", lines=("a/b",), trusted=False), ("acme/api", "label", "area:api")),
        (hints(lines=("a/b",), field="c/d"), ("a/b", "line", "Repo: a/b")),
        (hints(field=" c/d "), ("c/d", "field", "c/d")),
        (hints(lines=("bo_acme/d",)), ("bo_acme/d", "line", "Repo: bo_acme/d")),  # a managed user's
        (hints(lines=("a/b",), field="c/d", trusted=False), ("c/d", "field", "c/d")),
    ],
)
def test_label_then_line_then_field_say_it(seen: Hints, wanted: tuple[str, str, str]) -> None:
    assert resolve_target(named(), seen) == RepositoryResolved(CARD, *wanted, "")


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (
            hints(),
            "nothing says it: set the label `area:api` (acme/api), the label `area:web` (acme/web), a line",
        ),
        (hints("area:api", "area:web"), "labels name `area:api` (acme/api) and `area:web` (acme/web)"),
        (hints("area:api", "area:web", lines=("a/b",)), "labels name"),
        (hints(lines=("a/b", "c/d")), "says `Repo: a/b` and `Repo: c/d`: leave only one"),
        (hints(lines=("a/b", "c/d"), field="e/f"), "leave only one"),
        (hints(lines=("a/b",), trusted=False, author="mallory"), "`mallory`, who has no write access"),
        (hints(field="no repository"), "the field Repo says `no repository`, which is not owner/name"),
        (hints(field="a/b/c"), "which is not owner/name"),
    ],
)
def test_what_is_not_clear_is_asked_with_the_choices(seen: Hints, said: str) -> None:
    placed = resolve_target(named(), seen)
    assert (placed.repository, placed.rule) == ("", "none")
    assert placed.problem.startswith(ASKS)
    assert said in placed.problem


def test_two_labels_of_one_repository_agree() -> None:
    policy = named("labels: {one: acme/api, two: ACME/api}")
    assert resolve_target(policy, hints("one", "two")).repository.lower() == "acme/api"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("Repo: acme/api", ("acme/api",)),
        ("Hi\r\n  repo:acme/api  \r\nBye", ("acme/api",)),
        ("Repo: acme/api\nRepo: ACME/API", ("acme/api",)),
        ("Repo: a/b\n\nRepo: c/d", ("a/b", "c/d")),
        ("> Repo: acme/api", ()),
        ("    Repo: acme/api", ()),
        ("\tRepo: acme/api", ()),
        ("```\nRepo: acme/api\n```", ()),
        ("~~~~\n```\nRepo: a/b\n~~~\nRepo: a/b\n~~~~\nRepo: c/d", ("c/d",)),
        ("```\nRepo: a/b", ()),
        ("`Repo: acme/api`", ()),
        ("- Repo: acme/api", ()),
        ("Repo: acme/api please", ()),
        ("See Repo: acme/api", ()),
        ("Repo: acme", ()),
        ("Repo: acme/api/x", ()),
        ("Repo: ../api", ()),
        ("Repo: https://github.com/acme/api", ()),
        ("Repo: acme/\u0430pi", ()),
        ("Repo: -acme/api", ()),
    ],
)
def test_a_line_of_its_own_names_a_repository(body: str, wanted: tuple[str, ...]) -> None:
    assert lines_of(body) == wanted


@pytest.mark.parametrize(
    ("repositories", "repository", "shared"),
    [
        ("home: named", "acme/board", True),
        ("home: named", "ACME/Board", True),
        ("home: named", "acme/shop", False),
        ("home: named", None, False),
        ("home: own, labels: {x: a/b}", "acme/board", False),
        ("labels: {x: a/b}", "acme/board", True),
        ("labels: {}", "acme/board", False),
    ],
)
def test_only_the_homes_issues_name_another_and_only_where_the_policy_says_so(
    repositories: str, repository: str | None, shared: bool
) -> None:
    assert is_shared(named(repositories), repository) is shared


def test_a_board_without_a_home_cannot_have_its_issues_name_another() -> None:
    text = "version: 1\nboard: {columns: {A: {archetype: inbox}}, repositories: {home: named}}\n"
    with pytest.raises(PolicyError, match=r"needs board\.home"):
        parse(text, home=None)


UNCLEAR = a_placement("", f"{ASKS}nothing says it")
ASKED = Reason.REPOSITORY_UNCLEAR
MOVED = a_placement("acme/web")


@pytest.mark.parametrize(("target", "worked_in"), [(UNCLEAR, ""), (MOVED, "acme/api")])
@pytest.mark.parametrize("command", ["fix", "investigate", "retry"])
def test_no_command_starts_a_run_where_it_is_not_clear(
    target: PlacementRow, worked_in: str, command: str
) -> None:
    assert "which repository? " in told(command, card(target=target, worked_in=worked_in, run=ended()))


def test_a_card_that_enters_asks_in_a_comment_and_is_blocked() -> None:
    snapshot = card(target=UNCLEAR, state=CardState.QUEUED, reason=ASKED)
    intents = asks(snapshot, RepositoryResolved(CARD, "", "none", "", UNCLEAR.problem))
    assert only(intents, ChangeCardState).after is CardState.BLOCKED
    assert only(intents, Say).text.startswith("Which repository? nothing says it.")
    assert not [intent for intent in intents if isinstance(intent, QueueRun)]


RESOLVED = RepositoryResolved(CARD, "acme/api", "label", "area:api", "")


@pytest.mark.parametrize(
    ("snapshot", "starts"),
    [
        (card(target=a_placement("acme/api", ""), reason=ASKED, state=CardState.BLOCKED), True),
        (card(target=a_placement("acme/api", ""), because=UNCLEAR.problem, state=CardState.BLOCKED), False),
        (card("Tasks", CardState.DRAFT, target=a_placement("acme/api", ""), reason=ASKED), False),
    ],
)
def test_a_card_that_is_told_its_repository_goes_on_if_it_waited_for_that(
    snapshot: Snapshot, starts: bool
) -> None:
    assert ("QueueRun" in kinds(asks(snapshot, RESOLVED))) is starts


def test_a_label_takes_back_no_reason_but_that_of_reach() -> None:
    target, said = a_placement("acme/api", ""), say_loss(a_loss("acme/web", "archived"))
    blocked = card("Review", CardState.BLOCKED, target=target, because=said, run=ended(), pull=pull())
    assert "ChangeCardState" not in kinds(asks(blocked, RESOLVED))
    assert "ChangeCardState" in kinds(asks(replace(blocked, reason=Reason.OUT_OF_REACH), RESOLVED))


def test_an_open_pull_request_says_where_the_work_is() -> None:
    snapshot = card(target=UNCLEAR, run=ended(), pull=pull(), pending_threads=1)
    assert only(handled("fix", snapshot), QueueRun).kind == "revision"


def test_a_card_that_was_not_looked_at_since_waits_for_that_without_a_word() -> None:
    unseen = card(repository="acme/board", run=None)
    because = problem(named(), unseen)
    assert because.startswith(ASKS)
    intents = asks(unseen, CardConverted(CARD, "I_1", "acme/board", 7), by=named())
    assert states(intents) == [CardState.BLOCKED]
    assert not {"QueueRun", "Say"} & {*kinds(intents)}
    assert problem(named(), card(repository="acme/shop", run=None)) == ""


def test_a_card_that_was_not_looked_at_since_waits_without_a_word_on_its_issue() -> None:
    unseen = card("In Progress", CardState.DRAFT, repository="acme/board")
    intents = asks(unseen, CardMoved(CARD, "Tasks", "In Progress", False), by=named())
    assert "QueueRun" not in kinds(intents)
    assert "Say" not in kinds(intents)
    assert LOOKING in only(intents, ChangeCardState).because
    assert states(intents) == [CardState.BLOCKED]
    assert problem(named(), card(repository="acme/shop")) == ""
