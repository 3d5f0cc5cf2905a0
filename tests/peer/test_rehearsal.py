"""A rehearsal on both sides, as far as a GitHub without boards lets it."""

from pathlib import Path

from bot.admin.rehearsal.belief import BeliefVerdict
from bot.admin.rehearsal.counting import CountingHub
from bot.admin.rehearsal.play import rehearse, require_free
from bot.admin.rehearsal.stage import RehearsalStage
from tests.peer.side import Side, utc_now

# Where `emulate` does otherwise than GitHub documents; a new version of it that changes one shows.
OTHERWISE = {
    "forge": set[str](),
    "emulate": {
        "order of comments",  # it knows no `since`
        "longest comment",
        "assignee",
        "reaction",  # it has none
        "locked issue",
        "dependency",  # nor GraphQL
        "sub-issue",
        "signed commit",
        "second pull request",
        "pull request of a branch",  # as there are two
        "merge of a draft",
        "check run",
    },
}


def test_a_rehearsal_tells_where_each_side_differs_from_what_github_documents(
    side: Side, repository: str, tmp_path: Path
) -> None:
    config = side.config(tmp_path)
    hub = CountingHub(config, utc_now)
    hub.begin()
    require_free(hub, repository, yes=False)
    report = rehearse(RehearsalStage(hub, config.board, repository, patience_s=0.2), lambda _: None)
    assert set(report.otherwise) == OTHERWISE[side.name], report.findings
    holds = [comparison.name for comparison in report.findings if comparison.verdict is BeliefVerdict.HOLDS]
    assert len(holds) == (42 if side.name == "forge" else 12), report.findings
    open_issues = side.person("alice", "GET", f"/repos/{repository}/issues")
    assert open_issues == []
