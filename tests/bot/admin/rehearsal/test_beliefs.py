"""A rehearsal finds every belief true on the forge, and names exactly the one that a fault breaks."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from bot.admin.rehearsal.belief import BeliefVerdict
from bot.admin.rehearsal.play import BELIEFS
from bot.admin.rehearsal.stage import RehearsalStage
from tests.bot.admin.rehearsal.conftest import Alice, Rehearsals
from tests.house.source import ROOT

Fault = dict[str, Any]
ALWAYS = 1000
CARD = r"Card\b"
MAX_TOGETHER = 5  # replacements in one answer
STORY = {belief.name for belief in BELIEFS if belief.name.startswith("story: ")}
WHOLE = r"[\s\S]+"
MADE = {"issue", "board"}


def spoil(method: str, path: str, pattern: str, text: str, **more: Any) -> Fault:
    """The true answer, with a pattern of it replaced."""
    return {"method": method, "path": path, "replace": [[pattern, text]], "count": ALWAYS, **more}


def query(name: str, pattern: str, text: str, **more: Any) -> Fault:
    """The same for a GraphQL document."""
    return spoil("POST", "/graphql$", pattern, text, **{"body": rf"(query|mutation) {name}\b", **more})


def hook(pattern: str, text: str) -> Fault:
    """The same for each delivery that is read."""
    return spoil("GET", r"/deliveries/\d+$", pattern, text)


def not_listed(event: str, action: str, also: str = "") -> Fault:
    """Deliveries of this kind look like another kind."""
    kind = rf',\s*"delivered_at":\s*"[^"]*",\s*"duration":\s*[\d.]+,\s*"event":\s*"{event}"'
    return hook(rf'"action":\s*"{action}"(?={kind}){also}', '"action":"gone"')


def refuse(method: str, path: str, status: int = 422, **more: Any) -> Fault:
    return {"method": method, "path": path, "status": status, "count": ALWAYS, **more}


def after(_made: object, fault: Fault) -> Fault:
    """A fault that comes when something was made."""
    return fault


# For each belief a GitHub that does otherwise. A function gets the stage, and makes there what comes before.
FAULTS: dict[str, Fault | list[Fault] | Callable[[RehearsalStage], Fault]] = {
    "issue": spoil("POST", "/issues$", r'"type":\s*"Bot"', '"type":"User"'),
    "numbers": spoil("GET", r"/issues/\d+$", r'"id":\s*\d+', '"id":"x"'),
    "marker": spoil("GET", r"/issues/comments/\d+$", "cardinal-rehearsal", "x"),
    "order of comments": spoil("GET", r"/issues/\d+/comments$", r'"id":\s*\d+', '"id":1'),
    "edit of a comment": spoil(
        "PATCH", r"/issues/comments/\d+$", r'"created_at":\s*"[^"]+"', '"created_at":"2000-01-01T00:00:00Z"'
    ),
    "longest comment": spoil("POST", r"/issues/\d+/comments$", "too long", "odd", body="x{1000}"),
    "label": spoil("POST", "/labels$", "cardinal-rehearsal", "another"),
    "assignee": spoil("POST", "/assignees$", r'"assignees":\s*\[\]', '"assignees":[{"login":"eve"}]'),
    "reaction": refuse("POST", "/reactions$"),
    "stranger": refuse("GET", "/permission$"),
    "locked issue": refuse("PUT", "/lock$", 204),
    "dependency": refuse("POST", "/graphql$", body="mutation AddBlockedBy"),
    "sub-issue": refuse("POST", "/graphql$", body="mutation AddSubIssue"),
    "hourly limit": spoil("GET", r"/issues/\d+$", "$^", "", headers={"X-RateLimit-Resource": "search"}),
    "file at a commit": spoil("GET", "/contents/rehearsal.txt$", r'"base64"', '"none"'),
    "signed commit": spoil("POST", "/git/commits$", r'"verified":\s*true', '"verified":false'),
    "workflow file": refuse("PUT", "/contents/.github", 201),
    "comparison": spoil("GET", "/compare/", r'"behind_by":\s*\d+', '"behind_by":0'),
    "rules of a branch": spoil("GET", "/rules/branches/", WHOLE, "{}"),
    "draft": spoil("POST", "/pulls$", r'"draft":\s*true', '"draft":false'),
    "second pull request": spoil("POST", "/pulls$", "already exists", "is odd"),
    "pull request of a branch": spoil("GET", "/pulls$", WHOLE, "[]"),
    "merge of a draft": refuse("PUT", "/merge$", 409, count=1),
    "end of a draft": spoil("GET", r"/pulls/\d+$", r'"draft":\s*false', '"draft":true'),
    "mergeability": spoil("GET", r"/pulls/\d+$", r'"mergeable":\s*true', '"mergeable":null'),
    "check run": spoil("GET", "/check-runs$", '"cardinal/rehearsal"', '"another"'),
    "line comment": spoil("GET", r"/pulls/\d+/comments$", r'"line":\s*2', '"line":7'),
    "answer to a line comment": spoil(
        "POST", r"/pulls/\d+/comments$", r'"in_reply_to_id":\s*\d+', '"in_reply_to_id":1'
    ),
    "moved head": refuse("PUT", "/merge$", 405, body="0{40}"),
    "merge queue": query("Merging", r'"isInMergeQueue":\s*false', '"isInMergeQueue":true'),
    "merge": spoil("GET", "/branches/.*base$", r'"sha":\s*"[0-9a-f]{40}"', '"sha":"0"'),
    "deleted branch": refuse("GET", "/branches/.*head$", 200),
    "board": query("Board", r'"id":\s*"[^"]*"(,\s*"name":\s*"Done")', r'"id":""\1'),
    "card": lambda stage: after(
        stage.card, query("AddCard", r'"id":\s*"[^"]*"', '"id":"PVTI_another"', count=1)
    ),
    "content of a card": query("Card", r'"state":\s*"OPEN"', '"state":"CLOSED"'),
    "move": lambda stage: after(
        stage.card, query("Card", r'"optionId":\s*"[^"]*"', '"optionId":"another"', count=2)
    ),
    "mover": query("Card", r'("actor":\s*\{[^}]*"login":\s*")[^"]*', r"\1eve"),
    "change of the board": query("Sweep", r'"updatedAt":\s*"[^"]*"', '"updatedAt":"2000-01-01T00:00:00Z"'),
    "filter of the sweep": query("Sweep", '"PVTI_', '"PVTX_'),
    "price of the sweep": [
        query("Sweep", "$^", "", headers={"X-RateLimit-Remaining": str(left)}, count=1)
        for left in range(4500, 0, -100)
    ],
    "archived card": query("Card", r'"isArchived":\s*true', '"isArchived":false'),
    "converted draft": lambda stage: query(
        "Card", r'"type":\s*"ISSUE"', '"type":"PULL_REQUEST"', body=rf'query Card\b.*"{stage.draft_card}"\]'
    ),
    "deleted card": query("Card", '"NOT_FOUND"', '"FORBIDDEN"'),
    "cards of an issue": query("CardsOfIssue", '"PVTI_', '"PVTX_'),
    "five at once": query(
        "Card", r'"optionId":\s*"[^"]*"', '"optionId":""', body=r'query Card\b.*\[("[^"]*", ){4}'
    ),
    "text field": query("Card", r'"text":\s*"acme/throw-away"', '"text":"another"'),
    "closed as not planned": spoil(
        "PATCH", r"/issues/\d+$", r'"state_reason":\s*"not_planned"', '"state_reason":"completed"'
    ),
    "delivery: issue opened": not_listed("issues", "opened"),
    "delivery: comment": not_listed("issue_comment", "created"),
    "delivery: comment edited": hook(r'("changes":\s*\{"body":\s*\{"from":\s*")', r"\1another "),
    "delivery: card made": not_listed("projects_v2_item", "created"),
    "delivery: card moved": hook(r'("from":\s*\{[^}]*"id":\s*")[^"]*', r"\1another"),
    "delivery: card archived": not_listed("projects_v2_item", "archived"),
    "delivery: card restored": not_listed("projects_v2_item", "restored"),
    "delivery: draft converted": not_listed("projects_v2_item", "converted"),
    "delivery: card deleted": not_listed("projects_v2_item", "deleted"),
    "deliveries: five at once": not_listed("projects_v2_item", "edited", r'(?=[\s\S]*"from":\s*null)'),
    "delivery: pull request": not_listed("pull_request", "opened"),
    "delivery: end of a draft": not_listed("pull_request", "ready_for_review"),
    "delivery: review": not_listed("pull_request_review", "submitted"),
    "delivery: merge": not_listed("pull_request", "closed"),
    "delivery: issue closed": not_listed("issues", "closed"),
    "workflow of the board": hook(
        r'("login":\s*"github-project-automation\[bot\]"[\s\S]*?"type":\s*)"Bot"', r'\1"User"'
    ),
    "signature": hook("X-Hub-Signature-256", "X-Hub-Signature"),
    "person: drag": hook(
        r'("event":\s*"projects_v2_item"[\s\S]*"sender":[^}]*alice[\s\S]*?"type":\s*)"User"', r'\1"Bot"'
    ),
    "person: tick": hook(r"- \[x\]", "- [ ]"),
}


def call_of(fault: Fault | list[Fault] | Callable[[RehearsalStage], Fault]) -> str:
    """Return the call that a fault is about: the forge spoils an answer by one fault only."""
    if callable(fault):
        return "query Card, once"
    first = fault[0] if isinstance(fault, list) else fault
    return f"{first['method']} {first['path']} {first.get('body', '')}"


def may_join(fault: Fault | list[Fault] | Callable[[RehearsalStage], Fault], group: list[str]) -> bool:
    """Tell whether the fault can be there beside those: at another call, or as one more replacement."""
    there = [FAULTS[it] for it in group]
    if callable(fault):  # it makes an issue and its card before the faults are there, and spoils cards
        return not MADE & {*group} and not any(callable(it) or CARD in call_of(it) for it in there)
    if any(map(callable, there)) and CARD in call_of(fault):
        return False
    same = [it for it in there if call_of(it) == call_of(fault)]
    of_cards = [it for it in there if CARD in call_of(it)] if CARD in call_of(fault) else []
    if any(it not in same for it in of_cards):
        return False
    return not same or (len(same) < MAX_TOGETHER and all(map(is_plain, (fault, *same))))


def is_plain(fault: object) -> bool:
    return isinstance(fault, dict) and "replace" in fault and "headers" not in fault


def groups() -> list[tuple[str, ...]]:
    """Return all beliefs in a few groups, each with faults that can be there together."""
    made: list[list[str]] = []
    for name, fault in FAULTS.items():
        free = next((group for group in made if may_join(fault, group)), None)
        if free is None:
            made.append([name])
        else:
            free.append(name)
    return [tuple(group) for group in made]


def faults_of(names: tuple[str, ...], stage: RehearsalStage) -> list[Fault]:
    """Return the faults, those of one call as one."""
    made: dict[object, Fault] = {}
    for name in names:
        fault = FAULTS[name]
        made_now = fault(stage) if callable(fault) else fault
        for each in made_now if isinstance(made_now, list) else [made_now]:
            there = made.get(call_of(each)) if is_plain(each) else None
            if there is None:
                made[call_of(each) if is_plain(each) else len(made)] = {**each}
            else:
                there["replace"] = [*there["replace"], *each["replace"]]
    return list(made.values())


@pytest.mark.parametrize(
    "names",
    [
        *(pytest.param(group, id=f"group {n}") for n, group in enumerate(groups())),
        *(pytest.param((name,), id=name, marks=pytest.mark.soak) for name in FAULTS),
    ],
)
def test_a_github_that_does_otherwise_is_told_in_exactly_those_beliefs(
    rehearsals: Rehearsals, names: tuple[str, ...]
) -> None:
    stage = rehearsals.stage(Alice(rehearsals.cardinal))
    _ = stage.mail
    rehearsals.cardinal.forge.store.faults.load({"api": faults_of(names, stage)})
    report = rehearsals.play(stage)
    otherwise = [
        comparison for comparison in report.findings if comparison.verdict is BeliefVerdict.OTHERWISE
    ]
    assert {comparison.name for comparison in otherwise} == set(names), otherwise


def test_each_belief_has_such_a_github() -> None:
    assert {belief.name for belief in BELIEFS} - STORY == set(FAULTS)


def test_each_belief_names_a_file_that_relies_on_it() -> None:
    assert [belief.name for belief in BELIEFS if not (ROOT / belief.used).is_file()] == []


def test_the_forge_does_all_that_is_believed(rehearsals: Rehearsals) -> None:
    report = rehearsals.play(rehearsals.stage(Alice(rehearsals.cardinal)))
    others = {it.name for it in report.findings if it.verdict is not BeliefVerdict.HOLDS}
    assert others == STORY, [it for it in report.findings if it.verdict is not BeliefVerdict.HOLDS]


def test_an_enterprise_server_does_it_too_without_limits(server_rehearsals: Rehearsals) -> None:
    report = server_rehearsals.play(server_rehearsals.stage(Alice(server_rehearsals.cardinal)))
    others = {it.name for it in report.findings if it.verdict is not BeliefVerdict.HOLDS}
    assert others == STORY | {"hourly limit", "price of the sweep"}, report.findings
    assert report.document()["github"] == "Enterprise Server 3.20.1"


def test_the_report_has_no_names_no_texts_and_no_ids(rehearsals: Rehearsals) -> None:
    stage = rehearsals.stage(Alice(rehearsals.cardinal))
    rehearsals.cardinal.forge.store.faults.load({"api": faults_of(("board", "issue"), stage)})
    report = rehearsals.play(stage)
    text = json.dumps(report.document())
    ids = [str(stage.issue["id"]), str(stage.issue["node_id"]), stage.card, stage.board.board_id]
    names = ["acme", "throw-away", "alice", "cardinal[bot]", "Shop board", "In Progress", stage.serial]
    assert [each for each in (*ids, *names) if each in text] == []
