"""Terms of a tool server: its tools and hosts that the policy grants."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ToolServerTerms:
    """The gateway's terms of a tool server: `tools` may be called, `hosts` reached.

    `hidden` are secrets that its results may not show.
    """

    name: str
    tools: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    hidden: tuple[str, ...] = field(default=(), repr=False)
