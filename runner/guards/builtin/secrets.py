"""Keys, tokens and passwords in added lines, names of files and messages; findings never contain them."""

from collections.abc import Iterator
from dataclasses import replace

from runner.guards.contract import NOTHING, Breach, Change, breach
from runner.guards.secret_scan import find_secrets
from runner.run.run_spec import Guards

FINDS = "Keys, tokens and private keys in added lines, file names, messages (doubtful ones are asked about)"
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
        for secret in find_secrets([text for _, text in touched.lines]):
            number = touched.lines[secret.line][0]
            yield breach(
                touched, rule, f"holds {secret.kind}", _ADVICE, line=number, doubtful=secret.doubtful
            )
    there = [touched for touched in change.touched if touched.mode != NOTHING]
    for secret in find_secrets([touched.path.replace("\n", " ") for touched in there]):
        named = breach(there[secret.line], rule, f"holds {secret.kind}", _ADVICE, doubtful=secret.doubtful)
        yield replace(named, path="(the name of a file)")
    for message in change.messages:
        place, lines = "(a commit message)", message.text.splitlines()
        for what, doubtful in dict.fromkeys((secret.kind, secret.doubtful) for secret in find_secrets(lines)):
            yield Breach(place, rule, f"holds {what}", _ADVICE, message.commit, 0, message.commit, doubtful)
