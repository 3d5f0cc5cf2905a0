"""An agent attaches texts to its run: small, few, without secrets, and not in the log of events."""

import json

from ledger.events.turn import BoardToolCalled
from ledger.states import Ending
from runner.agents.board_tools import ATTACHED_BYTES, BadCall, check_call, offer_tools
from runner.artifacts.store import store_of
from tests.runner.session.test_board_calls import RUN, call, effect, history
from tests.runner.world import World, limited

PLAN = [{"plan": {"summary": "Measure.", "steps": ["Measure"]}}]
KEY = "AKIA" + "Q7XJ2M4PLWN3RZTB"


def called(number: int, tool: str = "attach") -> BoardToolCalled:
    return BoardToolCalled(RUN, "s1", f"a{number}", tool, '{"name": "a.txt"}')


def test_the_text_is_for_the_store_and_the_event_has_its_name_only() -> None:
    done = effect(call("attach", name="a\n/b.csv", content="1;2"), history())
    assert done.attaches is not None
    assert done.attaches.content == "1;2"
    assert [json.loads(event.body) for event in done.events] == [{"name": "a /b.csv"}]  # type: ignore[attr-defined]


def test_the_eleventh_file_is_refused_whatever_was_kept_of_the_others() -> None:
    nine = [called(number) for number in range(9)]
    logs = [called(number, "note") for number in range(20, 40)]
    assert effect(call("attach", name="a", content="b"), history(*nine, *logs)).attaches is not None
    done = effect(call("attach", name="a", content="b"), history(*nine, called(10)))
    assert "10 files already" in str(done.reply["error"])
    assert (done.events, done.attaches) == ((), None)


def test_a_text_over_the_cap_is_refused_and_not_cut() -> None:
    most = "é" * (ATTACHED_BYTES // 2)
    assert effect(call("attach", name="a", content=most), history()).attaches is not None
    done = effect(call("attach", name="a", content=most + "x"), history())
    assert "attach what matters of it" in str(done.reply["error"])
    assert isinstance(check_call("c1", "attach", {"name": "a", "content": ""}), BadCall)


def test_a_text_that_grows_as_secrets_are_taken_out_is_kept_all_the_same() -> None:
    hostile = "://:abc@\n" * (ATTACHED_BYTES // 9)
    done = effect(call("attach", name="a", content=hostile), history())
    assert done.attaches is not None
    assert len(done.attaches.content) > ATTACHED_BYTES


def test_only_an_agent_that_works_attaches() -> None:
    done = effect(call("attach", name="a", content="b"), history(), planning=True)
    assert "for the plan only" in str(done.reply["error"])
    assert "attach" in offer_tools(read_only=False, threads=False)
    assert "attach" not in offer_tools(read_only=True, threads=False)
    assert "attach" not in offer_tools(read_only=False, threads=False, investigates=True)


def attaching(*files: tuple[str, str]) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = [{"attach": {"name": name, "content": text}} for name, text in files]
    return [*steps, {"finish": {"done": "Nothing to do.", "nothing_to_do": True}}]


def test_what_is_attached_is_in_the_store_redacted_and_by_kind(world: World) -> None:
    files = (("log.csv", f"key={KEY}\n"), ("look.HTML", "<b>"))
    world.scenario(plan=PLAN, work=attaching(*files, ("log.csv", f"key={KEY}\n")))
    spec = world.spec()
    ended = world.run(spec)
    assert world.ended().ending is Ending.SUCCEEDED, ended
    found = {one.name: one for one in world.of("ArtifactKept") if one.kind in ("file", "page")}
    assert {name: one.kind for name, one in found.items()} == {"log.csv": "file", "look.HTML": "page"}
    raw = store_of(spec.paths).read(found["log.csv"].digest)
    assert raw is not None
    assert KEY.encode() not in raw
    assert raw.startswith(b"key=")


def test_what_does_not_fit_the_runs_share_is_told_to_the_agent_and_named(world: World) -> None:
    world.scenario(plan=PLAN, work=attaching(("big.txt", "x" * 20_000)))
    world.run(world.spec(limits=limited(kept_bytes=15_000)))
    assert [(one.name, one.reason) for one in world.of("ArtifactDropped")] == [("big.txt", "share")]
