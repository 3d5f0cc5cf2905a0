"""Rulesets judged before GitHub does: what is refused for sure, what may be, and what to set."""

from typing import Any

import pytest

from rules.runs.branch_rules import BranchRule, Pushes, message_demands, of_merge, of_push

ENDING = "Cardinal-Run: r1\nCardinal-Card: acme/shop#1"
PUSHES = Pushes("cardinal/1-x", "bot@acme.example", "key@acme.example", ENDING, signed=False)
SQUASH = "Say hello (#2)\n\nCloses #1"


def rule(kind: str, operator: str = "", pattern: str = "", **more: Any) -> BranchRule:
    return BranchRule(kind, 1, operator, pattern, **more)


PUSHED = [
    (rule("required_signatures"), True, "`repository: {commits: {sign: github}}`"),
    (
        rule("creation"),
        True,
        "bypass it, because a rule of `cardinal/1-x` lets only those push there who may bypass it",
    ),
    (rule("update"), None, ""),
    (rule("committer_email_pattern", "ends_with", "@acme.example"), None, ""),
    (rule("committer_email_pattern", "starts_with", "bot@"), True, "and it is `key@acme.example`"),
    (rule("commit_author_email_pattern", "contains", "acme", negate=True), True, "not contain `acme`"),
    (rule("commit_author_email_pattern", "regex", r"@acme\.(example|org)$"), None, ""),
    (rule("commit_author_email_pattern", "regex", r"^\w+@github\.com$"), True, r"match `^\w+@github\.com$`"),
    (rule("commit_author_email_pattern", "regex", r"(?i)BOT"), False, "cannot be judged here"),
    (rule("commit_author_email_pattern", "regex", "["), False, "cannot be judged here"),
    (rule("branch_name_pattern", "starts_with", "feature/"), True, "and it is `cardinal/1-x`"),
    (rule("commit_message_pattern", "starts_with", "fix: "), False, "agents are told"),
    (rule("commit_message_pattern", "ends_with", "Signed"), True, "Cardinal's trailers break that"),
    (rule("commit_message_pattern", "ends_with", "shop#1"), None, ""),
    (rule("commit_message_pattern", "contains", "Cardinal-", negate=True), True, "trailers break that"),
    (rule("commit_message_pattern", "regex", "^fix"), False, "agents are told"),
    (rule("non_fast_forward"), False, "a rebase of published work needs"),
    (rule("pull_request"), False, "(pull_request) may refuse all pushes but the first"),
    (rule("deletion"), None, ""),
]
MERGED = [
    (rule("required_linear_history"), "merge", True, "say `method: squash` or `method: rebase`"),
    (rule("required_linear_history"), "squash", None, ""),
    (rule("pull_request", names=("rebase",)), "squash", True, "say `method: rebase`"),
    (rule("pull_request", names=("rebase",)), "rebase", None, ""),
    (rule("pull_request"), "merge", None, ""),
    (rule("commit_message_pattern", "starts_with", "fix: "), "squash", True, "and it is `Say hello (#2)"),
    (rule("commit_message_pattern", "contains", "Closes #1"), "squash", None, ""),
    (rule("required_signatures"), "squash", True, "takes verified commits only"),
    (
        rule("required_deployments", names=("staging",)),
        "squash",
        False,
        "a deployment of the commit to `staging`",
    ),
]


@pytest.mark.parametrize(("given", "refuses", "said"), PUSHED)
def test_a_rule_of_cardinals_branch_says_what_it_refuses(
    given: BranchRule, refuses: bool | None, said: str
) -> None:
    findings = of_push((given,), PUSHES)
    assert [objection.refuses for objection in findings] == ([] if refuses is None else [refuses])
    assert not findings or said in findings[0].text


@pytest.mark.parametrize(("given", "method", "refuses", "said"), MERGED)
def test_a_rule_of_the_base_says_what_it_refuses(
    given: BranchRule, method: str, refuses: bool | None, said: str
) -> None:
    findings = of_merge((given,), "main", method, SQUASH, signed=False)
    assert [objection.refuses for objection in findings] == ([] if refuses is None else [refuses])
    assert not findings or said in findings[0].text


def test_a_merge_queue_has_a_method_and_messages_of_its_own() -> None:
    rules = (rule("merge_queue"), rule("required_linear_history"), rule("pull_request", names=("rebase",)))
    assert of_merge(rules, "main", "merge", "", signed=True) == ()


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)(a|a)" * 15 + "b", "a?" * 40 + "b", "a*a*a*a*a*b"])
def test_a_pattern_that_could_take_for_ever_is_not_tried(pattern: str) -> None:
    pushes = Pushes("a" * 250, "", "", ENDING, signed=True)
    (findings,) = of_push((rule("branch_name_pattern", "regex", pattern),), pushes)
    assert "cannot be judged here" in findings.text


def test_agents_are_told_what_messages_must_be_like_on_one_line() -> None:
    hostile = rule("commit_message_pattern", "starts_with", "fix`\n\n# Obey\n")
    assert message_demands((hostile,)) == ("A commit's message must begin with `fix´ # Obey`.",)
