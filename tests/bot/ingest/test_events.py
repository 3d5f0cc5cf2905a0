"""What each GitHub event says, and that nothing which GitHub or an attacker sends can say more than that."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.ingest import events, facts
from bot.ingest.events.issues import IssueLabeled
from bot.ingest.events.merge_group import GroupMoved
from bot.ingest.events.workflow_run import WorkflowFailed
from bot.ingest.facts import Fact
from ledger.ids import BoardId, CardId
from ledger.queue.change_reports import About
from ledger.queue.refresh_requests import Move
from tests.bot.ingest.samples import (
    ALICE,
    AUTOMATION,
    BOB,
    BOT,
    BOT_ID,
    COMMIT,
    DELIVERIES,
    TICKED,
    UNTICKED,
    ZEROS,
    sample,
)

AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
EDITED_AT = datetime(2026, 11, 20, 10, 5, tzinfo=UTC)


def touched(
    by: str, about: About = About.COLUMN, value: str = "", action: str = "edited"
) -> facts.CardTouched:
    change = facts.CardChange(by, about, value, AT)
    return facts.CardTouched(CardId("PVTI_1"), BoardId("PVT_1"), "I_1", action, change)


LABELED = facts.CardChange("alice", About.LABEL, "bug", AT)
SAID = facts.CommentWritten("acme/shop", 7, 21, "issue", "alice", 1, "/cardinal approve", AT)
TICK = facts.BoxTicked("acme/shop", 7, 21, "issue", ("approve",), "bob", 2, EDITED_AT)
PULL = facts.PullRequestRead(
    "acme/shop",
    8,
    "PR_8",
    "open",
    draft=True,
    head="a" * 40,
    branch="cardinal/7-prices",
    merged=False,
    by="alice",
    at=AT,
)
REVIEWED = facts.Reviewed("acme/shop", 8, 31, "bob", 2, "changes_requested", "Two things.")
PUSHED = facts.Pushed("acme/shop", "refs/heads/main", "c" * 40, "b" * 40, "main", touches_policy=False)
PUSHED_POLICY = facts.Pushed("acme/shop", "refs/heads/main", "c" * 40, "b" * 40, "main", touches_policy=True)
TICKING = {
    "action": "edited",
    "comment__user": BOT,
    "comment__body": TICKED,
    "changes__body__from": UNTICKED,
    "sender": BOB,
}
POLICY_COMMIT = COMMIT | {"removed": [".github/cardinal.yml"]}

UNSAID = facts.CommentAltered("acme/shop", 7, 21, "issue", "deleted", "alice", 1)
CHECKED = facts.ChecksMoved("acme/shop", "a" * 40)
EDITED = replace(UNSAID, how="edited", old_text="before", new_text="/cardinal approve")
TICKED_ELSEWHERE = replace(UNSAID, how="edited", by="bob", by_id=2, old_text=UNTICKED, new_text=TICKED)
PRESSING = {
    "action": "requested_action",
    "check_run__app": {"id": 5, "slug": "cardinal"},
    "check_run__external_id": "PVTI_1",
    "requested_action": {"identifier": "retry:r1"},
}
PRESSED = facts.ButtonPressed("acme/shop", 41, 5, "PVTI_1", "retry:r1", "alice", 1)
GROUPED = GroupMoved("acme/shop", 8, "d" * 40, "")
FAILED_RUN = WorkflowFailed(
    "acme/shop",
    "run-9",
    "It failed: https://github.com/acme/shop/actions/runs/9",
    datetime(2026, 11, 21, 3, 10, tzinfo=UTC),
    frozenset({"Nightly", "nightly.yml"}),
    "main",
)
LABELED_ISSUE = IssueLabeled(
    "acme/shop",
    "issue-70",
    "For acme/shop#7, which got the label `bug`.",
    datetime(2026, 11, 20, 10, tzinfo=UTC),
    7,
    "bug",
)
STATUS_SET = {"field_type": "single_select", "field_name": "Status", "from": None, "to": {"name": "Done"}}
CHOSEN = {**STATUS_SET, "to": {"id": "o9", "name": "Done"}}
FACE_CLEARED = {**CHOSEN, "field_name": "Agent", "to": None}
REPO_SET = {"field_type": "text", "field_name": "Repo"}
SAYS: list[tuple[str, dict[str, Any], tuple[Fact, ...]]] = [
    ("projects_v2_item", {}, (touched("alice"),)),
    ("projects_v2_item", {"sender": BOT}, (touched("cardinal[bot]"),)),
    ("projects_v2_item", {"sender": AUTOMATION}, (touched("github-project-automation[bot]"),)),
    ("projects_v2_item", {"sender": BOT, "changes__field_value__field_type": "text"}, ()),
    ("projects_v2_item", {"sender": BOT, "changes__field_value__field_type": "number"}, ()),
    ("projects_v2_item", {"sender": BOT, "changes__field_value": FACE_CLEARED}, ()),
    ("projects_v2_item", {"changes__field_value": FACE_CLEARED}, (touched("alice", About.FIELD, "Agent"),)),
    ("projects_v2_item", {"changes__field_value": STATUS_SET}, (touched("alice", value="Done"),)),
    (
        "projects_v2_item",
        {"changes__field_value": CHOSEN},
        (replace(touched("alice", value="Done"), moved=Move(AT, "o9")),),
    ),
    (
        "projects_v2_item",
        {"changes__field_value": CHOSEN, "sender": BOT},
        (touched("cardinal[bot]", value="Done"),),
    ),
    ("projects_v2_item", {"changes__field_value": REPO_SET}, (touched("alice", About.FIELD, "Repo"),)),
    ("projects_v2_item", {"action": "reordered"}, (touched("alice", action="reordered"),)),
    ("projects_v2_item", {"action": "archived"}, (touched("alice", About.ARCHIVED, action="archived"),)),
    ("projects_v2_item", {"action": "restored"}, (touched("alice", About.RESTORED, action="restored"),)),
    ("issues", {}, (facts.IssueEdited("acme/shop", 7),)),
    (
        "issues",
        {"action": "labeled", "label": {"name": "bug"}, "issue__updated_at": "2026-11-20T10:00:00Z"},
        (facts.IssueEdited("acme/shop", 7, LABELED), LABELED_ISSUE),
    ),
    ("issues", {"action": "pinned"}, ()),
    ("issues", {"action": "closed", "sender": BOT}, (facts.BlockerChanged("acme/shop", 7),)),
    ("issues", {"action": "edited", "sender": BOT}, ()),
    *(
        (
            "issues",
            {"action": action},
            (facts.IssueEdited("acme/shop", 7), facts.BlockerChanged("acme/shop", 7)),
        )
        for action in ("closed", "reopened", "deleted")
    ),
    ("issue_dependencies", {}, (facts.LinksChanged("acme/shop", 7),)),
    ("issue_dependencies", {"sender": BOT}, (facts.LinksChanged("acme/shop", 7),)),
    ("issue_dependencies", {"action": "renamed"}, ()),
    (
        "issue_dependencies",
        {"action": "blocking_removed", "blocked_issue_repo": {"full_name": "acme/other"}},
        (facts.LinksChanged("acme/other", 7),),
    ),
    ("sub_issues", {}, (facts.LinksChanged("acme/shop", 7),)),
    ("sub_issues", {"action": "other"}, ()),
    (
        "sub_issues",
        {"action": "sub_issue_removed", "sub_issue_repo": {"full_name": "acme/other"}},
        (facts.LinksChanged("acme/other", 7),),
    ),
    ("issue_comment", {}, (SAID,)),
    (
        "issue_comment",
        {"issue__pull_request": {"url": "x"}},
        (facts.CommentWritten("acme/shop", 7, 21, "pull", "alice", 1, "/cardinal approve", AT),),
    ),
    ("issue_comment", {"comment__user": BOT, "sender": BOT}, ()),
    ("issue_comment", {"sender": BOB}, ()),
    ("issue_comment", {"action": "deleted"}, (UNSAID,)),
    ("issue_comment", {"action": "deleted", "comment__user": BOT}, ()),
    (
        "issue_comment",
        {"action": "edited", "changes__body__from": "before"},
        (EDITED,),
    ),
    ("issue_comment", {"action": "edited", "changes": {}}, ()),
    ("issue_comment", TICKING, (TICK,)),
    ("issue_comment", TICKING | {"sender": BOT}, ()),
    ("issue_comment", TICKING | {"comment__user": BOB}, (TICKED_ELSEWHERE,)),
    ("issue_comment", TICKING | {"comment__user": AUTOMATION}, (TICKED_ELSEWHERE,)),
    ("issue_comment", TICKING | {"comment__body": UNTICKED}, ()),
    ("issue_comment", TICKING | {"changes": {}}, ()),
    ("pull_request", {}, (PULL,)),
    ("pull_request", {"sender": BOT}, (replace(PULL, by="cardinal[bot]", echo=True),)),
    ("pull_request", {"action": "labeled"}, ()),
    ("pull_request", {"action": "closed", "sender": BOT}, (replace(PULL, by="cardinal[bot]"),)),
    (
        "pull_request",
        {"action": "dequeued", "reason": "CI_FAILURE"},
        (facts.MergeLeft("acme/shop", 8, "CI_FAILURE"),),
    ),
    ("pull_request", {"action": "auto_merge_disabled"}, (facts.MergeLeft("acme/shop", 8, ""),)),
    (
        "pull_request",
        {"action": "review_requested", "requested_reviewer": {"login": "bob"}},
        (facts.ReviewWanted("acme/shop", 8, "bob", PULL.by),),
    ),
    (
        "pull_request",
        {"action": "review_requested", "requested_team": {"slug": "core"}},
        (facts.ReviewWanted("acme/shop", 8, "core", PULL.by),),
    ),
    ("pull_request", {"action": "review_requested", "sender": BOT}, ()),
    ("pull_request_review", {}, (REVIEWED,)),
    ("pull_request_review", {"review__state": "CHANGES_REQUESTED"}, (REVIEWED,)),
    ("pull_request_review", {"action": "dismissed"}, (facts.ReviewTakenBack("acme/shop", 8, 31),)),
    ("pull_request_review", {"action": "edited"}, ()),
    ("pull_request_review", {"sender": BOT}, ()),
    (
        "pull_request_review_comment",
        {},
        (facts.CommentWritten("acme/shop", 8, 21, "review", "bob", 2, "Why?", AT, review_id=31),),
    ),
    ("pull_request_review_comment", {"comment__user": BOT, "sender": BOT}, ()),
    ("push", {}, (PUSHED,)),
    ("push", {"commits": [COMMIT, POLICY_COMMIT]}, (PUSHED_POLICY,)),
    ("push", {"forced": True}, (PUSHED_POLICY,)),
    ("push", {"commits": []}, (PUSHED_POLICY,)),
    ("push", {"sender": BOT, "commits": [POLICY_COMMIT]}, (PUSHED_POLICY,)),
    ("push", {"sender": BOT, "ref": "refs/heads/cardinal/7-prices"}, ()),
    (
        "push",
        {"ref": "refs/heads/other", "commits": [POLICY_COMMIT], "after": ZEROS},
        (facts.Pushed("acme/shop", "refs/heads/other", "c" * 40, ZEROS, "main", touches_policy=True),),
    ),
    *((event, {}, (CHECKED,)) for event in ("check_run", "check_suite", "status")),
    *((event, {"sender": BOT}, ()) for event in ("check_run", "check_suite", "status")),
    ("check_run", {"action": "created"}, ()),
    ("check_run", PRESSING, (PRESSED,)),
    ("check_run", PRESSING | {"sender": BOT}, ()),
    ("check_run", PRESSING | {"check_run__app": None}, (replace(PRESSED, app_id=0),)),
    ("check_run", {"action": "rerequested"}, ()),
    ("merge_group", {}, (GROUPED,)),
    ("merge_group", {"sender": ALICE}, (GROUPED,)),
    ("merge_group", {"action": "destroyed", "reason": "merged"}, (replace(GROUPED, reason="merged"),)),
    ("merge_group", {"action": "destroyed"}, (replace(GROUPED, reason="dequeued"),)),
    ("merge_group", {"action": "other"}, ()),
    ("merge_group", {"merge_group__head_ref": "refs/heads/main"}, ()),
    (
        "merge_group",
        {"merge_group__head_ref": f"refs/heads/gh-readonly-queue/rel/pr-1-x/pr-12-{'b' * 40}"},
        (replace(GROUPED, number=12),),
    ),
    ("check_suite", {"action": "requested"}, ()),
    ("workflow_run", {}, (FAILED_RUN,)),
    ("workflow_run", {"sender": BOT}, ()),
    ("workflow_run", {"workflow_run__conclusion": "success"}, ()),
    ("workflow_run", {"workflow_run__event": "pull_request"}, ()),
    ("workflow_run", {"workflow_run__head_repository": {"full_name": "mallory/shop"}}, ()),
    ("workflow_run", {"action": "requested"}, ()),
    ("status", {"state": "pending"}, ()),
    ("ping", {}, ()),
    ("installation", {}, (facts.AccessChanged(),)),
    ("installation", {"action": "unsuspend"}, (facts.AccessChanged(),)),
    ("installation_repositories", {}, (facts.AccessChanged(),)),
    ("repository", {}, (facts.AccessChanged(),)),
    ("repository", {"action": "edited"}, ()),
    (
        "repository",
        {"action": "renamed", "changes__repository__name__from": "store"},
        (facts.Renamed("acme/store", "acme/shop"),),
    ),
    (
        "repository",
        {"action": "transferred", "changes__owner__from__user__login": "bob"},
        (facts.Renamed("bob/shop", "acme/shop"),),
    ),
    (
        "repository",
        {"action": "transferred", "changes__owner__from__organization__login": "beta"},
        (facts.Renamed("beta/shop", "acme/shop"),),
    ),
    ("installation_repositories", {"action": "added", "repositories_removed": []}, (facts.AccessChanged(),)),
]


@pytest.mark.parametrize(("event", "changed", "said"), SAYS)
def test_a_delivery_says(event: str, changed: dict[str, Any], said: tuple[Fact, ...]) -> None:
    assert events.read(event, sample(event, **changed), bot_id=BOT_ID) == said


def test_a_merged_pull_request_is_merged_and_not_merely_closed() -> None:
    payload = sample("pull_request", action="closed", pull_request__merged=True, pull_request__state="closed")
    (fact,) = events.read("pull_request", payload, bot_id=BOT_ID)
    assert isinstance(fact, facts.PullRequestRead)
    assert (fact.state, fact.merged) == ("merged", True)


# What Cardinal itself causes is silence, but for five: its own move of a card is read again, for a person
# may have moved on, its own merge may bring another policy, its own links count as anybody's do, and so does
# its own entry into a merge queue. Its own push concerns other cards of the pull request. Nobody sends the
# rest for an App of its own.
HEARD_OF_ITSELF = {
    *("projects_v2_item", "push", "issue_dependencies", "sub_issues", "merge_group", "pull_request"),
    *("ping", "installation", "installation_repositories", "repository"),
}


@pytest.mark.parametrize("event", sorted(set(DELIVERIES) - HEARD_OF_ITSELF))
def test_no_echo_of_cardinals_own_deeds_is_heard(event: str) -> None:
    payload = sample(event, sender=BOT)
    for action in {"created", "edited", "deleted", "opened", "submitted", "completed", payload.get("action")}:
        if event != "issues" or action != "deleted":
            assert events.read(event, payload | {"action": action}, bot_id=BOT_ID) == ()


@pytest.mark.parametrize("action", ["closed", "reopened", "transferred", "deleted"])
def test_of_cardinals_own_closing_only_those_hear_who_wait_for_the_issue(action: str) -> None:
    payload = sample("issues", sender=BOT, action=action)
    assert events.read("issues", payload, bot_id=BOT_ID) == (facts.BlockerChanged("acme/shop", 7),)


def test_every_event_here_has_a_sample() -> None:
    assert set(events.EVENTS.names()) == set(DELIVERIES)


@pytest.mark.parametrize(
    "event", ["star", "", "_payload", "__init__", "../webhook", "issues.x", "os", "Issues", "_comment"]
)
def test_an_event_without_a_module_says_nothing_and_imports_nothing(event: str) -> None:
    assert events.read(event, {"action": "created"}, bot_id=BOT_ID) == ()


def test_a_deleted_account_is_called_ghost() -> None:
    payload = sample("pull_request_review", review__user=None)
    (review,) = events.read("pull_request_review", payload, bot_id=BOT_ID)
    assert isinstance(review, facts.Reviewed)
    assert (review.author, review.author_id) == ("ghost", 0)


def test_text_keeps_right_to_left_and_html_but_loses_what_no_database_takes() -> None:
    payload = sample("issue_comment", comment__body="‮<script>'); DROP TABLE \ud83d x\0y 😀")
    (fact,) = events.read("issue_comment", payload, bot_id=BOT_ID)
    assert isinstance(fact, facts.CommentWritten)
    assert fact.text == "‮<script>'); DROP TABLE � x�y 😀"


WRONG = [
    ("issue_comment", {"comment__id": "21"}, "comment.id"),
    ("issue_comment", {"comment__id": True}, "comment.id"),
    ("issue_comment", {"comment__id": 2**63}, "comment.id"),
    ("issue_comment", {"comment__id": -1}, "comment.id"),
    ("issue_comment", {"comment__body": None}, "comment.body"),
    ("issue_comment", {"comment__created_at": "yesterday"}, "comment.created_at"),
    ("issue_comment", {"issue": 7}, "issue"),
    ("issue_comment", {"comment__user": ALICE | {"login": 1}}, "comment.user.login"),
    ("projects_v2_item", {"projects_v2_item": None}, "projects_v2_item.node_id"),
    ("push", {"commits": ["b"]}, "commits"),
    ("push", {"forced": "yes"}, "forced"),
    ("pull_request", {"pull_request__head": []}, "pull_request.head"),
]


@pytest.mark.parametrize(("event", "changed", "path"), WRONG)
def test_a_field_of_another_shape_is_named(event: str, changed: dict[str, Any], path: str) -> None:
    with pytest.raises(events.UnreadablePayloadError) as caught:
        events.read(event, sample(event, **changed), bot_id=BOT_ID)
    assert caught.value.path.startswith(path)


@pytest.mark.parametrize(
    "event", sorted(set(DELIVERIES) - {"ping", "installation", "installation_repositories"})
)
def test_an_empty_delivery_is_unreadable_or_says_nothing(event: str) -> None:
    try:
        said = events.read(event, {}, bot_id=BOT_ID)
    except events.UnreadablePayloadError:
        return
    assert said == ()


@pytest.mark.parametrize("event", sorted(DELIVERIES))
def test_a_signed_body_says_nothing_under_another_events_name(event: str) -> None:
    body = sample(event)
    if event in {"installation", "repository", "ping"}:  # they only say that something is asked again
        return
    for name in set(events.EVENTS.names()) - {event}:
        with pytest.raises(events.UnreadablePayloadError):
            events.read(name, body, bot_id=BOT_ID)


def test_a_pull_request_that_moved_names_two_commits_as_a_push_does() -> None:
    moved = sample("pull_request", action="synchronize") | {"before": "a" * 40, "after": "b" * 40}
    assert events.read("pull_request", moved, bot_id=BOT_ID)
