"""Keys, tokens and passwords in added lines and in commit messages; findings never contain them."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.secret_scan import kinds_in
from runner.run.run_spec import Guards

FINDS = "Keys, tokens and private keys in added lines and commit messages (doubtful ones are asked about)"
ACTION = "deny"
_ADVICE = "take it out of every commit, and have whoever owns it make a new one"
_UNREAD = "make the change smaller, so that all of it can be looked through"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield added lines and commit messages that look like secrets, by kind."""
    rule = f"secrets: {rules.action('secrets')}"
    for touched in change.touched:
        if touched.unread and touched.is_file:
            what = "was not searched for secrets: it is too large, or one of too many files"
            yield breach(touched, rule, what, _UNREAD, doubtful=True)
        for number, text in touched.lines:
            for kind in kinds_in(text):
                yield breach(
                    touched, rule, f"holds {kind.name}", _ADVICE, line=number, doubtful=kind.doubtful
                )
    for message in change.messages:
        kinds = dict.fromkeys(kind for line in message.text.splitlines() for kind in kinds_in(line))
        for kind in kinds:
            what = f"holds {kind.name}"
            place = "(a commit message)"
            yield Breach(place, rule, what, _ADVICE, message.commit, 0, message.commit, kind.doubtful)
