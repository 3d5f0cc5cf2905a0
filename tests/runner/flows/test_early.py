"""`publish: early`: what the guards let pass stands on GitHub at each milestone, and survives the host."""

from pathlib import Path
from typing import Any

import pytest

from ledger.errors import StaleClaimError
from ledger.events.guard import GuardsJudged
from ledger.events.pull import PullOpened
from ledger.events.run import BranchPushed, RunEvent, RunRequeued, RunStopAsked
from ledger.states import Ending, StopKind
from runner.run.log import RunLog
from runner.run.run_spec import Authorship, Guards, RunSpec
from runner.session import turn
from runner.supervisor import execute_run
from tests.ledger.samples import card_seen
from tests.runner.branch.test_github_signed import MakingRemote
from tests.runner.flows.test_hosts import ASK, NEXT, commit, on
from tests.runner.flows.test_kill import die_at, wait_for_its_end
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.flows.test_travel import killed_in_its_turn
from tests.runner.flows.test_travel import on as sharing
from tests.runner.guards.test_guards import KEY, nothing_left, rules
from tests.runner.phases.test_stages import LOOP, STAGES
from tests.runner.world import BRANCH, CARD, COMMITTER, HURRY, RUN, World, checks, git, limited

SECRET = [{"edit": {"path": "key.txt", "content": f"{KEY}\n"}}, {"commit": "A key"}]
INFRA = [{"edit": {"path": "infra/a", "content": "a\n"}}, {"commit": "Infra"}]
LARGE = [{"edit": {"path": "a.txt", "content": "a\n" * 30}}, {"commit": "Large"}]
CLOSING = [{"edit": {"path": "a.txt", "content": "a\n"}}, {"commit": "Fixes #99"}]


