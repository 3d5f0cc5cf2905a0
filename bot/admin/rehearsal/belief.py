"""Beliefs about GitHub as rows, and the comparison of each with GitHub's answer."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Generic, TypeVar

from bot.github.errors import GithubError, RateLimitedError, UnavailableError
from ledger.errors import CardinalError

T = TypeVar("T")
NO_DIFFERENCES: Mapping[str, tuple[bool | int | str, bool | int | str]] = {}
Value = bool | int | str
Facts = Mapping[str, tuple[Value, Value]]  # by name: the value that is believed, and the one that came
SHAPE_ERRORS = (LookupError, TypeError, ValueError, AttributeError)  # from reading an answer
# GitHub's own words that a fact may show. Any other text may be a name, and is not shown.
WORDS = frozenset(
    (
        *("Issue", "DraftIssue", "PullRequest", "Redacted", "Bot", "User", "Organization", "Mannequin"),
        *("open", "closed", "merged", "completed", "not_planned", "duplicate", "reopened", "valid"),
        *("unsigned", "unknown_key", "bad_email", "edited", "reordered", "created", "COMMENTED", "commented"),
    )
)


class BeliefVerdict(StrEnum):
    """The three results of a comparison."""

    HOLDS = "as believed"
    OTHERWISE = "otherwise"
    NOT_TRIED = "could not be tried"


class NotTriedError(CardinalError):
    """A belief cannot be tried here; `because` has no names and no texts of others."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


@dataclass(frozen=True, slots=True)
class Belief(Generic[T]):
    """One sentence that Cardinal relies on. `used`: a file that does; `source`: where GitHub says so.

    `compare` acts on the stage, and returns the facts.
    """

    name: str
    says: str
    used: str
    source: str
    compare: Callable[[T], Facts]


class Beliefs(Generic[T]):
    """The beliefs of one module, in the order of their functions."""

    def __init__(self) -> None:
        self._rows: list[Belief[T]] = []

    def about(
        self, name: str, says: str, *, used: str, source: str
    ) -> Callable[[Callable[[T], Facts]], Callable[[T], Facts]]:
        """Make the function the comparison of this belief; `source` is a path of GitHub's documentation."""

        def add(compare: Callable[[T], Facts]) -> Callable[[T], Facts]:
            self._rows.append(Belief(name, says, used, source, compare))
            return compare

        return add

    def __iter__(self) -> Iterator[Belief[T]]:
        return iter(self._rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of one comparison. `differences` and `because` may leave this machine; `reply`, GitHub's
    own words, may hold names and is for the terminal alone.
    """

    name: str
    verdict: BeliefVerdict
    seconds: float
    differences: Mapping[str, tuple[Value, Value]] = field(default_factory=dict)
    because: str = ""
    reply: str = ""


def compare_belief(belief: Belief[T], stage: T) -> Comparison:
    """Compare the belief with GitHub, and return the finding; an error of GitHub is one, too."""
    began = monotonic()

    def result(
        verdict: BeliefVerdict,
        because: str = "",
        reply: str = "",
        differences: Mapping[str, tuple[Value, Value]] = NO_DIFFERENCES,
    ) -> Comparison:
        took = round(monotonic() - began, 1)
        return Comparison(
            name=belief.name,
            verdict=verdict,
            seconds=took,
            differences=differences,
            because=because,
            reply=reply,
        )

    try:
        facts = belief.compare(stage)
    except NotTriedError as error:
        return result(BeliefVerdict.NOT_TRIED, because=error.because)
    except (RateLimitedError, UnavailableError) as error:
        return result(BeliefVerdict.NOT_TRIED, because=name_failure(error), reply=error.because)
    except (GithubError, *SHAPE_ERRORS) as error:
        reply = error.because if isinstance(error, GithubError) else ""
        return result(BeliefVerdict.OTHERWISE, because=name_failure(error), reply=reply)
    differences = {name: (hide_text(a), hide_text(b)) for name, (a, b) in facts.items() if a != b}
    return result(BeliefVerdict.OTHERWISE if differences else BeliefVerdict.HOLDS, differences=differences)


def name_failure(error: Exception) -> str:
    """Return an error without the texts in it: its kind, and GitHub's status or the line that failed."""
    if isinstance(error, GithubError):
        return f"{type(error).__name__.removesuffix('Error')} {error.status}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"a response of another shape ({type(error).__name__}, {Path(place.filename).name}:{place.lineno})"


def hide_text(value: Value) -> Value:
    """Return the value; in place of a text that may be somebody's, only its length."""
    if not isinstance(value, str) or value in WORDS:
        return value
    return f"another text of {len(value)} characters" if value else "nothing"
