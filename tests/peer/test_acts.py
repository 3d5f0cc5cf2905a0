"""What Cardinal does outward, by its own publisher, on both sides: all acts that need no GraphQL."""

from bot.outbox import handlers, publisher
from bot.render.markdown.marker import marker_of
from ledger.events.board import CardArchived, CardMoved
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import BranchDeleted, PullChanged, PullOpened
from ledger.events.run import (
    BranchPushed,
    FinalReported,
    PlanApproved,
    QuestionAnswered,
    QuestionAsked,
    ValidationEnded,
)
from ledger.ids import CardId, QuestionId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.states import PullState
from rules.intents.outbound import (
    ClosePull,
    DeleteBranch,
    Intent,
    MergePull,
    OpenPull,
    PostPlan,
    PostQuestion,
    PostReport,
    ReportPolicy,
    Say,
    UntickBoxes,
    UpdatePull,
    WriteRunComment,
)
from tests.ledger.claims import claim_next
from tests.peer.beside import BOARD, BRANCH, CARD, RUN, Cardinal
from tests.peer.side import ADMIN

ASKED = QuestionId("r1-q1")


def die_after(cardinal: Cardinal, intent: Intent) -> None:
    """Let a publisher carry the intent out and die before it can say so; its claim runs out."""
    engine, now = cardinal.services.engine, cardinal.clock()
    with event_store.writing(engine) as db:
        outbox.put(db, handlers.draft(intent, now, None), now)
    entry = claim_next(engine, "github", lease_s=publisher.CLAIM_S["github"], holder="dead")
    assert entry is not None
    handlers.ACTS.load(entry.act).carry_out(cardinal.services.context, intent, entry)
    cardinal.clock.forward(publisher.CLAIM_S["github"] + 1)


def with_pull(cardinal: Cardinal) -> tuple[int, str]:
    """Let the card have a pull request that may be merged; return its number and head."""
    cardinal.know_run()
    head = cardinal.side.write(cardinal.repository, BRANCH)
    asked = {"title": "Totals", "head": BRANCH, "base": "main", "draft": False}
    pull = cardinal.services.hub.rest("POST", f"/repos/{cardinal.repository}/pulls", body=asked).body
    number = int(pull["number"])
    cardinal.past(PullOpened(CARD, cardinal.repository, number, pull["node_id"], BRANCH, head, False))
    cardinal.past(ValidationEnded(RUN, 1, "full", True, head, "b" * 40, "local", clean=True))
    return number, head


def test_a_comment_is_said_once_and_carries_its_marker(cardinal: Cardinal) -> None:
    assert cardinal.do(Say(CARD, "test", "Hello.")).settled == 1
    (body,) = cardinal.comments()
    assert body.startswith("Hello.")
    marker = marker_of(body)
    assert marker is not None
    assert marker.key == handlers.key(Say(CARD, "test", "Hello."))


def test_a_publisher_that_died_after_it_wrote_does_not_write_twice(cardinal: Cardinal) -> None:
    die_after(cardinal, Say(CARD, "test", "Hello."))
    assert len(cardinal.comments()) == 1
    counts = cardinal.publish()
    assert (counts.settled, counts.postponed, counts.given_up) == (1, 0, 0)
    assert len(cardinal.comments()) == 1


def test_the_runs_comment_is_edited_in_place(cardinal: Cardinal) -> None:
    cardinal.know_run()
    cardinal.do(WriteRunComment(CARD, RUN))
    cardinal.past.planned()
    cardinal.clock.forward(60)
    cardinal.do(WriteRunComment(CARD, RUN))
    (body,) = cardinal.comments()
    assert "approve its plan" in body


def test_a_plan_is_posted_and_settled(cardinal: Cardinal) -> None:
    cardinal.know_run()
    cardinal.past.planned("Write a test", "Fix the sum")
    cardinal.do(PostPlan(CARD, RUN, 1))
    assert "Fix the sum" in cardinal.comments()[0]
    cardinal.past(PlanApproved(RUN, 1, ADMIN))
    cardinal.do(PostPlan(CARD, RUN, 1))
    (body,) = cardinal.comments()
    assert ADMIN in body
    assert "- [ ]" not in body


def test_a_question_is_posted_and_settled(cardinal: Cardinal) -> None:
    cardinal.know_run()
    cardinal.past(QuestionAsked(RUN, ASKED, "agent", "Which one?", ("This", "That")))
    cardinal.do(PostQuestion(CARD, RUN, ASKED))
    assert "Which one?" in cardinal.comments()[0]
    cardinal.past(QuestionAnswered(RUN, ASKED, ADMIN, "That"))
    cardinal.do(PostQuestion(CARD, RUN, ASKED))
    (body,) = cardinal.comments()
    assert "That" in body
    assert ADMIN in body


