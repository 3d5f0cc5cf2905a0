"""The parameters in a page's address: unknown ones are refused in a sentence."""

from collections.abc import Collection

from flask import request

from bot.state.card_filters import MAX_CHARS, FilterError
from rules.text import alternatives, near, plain

ACTED = "acted"  # after a form was sent: what was done is said then


def check_names(*names: str) -> None:
    """Raise FilterError where the address has another parameter than these, or one of them twice."""
    for name in request.args:
        if len(request.args.getlist(name)) > 1 and name in names:
            raise FilterError(name, f"the address has {name} more than once: keep only one")
        if name not in (*names, ACTED):
            meant = near(name, names)
            hint = f"did you mean {meant}?" if meant else "leave it out"
            raise FilterError(name, f"unknown parameter “{plain(name, MAX_CHARS)}”: {hint}")


def choice(name: str, known: Collection[str], usual: str) -> str:
    """Return the value of a parameter, `usual` without it. Raises FilterError for one that is not known."""
    text = request.args.get(name, usual)
    if text not in known:
        choices = alternatives(known)
        raise FilterError(name, f"there is no {name} “{plain(text, MAX_CHARS)}”: choose {choices}")
    return text
