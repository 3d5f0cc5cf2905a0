"""Sorts a refused push by its words: the cause, and the step that lets the next one through. Pure.

Git has one exit code for all of them. `source` says where the words were read.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class PushCause(StrEnum):
    MOVED = "moved"  # the branch has commits that the push does not know
    IN_THE_WAY = "in_the_way"  # another branch's name
    RULE = "rule"  # a protection, a ruleset, a hook of the server
    CONTENT = "content"  # something that the push contains
    CLOSED = "closed"  # the repository takes no push


@dataclass(frozen=True, slots=True)
class PushRefusal:
    """One kind of refusal; `step` is for a person, before a retry."""

    cause: PushCause
    words: re.Pattern[str]
    step: str
    source: str

    @property
    def because(self) -> str:
        return _WORDS[self.cause]


_WORDS = {
    PushCause.MOVED: "it has new commits on GitHub",
    PushCause.IN_THE_WAY: "another branch's name is in the way",
    PushCause.RULE: "a branch protection or rule refuses it",
    PushCause.CONTENT: "GitHub does not take its content",
    PushCause.CLOSED: "the repository takes no push",
}


def _row(cause: PushCause, words: str, step: str, source: str) -> PushRefusal:
    return PushRefusal(cause, re.compile(words, re.IGNORECASE), step, source)


_RULE_STEP = "change the rule, or let Cardinal's App bypass it"
# The first that fits counts.
KNOWN = (
    _row(
        PushCause.IN_THE_WAY,
        r"directory file conflict|' exists; cannot create '|cannot lock ref[^\n]{0,300}Not a directory",
        "rename or delete the branch whose name is a folder of this one's, or the other way round",
        "git's refs/files-backend.c and send-pack.c",
    ),
    _row(
        PushCause.RULE,
        r"refusing to allow an? [^\n]{0,60} to create or update workflow",
        "a maintainer gives leave with `/cardinal allow workflows`",
        "GitHub's docs (REST, permissions of an App: workflows)",
    ),
    _row(
        PushCause.RULE,
        r"verified signatures|GH006[^\n]{0,300}signed",
        "say `repository: {commits: {sign: github}}` in its policy",
        "gh-aw, issue 29301",
    ),
    _row(
        PushCause.CONTENT,
        r"GH001|exceeds GitHub's file size limit|pack exceeds maximum allowed size",
        "take the large file out of every commit of the branch, or keep it with Git LFS",
        "GitHub's docs (About large files on GitHub)",
    ),
    _row(
        PushCause.CONTENT,
        r"push protection|GH009|secret(?:s)? (?:was|were)? ?detected|contains? secrets",
        "take the secret out of every commit and replace it; or allow it on the page that GitHub names",
        "GitHub's docs (Working with push protection from the command line)",
    ),
    _row(
        PushCause.CONTENT,
        r"GH007|publish a private email address",
        "use the account's noreply address, or allow the address in that account's settings",
        "GitHub's docs (Blocking command line pushes that expose your personal email address)",
    ),
    _row(
        PushCause.CLOSED,
        r"archived so it is read-only|repository (?:is|has been) (?:locked|disabled)|being migrated",
        "open the repository again",
        "GitHub's docs (Archiving repositories)",
    ),
    _row(
        PushCause.RULE,
        r"GH006|GH013|protected branch hook declined|pre-receive hook declined|hook declined",
        _RULE_STEP,
        "GitHub's docs (Troubleshooting rules)",
    ),
    _row(
        PushCause.MOVED,
        r"stale info|non-fast-forward|fetch first|cannot lock ref|already exists|failed to update ref",
        "retry takes those commits in",
        "git-push(1)",
    ),
    _row(PushCause.RULE, r"\[remote rejected\]", _RULE_STEP, "git-push(1), --porcelain"),
)


def find_push_refusal(output: str) -> PushRefusal | None:
    """Return the kind of refusal in git's output; None for a failure that is no refusal."""
    return next((row for row in KNOWN if row.words.search(output)), None)
