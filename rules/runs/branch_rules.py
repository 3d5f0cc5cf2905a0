"""Which rules of a branch's rulesets refuse Cardinal's commits or its merge, each with the way out. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rules.text import code

LEAVE_OUT = "let the ruleset leave out `cardinal/**`, or let Cardinal's App bypass it"
_UNSIGNED = "takes verified commits only, and Cardinal's are not signed"
SIGN = "say `repository: {commits: {sign: github}}` in the repository's policy"
# Rules of a branch that everybody works on; on Cardinal's own branches they refuse pushes after the first.
_OF_BASES = (
    *("pull_request", "required_status_checks", "required_deployments"),
    *("merge_queue", "workflows", "code_scanning"),
)
_DEMANDS = {"starts_with": "begin with", "ends_with": "end with", "contains": "contain", "regex": "match"}
MAX_PATTERN, MAX_SUBJECT, MAX_REPEATS, MAX_CHOICES = 200, 300, 2, 20
# RE2's syntax as far as Python's means the same. Python tries all ways through repeated or many groups.
_SAFE = re.compile(
    r"(?:\\[dwsDWS.\-+*?^$()\[\]{}|/@_]|[\w\s@.,:;/#!%&=<>'\"~`_^$|-]"
    r"|\[\^?[\w@.,:/ -]+\]|[*+?]|\((?!\?)|\)(?![*+?{]))*",
    re.ASCII,
)
_REPEATS = re.compile(r"(?<!\\)[*+?]")


@dataclass(frozen=True, slots=True)
class BranchRule:
    """One rule of a ruleset for a branch. `kind` is GitHub's name of its type.

    `operator`, `pattern` and `negate` belong to the patterns; `names` are the environments, merge methods or
    checks that it lists.
    """

    kind: str
    ruleset: int = 0
    operator: str = ""
    pattern: str = ""
    negate: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleObjection:
    """A rule's objection to Cardinal, and the way out. `refuses`: it certainly does."""

    problem: str
    step: str
    refuses: bool
    ruleset: int

    @property
    def text(self) -> str:
        """Both as one sentence without its full stop; the way out comes first, for a card cuts long ones."""
        return f"{self.step}, because {self.problem}"


@dataclass(frozen=True, slots=True)
class Pushes:
    """A push of Cardinal to a branch: whose commits, how their messages end, whether they are signed.

    `exists`: the branch is there already.
    """

    branch: str
    author: str
    committer: str
    ending: str
    signed: bool
    exists: bool = False


def of_push(rules: Iterable[BranchRule], pushes: Pushes) -> tuple[RuleObjection, ...]:
    """Return the objections of the rules of Cardinal's own branch against its pushes."""
    return tuple(objection for rule in rules for objection in _of_push(rule, pushes))


def of_merge(
    rules: Iterable[BranchRule], base: str, method: str, message: str, *, signed: bool
) -> tuple[RuleObjection, ...]:
    """Return the objections of the base branch's rules against a merge; `message` is empty if unknown."""
    branch_rules = tuple(rules)
    if any(rule.kind == "merge_queue" for rule in branch_rules):  # it has a method and messages of its own
        method = message = ""
    return tuple(
        objection for rule in branch_rules for objection in _of_merge(rule, base, method, message, signed)
    )


def environments(rules: Iterable[BranchRule]) -> tuple[str, ...]:
    """Return the environments to which a commit must be deployed before it is merged."""
    return tuple(
        dict.fromkeys(name for rule in rules if rule.kind == "required_deployments" for name in rule.names)
    )


def list_required_checks(rules: Iterable[BranchRule]) -> frozenset[str]:
    return frozenset(name for rule in rules if rule.kind == "required_status_checks" for name in rule.names)


def message_demands(rules: Iterable[BranchRule]) -> tuple[str, ...]:
    """Return the rules' demands on commit messages, for whoever writes them."""
    return tuple(
        f"A commit's message must {_demand(rule)}." for rule in rules if rule.kind == "commit_message_pattern"
    )


