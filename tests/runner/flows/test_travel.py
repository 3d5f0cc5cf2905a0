"""Work travels: parked on one host, it goes on on another with its commits, files and session."""

import dataclasses
import gzip
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, BinaryIO

import pytest

from ledger.events.artifact import TRANSCRIPT
from ledger.events.run import PlanProposed, PlanTicked, Progressed, RunRequeued
from ledger.events.turn import BoardToolCalled, TurnEnded, TurnStarted
from ledger.events.workspace import Checkpointed, WorkspaceRestored, WorkspaceTaken
from ledger.model.run_modes import INVESTIGATE
from ledger.rows.limit_answers import answer_question
from ledger.states import Ending
from runner.agents.contract import Phase
from runner.artifacts import s3
from runner.artifacts.backend import StoreError
from runner.artifacts.folder import FolderStore
from runner.artifacts.store import store_of
from runner.git import credentials
from runner.phases import checkpoint, patience
from runner.run.run_spec import Briefing, HostPaths, RunSpec, StoreSpec
from runner.supervisor import execute_run
from tests.runner.flows.test_hosts import ASK, NEXT, commit, folder, home, uncommitted
from tests.runner.flows.test_kill import die_at, wait_for_its_end
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import CARD, LIMITS, RUN, World
from tests.waiting import until


def on(world: World, spec: RunSpec, host: str) -> RunSpec:
    """Return the specification as a worker of that host gets it; all hosts share a store."""
    return dataclasses.replace(spec, host=host, paths=shared(world, host))


def shared(world: World, host: str) -> HostPaths:
    return dataclasses.replace(home(world, host), store=StoreSpec(str(world.root / "shared")))


def in_repo(world: World, host: str) -> set[str]:
    return {path.name for path in (folder(world, host) / "repo").iterdir()}


def said(world: World) -> str:
    return "\n".join(event.text for event in world.of("Progressed"))


def test_parked_work_goes_on_elsewhere_in_its_session_with_all_files(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, *commit("second"), FINISH])
    spec = world.spec()
    assert world.run(on(world, spec, "b")).why == "question"
    session = world.of("SessionStarted")[-1].session_id
    world.answer(on(world, spec, "c"), "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert {event.session_id for event in world.of("SessionStarted")} == {session}
    assert world.of("SessionLost") == []
    assert {"first.txt", "second.txt", "left-b.txt"} <= in_repo(world, "c")
    assert (world.show("first.txt"), world.show("second.txt"), world.show("left-b.txt")) == (
        "first",
        "second",
        "b",
    )
    assert [event.left_on for event in world.of("WorkspaceTaken")] == ["", ""]
    restored = world.only("WorkspaceRestored")
    assert (restored.host, restored.source_host, restored.missing) == ("c", "b", ())
    assert "continues on host c as it was kept on host b" in said(world)


def test_what_was_not_committed_is_not_committed_there_either(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, ASK, FINISH])
    spec = world.spec()
    world.run(on(world, spec, "b"))
    assert world.answer(on(world, spec, "c"), "Moin").why == "question"
    first, second = world.of("Checkpointed")[0], world.of("Checkpointed")[-1]
    assert (first.head, first.files) == (second.head, second.files)
    assert first.head != first.files


def test_a_run_that_comes_back_takes_the_newest_work_and_not_the_old_folder(world: World) -> None:
    steps = [
        uncommitted("b"),
        ASK,
        {"run": "rm left-b.txt"},
        *commit("on-c"),
        ASK,
        *commit("third"),
        FINISH,
    ]
    world.scenario(plan=[PLAN], work=steps)
    spec = world.spec()
    world.run(on(world, spec, "b"))
    world.answer(on(world, spec, "c"), "Moin")
    world.answer(on(world, spec, "b"), "Ahoi")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert {"on-c.txt", "third.txt"} <= set(in_repo(world, "b"))
    assert "left-b.txt" not in in_repo(world, "b")
    assert len({event.session_id for event in world.of("SessionStarted")}) == 1


