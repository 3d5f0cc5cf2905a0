"""The network setting of a policy, and the intersection of several."""

from typing import Annotated

from pydantic import BeforeValidator

from rules.policy.repository import Line

FULL = ("*",)


def _read(value: object) -> object:
    return {"none": (), "full": FULL}.get(value, (value,)) if isinstance(value, str) else value


Network = Annotated[tuple[Line, ...], BeforeValidator(_read)]  # host patterns; none are `none`, `*` is `full`


def beyond(hosts: tuple[str, ...], most: tuple[str, ...]) -> tuple[str, ...]:
    """Return the patterns that reach further than `most` does."""
    return tuple(host for host in hosts if not any(_within(host, wider) for wider in most))


def narrowest(*wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the patterns that all of them allow; None allows everything."""
    left: tuple[str, ...] = FULL
    for patterns in wanted:
        if patterns is not None:
            far = (set(beyond(left, patterns)), set(beyond(patterns, left)))
            kept = (*(host for host in left if host not in far[0]), *(h for h in patterns if h not in far[1]))
            left = tuple(dict.fromkeys(kept))
    return left


def word(hosts: tuple[str, ...]) -> str:
    """Return the word for such patterns: none, list or full."""
    return "none" if not hosts else "full" if hosts == FULL else "list"


def _within(pattern: str, wider: str) -> bool:
    """Whether all that the one pattern allows is allowed by the other; letter by letter, but for case."""
    (host, _, port), (most, _, most_port) = (text.strip().lower().partition(":") for text in (pattern, wider))
    if wider.strip() == "*" or (host, port) == (most, most_port):
        return True
    below = most.startswith("*.") and host.removeprefix("*").endswith(most.removeprefix("*"))
    return below and host != "*" and port == most_port
