"""The network setting of a policy, the intersection of several, and secrets for its hosts."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BeforeValidator

from ledger.model.policy_settings import HostSecret
from rules.policy.messages import locate
from rules.policy.repository import Line
from rules.policy.yaml_reader import Path, Written
from rules.text import code

FULL = ("*",)


def _read(value: object) -> object:
    return {"none": (), "full": FULL}.get(value, (value,)) if isinstance(value, str) else value


# Host patterns; none are `none`, `*` is `full`.
Network = Annotated[tuple[Line, ...], BeforeValidator(_read, json_schema_input_type=str | tuple[Line, ...])]


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


def secret_problems(
    secrets: Sequence[HostSecret], network: tuple[str, ...], written: Written, where: Path
) -> Iterator[str]:
    """Yield a sentence for each secret whose host the column does not let be reached, and for a second one
    in the same header.
    """
    seen: set[tuple[str, str]] = set()
    for index, secret in enumerate(secrets):
        if beyond((secret.host.removesuffix(":443"),), network):
            said = (
                f"the column does not let {code(secret.host)} be reached: add it to `tools: {{network: […]}}`"
            )
            yield locate(written, (*where, index, "host"), said)
        taken = (secret.host.removesuffix(":443"), secret.header.lower())
        if taken in seen:
            yield locate(written, (*where, index, "header"), "this host has another secret in that header")
        seen.add(taken)