def test_who_only_parks_again_on_an_older_folder_keeps_nothing_of_it(world: World) -> None:
    world.scenario(plan=[PLAN], work=[uncommitted("b"), ASK, *commit("on-c"), ASK, *commit("third"), FINISH])
    spec = world.spec()
    world.run(on(world, spec, "b"))
    asked = world.only("QuestionAsked")
    world.write(answer_question(asked, by="ann", text="Moin", code=""))
    world.write(RunRequeued(RUN, "answered"))
    assert die_at(world, on(world, spec, "c"), "Checkpointed", after=True)
    wait_for_its_end(world)
    assert world.again(on(world, spec, "b"), "reclaimed").why == "question"
    assert [event.host for event in world.of("Checkpointed")] == ["b", "c"]
    world.answer(on(world, spec, "b"), "Ahoi")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.of("WorkspaceRestored")[-1].source_host == "c"
    assert (world.show("on-c.txt"), world.show("third.txt")) == ("on-c", "third")


def test_the_next_run_takes_up_what_a_failed_one_left_on_another_host(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), {"fail": 3}])
    world.run(on(world, world.spec(), "b"))
    assert world.ended().ending is Ending.FAILED
    kept = world.of("Checkpointed")[-1]
    patch = store_of(shared(world, "c")).read(kept.patch) or b""
    assert kept.files_changed == 2
    assert b"first.txt" in patch
    assert b"left-b.txt" in patch
    world.lease = None
    world.scenario(plan=[PLAN], work=[*commit("second"), FINISH])
    world.run(on(world, world.spec(run_id=NEXT, attempt=2), "c"))
    assert world.ended(NEXT).ending is Ending.SUCCEEDED, world.ended(NEXT)
    assert (world.show("first.txt"), world.show("left-b.txt")) == ("first", "b")


def test_what_is_too_large_is_not_kept_and_the_card_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "MAX_SESSION_BYTES", 100)
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    spec = world.spec()
    world.run(on(world, spec, "b"))
    assert world.of("Checkpointed")[-1].left_out[0].startswith("the session: it is larger")
    assert "Not kept for other hosts: the session" in said(world)
    world.scenario(plan=[PLAN], work=[*commit("second"), FINISH])
    world.answer(on(world, spec, "c"), "Moin")
    assert "Not here: the session" in said(world)
    assert (world.show("first.txt"), world.show("second.txt")) == ("first", "second")


@pytest.mark.parametrize("fails_for", [1, 99], ids=["a-moment", "ever"])
def test_a_store_without_room_is_waited_for_when_a_run_halts_and_else_its_card_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch, fails_for: int
) -> None:
    monkeypatch.setattr(patience, "AGAIN_S", 0.01)
    monkeypatch.setattr(checkpoint, "KEPT_WITHIN_S", 0.5)
    put, refused = FolderStore.put, count()

    def put_with_room(store: FolderStore, source: BinaryIO, *words: Any, **named: Any) -> None:
        if str(getattr(source, "name", "")).endswith("kept.bundle") and next(refused) < fails_for:
            raise StoreError(store.address, "written", "No space left on device", "make room")
        put(store, source, *words, **named)

    monkeypatch.setattr(FolderStore, "put", put_with_room)
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    world.run(on(world, world.spec(), "b"))
    kept = [event.host for event in world.of("Checkpointed")]
    told = "The work so far is on this host alone" in said(world)
    assert (kept, told) == ((["b"], False) if fails_for == 1 else ([], True))


def test_a_secret_in_the_session_does_not_reach_the_store(world: World) -> None:
    token = "ghp_" + "a" * 40
    world.scenario(plan=[PLAN], work=[ASK, FINISH])
    spec = world.spec(briefing=Briefing(f"# {token}\n"))
    world.run(on(world, spec, "b"))
    kept = world.of("Checkpointed")[-1]
    raw = gzip.decompress((world.root / "shared" / kept.session[:2] / kept.session).read_bytes())
    assert b"scripted-" in raw
    assert token.encode() not in raw


