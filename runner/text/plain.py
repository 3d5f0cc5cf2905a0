"""Text for events and people: redacted, truncated, on one line. Pure."""

import re
from collections.abc import Iterable

_SHAPES = re.compile(
    r"""
    gh[pousr]_[A-Za-z0-9._-]{36,}                # GitHub: also its longer, stateless tokens
    | github_pat_[A-Za-z0-9_]{22,}
    | (?<![A-Za-z0-9])sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}   # model providers
    | AKIA[0-9A-Z]{16}
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
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "sk-", "akia", "xox", "eyj", "uthor"),
    "-----begin ",
    "://",
)
REDACTED = "[redacted]"
CUT = " …[cut]"


def cut(text: str, cap_bytes: int) -> str:
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
    return cut(" ".join("".join(c if c.isprintable() else " " for c in text).split()), cap_bytes)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without tokens, private keys, and the given `secrets`.

    Secrets under 6 characters stay: removing every "a" would make the text unreadable.
    """
    for secret in sorted((known for known in secrets if len(known) >= 6), key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    return _SHAPES.sub(REDACTED, text)
