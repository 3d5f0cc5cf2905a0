"""Symbolic links that leave the repository, point to protected files, or replace a file or folder."""

from collections.abc import Iterator

from runner.guards.contract import LINK, NOTHING, Breach, Change, Touched, breach
from runner.guards.path_patterns import folded, protected
from runner.run.run_spec import Guards

FINDS = "Links that are absolute, lead out of the repository or to what is protected, or replace a file"
ACTION = "deny"
_ADVICE = "remove the link; put a file of its own there"


def look(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield links that are more than a short way to a neighbour."""
    gone = {(one.commit, folded(one.path).split("/")[0]) for one in change.touched if one.mode == NOTHING}
    for one in change.touched:
        if one.mode == LINK:
            what = _why_not(one, rules) or _stands_in(one, gone)
            if what:
                yield breach(one, f"symlinks: {rules.action('symlinks')}", what, _ADVICE)


def _why_not(one: Touched, rules: Guards) -> str:
    if one.target.startswith(("/", "\\", "~")) or one.target[1:2] == ":":
        return "is a link to an absolute path"
    place = _resolved(one.path, one.target)
    if place is None:
        return "is a link that leads out of the repository"
    if not place or folded(place[0]) == ".git":
        return "is a link to the whole repository, or to git's own files"
    if protected(["/".join(place)], rules.protect):
        return "is a link to what is protected"
    return ""


def _stands_in(one: Touched, gone: set[tuple[str, str]]) -> str:
    """Return which file or folder of that name the link replaces, as the end of a sentence."""
    if one.before_mode not in (NOTHING, LINK):
        return "is a link in the place of a file"
    if "/" not in one.path and (one.commit, folded(one.path)) in gone:
        return "is a link in the place of a folder"
    return ""


def _resolved(path: str, target: str) -> list[str] | None:
    """Return the parts of a link's target; None when that is above the repository."""
    place = path.split("/")[:-1]
    for part in target.replace("\\", "/").split("/"):
        if part == "..":
            if not place:
                return None
            place.pop()
        elif part not in ("", "."):
            place.append(part)
    return place
