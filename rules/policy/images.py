"""Names of container images that a policy may give, and which of them the operator lists."""

import re
from collections.abc import Iterable

from rules.text import code

IMAGE = "cardinal/agent:latest"  # that `cardinal images` builds
BROWSER_IMAGE = "cardinal/browser:latest"  # the same
OWN = (IMAGE, BROWSER_IMAGE)  # of Cardinal's own images only these are for every repository
DEVCONTAINER = "devcontainer"  # in the operator's list: this file of the repository may make an image
MAX_CHARS = 300
# As Docker writes names itself: a registry is known by a dot, a port, or both in its first part. There is one
# spelling of each name, so that what is listed, what is meant and what is opened can be compared.
_PART = r"[a-z0-9]++(?:(?:\.|_|__|-++)[a-z0-9]++)*+"
_NAME = re.compile(
    rf"(?P<name>(?:(?P<registry>[a-z0-9-]++(?:\.[a-z0-9-]++)*+(?::[0-9]{{1,5}})?)/)?{_PART}(?:/{_PART})*+)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})|@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_LATEST = "latest"
_ID = re.compile(r"[0-9a-f]{1,64}")


def why_unfit(image: str) -> str:
    """Return why a policy may not name this image, as the end of a sentence; empty where it may."""
    match = _NAME.fullmatch(image) if len(image) <= MAX_CHARS else None
    if match is None:
        return "is not a valid Docker image name: use lower case, then `:tag` or `@sha256:…`, not both"
    name, first = match["name"], match["name"].partition("/")[0]
    if name == DEVCONTAINER:
        return "is the operator's word for `devcontainer.json`, which counts where you leave `image` out"
    if name == "sha256" or (_ID.fullmatch(name) and not match["tag"] and not match["digest"]):
        return "could be an image id, or the start of one: use a name with a tag"
    if first in ("docker.io", "index.docker.io", "library", "localhost"):
        return f"begins with {code(first + '/')}, which Docker does not show: leave it out"
    if first == "cardinal" and full_name(image) not in OWN:
        return f"is Cardinal's own: you may use only {code(IMAGE)} and {code(BROWSER_IMAGE)}"
    return ""


def full_name(image: str) -> str:
    """Return the name with the tag that Docker adds to one without."""
    tagged = "@" in image or ":" in image.rpartition("/")[2]
    return image if tagged else f"{image}:{_LATEST}"


def is_listed(image: str, listed: Iterable[str]) -> bool:
    """Tell whether an image may be opened: it is listed, or Cardinal's own. A listed name without a tag or
    digest stands for all of its tags and digests.
    """
    match = _NAME.fullmatch(image)
    if match is None or why_unfit(image):
        return False
    return full_name(image) in OWN or any(
        entry in (image, full_name(image), match["name"]) for entry in listed
    )


def fit_image(image: str) -> str:
    """Return the name; raises ValueError where a policy may not give it."""
    if why := why_unfit(image):
        raise ValueError(f"{code(image)} {why}")
    return image
