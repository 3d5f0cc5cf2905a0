"""A policy file to compare with the one in force: pasted, or read from a branch or pull request."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.github.errors import NotFoundError, RateLimitedError
from bot.repo_config import policy_file, profiles
from bot.state import served_boards
from bot.web.authorization import LAST
from bot.web.site.layout import Site, VisibleBoard
from ledger.log import event_store
from rules.policy import locations
from rules.text import plain

PASTED = "the pasted file"
NO_PLACE = "There is no branch or pull request {place} in {home}: write a branch as it is called, or #12."
NO_FILE = "There is no {path} on {place}."


@dataclass(frozen=True, slots=True)
class OtherPolicy:
    """A policy file, its name, and the place that was wanted; `missing` says why there is none.

    `profiles`: the repository's own at that place; None where they are not known.
    """

    text: str
    name: str = PASTED
    place: str = ""
    missing: str = ""
    profiles: tuple[str, ...] | None = None


def read(site: Site, board: VisibleBoard, form: Mapping[str, str]) -> OtherPolicy:
    """Return the pasted file, or that of the branch that the form names.

    The caller knows that the visitor may read the repository of the board's policy. Raises GithubError.
    """
    place = form.get("branch", "").strip()
    if not place:
        return OtherPolicy(form.get("text", "").replace("\r\n", "\n"))
    with event_store.reading(site.engine) as db:
        home = served_boards.require_board(db, site.config, board.board_id).home_repository
    hub = served_boards.hub_of(site.engine, site.config, site.services.context.app, home)
    wait_s = hub.budget.spare(LAST)
    if wait_s > 0:  # Cardinal's own calls go first
        raise RateLimitedError(home, 0, "the rate limit is nearly reached", wait_s)
    name = plain(place)
    try:
        text, commit = policy_file.read_proposed(hub, home, place)
    except NotFoundError:
        return OtherPolicy("", name, name, NO_PLACE.format(place=name, home=home))
    if text is None:
        return OtherPolicy("", name, name, NO_FILE.format(path=locations.PATH, place=name))
    own = profiles.own_profile_names(hub, home, commit, text)
    return OtherPolicy(text, f"{name} at {commit[:10]}", place, profiles=own)