def test_ticked_boxes_are_taken_out_again(cardinal: Cardinal) -> None:
    cardinal.know_run()
    cardinal.past.planned()
    cardinal.do(PostPlan(CARD, RUN, 1))
    root = f"/repos/{cardinal.repository}/issues"
    made = cardinal.side.person(ADMIN, "GET", f"{root}/{cardinal.number}/comments")[0]
    assert "- [ ]" in made["body"]
    ticked = made["body"].replace("- [ ]", "- [x]")
    cardinal.side.person(ADMIN, "PATCH", f"{root}/comments/{made['id']}", {"body": ticked})
    cardinal.do(UntickBoxes(CARD, "issue", made["id"]))
    assert cardinal.comments() == [made["body"]]


def test_a_report_is_posted_and_the_pull_request_tells_it_too(cardinal: Cardinal) -> None:
    number, head = with_pull(cardinal)
    cardinal.past(BranchPushed(RUN, BRANCH, head), FinalReported(RUN, "Totals add up.", (), (), ()))
    assert cardinal.do(PostReport(CARD, RUN), UpdatePull(CARD)).given_up == 0
    assert any("Totals add up." in body for body in cardinal.comments())
    pull = cardinal.side.person(ADMIN, "GET", f"/repos/{cardinal.repository}/pulls/{number}")
    assert "Totals add up." in pull["body"]


def test_a_draft_is_opened_once_even_by_a_publisher_that_died(cardinal: Cardinal) -> None:
    cardinal.know_run()
    head = cardinal.side.write(cardinal.repository, BRANCH)
    die_after(cardinal, OpenPull(CARD, RUN))
    assert cardinal.publish().settled == 1
    found = cardinal.side.person(ADMIN, "GET", f"/repos/{cardinal.repository}/pulls")
    assert [(one["draft"], one["head"]["ref"]) for one in found] == [(True, BRANCH)]
    assert cardinal.events(PullOpened)[0].head == head


def test_a_merge_is_squashed_and_the_branch_deleted(cardinal: Cardinal) -> None:
    number, head = with_pull(cardinal)
    cardinal.past(CardMoved(CARD, "In Progress", "Done", by_cardinal=False))
    assert cardinal.do(MergePull(CARD, "squash", head), DeleteBranch(CARD, BRANCH)).given_up == 0
    assert cardinal.events(PullChanged) == [PullChanged(CARD, number, PullState.MERGED, False, head)]
    assert cardinal.events(BranchDeleted) == [BranchDeleted(CARD, BRANCH)]
    path = f"/repos/{cardinal.repository}/commits/{cardinal.side.head(cardinal.repository)}"
    message = cardinal.side.person(ADMIN, "GET", path)["commit"]["message"]
    card = f"{cardinal.repository}#{cardinal.number}"
    title, closes, trailers = message.split("\n\n")
    assert (title, closes) == (f"Totals are wrong (#{number})", f"Closes #{cardinal.number}")
    assert trailers.startswith(f"Cardinal-Card: {card}\nCo-authored-by: ")


def test_a_merge_of_another_head_is_given_up_with_what_to_do(cardinal: Cardinal) -> None:
    number, _ = with_pull(cardinal)
    cardinal.past(CardMoved(CARD, "In Progress", "Done", by_cardinal=False))
    other = cardinal.side.head(cardinal.repository)
    cardinal.past(ValidationEnded(RUN, 1, "full", True, other, "b" * 40, "local", clean=True))
    assert cardinal.do(MergePull(CARD, "squash", other)).given_up == 1
    (given_up,) = cardinal.events(EntryGivenUp)
    assert given_up.because.startswith((f"#{number} changed", f"GitHub does not merge #{number}"))
    assert given_up.because.endswith("drag the card here again")


def test_a_pull_request_is_closed_and_says_why(cardinal: Cardinal) -> None:
    number, _ = with_pull(cardinal)
    cardinal.past(CardArchived(CARD, "archived"))
    cardinal.do(ClosePull(CARD, "the card was archived"))
    assert "the card was archived" in cardinal.comments(number)[0]
    pull = cardinal.side.person(ADMIN, "GET", f"/repos/{cardinal.repository}/pulls/{number}")
    assert pull["state"] == "closed"


def test_the_policys_check_stands_on_its_commit_once(cardinal: Cardinal) -> None:
    commit = cardinal.side.head(cardinal.repository)
    die_after(cardinal, ReportPolicy(CardId(BOARD), commit))
    assert cardinal.publish().settled == 1
    path = f"/repos/{cardinal.repository}/commits/{commit}/check-runs"
    found = cardinal.services.hub.rest("GET", path).body["check_runs"]
    assert [(one["name"], one["conclusion"]) for one in found] == [("cardinal/policy", "success")]
