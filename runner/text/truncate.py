"""Cuts text to a number of bytes, on character borders, and says so."""

CUT = " …[cut]"


def cut(text: str, cap_bytes: int) -> str:
    """Return the beginning of `text` in at most `cap_bytes` of UTF-8, ending in a mark when something is
    gone.
    """
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
