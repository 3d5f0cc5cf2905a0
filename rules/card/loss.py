"""Organisations and repositories that Cardinal cannot work in, and the way out."""

from ledger.rows.losses import LossRow
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


def is_blocking(loss: LossRow) -> bool:
    """Tell whether nothing can be done there; else some things wait, and the rest goes on."""
    return loss.reason != "permissions"


def say_loss(loss: LossRow, target: str = "") -> str:
    """Return the sentence for people, with the next step; `target` names it in another way."""
    said = _LOST.get(loss.reason, _OUT_OF_REACH)
    names = {"target": target or loss.target, "reason": loss.reason, "detail": loss.detail}
    return said.format(**{name: plain(text, 140) for name, text in names.items()})


def is_outside(repository: str, owner: str) -> bool:
    """Tell whether a repository belongs to somebody else."""
    return repository.partition("/")[0].casefold() != owner.casefold()


def outside_owner(repository: str, owner: str) -> str:
    """Return the sentence about a repository that was given to another owner."""
    next_step = "name another repository, or transfer it back"
    return f"{plain(repository, 140)} is outside {plain(owner, 60)}: {next_step}"
