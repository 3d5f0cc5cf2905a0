"""Organisations and repositories that Cardinal cannot work in, and the way out."""

from dataclasses import dataclass

from rules.text import plain

_OUT_OF_REACH = "{target} cannot be reached ({reason}): see `cardinal doctor`"
_UNACCEPTED = (
    "{target} has not accepted the permissions of the App ({detail}): an owner does so in {target}'s "
    "settings, under GitHub Apps"
)
_LOST = {
    "uninstalled": "the App is no longer installed on {target}: install it again, `cardinal init` "
    "shows where",
    "suspended": "the App is suspended on {target}: an owner can lift that in {target}'s settings, under "
    "GitHub Apps",
    "permissions": _UNACCEPTED,
    "core_permissions": _UNACCEPTED,
    "archived": "{target} is archived, so nothing can be written there: unarchive it in its settings "
    "to continue",
    "removed": "the App cannot see {target}: an owner adds it to the App's repositories in the "
    "organisation's settings, under GitHub Apps",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """An organisation or a repository that Cardinal cannot work in; see AccessLost."""

    target: str
    reason: str
    detail: str = ""

    @property
    def blocks(self) -> bool:
        """Nothing can be done there; else some things wait, and the rest goes on."""
        return self.reason != "permissions"

    @property
    def sentence(self) -> str:
        """The sentence for people, with the next step."""
        said = _LOST.get(self.reason, _OUT_OF_REACH)
        names = {"target": self.target, "reason": self.reason, "detail": self.detail}
        return said.format(**{name: plain(text, 140) for name, text in names.items()})


def is_outside(repository: str, owner: str) -> bool:
    """Tell whether a repository belongs to somebody else."""
    return repository.partition("/")[0].casefold() != owner.casefold()


def outside_owner(repository: str, owner: str) -> str:
    """Return the sentence about a repository that was given to another owner."""
    next_step = "name another repository, or transfer it back"
    return f"{plain(repository, 140)} is outside {plain(owner, 60)}: {next_step}"
