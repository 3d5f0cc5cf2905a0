"""Settings of the forge's behaviour."""

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
    closed_moves_to: str = ""  # a column name: the built-in "item closed" automation; empty: off
    timeline: bool = True  # issues tell who moved their cards; off: as GitHub does while it is late with that
    token_lifetime_s: int = 3600  # docs.github.com/rest/apps/apps: one hour
    server_version: str = ""  # of a GitHub Enterprise Server, like 3.18.0; empty: github.com
    rate_limit: int = 5000  # requests an hour for one installation
