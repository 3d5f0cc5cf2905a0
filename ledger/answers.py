"""What a person's answer to a question about a limit means. Pure.

The runner obeys it, and a view counts it: both must read the same words in the same way.
"""

from collections.abc import Sequence

GO_ON = "Go on with as much again"
STOP = "Stop here"
_RAISED = "Raised the budget by "
_NO = ("no", "stop")


def raised(usd: float) -> str:
    """Return the answer to a question about dollars that a person gives by raising the budget."""
    return f"{_RAISED}${usd:,.2f}"


def is_raise(answer: str) -> bool:
    """Whether the answer only says that the budget was raised."""
    return answer.startswith(_RAISED)


def chose(choices: Sequence[str], choice: str, answer: str) -> bool:
    """Whether the answer is that choice, by its words or by its number."""
    said = answer.strip().lower().rstrip(".")
    number = str(choices.index(choice) + 1) if choice in choices else choice
    return bool(said) and said in (choice.lower(), number)


def refused(choices: Sequence[str], answer: str) -> bool:
    """Whether the answer is the last choice, or begins with a plain no."""
    words = answer.strip().lower().split()
    plain = bool(words) and words[0].strip(".,!") in _NO
    return plain or (bool(choices) and chose(choices, choices[-1], answer))


def extends(choices: Sequence[str], answer: str) -> bool:
    """Whether the answer gives the run as much again of its time, turns and dollars."""
    return tuple(choices[:1]) == (GO_ON,) and not is_raise(answer) and not refused(choices, answer)
