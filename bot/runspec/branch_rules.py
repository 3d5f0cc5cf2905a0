"""Who commits, and the rulesets of a run's own branch: refusals are known before its agent starts."""

from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from bot.github.api import rulesets
from bot.github.client import Hub
from bot.system.config import Config, ConfigError
from rules.errors import BranchRulesError
from rules.policy.repository import RepositoryRules
from rules.runs.branch_rules import BranchRule, Pushes, RuleObjection, message_demands, of_push
from runner.git.commits import trailers
from runner.run.run_spec import Authorship, Committer, RunSpec, SigningKey

RECENT_S, SEEN_S = 300, 60
# The author before 0.1.0. GitHub credits this address to the person whose login is `cardinal`.
PAST_AUTHOR = Committer("Cardinal", "cardinal@users.noreply.github.com")


def authorship_of(config: Config, hub: Hub, repository: str, rules: RepositoryRules) -> Authorship:
    """Return the author of Cardinal's commits, which is the App's own account, and the key that signs them.

    Commits of the past author are Cardinal's too.

    Raises ConfigError where the policy wants a key and there is none.
    Source: docs.github.com/account-and-profile/reference/email-addresses-reference (noreply; an Enterprise
    Server has its own).
    """
    host = urlsplit(hub.page_url(repository)).hostname
    account = Committer(hub.bot_login, f"{hub.bot_id}+{hub.bot_login}@users.noreply.{host}")
    by_github = rules.commits.sign == "github"
    return Authorship(account, signing_key(config, rules), by_github=by_github, past=(PAST_AUTHOR,))


def signing_key(config: Config, rules: RepositoryRules) -> SigningKey | None:
    """Return the key for commits, None where the repository wants none; raises ConfigError without one."""
    if rules.commits.sign != "ssh":
        return None
    if config.signing_key is None or not config.signing_as:
        what = "the repository's policy says `commits: {sign: ssh}`"
        how = "set CARDINAL_SIGNING_KEY and CARDINAL_SIGNING_AS on each host, or change the policy"
        raise ConfigError((f"{what}, and this host has no key for it: {how}",))
    name, _, address = config.signing_as.removesuffix(">").rpartition(" <")
    return SigningKey(config.signing_key, Committer(name, address))


def demand(hub: Hub, spec: RunSpec, *, exists: bool, begun: bool) -> RunSpec:
    """Return the specification, with the demands on commit messages among the agent's instructions.

    `exists`: GitHub has the branch. `begun`: the agent has worked, so that the push is tried in any case.
    Raises BranchRulesError where the push would be refused.
    """
    ending = trailers((spec.run_id,), spec.full_reference)
    pushed = pushes(spec.branch, spec.authorship, ending, exists=exists)
    read = partial(rulesets.of_branch, hub, spec.repository, spec.branch)
    rules = read(for_s=RECENT_S if begun else SEEN_S)
    if not begun and _refusing(rules, pushed):
        rules = read()  # somebody may have mended what was seen before
        if objections := rulesets.binding(hub, spec.repository, _refusing(rules, pushed)):
            raise BranchRulesError(tuple(objection.text for objection in objections))
    return _add_instructions(spec, rules)


def _refusing(rules: tuple[BranchRule, ...], pushed: Pushes) -> tuple[RuleObjection, ...]:
    return tuple(objection for objection in of_push(rules, pushed) if objection.refuses)


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
