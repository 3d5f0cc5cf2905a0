"""Rulesets of a run's own branch: their refusals are known before its agent starts."""

from dataclasses import replace

from bot.github.api import rulesets
from bot.github.client import Hub
from rules.errors import BranchRulesError
from rules.runs.branch_rules import BranchRule, Pushes, message_demands, of_push
from runner.git.commits import trailers
from runner.run.run_spec import Authorship, RunSpec


def demand(hub: Hub, spec: RunSpec, *, exists: bool, begun: bool) -> RunSpec:
    """Return the specification, with the demands on commit messages among the agent's instructions.

    `exists`: GitHub has the branch. `begun`: the agent has worked, so that the push is tried in any case.
    Raises BranchRulesError where the push would be refused.
    """
    rules = rulesets.of_branch(hub, spec.repository, spec.branch, fresh=not begun)
    ending = trailers((spec.run_id,), spec.full_reference)
    pushed = pushes(spec.branch, spec.authorship, ending, exists=exists)
    refusing = () if begun else tuple(each for each in of_push(rules, pushed) if each.refuses)
    if refusing and (left := rulesets.binding(hub, spec.repository, refusing)):
        raise BranchRulesError(tuple(each.text for each in left))
    return _add_instructions(spec, rules)


def pushes(branch: str, by: Authorship, ending: str, *, exists: bool = False) -> Pushes:
    """Return Cardinal's pushes to a branch, for the rules to judge."""
    return Pushes(
        branch=branch,
        author=by.author.email,
        committer=by.committer.email,
        ending=ending,
        signed=by.signs,
        exists=exists,
    )


def _add_instructions(spec: RunSpec, rules: tuple[BranchRule, ...]) -> RunSpec:
    words = " ".join(message_demands(rules))
    more = f"{words} GitHub refuses others." if words else ""
    return replace(spec, instructions="\n\n".join(filter(None, (spec.instructions, more))))
