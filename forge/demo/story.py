"""The story of one card, from an idea to a merged commit; each step counts only when the forge shows it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from forge.demo.people import REPOSITORY, Json, StoryError
from forge.demo.stage import GATE, Stage

TITLE = "Big baskets get a discount"
BODY = "Marketing wants big baskets to be cheaper. Nobody has said yet how much, or what counts."
# What a colleague changes in a file of the branch, and takes back: path, the agent's text, the colleague's.
PRICE = ("shop/discount.py", "DISCOUNT_PERCENT = 10\n", "DISCOUNT_PERCENT = 5\n")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the team does and what must be seen after it; `play` returns what was seen."""

    name: str
    play: Callable[[Stage], str]


@dataclass(frozen=True, slots=True)
class Seen:
    """A step that was observed, with how long it took in seconds."""

    step: str
    seen: str
    took_s: float


def play(stage: Stage, before: Callable[[str], None] = lambda _: None) -> list[Seen]:
    """Play the whole story; raises StoryError at the first step that is not observed in time.

    `before` is called with each step's name before it is played: the crash tests kill something there.
    """
    observed = []
    for step in STEPS:
        before(step.name)
        start = time.monotonic()
        seen = step.play(stage)
        observed.append(Seen(step.name, seen, round(time.monotonic() - start, 2)))
    return observed


def _idea(stage: Stage) -> str:
    stage.number = stage.team.new_card("carol", TITLE, BODY, "Tasks")
    return stage.sees("the card stands in Tasks", Status="Tasks")


def _planning(stage: Stage) -> str:
    stage.team.drag("carol", stage.number, "Planning")
    return stage.says("the assistant asks", "how much")


def _refine(stage: Stage) -> str:
    stage.team.say(
        "carol", stage.number, "Ten percent off, for baskets of 100.00 and more. Shipping is not part of it."
    )
    return stage.says("the brief is ready", "Ready for execution")


def _queue(stage: Stage) -> str:
    said = stage.team.say("alice", stage.number, "/cardinal stop-all")
    stage.wait("the stop is acknowledged", lambda: stage.reaction(said))
    stage.team.drag("alice", stage.number, "In Progress")
    seen = stage.sees("the card waits and says why", Agent="queued", Progress="stopped")
    stage.team.say("alice", stage.number, "/cardinal resume board")
    return seen


def _plan(stage: Stage) -> str:
    return stage.says("the plan is posted", "Plan of run", "box:approve")


def _redirect(stage: Stage) -> str:
    stage.team.say(
        "alice",
        stage.number,
        "/cardinal redirect Keep the discount out of total(): give it its own function.",
    )
    return stage.says("the new plan is posted", "Plan of run", "revision 2", "box:approve")


def _approve(stage: Stage) -> str:
    plan = stage.comment_with("Plan of run", "revision 2", "box:approve")
    assert plan is not None
    stage.tick("alice", plan, "approve")
    return stage.says("the plan shows who approved it", "Plan of run", "revision 2", "approved by alice")


def _progress(stage: Stage) -> str:
    def poll() -> str | None:
        shown = stage.face("Progress")
        if "discount" in shown.lower():
            return f"Progress: {shown}"
        late = "needs input" in stage.face("Agent")  # on a machine that stood still the face went past it
        observed = stage.comment_with("<!-- cardinal:run:", "Writing the discount") if late else None
        return "the agent asks already; its progress stands in the run's comment" if observed else None

    return stage.wait("progress is on the card's face", poll)


def _question_asked(stage: Stage) -> str:
    seen = stage.says("the agent asks", "has a question")
    stage.sees("the card is loud", Agent="needs input")
    return seen


def _question_answered(stage: Stage) -> str:
    stage.team.say("carol", stage.number, "Round half up, to whole cents.")
    return stage.says("the question shows its answer", "answered by carol")


def _repair(stage: Stage) -> str:
    return stage.says("a failed check and its repair are shown", "passed, after failing")


def _see_draft(stage: Stage) -> str:
    def find_draft() -> str | None:
        for delivery in stage.team.call("alice", "GET", "/_forge/deliveries"):
            if delivery["event"] == "pull_request" and delivery["action"] == "opened":
                pull = delivery["payload"]["pull_request"]
                if pull["draft"] and pull["head"]["ref"].startswith(f"cardinal/{stage.number}-"):
                    stage.pull = pull["number"]
                    return f"#{pull['number']} opened as a draft"
        return None

    return stage.wait("the draft pull request", find_draft)


def _see_report(stage: Stage) -> str:
    seen = stage.says("the final report", "is done", "what to check")
    stage.sees("the card is green", Agent="work complete", PR=f"#{stage.pull}")
    return seen


def _review(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "Review")
    return stage.sees("the card is in review", Agent="in review")


def _changes(stage: Stage) -> str:
    remarks = [
        _remark("shop/discount.py", 6, "Please name the threshold: no bare 10_000 in the code."),
        _remark("tests/test_discount.py", 9, "A basket of exactly 100.00 should be tested, too."),
    ]
    review = {"event": "REQUEST_CHANGES", "body": "Nearly there, two remarks.", "comments": remarks}
    stage.team.call("bob", "POST", f"/repos/{REPOSITORY}/pulls/{stage.pull}/reviews", review)
    return stage.sees("the verdict is on the card", Agent="changes requested")