def _of_push(rule: BranchRule, pushes: Pushes) -> Iterator[RuleObjection]:
    where = f"a rule of {code(pushes.branch)}"
    match rule.kind:
        case "required_signatures" if not pushes.signed:
            yield _make_objection(rule, f"{where} {_UNSIGNED}", SIGN)
        case "creation" | "update" if (rule.kind == "update") is pushes.exists:
            yield _make_objection(rule, f"{where} lets only those push there who may bypass it")
        case "commit_author_email_pattern":
            yield from _judge_pattern(rule, where, "the author's address", pushes.author)
        case "committer_email_pattern":
            yield from _judge_pattern(rule, where, "the committer's address", pushes.committer)
        case "branch_name_pattern":
            yield from _judge_pattern(rule, where, "the branch's name", pushes.branch)
        case "commit_message_pattern":
            yield from _of_message(rule, where, pushes.ending)
        case "non_fast_forward":
            text = f"{where} refuses force pushes, which a rebase of published work needs"
            yield _make_objection(rule, text, refuses=False)
        case kind if kind in _OF_BASES:
            yield _make_objection(
                rule, f"{where} ({kind}) may refuse all pushes but the first", refuses=False
            )


def _of_message(rule: BranchRule, where: str, ending: str) -> Iterator[RuleObjection]:
    """Judge messages of which only the ending is known."""
    wanted = f"{where} demands that a commit's message {_demand(rule)}"
    ends = rule.operator == "ends_with" and len(rule.pattern) <= len(ending)
    wrong_end = ends and ending.endswith(rule.pattern) is rule.negate
    if wrong_end or (rule.operator == "contains" and rule.negate and rule.pattern in ending):
        yield _make_objection(rule, f"{wanted}, and Cardinal's trailers break that")
    elif not ends:
        step = "agents are told; a push is refused where one forgets it"
        yield _make_objection(rule, wanted, step, refuses=False)


def _of_merge(
    rule: BranchRule, base: str, method: str, message: str, signed: bool
) -> Iterator[RuleObjection]:
    where = f"a rule of {code(base)}"
    match rule.kind:
        case "required_signatures" if not signed:
            yield _make_objection(rule, f"{where} {_UNSIGNED}", SIGN)
        case "required_linear_history" if method == "merge":
            step = "say `method: squash` or `method: rebase` at the policy's `merge`"
            yield _make_objection(rule, f"{where} takes no merge commits", step)
        case "pull_request" if method and rule.names and method not in rule.names:
            step = f"say `method: {rule.names[0]}` at the policy's `merge`"
            yield _make_objection(rule, f"{where} does not allow the merge method `{method}`", step)
        case "commit_message_pattern" if message:
            yield from _judge_pattern(rule, where, "the message of Cardinal's merge", message)
        case "commit_message_pattern":
            step = "a squash has the card's title; name cards so"
            yield _make_objection(
                rule, f"{where} demands that a message {_demand(rule)}", step, refuses=False
            )
        case "required_deployments":
            text = f"{where} is waiting for a deployment of the commit to {', '.join(map(code, rule.names))}"
            step = "let your own workflow deploy pull requests; Cardinal does not"
            yield _make_objection(rule, text, step, refuses=False)


def _judge_pattern(rule: BranchRule, where: str, what: str, text: str) -> Iterator[RuleObjection]:
    matched, shown = _matches(rule, text), code(text, 120)
    wanted = f"{where} demands that {what} {_demand(rule)}"
    if matched is None:
        yield _make_objection(
            rule, f"{wanted}, which cannot be judged here", f"see that {shown} does", refuses=False
        )
    elif matched is rule.negate:
        yield _make_objection(rule, f"{wanted}, and it is {shown}")


def _matches(rule: BranchRule, text: str) -> bool | None:
    """Return whether a pattern matches; None where only GitHub can tell."""
    match rule.operator:
        case "starts_with":
            return text.startswith(rule.pattern)
        case "ends_with":
            return text.endswith(rule.pattern)
        case "contains":
            return rule.pattern in text
        case "regex" if _is_safe(rule.pattern, text):
            try:
                return re.search(rule.pattern, text, re.ASCII) is not None
            except re.error:
                return None
    return None


def _is_safe(pattern: str, text: str) -> bool:
    """Tell whether Python reads the pattern as RE2 does, and is done with it at once."""
    short = len(pattern) <= MAX_PATTERN and len(text) <= MAX_SUBJECT and "\n" not in text
    few = len(_REPEATS.findall(pattern)) <= MAX_REPEATS and pattern.count("|") <= MAX_CHOICES
    return short and few and pattern.count("(") <= 1 and _SAFE.fullmatch(pattern) is not None


def _demand(rule: BranchRule) -> str:
    demand = _DEMANDS.get(rule.operator, "match")
    return f"{'not ' if rule.negate else ''}{demand} {code(rule.pattern, 120)}"


def _make_objection(
    rule: BranchRule, problem: str, step: str = LEAVE_OUT, *, refuses: bool = True
) -> RuleObjection:
    return RuleObjection(problem, step, refuses, rule.ruleset)
