"""Symbolic links that leave the repository, point to protected files, or replace a file or folder."""

from collections.abc import Iterator

from runner.guards.contract import LINK, NOTHING, Breach, Change, Touched, breach
from runner.guards.path_patterns import find_protected, fold_case
from runner.run.run_spec import Guards

FINDS = "Links that are absolute, lead out of the repository or to what is protected, or replace a file"
ACTION = "deny"
_ADVICE = "remove the link; put a file of its own there"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield links that are more than a short way to a neighbour."""
    gone = {
        (touched.commit, fold_case(touched.path).split("/")[0])
        for touched in change.touched
        if touched.mode == NOTHING
    }
    for touched in change.touched:
        if touched.mode == LINK:
            what = _why_not(touched, rules) or _stands_in(touched, gone)
            if what:
                yield breach(touched, f"symlinks: {rules.action('symlinks')}", what, _ADVICE)


def _why_not(touched: Touched, rules: Guards) -> str:
    if touched.target.startswith(("/", "\\", "~")) or touched.target[1:2] == ":":
        return "is a link to an absolute path"
    place = _resolve_target(touched.path, touched.target)
    if place is None:
        return "is a link that leads out of the repository"
    if not place or fold_case(place[0]) == ".git":
        return "is a link to the whole repository, or to git's own files"
    if find_protected(["/".join(place)], rules.protect):
        return "is a link to what is protected"
    return ""


def _stands_in(touched: Touched, gone: set[tuple[str, str]]) -> str:
    """Return which file or folder of that name the link replaces, as the end of a sentence."""
    if touched.before_mode not in (NOTHING, LINK):
        return "is a link in the place of a file"
    if "/" not in touched.path and (touched.commit, fold_case(touched.path)) in gone:
        return "is a link in the place of a folder"
    return ""


def _resolve_target(path: str, target: str) -> list[str] | None:
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
