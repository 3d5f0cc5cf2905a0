"""A rehearsal works only where it may, keeps its limits, and leaves nothing behind."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from bot.admin.rehearsal.belief import BeliefVerdict, NotTriedError
from bot.admin.rehearsal.play import MAX_COMMITS, RepositoryInUseError, rehearse, require_free
from bot.admin.rehearsal.remains import remove_remains
from bot.admin.rehearsal.stage import BRANCHES, TITLE, RehearsalStage
from tests.bot.admin.rehearsal.conftest import HOUR_S, Rehearsals


def remains(rehearsals: Rehearsals) -> list[str]:
    """Return what a person would still have to remove."""
    store, repo = rehearsals.cardinal.forge.store, rehearsals.repo
    open_issues = [f"issue {issue.number}" for issue in repo.issues.values() if issue.state == "open"]
    branches = [name for name in store.repos.git(repo).branches() if name.startswith(BRANCHES)]
    cards = [item.title for item in rehearsals.cardinal.project.items if item.title.startswith(TITLE)]
    return [*open_issues, *branches, *cards, *(repo.labels)]


def test_nothing_is_left_behind(rehearsals: Rehearsals) -> None:
    main = rehearsals.cardinal.forge.store.repos.commit_of(rehearsals.repo, "main")
    report = rehearsals.play(rehearsals.stage())
    assert remains(rehearsals) == []
    assert "left" not in report.removed
    assert rehearsals.cardinal.forge.store.repos.commit_of(rehearsals.repo, "main") == main


@pytest.mark.parametrize("after", ["five_cards", "review", "draft_card"])
def test_a_rehearsal_that_was_killed_is_cleaned_by_another_one(rehearsals: Rehearsals, after: str) -> None:
    killed = rehearsals.stage()
    assert getattr(killed, after)
    assert remains(rehearsals)
    remove_remains(rehearsals.stage())
    assert remains(rehearsals) == []


def test_an_interruption_is_cleaned_up_too(rehearsals: Rehearsals) -> None:
    def interrupt(finding: Any) -> None:
        if finding.name == "five at once":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rehearse(rehearsals.stage(), interrupt)
    assert remains(rehearsals) == []


def test_what_github_does_not_let_go_is_counted_and_the_rest_goes(rehearsals: Rehearsals) -> None:
    stage = rehearsals.stage()
    assert stage.review
    refusal = {"method": "DELETE", "path": "/git/refs/.*base$", "status": 422}
    rehearsals.cardinal.forge.store.faults.load({"api": [refusal]})
    assert remove_remains(stage)["left"] == 1
    assert len(remains(rehearsals)) == 1
    rehearsals.cardinal.forge.store.faults.clear()
    assert "left" not in remove_remains(rehearsals.stage())
    assert remains(rehearsals) == []


def test_things_of_others_stay(rehearsals: Rehearsals) -> None:
    cardinal = rehearsals.cardinal
    card = cardinal.new(f"{TITLE}? I dream of one", "Tasks", "<!-- cardinal-rehearsal -->")
    rehearsals.play(rehearsals.stage())
    assert card in cardinal.project.items
    cardinal.forge.store.issues.delete(card.content, actor=cardinal.person("alice"))  # type: ignore[arg-type]


def test_a_repository_with_issues_of_others_is_refused(rehearsals: Rehearsals) -> None:
    hub = rehearsals.stage().hub
    with pytest.raises(RepositoryInUseError, match="acme/shop has other people's issues or pull requests"):
        require_free(hub, "acme/shop", yes=True)
    assert require_free(hub, "Acme/THROW-away", yes=False) == "acme/throw-away"


def test_a_repository_with_many_commits_is_refused_unless_somebody_says_yes(rehearsals: Rehearsals) -> None:
    store, alice = rehearsals.cardinal.forge.store, rehearsals.cardinal.person("alice")
    full = store.repos.create(store.users.get("acme"), "full")
    for number in range(MAX_COMMITS + 1):
        store.repos.write_files(full, "main", {"n": str(number).encode()}, "More", actor=alice)
    hub = rehearsals.stage().hub
    with pytest.raises(RepositoryInUseError, match=r"more than 20 commits; .* or add --yes"):
        require_free(hub, "acme/full", yes=False)
    require_free(hub, "acme/full", yes=True)


def test_an_empty_repository_is_refused_with_the_next_step(rehearsals: Rehearsals) -> None:
    store = rehearsals.cardinal.forge.store
    store.repos.create(store.users.get("acme"), "empty")
    with pytest.raises(RepositoryInUseError, match="has no commits; add a README first"):
        require_free(rehearsals.stage().hub, "acme/empty", yes=False)


def test_the_limit_of_calls_ends_it_and_it_still_cleans_up(rehearsals: Rehearsals) -> None:
    stage = rehearsals.stage()
    stage.hub.begin(max_calls=40)
    report = rehearsals.play(stage)
    not_tried = [it.because for it in report.findings if it.verdict is BeliefVerdict.NOT_TRIED]
    assert any("the limit of 40 calls was reached" in because for because in not_tried)
    assert report.otherwise == ()
    assert remains(rehearsals) == []


def test_the_limit_of_time_ends_it(rehearsals: Rehearsals) -> None:
    report = rehearse(rehearsals.stage(), lambda _: None, max_s=0.0)
    assert {comparison.because for comparison in report.findings} == {"the time of the rehearsal was over"}


def test_a_board_without_two_calm_columns_is_not_touched(rehearsals: Rehearsals) -> None:
    stage = rehearsals.stage()
    board = stage.board
    stage.made["board"] = dataclasses.replace(
        board, columns=tuple(it for it in board.columns if it.name in ("Planning", "In Progress", "Done"))
    )
    with pytest.raises(NotTriedError, match="no two columns without an agent"):
        _ = stage.moved_card
    remove_remains(stage)


def test_a_github_that_stumbles_says_nothing_about_a_belief(rehearsals: Rehearsals) -> None:
    stage: RehearsalStage = rehearsals.stage()
    away = {"method": "POST", "path": "/reactions$", "status": 503}
    rehearsals.cardinal.forge.store.faults.load({"api": [away]})
    report = rehearsals.play(stage)
    (finding,) = [comparison for comparison in report.findings if comparison.name == "reaction"]
    assert (finding.verdict, finding.because) == (BeliefVerdict.NOT_TRIED, "Unavailable 503")
    assert report.otherwise == ()


def test_deliveries_that_never_come_are_waited_for_once(rehearsals: Rehearsals) -> None:
    stage = rehearsals.stage()
    stage.patience_s = 1.0
    lost = {"method": "GET", "path": "/hook/deliveries$", "replace": [[r"[\s\S]+", "[]"]], "count": 1000}
    rehearsals.cardinal.forge.store.faults.load({"api": [lost]})
    report = rehearsals.play(stage)
    waits = [comparison.seconds for comparison in report.findings if comparison.name.startswith("deliver")]
    assert {it for it in report.otherwise if not it.startswith("deliver")} == {"workflow of the board"}
    assert sorted(waits)[-2] < 0.7 <= sorted(waits)[-1]
    assert sum(report.calls.values()) < 400


def test_an_archived_repository_is_refused(rehearsals: Rehearsals) -> None:
    store, alice = rehearsals.cardinal.forge.store, rehearsals.cardinal.person("alice")
    store.access.archive(rehearsals.repo, True, actor=alice)
    try:
        with pytest.raises(RepositoryInUseError, match="acme/throw-away is archived"):
            require_free(rehearsals.stage().hub, "acme/throw-away", yes=False)
    finally:
        store.access.archive(rehearsals.repo, False, actor=alice)


def test_a_second_rehearsal_in_the_same_minute_waits_for_githubs_limit(rehearsals: Rehearsals) -> None:
    clock = rehearsals.cardinal.clock
    first = rehearsals.stage()
    rehearsals.between_s, ahead = 0, clock.ahead
    second = rehearsals.stage()
    rehearsals.between_s = HOUR_S
    for stage in (first, second):
        report = rehearsals.play(stage)
        not_tried = {it.because for it in report.findings if it.verdict is BeliefVerdict.NOT_TRIED}
        assert report.otherwise == ()
        assert not_tried == {"no one did it", "no Cardinal is running in this home"}
    assert timedelta(seconds=1) < clock.ahead - ahead < timedelta(seconds=130)


def test_a_plan_without_drafts_is_told_and_all_else_is_tried(rehearsals: Rehearsals) -> None:
    rehearsals.repo.drafts_supported = False
    try:
        report = rehearsals.play(rehearsals.stage())
    finally:
        rehearsals.repo.drafts_supported = True
    assert report.otherwise == ("draft",)
    not_tried = [it.because for it in report.findings if it.verdict is BeliefVerdict.NOT_TRIED]
    assert {"it is no draft", "it was no draft"} <= set(not_tried)
    assert not any(because.startswith("it needs") for because in not_tried)


def test_a_limit_that_github_tells_is_waited_for(rehearsals: Rehearsals) -> None:
    stage = rehearsals.stage()
    rehearsals.cardinal.forge.store.faults.load({"secondary": 1})
    report = rehearsals.play(stage)
    not_tried = {it.because for it in report.findings if it.verdict is BeliefVerdict.NOT_TRIED}
    assert not_tried == {"no one did it", "no Cardinal is running in this home"}
    assert report.otherwise == ()
