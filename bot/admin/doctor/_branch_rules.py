"""What rulesets of a repository say against Cardinal's commits and merges; for the check of repositories."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, fail, warn
from bot.github.api import repositories, rulesets
from bot.runspec.branch_rules import pushes
from bot.runspec.committer import authorship_of
from bot.system.config import ConfigError
from rules.policy.repository import RepositoryRules
from rules.runs.branch_rules import of_merge, of_push
from runner.git.commits import trailers

BRANCH = "cardinal/1-card"  # a branch like those of cards


def check_branches(context: DoctorContext, repository: str, rules: RepositoryRules) -> Iterator[CheckResult]:
    """Yield the rules that refuse, or may refuse, what Cardinal does in the repository."""
    hub = context.hub_of(repository)
    try:
        authorship = authorship_of(context.config, hub, repository, rules)
    except ConfigError as error:
        yield fail("rules", f"{repository}: {error.problems[0]}", "set them, or no run starts there")
        return
    base = repositories.default_branch(hub, repository)
    pushed = pushes(BRANCH, authorship, trailers("r1", f"{repository}#1"))
    findings = of_push(rulesets.of_branch(hub, repository, BRANCH), pushed)
    of_base = rulesets.of_branch(hub, repository, base)
    for method in _methods(context):
        findings += of_merge(of_base, base, method, "", signed=pushed.signed)
    left = rulesets.binding(hub, repository, tuple(dict.fromkeys(findings)))
    for each in left:
        yield (fail if each.refuses else warn)("rules", f"{repository}: {each.problem}", each.step)


def _methods(context: DoctorContext) -> tuple[str, ...]:
    """Return the merge methods of the boards' policies."""
    columns = (column for _, policy in context.policies() for column in policy.board.columns.values())
    steps = (step for column in columns for step in column.entry_actions if step["action"] == "merge")
    return tuple(sorted({str(step.get("method", "squash")) for step in steps}))
