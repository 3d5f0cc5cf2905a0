"""Rules of rulesets that judge commits, pushes and merges; also the program of the `update` hook."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ZERO_SHA = "0" * 40
WORKFLOWS = ".github/workflows/"
WORKFLOW_REFUSED = (
    "refusing to allow a GitHub App to create or update workflow `{}` without `workflows` permission"
)
UNGRANTED = "FORGE_WITHOUT_WORKFLOWS"  # the variable of a push by a token without that permission
LINEAR = "This branch must not contain merge commits."
# Source: docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/
# available-rules-for-rulesets.
_OF_COMMITS = {
    "commit_message_pattern": ("Commit message", "message"),
    "commit_author_email_pattern": ("Commit author email", "author_email"),
    "committer_email_pattern": ("Committer email", "committer_email"),
}
_VERBS = {"starts_with": "start with", "ends_with": "end with", "contains": "contain", "regex": "match"}

Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pushed:
    """A new commit, as rules judge it."""

    sha: str
    parents: int
    author_email: str
    committer_email: str
    message: str


def fits(parameters: Rule, text: str) -> bool:
    """Tell whether a text satisfies the pattern of a rule."""
    pattern = str(parameters["pattern"])
    match parameters["operator"]:
        case "starts_with":
            matched = text.startswith(pattern)
        case "ends_with":
            matched = text.endswith(pattern)
        case "contains":
            matched = pattern in text
        case _:
            matched = re.search(pattern, text) is not None
    return matched is not bool(parameters.get("negate"))


def against_push(
    rules: Iterable[Rule], branch: str, old: str, commits: Sequence[Pushed], *, forced: bool
) -> list[str]:
    """Return GitHub's objections to a push to a branch; `old` is its commit, or zeros for a new branch."""
    new, said = old == ZERO_SHA, []
    for rule in rules:
        match rule["type"]:
            case "creation" if new:
                said.append("Cannot create ref due to creations being restricted.")
            case "update" if not new:
                said.append("Cannot update this protected ref.")
            case "pull_request" if not new:
                said.append("Changes must be made through a pull request.")
            case "non_fast_forward" if forced:
                said.append("Cannot force-push to this branch.")
            case "required_linear_history" if any(commit.parents > 1 for commit in commits):
                said.append(LINEAR)
            case "branch_name_pattern" if new and not fits(rule["parameters"], branch):
                said.append(_demand("Branch name", rule["parameters"]))
            case kind if kind in _OF_COMMITS:
                said += against_texts(rule, [getattr(commit, _OF_COMMITS[kind][1]) for commit in commits])
    return said


def against_texts(rule: Rule, texts: Iterable[str]) -> list[str]:
    """Return GitHub's objection where a text does not fit the rule of commits; else none."""
    parameters = rule["parameters"]
    wrong = any(not fits(parameters, text) for text in texts)
    return [_demand(_OF_COMMITS[rule["type"]][0], parameters)] if wrong else []


def _demand(what: str, parameters: Rule) -> str:
    verb, negate = _VERBS[str(parameters["operator"])], "not " if parameters.get("negate") else ""
    return f"{what} must {negate}{verb} the pattern: {parameters['pattern']}"


def _new_commits(new: str) -> list[Pushed]:
    command = ("git", "log", "--format=%H%x00%P%x00%ae%x00%ce%x00%B%x01", new, "--not", "--all")
    out = subprocess.run(command, capture_output=True, check=True, timeout=30).stdout.decode(errors="replace")
    records = (record.lstrip("\n").split("\0") for record in out.split("\x01") if record.strip())
    return [
        Pushed(sha, len(parents.split()), author, committer, message.rstrip("\n"))
        for sha, parents, author, committer, message in records
    ]


def _workflow(new: str) -> str:
    """Return the first file of GitHub Actions that new commits change; empty without one."""
    command = ("git", "log", "--format=", "--name-only", "-z", new, "--not", "--all", "--", WORKFLOWS)
    out = subprocess.run(command, capture_output=True, check=True, timeout=30).stdout.decode(errors="replace")
    return min((path.strip("\n") for path in out.split("\0") if path), default="")


def _main(ref: str, old: str, new: str) -> int:
    """Judge one pushed ref in a bare repository, whose rules are in its file `rules`."""
    if UNGRANTED in os.environ and new != ZERO_SHA and (file := _workflow(new)):
        sys.stderr.write(f"error: {WORKFLOW_REFUSED.format(file)}\n")
        return 1
    if not Path("rules").exists():
        return 0
    branch = ref.removeprefix("refs/heads/")
    by_pattern = json.loads(Path("rules").read_text(encoding="utf-8"))
    rules = [rule for pattern, some in by_pattern.items() if fnmatchcase(branch, pattern) for rule in some]
    if new == ZERO_SHA or branch == ref or not rules:
        return 0
    rewinds = ("git", "merge-base", "--is-ancestor", old, new)
    forced = old != ZERO_SHA and subprocess.run(rewinds, check=False, timeout=30).returncode != 0
    said = against_push(rules, branch, old, _new_commits(new), forced=forced)
    if said:
        lines = "".join(f"\n- {line}\n" for line in said)
        sys.stderr.write(f"error: GH013: Repository rule violations found for {ref}.\n{lines}")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:4]))
