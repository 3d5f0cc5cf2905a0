"""The reproduction of a run in a browser, by policy, profile and card, or the reason for none."""

from collections.abc import Iterable
from dataclasses import dataclass

from rules.policy.repository import RepositoryRules, Reproduction
from rules.registry import PROFILES
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
    """The wanted reproduction; `absent` says why there is none, although somebody asked for it."""

    settings: Reproduction
    steps: tuple[ReproductionStep, ...] = ()
    absent: str = ""


def choose_reproduction(rules: RepositoryRules, words: Iterable[Words], *, requested: bool) -> Wanted | None:
    """Return the reproduction of a run; None where nobody wants one.

    The steps are those of the first text that has some and counts. Who `requested` a reproduction hears why
    there is none; a repository without `reproduction` is left in peace otherwise.
    """
    if rules.reproduction is None and not requested:
        return None
    settings = complete_settings(rules.reproduction or Reproduction(), rules.profile)
    if not (settings.start and settings.address):
        said = "How the app is started is not known. In `.github/cardinal.yml` of the default branch, write"
        return Wanted(settings, absent=f"{said}\n\n{_PASTE}\n\nand ask again.")
    ignored = False
    for passage in words:
        script = browser_steps.read(passage.text, settings.address, requested=requested)
        if script is not None and passage.counts:
            return Wanted(settings, script.steps, script.problem)
        ignored = ignored or script is not None
    if not requested and not ignored:
        return None
    return Wanted(settings, absent=_STRANGERS if ignored else _NO_STEPS)


def complete_settings(settings: Reproduction, profile: str) -> Reproduction:
    """Return the settings, completed by those of a built-in profile."""
    if profile not in PROFILES.names():
        return settings
    part = PROFILES.load(profile)
    said = {"start": settings.start or part.START, "address": settings.address or part.ADDRESS}
    return settings.model_copy(update=said)


_EXAMPLES = "\n".join(f"{number}. `{example}`" for number, example in enumerate(UNDERSTOOD[:3], start=1))
_NO_STEPS = (
    "The card has no steps. Write a list below a line `Steps:` in the issue, or in a comment, such as\n\n"
    f"{_EXAMPLES}\n\nand ask again."
)
_STRANGERS = (
    "The card's steps are by someone without write access, so they are not played: let their comment through"
    " with `/cardinal ok`, or repeat them in a comment of your own, and ask again."
)