def subjects(world: World) -> list[str]:
    return git(world.origin, "log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()


def test_a_parked_run_goes_on_from_its_branch_on_a_host_that_has_nothing_else(world: World) -> None:
    main = world.head("main")
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    spec = world.spec(early=True, validation=checks(fast=["test -f second.txt"]))
    assert world.run(on(world, spec, "b")).why == "question"
    early = world.only("BranchPushed")
    assert (early.head, early.start) == (world.head(), main)
    judged = world.only("GuardsJudged")
    assert (judged.head, judged.start, judged.withheld) == (early.head, main, "")
    assert world.kinds().index("GuardsJudged") < world.kinds().index("BranchPushed")
    world.scenario(plan=[PLAN], work=[*commit("second"), FINISH])
    world.answer(on(world, spec, "c"), "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["On first", "On second"]
    starts = [pushed.start for pushed in world.of("BranchPushed")]
    assert starts == [main, main, ""]  # parked, before the checks, done


def test_without_the_key_a_parked_run_publishes_nothing(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    world.run(world.spec())
    assert nothing_left(world)
    assert world.of("GuardsJudged") == []


def test_each_stage_that_committed_is_published_when_it_is_left(world: World) -> None:
    main = world.head("main")
    world.scenario(plan=[PLAN], stages=LOOP)
    world.run(world.spec(stages=STAGES, early=True))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    pushed = [(event.head, event.start) for event in world.of("BranchPushed")]
    left = [one.head for one in world.of("SnapshotTaken") if one.stage != "verify"]
    assert pushed == [*((head, main) for head in left), (world.head(), "")]


def test_a_repaired_commit_is_published_before_it_is_checked_again(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), FINISH], repair=[*commit("second"), FINISH])
    world.run(world.spec(early=True, validation=checks(fast=["test -f second.txt"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert len({event.head for event in world.of("BranchPushed")}) == 2


@pytest.mark.parametrize(
    ("work", "guards", "because"),
    [
        (SECRET, rules("secrets"), "secrets"),
        (INFRA, rules("protected", protect=("infra/**",)), "infra/**"),
        (INFRA, rules("protected", "ask", protect=("infra/**",)), "ask for a person's decision"),
        (LARGE, Guards({}), "The change is large"),
        (CLOSING, Guards({}), "closes another issue"),
    ],
)
def test_what_the_end_would_not_publish_is_not_published_early_and_costs_nothing(
    world: World, work: list[dict[str, Any]], guards: Guards, because: str
) -> None:
    anew = {"run": "git reset -q --hard HEAD~1"}
    world.scenario(plan=[PLAN], work=[*work, ASK, anew, *commit("first"), FINISH])
    spec = world.spec(early=True, guards=guards, limits=limited(lines_changed=20))
    world.run(spec)
    assert nothing_left(world)
    assert because in world.only("GuardsJudged").withheld
    assert KEY not in repr(world.events())
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["On first"]
    assert not any(begun.turn.startswith("repair") for begun in world.of("TurnStarted"))


def test_what_was_refused_early_is_given_back_at_the_end(world: World) -> None:
    away = {"run": "git reset -q --soft HEAD~2 && git rm -qf key.txt"}
    world.scenario(
        plan=[PLAN], work=[*SECRET, ASK, ASK, *commit("first"), FINISH], repair=[away, {"commit": "Clean"}]
    )
    spec = world.spec(early=True, guards=rules("secrets"))
    world.run(spec)
    world.answer(spec, "Moin")
    assert world.only("GuardsJudged").withheld  # once, however often it parks there
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [begun.turn for begun in world.of("TurnStarted")][-1] == "repair-guard-1"
    assert subjects(world) == ["Clean"]


def test_an_own_commit_that_the_agent_wrote_anew_replaces_the_published_one(world: World) -> None:
    world.scenario(
        plan=[PLAN], work=[*commit("first"), ASK, {"run": "git commit -q --amend -m Better"}, FINISH]
    )
    spec = world.spec(early=True)
    world.run(spec)
    assert subjects(world) == ["On first"]
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["Better"]


def test_what_people_push_onto_the_published_work_stays(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, *commit("second"), ASK, FINISH])
    spec = world.spec(early=True)
    world.run(spec)
    theirs = world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    world.answer(spec, "Moin")
    assert subjects(world) == ["On first", "By a person", "On second"]
    assert git(world.origin, "merge-base", theirs, BRANCH) == theirs
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()


def test_what_people_push_while_the_published_work_is_checked_is_checked_with_it(world: World) -> None:
    """Nothing is pushed at the end: the commit stands there already, and a lease would tell nothing."""
    hook = world.origin / "hooks" / "post-receive"
    rows = f"commit refs/heads/{BRANCH}\ncommitter Ann <ann@example.org> 1 +0000\ndata 6\nTheirs\n"
    rows += f"from refs/heads/{BRANCH}^0\nM 100644 inline theirs.txt\ndata 3\nHi\n\n"
    (world.origin / "theirs").write_text(rows)
    hook.write_text("#!/bin/sh\ntest ! -e theirs || { git fast-import --quiet < theirs && rm theirs; }\n")
    hook.chmod(0o755)
    world.scenario(plan=[PLAN], work=[*commit("first"), FINISH])
    world.run(world.spec(early=True, validation=checks(full=["test -f first.txt"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["On first", "Theirs"]
    assert world.of("BranchPushed")[-1].head == world.head()
    assert world.of("ValidationEnded")[-1].head == world.head()


@pytest.mark.parametrize(("draft", "early"), [(True, True), (False, False)])
def test_a_pull_request_that_is_up_for_review_gets_finished_work_only(
    world: World, draft: bool, early: bool
) -> None:
    world.write(card_seen())
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    spec = world.spec(early=True)
    world.write(PullOpened(CARD, spec.repository, 5, "PR_1", BRANCH, "a" * 40, draft))
    world.run(spec)
    assert nothing_left(world) is not early
    world.answer(spec, "Moin")
    assert subjects(world) == ["On first"]


def test_a_push_that_github_refuses_is_told_and_the_work_goes_on(world: World) -> None:
    hook = world.origin / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    world.scenario(plan=[PLAN], work=[*commit("first"), ASK, FINISH])
    spec = world.spec(early=True)
    assert world.run(spec).why == "question"
    assert "could not be published yet" in world.of("Progressed")[-1].text
    hook.unlink()
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()


@pytest.mark.parametrize("at_work", [False, True])
def test_who_lost_the_claim_pushes_nothing(world: World, at_work: bool) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), *(busy_until("false") if at_work else [ASK]), FINISH])
    spec = live(world) if at_work else world.spec(early=True)

    class Overtaken(RunLog):
        """Loses its claim between the judgement and the push."""

        def append(self, *events: RunEvent) -> None:
            super().append(*events)
            if any(isinstance(event, GuardsJudged) for event in events):
                world.write(RunRequeued(spec.run_id, "reclaimed"))
                world.claim(spec)

    with pytest.raises(StaleClaimError):
        execute_as(world, Overtaken, spec)
    assert nothing_left(world)
    if at_work:
        world.scenario(plan=[PLAN], work=[*commit("first"), *busy_until("true"), FINISH])
        world.again(spec, "reclaimed")
    else:
        world.answer(spec, "Moin")
    assert subjects(world) == ["On first"]


def test_who_dies_just_after_a_push_has_pushed_it_once(world: World) -> None:
    world.scenario(plan=[PLAN], work=[*commit("first"), FINISH])
    spec = world.spec(early=True, validation=checks(fast=["true"]))
    assert die_at(world, spec, "BranchPushed", after=False)
    wait_for_its_end(world)
    early = world.head()
    world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [(event.head, bool(event.start)) for event in world.of("BranchPushed")] == [
        (early, True),
        (early, False),
    ]
    assert len([judged for judged in world.of("GuardsJudged") if judged.start]) == 1


def test_the_next_run_may_end_with_what_a_cancelled_one_published(world: World) -> None:
    stages = {"implement": LOOP["implement"], "verify": [{"progress": "Busy"}, "hang"]}
    world.scenario(plan=[PLAN], stages=stages)
    spec = on(world, world.spec(stages=STAGES, early=True), "b")
    world.meanwhile(spec, "Busy", lambda: world.write(RunStopAsked(RUN, StopKind.CANCEL, "ann", "")))
    assert world.ended().ending is Ending.CANCELLED
    early = world.only("BranchPushed")
    assert early.head == world.head()
    world.lease = None
    world.scenario(plan=[PLAN], work=[FINISH])
    world.run(on(world, world.spec(run_id=NEXT, attempt=2, start=early.start), "c"))
    assert world.ended(NEXT).ending is Ending.SUCCEEDED, world.ended(NEXT)
    pushed = world.only("BranchPushed", NEXT)
    assert (pushed.head, pushed.start) == (early.head, "")


@pytest.fixture(autouse=True)
def _without_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next checkpoint of a turn be due at once, however long the last one took, and kill soon."""
    monkeypatch.setattr(turn, "_REST", 0)
    monkeypatch.setattr(turn, "DEFAULT_GRACE", HURRY)


def live(world: World, **changes: Any) -> RunSpec:
    return world.spec(early=True, limits=limited(checkpoint_s=0.05), **changes)


def busy_until(condition: str) -> list[dict[str, Any]]:
    """Return steps of an agent that is busy until this shell command succeeds."""
    wait = f"for i in $(seq 600); do if {condition}; then exit 0; fi; sleep 0.05; done; exit 1"
    return [{"progress": "Busy"}, {"run": wait}]


def seen_at_work(*subjects: str) -> list[dict[str, Any]]:
    """Return steps of an agent that waits with each commit until the one before is on GitHub."""
    return [
        step
        for number, subject in enumerate(subjects, 1)
        for step in (*commit(subject), *busy_until(f"[ -e .git/seen-{number} ]"))
    ]


class Watched(RunLog):
    """Tells the agent what is on GitHub, and what is withheld."""

    def append(self, *events: RunEvent) -> None:
        super().append(*events)
        for event in events:
            if isinstance(event, BranchPushed) and event.start:
                self.tell(f"seen-{sum(isinstance(it.event, BranchPushed) for it in self.events())}")
            if isinstance(event, GuardsJudged) and event.withheld:
                self.tell("withheld")

    def tell(self, what: str) -> None:
        (self.repo / ".git" / what).touch()

    repo = Path()


def execute_as(world: World, kind: type[RunLog], spec: RunSpec, remote: Any = None) -> None:
    claimed, log = world.claim(spec)
    log.__class__ = kind
    Watched.repo = spec.paths.workspaces / CARD / "repo"
    execute_run(claimed, log, remote or world.remote, world.clock)


@pytest.mark.parametrize("by_github", [False, True])
def test_commits_are_seen_while_the_agent_is_at_work(world: World, by_github: bool) -> None:
    main, remote = world.head("main"), MakingRemote(str(world.origin), message="{message}")
    git(world.origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    world.scenario(plan=[PLAN], work=[*seen_at_work("first", "second"), FINISH])
    spec = live(world, authorship=Authorship(COMMITTER, by_github=by_github))
    execute_as(world, Watched, spec, remote)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    pushed = world.of("BranchPushed")
    assert [event.start for event in pushed] == [main, main, ""]
    assert pushed[1].head == pushed[2].head == world.head()  # what was seen is what was checked
    assert git(world.origin, "rev-parse", f"{BRANCH}~1").strip() == pushed[0].head
    assert subjects(world) == ["On first", "On second"]
    assert len(remote.made) == 2 * by_github


def test_what_the_agent_commits_behind_a_judgement_is_not_pushed_with_it(world: World) -> None:
    class Racing(Watched):
        """Commits a secret between the first judgement and its push."""

        def append(self, *events: RunEvent) -> None:
            super().append(*events)
            judged = any(isinstance(event, GuardsJudged) for event in events)
            if judged and len(world.of("GuardsJudged")) == 1:
                (self.repo / "key.txt").write_text(f"{KEY}\n")
                git(self.repo, "add", "key.txt")
                git(self.repo, "commit", "-q", "-m", "A key")

    spec = live(world, guards=rules("secrets"))
    late = [*busy_until("[ -e .git/withheld ]"), {"run": "git reset -q --hard HEAD~1"}, *commit("second")]
    world.scenario(plan=[PLAN], work=[*seen_at_work("first"), *late, FINISH])
    execute_as(world, Racing, spec)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    first, secret = world.of("GuardsJudged")[:2]
    assert (bool(first.withheld), bool(secret.withheld)) == (False, True)
    assert world.of("BranchPushed")[0].head == first.head
    assert subjects(world) == ["On first", "On second"]
    assert "key.txt" not in git(world.origin, "rev-list", "--all", "--objects")
    assert KEY not in repr(world.events())


def hanging_push(world: World) -> Path:
    """Let the first push be taken and never answered; return the file that the agent has from then on."""
    flag = world.places.workspaces / CARD / "repo/.git/taken"
    hook = world.origin / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\n[ -e {flag} ] || {{ touch {flag}; exec sleep 60; }}\n")
    hook.chmod(0o755)
    return flag


def test_a_stop_in_the_middle_of_a_push_leaves_nothing_half(world: World) -> None:
    """GitHub took the commit; the answer never came."""
    flag = hanging_push(world)

    class Pausing(RunLog):
        """Is asked to pause while a push hangs."""

        def beat(self) -> None:
            if flag.exists() and self.history.stop is None:
                world.write(RunStopAsked(RUN, StopKind.PAUSE, "ann", ""))
                self.fold_new()
            super().beat()

    world.scenario(plan=[PLAN], work=[*commit("first"), *busy_until("false"), FINISH])
    spec = live(world)
    execute_as(world, Pausing, spec)
    assert world.only("RunParked").why == "pause"
    assert (subjects(world), world.of("BranchPushed")) == (["On first"], [])
    world.scenario(plan=[PLAN], work=[*commit("first"), *busy_until("true"), *commit("second"), FINISH])
    world.again(spec, "resumed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["On first", "On second"]


def test_a_turn_that_ends_in_the_middle_of_a_push_takes_its_own_commit_for_nobody_elses(world: World) -> None:
    """GitHub took a commit that the agent replaces; the answer never came."""
    hanging_push(world)
    better = {"run": "echo Better > first.txt && git commit -q -a --amend -m Better"}
    world.scenario(plan=[PLAN], work=[*commit("first"), *busy_until("[ -e .git/taken ]"), better, FINISH])
    world.run(live(world))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["Better"]


def test_what_the_agent_only_looks_at_replaces_nothing_on_github(world: World) -> None:
    back = [{"run": "git checkout -q HEAD~1"}, {"sleep": 1}, {"run": f"git checkout -q {BRANCH}"}]
    world.scenario(plan=[PLAN], work=[*seen_at_work("first", "second"), *back, FINISH])
    execute_as(world, Watched, live(world))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    pushed = [event.head for event in world.of("BranchPushed")]
    assert pushed[1:] == [world.head()] * len(pushed[1:])


def test_killed_in_a_turn_it_goes_on_elsewhere_from_what_was_seen(world: World) -> None:
    steps = [*commit("first"), {"progress": "Here"}]
    world.scenario(plan=[PLAN], work=[*steps, {"sleep": 60}, FINISH])
    killed_in_its_turn(world, sharing(world, live(world), "b"), "Here")
    early = world.head()
    world.scenario(plan=[PLAN], work=[*steps, {"sleep": 0}, *commit("second"), FINISH])
    world.again(sharing(world, live(world), "c"), "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert subjects(world) == ["On first", "On second"]
    assert git(world.origin, "rev-parse", f"{BRANCH}~1").strip() == early