def _remark(path: str, line: int, text: str) -> Json:
    return {"path": path, "line": line, "side": "RIGHT", "body": text}


def _revise(stage: Stage) -> str:
    before = stage.pull_read()["head"]["sha"]
    stage.team.drag("alice", stage.number, "In Progress")
    stage.sees("the second run works", Run="2")

    def find_push() -> str | None:
        now = stage.pull_read()["head"]["sha"]
        return f"{before[:7]} became {now[:7]} on the same branch" if now != before else None

    seen = stage.wait("new commits on the same branch", find_push)
    stage.sees("the second run is done", Agent="work complete")
    return seen


def _threads(stage: Stage) -> str:
    def find_answers() -> str | None:
        threads = stage.threads()
        replied = [
            thread for thread in threads if len(thread["comments"]["nodes"]) >= 2 and thread["isResolved"]
        ]
        return f"{len(replied)} threads answered and resolved" if len(threads) == len(replied) == 2 else None

    return stage.wait("both threads are answered and resolved", find_answers)


def _break_it(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "Review")
    stage.sees("the card is in review again", Agent="in review")
    before = stage.pull_read()["head"]["sha"]
    stage.to_draft("carol")
    stage.broken = stage.push("carol", *PRICE, "Five percent is enough")
    _gate(stage, before, "success", "passed")  # an older commit's green, which does not count for this one
    proof = ("python3 -m unittest discover", "exit code 1", "FAIL: test_the_cart_subtracts_it", stage.broken)
    return _gate(stage, stage.broken, "failure", *proof)


def _keep_draft(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "QA")
    seen = stage.sees("the card says why", Progress="stays a draft: the checks failed")
    pull = stage.pull_read()
    if not pull["draft"] or pull["merged"]:
        raise StoryError("the red gate keeps the pull request a draft", 0, f"draft: {pull['draft']}")
    return f"#{stage.pull} is a draft; {seen}"


def _mend(stage: Stage) -> str:
    path, ours, theirs = PRICE
    head = stage.push("carol", path, theirs, ours, "Ten percent, as agreed")
    seen = _gate(stage, head, "success", "exit code", head)

    def ready() -> str | None:
        return None if stage.pull_read()["draft"] else f"{seen}; #{stage.pull} left draft"

    observed = stage.wait("the pull request leaves draft", ready)
    if stage.gate(stage.broken)["conclusion"] != "failure":
        raise StoryError("the red commit stays red", 0, str(stage.gate(stage.broken)["conclusion"]))
    return observed


def _gate(stage: Stage, head: str, conclusion: str, *evidence: str) -> str:
    """Wait until the gate's check run on the commit has that conclusion; it must show all the evidence."""

    def find_conclusion() -> str | None:
        run = stage.gate(head)
        if run.get("conclusion") != conclusion:
            return None
        said = run["output"]["summary"]
        missing = [words for words in evidence if words not in said]
        if missing:
            raise StoryError(f"the evidence of {GATE}", 0, f"without {missing}: {said[-800:]}")
        return f"{GATE} on {head[:7]}: {conclusion}, {run['output']['title']}"

    return stage.wait(f"{GATE}: {conclusion}", find_conclusion)


def _accept(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "Review")
    stage.team.call("bob", "POST", f"/repos/{REPOSITORY}/pulls/{stage.pull}/reviews", {"event": "APPROVE"})
    return stage.sees("the approval is on the card", Agent="approved")


def _finish(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "Done")

    def find_merge() -> str | None:
        pull = stage.pull_read()
        refs = stage.team.call("alice", "GET", f"/repos/{REPOSITORY}/branches")
        gone = pull["head"]["ref"] not in [ref["name"] for ref in refs]
        return f"#{stage.pull} merged, {pull['head']['ref']} deleted" if pull["merged"] and gone else None

    seen = stage.wait("merged and the branch deleted", find_merge)
    stage.sees("the card is done", Agent="done")
    return seen


STEPS = (
    Step("an idea becomes a card", _idea),
    Step("planning: the assistant asks", _planning),
    Step("refined: the brief is ready", _refine),
    Step("dragged to In Progress: queued, and says why", _queue),
    Step("the plan is posted", _plan),
    Step("redirected once", _redirect),
    Step("approved by a tick", _approve),
    Step("progress on the card's face", _progress),
    Step("one question", _question_asked),
    Step("answered by a plain reply", _question_answered),
    Step("validation fails once, the agent repairs it", _repair),
    Step("a draft pull request", _see_draft),
    Step("the final report", _see_report),
    Step("dragged to Review", _review),
    Step("changes requested in two threads", _changes),
    Step("dragged back: a second run on the same branch", _revise),
    Step("both threads answered", _threads),
    Step("a colleague's push breaks it: the gate is red", _break_it),
    Step("dragged to QA: the red gate keeps it a draft", _keep_draft),
    Step("mended: the gate is green, and it leaves draft", _mend),
    Step("approved by a review", _accept),
    Step("Done: merged, branch deleted", _finish),
)
