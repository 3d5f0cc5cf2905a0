"""The publisher dies between GitHub's answer and its own commit: it is done, and Cardinal does not know."""

from collections.abc import Callable

from tests.chaos.cardinal import Cardinal
from tests.chaos.watch import STORY_S, Blow, log_end, published_since
from tests.waiting import until

HOLD_S = 60.0
PUBLISHER = "publish-1"
# What is written, by the key of the outbox entry: how the request is known that GitHub's answer is held of.
COMMENTS, PULLS = r"/issues/\d+/comments$", r"/pulls$"
WRITES: dict[str, tuple[str, str, str]] = {
    "say:": ("POST", COMMENTS, "cardinal:say:"),
    "plan:r1:1": ("POST", COMMENTS, "cardinal:plan:r1:1:"),
    "question:r1-q1": ("POST", COMMENTS, "cardinal:question:r1-q1:"),
    "report:r1": ("POST", COMMENTS, "cardinal:report:r1:"),
    "pull:": ("POST", PULLS, "cardinal/"),
    "run:r2": ("POST", COMMENTS, "cardinal:run:r2:"),
    "thread:r2": ("POST", r"/pulls/\d+/comments$", "in_reply_to"),
    "merge:": ("PUT", r"/pulls/\d+/merge$", ""),
    "move:": ("POST", "/graphql$", "mutation MoveCard"),
}


def answer_held(key: str) -> Blow:
    """Return the blow: the write of `key` is done on GitHub, its answer held, and the publisher killed."""
    method, path, body = WRITES[key]

    def arm(cardinal: Cardinal) -> None:
        fault = {"method": method, "path": path, "body": body, "after": True, "hold_s": HOLD_S}
        cardinal.faults(api=[fault])
        until(lambda: cardinal.holding() == 1, f"the answer to {key} is held", STORY_S)

    def strike(cardinal: Cardinal) -> Callable[[], object]:
        seq = log_end(cardinal)
        cardinal.kill(PUBLISHER)
        cardinal.end_faults()
        return lambda: published_since(cardinal, seq, key)

    return Blow("publisher", f"{key.rstrip(':')}: done on GitHub, not settled", strike, arm)