def killed_in_its_turn(world: World, spec: RunSpec, last: str) -> None:
    """Let a worker of its own carry the run on, and kill it in the middle of a turn, once a checkpoint has
    what the agent did until it said `last`, and, where the specification wants that, a commit is on GitHub.
    """
    spec, log = world.claim(spec)

    def work() -> None:
        execute_run(spec, log, world.remote, world.clock, providers=world.providers)

    world.engine.dispose()
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()

    def kept() -> bool:
        assert worker.is_alive(), world.kinds()
        said = [
            event.text if isinstance(event, Progressed) else type(event).__name__ for event in world.events()
        ]
        seen = "BranchPushed" in said or not spec.early
        return seen and last in said and "Checkpointed" in said[said.index(last) :]

    try:
        until(kept, "a checkpoint after it", every_s=0.05)
    finally:
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
    wait_for_its_end(world)


def test_killed_in_a_turn_it_goes_on_elsewhere_from_the_newest_checkpoint(world: World) -> None:
    count = {"run": "echo x >> count.txt"}
    steps = [count, *commit("first"), uncommitted("b"), {"tick": 1}, {"progress": "Here"}]
    world.scenario(plan=[PLAN], work=[*steps, {"sleep": 60}, FINISH])
    spec = world.spec(limits=LIMITS.model_copy(update={"checkpoint_s": 0.2}))
    killed_in_its_turn(world, on(world, spec, "b"), "Here")
    begun = len(world.events())
    world.scenario(plan=[PLAN], work=[*steps, {"sleep": 0}, FINISH])
    world.again(on(world, spec, "c"), "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert (world.show("first.txt"), world.show("left-b.txt"), world.show("count.txt")) == ("first", "b", "x")
    later = world.events()[begun:]
    assert not any(isinstance(event, BoardToolCalled) and event.tool == "tick" for event in later)
    assert world.only("WorkspaceRestored").missing == ()
    assert len({event.session_id for event in world.of("SessionStarted")}) == 1


def test_a_parked_investigation_goes_on_elsewhere_in_its_session(world: World) -> None:
    found = {"findings": {"summary": "Nothing", "findings": []}}
    world.scenario(investigate=[{"run": "echo no > junk.txt"}, ASK, found])
    spec = world.spec(mode=INVESTIGATE)
    assert world.run(on(world, spec, "b")).why == "question"
    kept = world.only("Checkpointed")
    assert (bool(kept.session), kept.bundle, kept.patch, kept.left_out) == (True, "", "", ())
    world.answer(on(world, spec, "c"), "Go")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert len({event.session_id for event in world.of("SessionStarted")}) == 1
    assert world.of("SessionLost") == []
    assert list((world.root / "c").rglob("junk.txt")) == []


def test_transcripts_of_all_hosts_are_in_the_store_each_line_once(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"say": "On the first"}, ASK, {"say": "On the second"}, FINISH])
    spec = world.spec()
    world.run(on(world, spec, "b"))
    world.answer(on(world, spec, "c"), "Moin")
    world.ended()
    files = [event for event in world.of("ArtifactKept") if event.kind == TRANSCRIPT]
    assert [file.name for file in files] == ["transcript-1.log", "transcript-2.log"]
    texts = [(store_of(shared(world, "d")).read(file.digest) or b"").decode() for file in files]
    assert [text.count("On the first") for text in texts] == [1, 0]
    assert [text.count("On the second") for text in texts] == [0, 1]


@pytest.fixture
def bucket(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """Yield a server that gives the blobs of the shared folder as S3 does, once it listens."""
    monkeypatch.setattr(s3, "ATTEMPTS", 1)
    monkeypatch.setattr(patience, "AGAIN_S", 0.1)
    (world.root / "bucket/runs").mkdir(parents=True)
    (world.root / "bucket/runs/cardinal").symlink_to(world.root / "shared")
    handler = partial(SimpleHTTPRequestHandler, directory=str(world.root / "bucket"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler, bind_and_activate=False) as server:
        server.server_bind()  # until it listens too, a connection is refused
        yield server


def answered_on_c(world: World, bucket: ThreadingHTTPServer) -> None:
    """Park on b, and go on where the store is that bucket."""
    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, *commit("second"), FINISH])
    spec = world.spec()
    assert world.run(on(world, spec, "b")).why == "question"
    store = StoreSpec("s3://runs/cardinal", f"http://127.0.0.1:{bucket.server_port}", "us-east-1", "a", "b")
    paths = dataclasses.replace(home(world, "c"), store=store)
    world.answer(dataclasses.replace(spec, host="c", paths=paths), "Moin")


