"""From a drag to the first comment: over the webhook, the queues, the rules and the outbox to the forge."""

import json
import time
from collections.abc import Callable, Iterator

from forge.demo.launch import Scene
from forge.demo.people import Team, wait_for
from tests.bench.figures import Figure, percentile, say
from tests.bench.world import running

DRAGS, FEW_DRAGS = 32, 1
EVERY_S = 3.0  # a drag costs three comments and the like; GitHub allows 80 a minute, and Cardinal keeps to it
POLL_S = 0.01  # how finely the first comment is seen
PATIENCE_S = 60
BOT = "cardinal[bot]"


def measure(*, quick: bool) -> Iterator[Figure]:
    """Drag cards one after the other; each waits for the last one's plan, so that no run is in its way."""
    with running() as scene:
        team, count = scene.team, FEW_DRAGS if quick else DRAGS
        numbers = [
            team.new_card("carol", f"Measured card {n}", "Nothing.", "Tasks") for n in range(count + 1)
        ]
        wait_for("every card is known", lambda: _all_known(scene, numbers), limit_s=PATIENCE_S)
        _dragged(team, numbers[0])  # the first one pays what happens once: labels, the board's fields
        comments, plans = [], []
        for number in numbers[1:]:
            first_s, plan_s = _dragged(team, number)
            time.sleep(max(0.0, EVERY_S - plan_s))
            comments.append(first_s)
            plans.append(plan_s)
            say(f"  drag {len(comments)} of {count}: comment {first_s * 1000:.0f} ms, plan {plan_s:.2f} s")
        note = f"{count} drags; seen by asking the forge every {POLL_S * 1000:.0f} ms"
        yield Figure("drag_to_first_comment_p50", percentile(comments, 0.5), "s", 0.5, note, raw="raw_rq_job")
        yield Figure("drag_to_first_comment_p95", percentile(comments, 0.95), "s", 1.0, note)
        yield Figure("drag_to_first_comment_worst", max(comments), "s")
        yield Figure("drag_to_plan_p50", percentile(plans, 0.5), "s", note="with the scripted agent")
        yield from _forge_itself(team, numbers[0])


def _all_known(scene: Scene, numbers: list[int]) -> str | None:
    boards = json.loads(scene.command("board", "--json", "--limit", "1000").stdout or "[]")
    found = {card["number"] for board in boards for column in board["columns"] for card in column["listed"]}
    return f"{len(numbers)} cards" if found.issuperset(numbers) else None


def _dragged(team: Team, number: int) -> tuple[float, float]:
    """Return the seconds from the drag to Cardinal's first comment and to its plan."""
    start = time.perf_counter()
    team.drag("alice", number, "In Progress")
    first_s = _until(start, lambda: any(comment["user"]["login"] == BOT for comment in team.comments(number)))
    plan_s = _until(start, lambda: any("Plan of run" in comment["body"] for comment in team.comments(number)))
    return first_s, plan_s


def _until(start: float, seen: Callable[[], bool]) -> float:
    while not seen():
        if time.perf_counter() - start > PATIENCE_S:
            raise TimeoutError(f"nothing was seen within {PATIENCE_S} s")
        time.sleep(POLL_S)
    return time.perf_counter() - start


def _forge_itself(team: Team, number: int) -> Iterator[Figure]:
    asked: dict[str, Callable[[], object]] = {
        "forge_reads_comments": lambda: team.comments(number),
        "forge_takes_comment": lambda: team.say("bob", number, "Only measured."),
    }
    for name, ask in asked.items():
        took = []
        for _ in range(20):
            start = time.perf_counter()
            ask()
            took.append((time.perf_counter() - start) * 1000)
        yield Figure(
            f"{name}_p50", percentile(took, 0.5), "ms", note="the forge's own share, in what is above"
        )
