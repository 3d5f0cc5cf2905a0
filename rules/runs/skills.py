"""The skills of a run, their order and their reasons: the same answer to the same question, always."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rules.policy.markdown.skill import NAME
from rules.policy.repository import Skills
from rules.text import code, count

REPOSITORY, OPERATOR = "repository", "operator"
MAX_LOADED = 8
ALL_BYTES = 48_000
MAX_NAMED = 12  # in one line of a description, or one command
MAX_CONSIDERED = 100
_LINE = re.compile(r"^[ \t]{0,3}skills[ \t]*+:[ \t]*+(?P<names>.+)$", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Offer:
    """A skill that was found. `source`: repository or operator; `size_bytes` is its text's, `problem` why it
    cannot be used, or empty.
    """

    name: str
    source: str
    version: str = ""
    digest: str = ""
    size_bytes: int = 0
    triggers: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_private(self) -> bool:
        """Whether its trigger words and file names are secret."""
        return self.source == OPERATOR


@dataclass(frozen=True, slots=True)
class SkillContext:
    """The skills that a card names; `trusted`: the author of its title and description has write access.

    `attached` are those that its repository's `profile` brings along, `of_column` those of its column or
    specialist.
    """

    title: str
    trusted: bool
    labels: tuple[str, ...] = ()
    line: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    profile: str = ""
    attached: tuple[str, ...] = ()
    of_column: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsideredSkill:
    """A skill that was considered, and `why` it is loaded or skipped. `requested`: something asked for it."""

    offer: Offer
    loaded: bool
    why: str
    requested: bool = True


def find_skill_line(text: str) -> tuple[str, ...]:
    """Return the names in the first line `Skills: a, b` of a description, none in code."""
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        match = None if inside else _LINE.match(line)
        if match:
            return names_of(match["names"])
    return ()


def names_of(text: str) -> tuple[str, ...]:
    """Return the names between commas and spaces, each once; words that are no skill's name are left out."""
    words = (word.strip("`*").rstrip(".").strip("`*").lower() for word in re.split(r"[,\s]+", text[:1000]))
    names = dict.fromkeys(word for word in words if NAME.fullmatch(word))
    return tuple(names)[:MAX_NAMED]


def choose_skills(
    rules: Skills, context: SkillContext, offers: Iterable[Offer]
) -> tuple[ConsideredSkill, ...]:
    """Return every considered skill: first those that something asks for, in the order of loading.

    Asked for by default, by profile, by column, by label, by the description, by command, by trigger word.
    Of two with one name the repository's counts: people can read it where they work.
    """
    by_name, shadowed = _by_name(offers)
    wanted = _choose_skills(rules, context, by_name)
    choices = list(_judge_offers(wanted, by_name))
    refused = _list_untrusted(context, by_name)
    for name, offer in sorted(by_name.items()):
        if name not in wanted:
            why = refused.get(name) or offer.problem or "nothing asks for it"
            choices.append(ConsideredSkill(offer, False, why, requested=name in refused))
    choices += [
        ConsideredSkill(
            offer, False, "the repository has one of the same name", requested=offer.name in wanted
        )
        for offer in shadowed
    ]
    return tuple(choices[:MAX_CONSIDERED])


def _by_name(offers: Iterable[Offer]) -> tuple[dict[str, Offer], list[Offer]]:
    by_name: dict[str, Offer] = {}
    shadowed: list[Offer] = []
    for offer in sorted(offers, key=lambda candidate: (candidate.source != REPOSITORY, candidate.name)):
        if offer.name in by_name:
            shadowed.append(offer)
        else:
            by_name[offer.name] = offer
    return by_name, shadowed


def _choose_skills(rules: Skills, context: SkillContext, by_name: Mapping[str, Offer]) -> dict[str, str]:
    wanted: dict[str, str] = {}
    for name, why in _list_requested(rules, context):
        wanted.setdefault(name.casefold(), why)
    for name, offer in sorted(by_name.items()):
        why = _find_trigger(offer, context.labels, context.title if context.trusted else "")
        if why:
            wanted.setdefault(name, why)
    return wanted


def _list_requested(rules: Skills, context: SkillContext) -> Iterator[tuple[str, str]]:
    for name in rules.default:
        yield name, "by default"
    yield from ((name, f"by profile {code(context.profile, 60)}") for name in context.attached)
    yield from ((name, "by its column or specialist") for name in context.of_column)
    has = {label.casefold() for label in context.labels}
    for label, names in rules.labels.items():
        if label.casefold() in has:
            yield from ((name, f"label {code(label, 60)}") for name in names)
    if context.trusted:
        yield from ((name, "the description asks for it") for name in context.line)
    yield from ((name, "/cardinal skills") for name in context.pinned)


def _judge_offers(wanted: Mapping[str, str], by_name: Mapping[str, Offer]) -> Iterator[ConsideredSkill]:
    loaded, size_bytes = 0, 0
    for name, why in wanted.items():
        offer = by_name.get(name)
        if offer is None:
            yield ConsideredSkill(Offer(name, ""), False, f"{why}, but there is no skill of this name")
        elif offer.problem:
            yield ConsideredSkill(offer, False, f"{why}, but {offer.problem}")
        elif loaded == MAX_LOADED:
            yield ConsideredSkill(offer, False, f"{why}, but {count(MAX_LOADED, 'skill')} are the most")
        elif size_bytes + offer.size_bytes > ALL_BYTES:
            yield ConsideredSkill(
                offer, False, f"{why}, but all skills together have at most {ALL_BYTES} bytes"
            )
        else:
            loaded, size_bytes = loaded + 1, size_bytes + offer.size_bytes
            yield ConsideredSkill(offer, True, why)


def _list_untrusted(context: SkillContext, by_name: Mapping[str, Offer]) -> dict[str, str]:
    """Return why a skill is not loaded that only somebody without write access asks for."""
    if context.trusted:
        return {}
    reasons = dict.fromkeys(context.line, "only a description without write access asks for it")
    for name, offer in by_name.items():
        if name not in reasons and _find_trigger(offer, (), context.title):
            reasons[name] = "only a title without write access has its trigger"
    return reasons


def _find_trigger(offer: Offer, labels: tuple[str, ...], title: str) -> str:
    for trigger in offer.triggers:
        word = re.compile(rf"(?<!\w){re.escape(trigger)}(?!\w)", re.IGNORECASE)
        place = "a label" if any(map(word.search, labels)) else "the title" if word.search(title) else ""
        if place:
            named = "a trigger of its own" if offer.is_private else f"trigger {code(trigger, 60)}"
            return f"{named} in {place}"
    return ""