def test_a_store_that_is_away_is_waited_for(world: World, bucket: ThreadingHTTPServer) -> None:
    def come_back() -> None:
        until(lambda: "Waits for commits and files: the store at s3://runs" in said(world), "it waits")
        bucket.server_activate()
        bucket.serve_forever()

    serving = threading.Thread(target=come_back)
    with ExitStack() as then:
        then.callback(serving.join)
        then.callback(bucket.shutdown)
        serving.start()
        answered_on_c(world, bucket)
    assert world.only("WorkspaceRestored").missing == ()
    assert world.show("left-b.txt") == "b"
    assert len(world.of("SessionStarted")) == 1 + len(world.of("SessionLost")) == 1


def test_a_folder_that_is_not_mounted_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AGAIN_S", 0.1)
    root, mounted = world.root / "shared", world.root / "mounted"
    mark = FolderStore(root).mark()

    def marked(host: str) -> RunSpec:
        paths = shared(world, host)
        store = dataclasses.replace(paths.store, mark=mark)
        return dataclasses.replace(spec, host=host, paths=dataclasses.replace(paths, store=store))

    def come_back() -> None:
        until(lambda: "Waits for commits and files: the store at" in said(world), "it waits")
        root.rmdir()  # nothing was written there
        mounted.rename(root)

    world.scenario(plan=[PLAN], work=[*commit("first"), uncommitted("b"), ASK, *commit("second"), FINISH])
    spec = world.spec()
    world.run(marked("b"))
    root.rename(mounted)
    root.mkdir()
    mounting = threading.Thread(target=come_back)
    mounting.start()
    world.answer(marked("c"), "Moin")
    mounting.join()
    assert world.only("WorkspaceRestored").missing == ()
    assert world.show("left-b.txt") == "b"


def test_a_store_that_stays_away_is_named_as_the_cause(
    world: World, bucket: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "AWAY_S", 0.0)
    monkeypatch.setattr(checkpoint, "KEPT_WITHIN_S", 0.0)
    answered_on_c(world, bucket)
    assert world.of("WorkspaceRestored") == []
    assert "Nothing came from host b: commits and files: the store at s3://runs" in said(world)
    assert "The work starts over on host c" in said(world)


@pytest.mark.parametrize("missing", [(), ("the session: it was not kept",)], ids=["whole", "in part"])
def test_what_the_checkpoint_knew_counts_where_all_of_it_was_brought(
    world: World, missing: tuple[str, ...]
) -> None:
    spec, place = world.spec(), str(CARD)
    world.write(
        PlanProposed(RUN, 1, "Say", ("One", "Two")),
        TurnStarted(RUN, Phase.WORK, "work", "s1"),
        BoardToolCalled(RUN, "s1", "work.0", "tick", '{"done": 1}'),
        PlanTicked(RUN, 1),
        Checkpointed(RUN, place, 1, "b", "1" * 40, "1" * 40),
        BoardToolCalled(RUN, "s1", "work.1", "finish", '{"done": "All"}'),
        TurnEnded(RUN, "work", "done", 0, 1.0),
        WorkspaceTaken(RUN, place, "c", 2, "b"),
        WorkspaceRestored(RUN, place, "c", RUN, "b", missing),
    )
    history = world.claim(spec)[1].history
    assert history.finish is None
    assert {name: turn.outcome for name, turn in history.turns.items()} == ({} if missing else {"work": ""})
    assert history.plan is not None
    assert history.plan.done == (0 if missing else 1)
