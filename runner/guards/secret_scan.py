"""Secrets in one line of text: by detect-secrets, and by the patterns that Cardinal redacts.

Only patterns are used, on text in memory: nothing asks the network whether a key is valid.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import BasePlugin

from runner.text.plain import redact

_CERTAIN = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "CloudantDetector",
    "DiscordBotTokenDetector", "GitHubTokenDetector", "GitLabTokenDetector", "IbmCloudIamDetector",
    "IbmCosHmacDetector", "MailchimpDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector",
    "PypiTokenDetector", "SendGridDetector", "SlackDetector", "SoftlayerDetector", "SquareOAuthDetector",
    "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip
_DOUBTFUL = ("BasicAuthDetector", "JwtTokenDetector")  # common in examples and tests: a person decides
_PIECE = 2_000  # characters; a pattern's time grows with the line
_OVERLAP = 200
_SETS = re.compile(r"pass|pwd|secret|key|contrase", re.IGNORECASE)
_KEYWORD_PIECE, _BEFORE = 400, 100  # a name may stand before the word and after it
_MIN_CHARS, _MIN_BITS = 10, 3.0  # of a password that is no example: measured on words and on random ones
_VALUE = re.compile(r"[^\s'\"`,;<>{}()\[\]$%*]+")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret, as people call it. `doubtful`: as often an example as a secret."""

    name: str
    doubtful: bool


def kinds_in(line: str) -> tuple[Kind, ...]:
    """Return the kinds of secrets in a line, each once."""
    return tuple(dict.fromkeys(kind for piece in _pieces(line) for kind in _kinds(piece)))


def _pieces(line: str) -> Iterator[str]:
    step = _PIECE - _OVERLAP
    yield from (line[start : start + _PIECE] for start in range(0, max(1, len(line) - _OVERLAP), step))


def _kinds(text: str) -> Iterator[Kind]:
    certain, doubtful, keyword = _plugins()
    sure = [plugin for plugin in certain if _finds(plugin, text)]
    yield from (Kind(f"what looks like a secret ({plugin.secret_type})", False) for plugin in sure)
    unsure = [plugin for plugin in doubtful if _finds(plugin, text)]
    yield from (Kind(f"what may be a secret ({plugin.secret_type})", True) for plugin in unsure)
    if not sure and not unsure and redact(text) != text:
        yield Kind("what looks like a secret (token)", False)
    if not sure and _SETS.search(text) and _sets_password(keyword, text):
        yield Kind("what may be a secret (password)", True)


def _finds(plugin: BasePlugin, text: str) -> bool:
    return any(True for _ in plugin.analyze_string(text))


def _sets_password(keyword: BasePlugin, text: str) -> bool:
    """Whether a name like `password` gets a value that is no example."""
    at = 0
    while match := _SETS.search(text, at):
        piece = text[max(0, match.start() - _BEFORE) : match.start() + _KEYWORD_PIECE]
        if any(_is_random(value) for value in keyword.analyze_string(piece)):
            return True
        at = match.start() + _KEYWORD_PIECE - _BEFORE
    return False


def _is_random(value: str) -> bool:
    if not _VALUE.fullmatch(value) or len(value) < _MIN_CHARS:
        return False
    kinds = (any(map(str.isdigit, value)), any(map(str.isalpha, value)))
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
    return all(kinds) and bits >= _MIN_BITS


@cache
def _plugins() -> tuple[tuple[BasePlugin, ...], tuple[BasePlugin, ...], BasePlugin]:
    plugins: list[Any] = list(get_mapping_from_secret_type_to_class().values())
    known = {plugin.__name__: plugin for plugin in plugins}
    certain, doubtful = (tuple(known[name]() for name in names) for names in (_CERTAIN, _DOUBTFUL))
    return certain, doubtful, known["KeywordDetector"]()
