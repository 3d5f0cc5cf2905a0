"""Settings of the forge's behaviour."""

import re
from dataclasses import dataclass
from enum import StrEnum


class DragShape(StrEnum):
    """Webhooks of a person's drag to another column; both were seen from the real GitHub."""

    EDITED = "edited"
    REORDERED = "reordered"
    BOTH = "both"
    ALTERNATE = "alternate"


@dataclass(slots=True)
class Settings:
    """The switches, each at its default."""

    drag_shape: DragShape = DragShape.EDITED
    # A column's name: the built-in workflow "Item closed", on in every new project; empty: off. Source:
    # docs.github.com/issues/planning-and-tracking-with-projects/automating-your-project/
    # using-the-built-in-automations.
    closed_moves_to: str = "Done"
    timeline: bool = True  # issues tell who moved their cards; off: as GitHub does while it is late with that
    apps_convert_drafts: bool = True  # off: refused to Apps, which nobody has reported either way
    token_lifetime_s: int = 3600  # docs.github.com/rest/apps/apps: one hour
    server_version: str = ""  # of a GitHub Enterprise Server, like 3.20.1; empty: github.com
    rate_limit: int = 5000  # requests an hour for one installation

    @property
    def apps_path(self) -> str:
        return "/github-apps" if self.server_version else "/apps"

    def is_before(self, release: tuple[int, int]) -> bool:
        """Return whether the forge is an Enterprise Server of an older release."""
        parts = re.findall("[0-9]+", self.server_version)[:2]
        return bool(parts) and tuple(map(int, parts)) < release
