"""Secrets of a run that are sent to hosts, by name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostSecretSpec:
    """A secret, by its name, that requests to `host` (`host:port`) carry in a header; `{}` is the value."""

    name: str
    host: str
    header: str
    format: str
