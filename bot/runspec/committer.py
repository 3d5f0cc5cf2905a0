"""The author of Cardinal's commits, and the key that signs them."""

from urllib.parse import urlsplit

from bot.github.client import Hub
from bot.system.config import Config, ConfigError
from rules.policy.repository import RepositoryRules
from runner.run.run_spec import Authorship, Committer, SigningKey

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
