"""Rules of rulesets for a branch, and whether the App may bypass them."""

from typing import Any
from urllib.parse import quote

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, PermissionMissingError
from rules.runs.branch_rules import BranchRule, RuleObjection

PAGE = 100
_LISTS = ("required_deployment_environments", "allowed_merge_methods")


def of_branch(hub: Hub, repository: str, branch: str, *, for_s: float = 0) -> tuple[BranchRule, ...]:
    """Return the active rules for a branch, which need not exist; none from an older server or smaller plan.

    They may be `for_s` seconds old. Source: docs.github.com/rest/repos/rules#get-rules-for-a-branch.
    """
    path = f"{repository_path(repository)}/rules/branches/{quote(branch, safe='')}"
    try:
        listed = hub.recent(
            path,
            lambda: hub.rest("GET", path, params={"per_page": PAGE}).body,
            for_s=for_s,
        )
    except (NotFoundError, PermissionMissingError):
        return ()
    return tuple(map(_rule, listed))


def binding(hub: Hub, repository: str, objections: tuple[RuleObjection, ...]) -> tuple[RuleObjection, ...]:
    """Return the objections without those of rulesets that the App may bypass.

    Source: docs.github.com/rest/repos/rules#get-a-repository-ruleset (current_user_can_bypass).
    """
    free = {
        number
        for number in {objection.ruleset for objection in objections}
        if _may_bypass(hub, repository, number)
    }
    return tuple(objection for objection in objections if objection.ruleset not in free)


def _may_bypass(hub: Hub, repository: str, number: int) -> bool:
    try:
        ruleset = hub.rest("GET", f"{repository_path(repository)}/rulesets/{number}").body
    except (NotFoundError, PermissionMissingError):  # of an organisation that does not show it
        return False
    return ruleset.get("current_user_can_bypass") in ("always", "exempt")


def _rule(given: dict[str, Any]) -> BranchRule:
    parameters = given.get("parameters") or {}
    checks = parameters.get("required_status_checks") or ()
    return BranchRule(
        kind=str(given["type"]),
        ruleset=int(given.get("ruleset_id") or 0),
        operator=str(parameters.get("operator") or ""),
        pattern=str(parameters.get("pattern") or ""),
        negate=bool(parameters.get("negate")),
        names=(
            *(str(name) for key in _LISTS for name in parameters.get(key) or ()),
            *(str(check["context"]) for check in checks),
        ),
    )
