"""Text for events and people: redacted, truncated, on one line. Pure."""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

_SHAPES = re.compile(
    r"""
    gh[pousr]_[A-Za-z0-9._-]{36,}                # GitHub: also its longer, stateless tokens
    | github_pat_[A-Za-z0-9_]{22,}
    | (?<![A-Za-z0-9])sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}   # model providers
    | A[KS]IA[0-9A-Z]{16}
    | (?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,}   # Google
    | xox[abprs]-[A-Za-z0-9-]{10,}
    | (?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}   # JWT
    | (?i:(?<=authorization:[ ])(?:basic|bearer|token)[ ]+[A-Za-z0-9+/=._-]{8,})
    | (?<=://)[^\s/:@"'<>`]{0,100}:[^\s/@"'<>`]{3,200}(?=@)   # a password in an address
    | -----BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY-----[\s\S]*?
      (?:-----END[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE,
)
# What every shape begins with or holds, in lower case: text without any is spared the slow expression. Of
# "authorization" a part without the letters that more than one capital stands for.
_SIGNS = (
    *(
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "sk-",
        "akia",
        "asia",
        "ya29.",
        "xox",
        "eyj",
        "uthor",
    ),
    "-----begin ",
    "://",
)
# ECMA-48: control sequences, of which `m` sets colours (8.3.117); strings up to ST or BEL; the rest.
# Here a string ends with its line at latest: an open one hides no other line.
TERMINAL_CODE = re.compile(
    r"\x1b(?:\[(?P<sgr>[0-9;]{0,60})m|\[[0-?]*[ -/]*[@-~]?"
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)"
)
_SECRET_NAMES = ("private_key", "private_key_id", "client_secret", "refresh_token")  # in a file of Google's
_PEM_LINE = 12  # the last one may be short, and says nothing alone
REDACTED = "[redacted]"
CUT = " …[cut]"


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON with every text in it changed, but for the names of its keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [each_text(item, change) for item in value]
    return {key: each_text(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def cut_bytes(text: str, cap_bytes: int) -> str:
    """Return the beginning of `text` in at most `cap_bytes` of UTF-8, with a mark when truncated."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= cap_bytes:
        return raw.decode("utf-8")
    room = max(0, cap_bytes - len(CUT.encode()))
    return raw[:room].decode("utf-8", "ignore") + CUT


def tail(text: str, cap_bytes: int) -> str:
    """Return the end of `text` in at most `cap_bytes` of UTF-8."""
    raw = text.encode("utf-8", "replace")
    return raw[-cap_bytes:].decode("utf-8", "ignore") if len(raw) > cap_bytes else raw.decode("utf-8")


def one_line(text: str, cap_bytes: int = 500) -> str:
    """Return `text` as one line without control characters, cut to `cap_bytes`."""
    return cut_bytes(" ".join("".join(c if c.isprintable() else " " for c in text).split()), cap_bytes)


def without_terminal_codes(text: str) -> str:
    """Return `text` without the colours, cursor moves, titles and links of a terminal."""
    return TERMINAL_CODE.sub("", text) if "\x1b" in text else text


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without tokens, private keys, and the given `secrets`.

    Secrets under 6 characters stay: removing every "a" would make the text unreadable.
    """
    forms = {form for secret in secrets for form in secret_forms(secret) if len(form) >= 6}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, REDACTED)
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    return _SHAPES.sub(REDACTED, text)


@lru_cache(maxsize=64)
def secret_forms(secret: str) -> tuple[str, ...]:
    """Return a secret and the parts that give it away: secret values of its JSON, lines of its PEM."""
    try:
        given = json.loads(secret)
    except (ValueError, RecursionError):
        given = None
    inner = [given[name] for name in _SECRET_NAMES if name in given] if isinstance(given, dict) else []
    whole = (secret, *(value for value in inner if isinstance(value, str)))
    lines = (line.strip() for form in whole if "-----BEGIN " in form for line in form.splitlines())
    return (*whole, *(line for line in lines if len(line) >= _PEM_LINE and "-----" not in line))
