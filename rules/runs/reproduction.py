"""What a run plays in a browser, by policy, profile and card, or why it plays nothing."""

from collections.abc import Iterable
from dataclasses import dataclass

from rules import registry
from rules.policy.repository import RepositoryRules, Reproduction
from rules.policy.validate import PROFILES
from rules.runs import browser_steps
from rules.runs.browser_steps import UNDERSTOOD, ReproductionStep

_PASTE = """\
```yaml
repository:
  reproduction: {start: "npm run dev", address: "http://127.0.0.1:3000/"}
```"""


@dataclass(frozen=True, slots=True)
class Words:
    """A text of the card; `counts`: somebody with write access wrote it, or let it through."""

    text: str
    counts: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be played; `absent` is the sentence that says why nothing is, although it was asked for."""

    settings: Reproduction
    steps: tuple[ReproductionStep, ...] = ()
    absent: str = ""


def wanted(rules: RepositoryRules, words: Iterable[Words], *, asked: bool) -> Wanted | None:
    """Return what a run plays; None where nobody wants anything played.

    The steps are those of the first text that has some and counts. Who `asked` for a reproduction hears why
    there is none; a repository without `reproduction` is left in peace otherwise.
    """
    if rules.reproduction is None and not asked:
        return None
    settings = completed(rules.reproduction or Reproduction(), rules.profile)
    if not (settings.start and settings.address):
        said = "How the app is started is not known. In `.github/cardinal.yml` of the default branch, write"
        return Wanted(settings, absent=f"{said}\n\n{_PASTE}\n\nand ask again.")
    ignored = False
    for one in words:
        script = browser_steps.read(one.text, settings.address, asked=asked)
        if script is not None and one.counts:
            return Wanted(settings, script.steps, script.problem)
        ignored = ignored or script is not None
    if not asked and not ignored:
        return None
    return Wanted(settings, absent=_STRANGERS if ignored else _NO_STEPS)


def completed(settings: Reproduction, profile: str) -> Reproduction:
    """Return the settings with what a built-in profile says where they say nothing."""
    if profile not in registry.names(PROFILES):
        return settings
    part = registry.part(PROFILES, profile)
    said = {"start": settings.start or part.START, "address": settings.address or part.ADDRESS}
    return settings.model_copy(update=said)


_EXAMPLES = "\n".join(f"{number}. `{one}`" for number, one in enumerate(UNDERSTOOD[:3], start=1))
_NO_STEPS = (
    "The card has no steps. Write a list below a line `Steps:` in the issue, or in a comment, such as\n\n"
    f"{_EXAMPLES}\n\nand ask again."
)
_STRANGERS = (
    "The card's steps are by somebody without write access, so they are not played: let their comment through"
    " with `/cardinal ok`, or repeat them in a comment of your own, and ask again."
)
